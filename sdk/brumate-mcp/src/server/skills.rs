//! Skills: folders of instructions for models (the extension *Skills*, SEP-2640).

use super::Server;
use crate::connection::ChangeNotification;
use crate::contents::ResourceContents;
use crate::error::ServeError;
use crate::resource::Resource;
use rmcp::handler::server::skill_catalog::SkillCatalog;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

impl Server {
    /// Offers the skills below `directory` with the extension *Skills* (SEP-2640). Each folder with a `SKILL.md` is a skill. Their files
    /// are resources as well. All files are read now; [`Server::reload_skills`] reads them again.
    ///
    /// Links are not followed, and names that begin with a dot are left out. So are skills with more than 512 files or 16 MiB,
    /// or without `name` and `description`; the log says why. [`Server::start`] reports a directory that cannot be read.
    #[must_use]
    pub fn skills(self, directory: impl Into<PathBuf>) -> Self {
        let added = SkillCatalog::from_dir(directory).map_err(setup_error).map(|catalog| {
            let catalog = Arc::new(catalog);
            *self.shared.skills.write().unwrap_or_else(PoisonError::into_inner) = Some(catalog.clone());
            self.list_skill_resources(&catalog);
        });
        self.note_problem(added)
    }

    /// Reads the directory of [`Server::skills`] again. Returns whether a skill has changed; clients are notified then. Blocks.
    ///
    /// # Errors
    ///
    /// Returns [`ServeError::Setup`] if the directory cannot be read. The server keeps the skills that it has.
    pub fn reload_skills(&self) -> Result<bool, ServeError> {
        let Some(catalog) = self.skill_catalog() else { return Ok(false) };
        let before = catalog.resources();
        let changed = catalog.reload().map_err(setup_error)?;
        if changed {
            for resource in before {
                self.shared.resources.remove(&resource.uri);
            }
            self.list_skill_resources(&catalog);
        }
        Ok(changed)
    }

    pub(crate) fn skill_catalog(&self) -> Option<Arc<SkillCatalog>> {
        self.shared.skills.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the contents of a file of a skill.
    pub(super) fn skill_file(&self, uri: &str) -> Option<Vec<ResourceContents>> {
        let read = self.skill_catalog()?.read_resource(uri)?;
        read.contents.into_iter().map(ResourceContents::from_wire).collect::<Result<_, _>>().ok()
    }

    /// Lists the `SKILL.md` of each skill among the resources, and notifies clients. These resources have no handler:
    /// [`Server::read_resource`] takes the contents of all files of skills from the catalog.
    fn list_skill_resources(&self, catalog: &SkillCatalog) {
        for listed in catalog.resources() {
            let mut resource = Resource::new(listed.uri).name(listed.name);
            if let Some(description) = listed.description {
                resource = resource.description(description);
            }
            if let Some(mime_type) = listed.mime_type {
                resource = resource.mime_type(mime_type);
            }
            self.shared.resources.insert(resource.uri.clone(), resource);
        }
        self.notify_change(ChangeNotification::Resources);
    }
}

fn setup_error(error: impl Display) -> ServeError {
    ServeError::Setup(format!("skills: {error}"))
}
