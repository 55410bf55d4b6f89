//! Package requests: requirements with their reason.

use brumate_packages::Requirement;
use brumate_packages::policy::RequestReason;

/// Requirement of the user or of running code.
#[derive(Debug, Clone)]
pub struct PackageRequest {
    /// The requirement.
    pub requirement: Requirement,
    /// Imported module that the requirement was inferred from.
    pub module: Option<String>,
    /// Whether the module's name is the only evidence for the package.
    pub(crate) is_guess: bool,
}

impl PackageRequest {
    /// Returns the reason of the request, for messages.
    pub(super) fn reason(&self) -> RequestReason<'_> {
        match &self.module {
            Some(module) => RequestReason::Imported(module),
            None => RequestReason::Requested,
        }
    }
}

impl From<Requirement> for PackageRequest {
    fn from(requirement: Requirement) -> Self {
        Self { requirement, module: None, is_guess: false }
    }
}
