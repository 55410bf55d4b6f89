//! The files of the repository, as git lists them.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories that have crates in them.
pub(crate) const CRATE_PARENTS: [&str; 2] = ["crates", "sdk"];

/// The files and directories that git knows, with paths relative to the root.
pub(crate) struct Repository {
    root: PathBuf,
    files: BTreeSet<String>,
    directories: BTreeSet<String>,
}

impl Repository {
    /// Lists the tracked files below `root`, and the new files that git does not ignore.
    ///
    /// # Errors
    /// If git cannot list them, or lists none: a check of nothing must not succeed.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let mut git = Command::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
        let output = git.output().context("cannot start git")?;
        ensure!(output.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
        let listed = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
        let files = listed.split_terminator('\0').filter(|file| root.join(file).exists());
        let repository = Self::with_files(root, files.map(str::to_owned));
        ensure!(repository.has("Cargo.toml"), "git lists no Cargo.toml in {}", root.display());
        Ok(repository)
    }

    /// Returns a repository with exactly these files.
    pub(crate) fn with_files(root: &Path, files: impl IntoIterator<Item = String>) -> Self {
        let files: BTreeSet<String> = files.into_iter().collect();
        let mut directories = BTreeSet::new();
        for file in &files {
            let parents = file.match_indices('/').map(|(end, _)| &file[..end]);
            directories.extend(parents.map(str::to_owned));
        }
        Self { root: root.to_owned(), files, directories }
    }

    /// Returns the files in order.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Returns whether there is such a file or directory. A slash at the end asks for a directory.
    pub(crate) fn has(&self, path: &str) -> bool {
        match path.strip_suffix('/') {
            Some(directory) => self.directories.contains(directory),
            None => self.files.contains(path) || self.directories.contains(path),
        }
    }

    /// Returns files and directories in order, without slashes at the end.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &str> {
        self.files.iter().chain(&self.directories).map(String::as_str)
    }

    /// Returns the names of the crates.
    pub(crate) fn crates(&self) -> impl Iterator<Item = &str> {
        self.crate_directories().map(|(name, _)| name)
    }

    /// Returns the names of the crates with their directories: `brumate-mcp` with `sdk/brumate-mcp`.
    pub(crate) fn crate_directories(&self) -> impl Iterator<Item = (&str, &str)> {
        let below =
            self.directories.iter().filter_map(|directory| Some((below_crates(directory)?, directory.as_str())));
        below.filter(|(name, _)| !name.contains('/'))
    }

    /// Returns whether `name` is a file or directory in the root.
    pub(crate) fn has_in_root(&self, name: &str) -> bool {
        !name.contains('/') && self.has(name)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read as UTF-8.
    pub(crate) fn text(&self, file: &str) -> Result<String> {
        std::fs::read_to_string(self.root.join(file)).with_context(|| format!("cannot read {file}"))
    }

    /// Returns the root directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

/// Returns what follows the directory of crates in a path: `brumate-mcp/src/lib.rs` for `sdk/brumate-mcp/src/lib.rs`. None elsewhere.
pub(crate) fn below_crates(path: &str) -> Option<&str> {
    let (directory, below) = path.split_once('/')?;
    CRATE_PARENTS.contains(&directory).then_some(below)
}

/// Joins `path` to `directory` and removes `.` and `..`; none if it leaves the root.
pub(crate) fn join(directory: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    let slash = if path.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    Some(parts.join("/") + slash)
}

/// Returns the directory of a file, empty for one in the root.
pub(crate) fn parent(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(directory, _)| directory)
}
