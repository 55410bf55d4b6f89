//! A requirement and how it came about.

use brumate_packages::Requirement;
use brumate_packages::policy::Way;

/// A requirement of the user's.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What is wanted.
    pub requirement: Requirement,
    /// The imported module that it was inferred from.
    pub module: Option<String>,
    /// It has the module's name, and nothing else is known of it.
    pub(crate) is_guess: bool,
}

impl Wanted {
    /// How it came about, for messages.
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
