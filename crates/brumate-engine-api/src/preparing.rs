//! Work that runs wait for before their code goes on.

use std::fmt;

/// Work that is done once, and that runs wait for: above all, modules are compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preparing {
    /// What is being made.
    pub name: String,
    /// How many of `total` are made.
    pub done: usize,
    /// How many are to be made.
    pub total: usize,
}

impl fmt::Display for Preparing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Compiling, once: {} ({} of {})", self.name, self.done, self.total)
    }
}
