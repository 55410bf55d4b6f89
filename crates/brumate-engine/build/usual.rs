//! Tells which native modules a run waits for before it begins.
//!
//! A run that uses a wheel waits until the wheel's native modules are compiled. `runtime/recipes/pyc/native.txt` names those that
//! importing the wheel's packages usually loads. Others of the same wheel are compiled when a program imports them. A run waits
//! for all modules of a wheel that the list does not name.

use std::collections::HashSet;
use std::path::Path;

use super::{Result, read_list};

/// The path of the list, below the directory of the bundle. The list has a module a line, without its suffix.
const LIST: &str = "recipes/pyc/native.txt";

/// The modules that are usually loaded.
#[derive(Debug)]
pub(crate) struct Usual {
    modules: HashSet<String>,
}

impl Usual {
    /// Reads the list below the bundle's directory `runtime`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn read(runtime: &Path) -> Result<Usual> {
        Ok(Usual { modules: read_list(&runtime.join(LIST))? })
    }

    /// Returns whether runs wait for the module at `path`, of a wheel with the modules `all`. A library that modules link is usual.
    pub(crate) fn contains(&self, path: &str, all: &[String]) -> bool {
        let is_library = !path.contains(".cpython");
        is_library || self.lists(path) || !all.iter().any(|other| self.lists(other))
    }

    fn lists(&self, path: &str) -> bool {
        path.split_once(".cpython").is_some_and(|(stem, _)| self.modules.contains(stem))
    }
}
