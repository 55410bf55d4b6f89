//! The server as the contexts of its handlers see it: its state and its resources.

use super::Server;
use crate::cache::CacheScope;
use crate::contents::ResourceContents;
use crate::context::{Context, ContextHost};
use crate::error::Error;
use crate::resource::ResourceRequest;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::any::{Any, TypeId};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The contents of a resource that was read.
pub(crate) struct ReadContents {
    pub(crate) contents: Vec<ResourceContents>,
    /// How long and by whom they may be cached.
    pub(crate) cache: Option<(Duration, CacheScope)>,
    /// Whether they are of a resource provider.
    pub(crate) is_provided: bool,
}

impl ContextHost for Server {
    fn state(&self, type_id: TypeId) -> Option<Arc<dyn Any + Send + Sync>> {
        self.shared.states.read().unwrap_or_else(PoisonError::into_inner).get(&type_id).cloned()
    }

    fn read<'a>(&'a self, uri: &'a str, context: Context) -> BoxFuture<'a, Result<Vec<ResourceContents>, Error>> {
        self.read_resource(uri, context).map(|read| read.map(|read| read.contents)).boxed()
    }
}

impl Context {
    /// Returns the server, to register or remove tools, resources and prompts, and to notify its clients of changes.
    ///
    /// # Panics
    ///
    /// Never: every context is made for a [`Server`].
    pub fn server(&self) -> &Server {
        let host: &dyn Any = self.host();
        host.downcast_ref().expect("the host of a context is a server")
    }
}

impl Server {
    /// Reads a resource. Returns its contents and how they may be cached.
    pub(crate) async fn read_resource(&self, uri: &str, context: Context) -> Result<ReadContents, Error> {
        let exact = self.shared.resources.get(uri).filter(|resource| !resource.is_template());
        let found = exact.map(|resource| (resource, Default::default())).or_else(|| {
            self.shared.resources.find(|resource| {
                let template = resource.template.as_ref().ok().filter(|template| template.has_variables())?;
                Some((resource.clone(), template.matches(uri)?))
            })
        });
        let handler = found.as_ref().and_then(|(resource, _)| resource.handler.clone());
        let (Some((resource, variables)), Some(handler)) = (found, handler) else {
            // The `SKILL.md` of a skill is listed without a handler, and its other files are not listed.
            #[cfg(feature = "skills")]
            if let Some(contents) = self.skill_file(uri) {
                return Ok(ReadContents { contents, cache: None, is_provided: false });
            }
            for added in self.resource_providers() {
                if let Some(provided) = added.provider.read(uri, context.clone()).await? {
                    let (contents, cache) = (provided.contents, provided.cache);
                    return Ok(ReadContents { contents, cache, is_provided: true });
                }
            }
            return Err(Error::no_resource(uri));
        };
        let contents = handler(ResourceRequest { uri: uri.to_owned(), variables }, context).await?;
        let mime_type = resource.mime_type.as_deref();
        let contents = contents.into_iter().map(|c| c.or_mime_type(mime_type)).collect();
        Ok(ReadContents { contents, cache: resource.cache, is_provided: false })
    }
}
