//! Progress of work that runs wait for.

use std::fmt;

/// Work that is done once, and that runs wait for: above all, modules are compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preparing {
    /// The name of what is made: a module, or an image.
    pub name: String,
    /// The number of those that are made already.
    pub done: usize,
    /// The number of all that are to be made.
    pub total: usize,
}

impl fmt::Display for Preparing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Compiling, once: {} ({} of {})", self.name, self.done, self.total)
    }
}
