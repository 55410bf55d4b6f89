//! Results of tests in a file of the host, as JUnit's XML. pytest writes them to a directory of their own.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

use crate::bounded_file::read_bounded;

/// Largest file of results, in bytes.
const MAX_RESULTS_BYTES: u64 = 64 << 20;

/// Results that pytest writes, and the file that they are copied to.
pub(super) struct Results {
    directory: TempDir,
    target: PathBuf,
}

impl Results {
    /// Directory of the sandbox with the results.
    pub(super) const GUEST: &str = "/results";
    /// Argument of pytest that has it write them.
    pub(super) const ARGUMENT: &str = "--junitxml=/results/junit.xml";
    /// Their file in the directory.
    const NAME: &str = "junit.xml";

    /// Makes the directory.
    ///
    /// # Errors
    ///
    /// It cannot be made, or there is no directory for `target`.
    pub(super) fn new(target: &Path) -> anyhow::Result<Self> {
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !parent.is_dir() || target.is_dir() {
            bail!("`--junit {}`: {} is not a directory, or the file is one", target.display(), parent.display());
        }
        let directory = tempfile::tempdir().context("cannot make a directory for results")?;
        Ok(Self { directory, target: target.to_owned() })
    }

    /// Returns the directory on the host.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Copies the results to their file.
    ///
    /// # Errors
    ///
    /// pytest has written none, or the file cannot be written.
    pub(super) fn save(&self) -> anyhow::Result<()> {
        let target = self.target.display();
        let failed = || format!("`--junit {target}`: pytest has written no results");
        // Tests are hostile: nothing but a file is read.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file =
            rustix::fs::open(self.directory.path().join(Self::NAME), flags, Mode::empty()).with_context(failed)?;
        let file = std::fs::File::from(file);
        if !file.metadata().with_context(failed)?.is_file() {
            bail!(failed());
        }
        let bytes = read_bounded(file, MAX_RESULTS_BYTES).with_context(|| format!("`--junit {target}`"))?;
        std::fs::write(&self.target, bytes).with_context(|| format!("`--junit {target}`: cannot write {target}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_file_is_copied() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("out.xml");
        let results = Results::new(&target).unwrap();
        let written = results.directory().join(Results::NAME);
        assert!(Results::ARGUMENT.ends_with(&format!("{}/{}", Results::GUEST, Results::NAME)));
        assert!(results.save().unwrap_err().to_string().contains("no results"));
        std::os::unix::fs::symlink("/etc/passwd", &written).unwrap();
        assert!(results.save().is_err() && !target.exists());
        std::fs::remove_file(&written).unwrap();
        std::fs::create_dir(&written).unwrap();
        assert!(results.save().is_err() && !target.exists());
        std::fs::remove_dir(&written).unwrap();
        std::fs::write(&written, "<testsuites/>").unwrap();
        results.save().unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "<testsuites/>");
        assert!(Results::new(directory.path()).is_err() && Results::new(&directory.path().join("no/x.xml")).is_err());
    }
}
