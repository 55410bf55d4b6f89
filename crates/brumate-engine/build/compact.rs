//! Decides which files a compact bundle leaves out. PyPI bounds the size of a file, and so that of the bundle file.
//!
//! | left out | effect |
//! |---|---|
//! | bytecode of modules that `runtime/recipes/pyc/compact.txt` does not name | Python compiles such a module when it is imported |
//! | directories `tests` of wheels | nobody imports them |

use std::collections::HashSet;
use std::path::Path;

use super::pack::source_of;
use super::{Result, read_list};

/// The list of modules, below the directory of the bundle.
const LIST: &str = "recipes/pyc/compact.txt";

/// The rules of a compact bundle.
#[derive(Debug)]
pub(crate) struct Compact {
    /// Source files whose bytecode is kept.
    bytecode: HashSet<String>,
}

impl Compact {
    /// Reads the list below the bundle's directory `runtime`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read(runtime: &Path) -> Result<Compact> {
        Ok(Compact { bytecode: read_list(&runtime.join(LIST))? })
    }

    /// Whether an entry of a wheel, or of the archive of bytecode, is kept.
    pub(crate) fn keeps(&self, path: &str) -> bool {
        let in_tests =
            path.rsplit_once('/').is_some_and(|(directory, _)| directory.split('/').any(|name| name == "tests"));
        !in_tests && source_of(path).is_none_or(|source| self.bytecode.contains(&source))
    }
}
