//! The resource providers of a server.

use super::Server;
use crate::connection::ChangeNotification;
use crate::error::ServeError;
use crate::resource::Resource;
use crate::resource_provider::{DynResourceProvider, ResourceProvider};
use std::fmt;
use std::sync::{Arc, PoisonError};

/// A provider and its templates.
#[derive(Clone)]
pub(crate) struct AddedProvider {
    pub(crate) provider: Arc<dyn DynResourceProvider>,
    pub(crate) templates: Arc<[Resource]>,
}

impl fmt::Debug for AddedProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddedProvider").field("templates", &self.templates).finish_non_exhaustive()
    }
}

impl Server {
    /// Adds a provider of resources that are not known beforehand.
    ///
    /// A URI is read by the resource or template that is registered for it, else by the first provider that has it.
    /// `resources/list` has the pages of registered resources first, then the pages of each provider, in the order in
    /// which they were added. A page never has resources of two of them, and [`Server::page_size`] does not change the
    /// pages of a provider. `resources/templates/list` has the templates of the providers at the end of its last page.
    /// The pages of a provider are cached by their client alone, whatever [`Server::cache_lists`] says.
    ///
    /// [`Server::start`] reports an invalid template.
    #[must_use]
    pub fn resource_provider(self, provider: impl ResourceProvider) -> Self {
        let templates: Arc<[Resource]> = provider.templates().into();
        let problem = templates.iter().find_map(|template| match &template.template {
            Err(problem) => Some(format!("resource {problem}")),
            Ok(parsed) if !parsed.has_variables() => Some(format!("resource `{}`: it is no template", template.uri)),
            Ok(_) => None,
        });
        if let Some(problem) = problem {
            return self.note_problem(Err(ServeError::Setup(problem)));
        }
        let added = AddedProvider { provider: Arc::new(provider), templates };
        self.shared.resource_providers.write().unwrap_or_else(PoisonError::into_inner).push(added);
        self.notify_change(ChangeNotification::Resources);
        self
    }

    /// Returns the resource providers, in the order in which they were added.
    pub(crate) fn resource_providers(&self) -> Vec<AddedProvider> {
        self.shared.resource_providers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
