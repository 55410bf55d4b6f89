//! Faults of documents: where they are, and the report that lists all of them.

use anyhow::{Result, bail};
use std::fmt;

/// One fault in one document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    /// Path of the document below the repository's root.
    file: String,
    /// Line number, from 1.
    pub(crate) line: usize,
    message: String,
}

impl Fault {
    /// Returns a fault at `line` of `file`.
    pub(crate) fn new(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// Prints every fault, sorted by place.
///
/// # Errors
/// If there is a fault.
pub(crate) fn report(mut faults: Vec<Fault>) -> Result<()> {
    faults.sort();
    faults.dedup();
    for fault in &faults {
        println!("{fault}");
    }
    match faults.len() {
        0 => Ok(()),
        1 => bail!("1 fault"),
        count => bail!("{count} faults"),
    }
}
