//! A copy of the working copy that may be broken.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, workspace};

/// A copy of every file that git knows or would take, in a repository of its own.
pub(super) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Makes the copy below the target directory, in place of an older one.
    pub(super) fn new() -> Result<Scratch> {
        let root = workspace::target().join("self-test");
        if root.exists() {
            std::fs::remove_dir_all(&root)?;
        }
        let mut list = Command::new("git");
        list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(workspace::root());
        let scratch = Scratch { root };
        for file in process::output(&mut list)?.split_terminator('\0') {
            scratch.copy(file).with_context(|| file.to_owned())?;
        }
        scratch.git(&["init", "--quiet"])?;
        scratch.git(&["add", "--all"])?;
        Ok(scratch)
    }

    fn copy(&self, file: &str) -> Result<()> {
        let (from, to) = (workspace::root().join(file), self.root.join(file));
        // A file that was deleted and not committed is still listed.
        if !from.exists() {
            return Ok(());
        }
        std::fs::create_dir_all(to.parent().unwrap_or(&self.root))?;
        // Large, and never changed here.
        if file.starts_with("runtime/") && std::fs::hard_link(&from, &to).is_ok() {
            return Ok(());
        }
        std::fs::copy(from, to)?;
        Ok(())
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        process::run(Command::new("git").args(arguments).current_dir(&self.root))
    }

    /// Returns the path of a file of the copy.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// Returns the copy's root directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is removed when the next copy is made.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}
