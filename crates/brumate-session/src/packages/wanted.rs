//! Package requests: requirements with their reason.

use brumate_packages::Requirement;
use brumate_packages::policy::Way;

/// Requirement of the user or of running code.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The requirement.
    pub requirement: Requirement,
    /// Imported module that the requirement was inferred from.
    pub module: Option<String>,
    /// Whether the module's name is the only evidence for the package.
    pub(crate) is_guess: bool,
}

impl Wanted {
    /// Returns the reason of the request, for messages.
    pub(super) fn way(&self) -> Way<'_> {
        match &self.module {
            Some(module) => Way::Imported(module),
            None => Way::Requested,
        }
    }
}

impl From<Requirement> for Wanted {
    fn from(requirement: Requirement) -> Self {
        Self { requirement, module: None, is_guess: false }
    }
}
