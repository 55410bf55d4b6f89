//! The directory that sessions are kept in: private, used by one server at a time.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;

use super::id::SessionId;

/// Ending of a sleeping session's name.
const SUFFIX: &str = ".session";

/// What stands behind [`DataDir::will_name`] in the names of the files of a will, in the order in which they are removed.
const WILL_FILES: [&str; 4] = ["", ".will", ".will-1", ".will-0"];

/// Why a data directory cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataDirError {
    /// Another process has it.
    #[error(
        "the data directory {} is in use by another Brumate{}; give this one a directory of its own with --data-dir",
        path.display(),
        process.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process, if it could say so.
        process: Option<u32>,
    },
    /// Others may change it.
    #[error("the data directory {} belongs to somebody else, or others may write to it", path.display())]
    NotPrivate {
        /// The directory.
        path: PathBuf,
    },
    /// The registry in it cannot be used.
    #[error("the registry of sessions in {} cannot be used: {reason}", path.display())]
    Registry {
        /// The directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// There are no sessions in it, nor ever were.
    #[error("there is no registry of sessions in {}", path.display())]
    Nothing {
        /// The directory.
        path: PathBuf,
    },
    /// It is to be written, and has something already.
    #[error("{} is not empty; choose a directory that is", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The disk refuses.
    #[error("the data directory {} cannot be used: {source}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// A data directory. It is this process's as long as the value lives, if it was opened by [`DataDir::lock`].
#[derive(Debug)]
pub(crate) struct DataDir {
    root: PathBuf,
    images: PathBuf,
    _lock: Option<File>,
}

impl DataDir {
    /// Makes the directory if there is none, and takes it for this process.
    ///
    /// # Errors
    ///
    /// When another process has it, others may write to it, or the disk refuses.
    #[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
    pub(crate) fn lock(root: &Path) -> Result<Self, DataDirError> {
        let io = |source| DataDirError::Io { path: root.to_owned(), source };
        let images = root.join("sessions");
        private_directory(root, root)?;
        private_directory(root, &images)?;
        let mut file = private_file(&root.join("lock")).map_err(io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut owner = String::new();
                let _ = file.take(32).read_to_string(&mut owner);
                return Err(DataDirError::InUse { path: root.to_owned(), process: owner.trim().parse().ok() });
            }
            Err(errno) => return Err(io(errno.into())),
        }
        // For the message above only: the lock is what counts.
        let note = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
        note.map_err(io)?;
        Ok(Self { root: root.to_owned(), images, _lock: Some(file) })
    }

    /// The directory as another process may have it: to look, not to touch. `None` when there is none.
    pub(crate) fn look(root: &Path) -> Option<Self> {
        let directory = Self { root: root.to_owned(), images: root.join("sessions"), _lock: None };
        directory.registry().is_file().then_some(directory)
    }

    /// As [`DataDir::lock`], of a directory that has nothing in it yet.
    ///
    /// # Errors
    ///
    /// As there; [`DataDirError::NotEmpty`].
    pub(crate) fn lock_empty(root: &Path) -> Result<Self, DataDirError> {
        Self::check_empty(root)?;
        Self::lock(root)
    }

    /// Makes sure that a directory has nothing in it, or is not there.
    ///
    /// # Errors
    ///
    /// [`DataDirError::NotEmpty`], [`DataDirError::Io`].
    pub(crate) fn check_empty(root: &Path) -> Result<(), DataDirError> {
        let has_some = match std::fs::read_dir(root) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(source) => return Err(DataDirError::Io { path: root.to_owned(), source }),
        };
        if has_some {
            return Err(DataDirError::NotEmpty { path: root.to_owned() });
        }
        Ok(())
    }

    /// Makes sure that the disk has which files there are.
    ///
    /// # Errors
    ///
    /// When it refuses.
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        File::open(&self.images)?.sync_all()?;
        File::open(&self.root)?.sync_all()
    }

    /// A file that is there while somebody waits for the server to write the sessions that are awake.
    pub(crate) fn flush_request(&self) -> PathBuf {
        self.root.join("flush")
    }

    /// Removes a registry and what SQLite keeps beside it.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub(crate) fn remove_registry(&self) -> std::io::Result<()> {
        for suffix in ["", "-wal", "-shm"] {
            match std::fs::remove_file(self.root.join(format!("sessions.sqlite{suffix}"))) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The registry's file.
    pub(crate) fn registry(&self) -> PathBuf {
        self.root.join("sessions.sqlite")
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Name of the file that holds a session in one generation of its state.
    pub(crate) fn image_name(id: &SessionId, generation: u64) -> String {
        format!("{id}-{generation}{SUFFIX}")
    }

    /// Name of the file that a session's last will takes the place of. There is none of that name before.
    pub(crate) fn will_name(id: &SessionId) -> String {
        format!("{id}{SUFFIX}")
    }

    /// Whether a session has left a will, or it has taken its place.
    pub(crate) fn has_will(&self, id: &SessionId) -> bool {
        let name = Self::will_name(id);
        self.image(&format!("{name}.will")).is_file() || self.image(&name).is_file()
    }

    /// Bytes that the file of a session has, or will have, that has left a will.
    pub(crate) fn will_bytes(&self, id: &SessionId) -> u64 {
        let name = Self::will_name(id);
        let size =
            |beside: &str| std::fs::metadata(self.image(&format!("{name}{beside}"))).map_or(0, |found| found.len());
        // One of the two is taken.
        size("").max(size(".will-0")).max(size(".will-1"))
    }

    /// Names of the files that a session has left with its will.
    pub(crate) fn will_files(&self, id: &SessionId) -> Vec<String> {
        let name = Self::will_name(id);
        let all = WILL_FILES.iter().map(|beside| format!("{name}{beside}"));
        all.filter(|name| self.image(name).is_file()).collect()
    }

    /// Where a file of that name is.
    pub(crate) fn image(&self, name: &str) -> PathBuf {
        self.images.join(name)
    }

    /// Removes a sleeping session's file. One that stays is removed at the next start.
    pub(crate) fn remove_image(&self, name: &str) {
        if let Err(error) = std::fs::remove_file(self.image(name))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the file of a session cannot be removed");
        }
    }

    /// Removes what a session has left behind that nobody woke any more.
    pub(crate) fn remove_will(&self, id: &SessionId) {
        let name = Self::will_name(id);
        for beside in WILL_FILES {
            self.remove_image(&format!("{name}{beside}"));
        }
    }

    /// Removes every file of a session that `keep` does not want, half-written ones included.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub(crate) fn clean(&self, keep: impl Fn(&str) -> bool) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.images)? {
            let name = entry?.file_name();
            match name.to_str() {
                Some(name) if keep(name) => {}
                Some(name) => self.remove_image(name),
                None => {}
            }
        }
        Ok(())
    }
}

/// Makes `path` below or at `root` with mode 0700; one that is there must be this user's alone to change.
fn private_directory(root: &Path, path: &Path) -> Result<(), DataDirError> {
    let io = |source| DataDirError::Io { path: root.to_owned(), source };
    DirBuilder::new().mode(0o700).recursive(true).create(path).map_err(io)?;
    let metadata = std::fs::metadata(path).map_err(io)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
        return Err(DataDirError::NotPrivate { path: path.to_owned() });
    }
    if metadata.mode() & 0o077 != 0 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(io)?;
    }
    Ok(())
}

/// Opens or makes a file that only this user may read and write.
pub(crate) fn private_file(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn one_process_at_a_time_and_nobody_else() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("a/b");
        let first = DataDir::lock(&root).unwrap();
        assert_eq!((mode(&root), mode(&root.join("sessions")), mode(&root.join("lock"))), (0o700, 0o700, 0o600));
        let error = DataDir::lock(&root).unwrap_err();
        let own = std::process::id();
        assert!(matches!(error, DataDirError::InUse { process: Some(pid), .. } if pid == own), "{error}");
        assert!(error.to_string().contains("--data-dir"), "{error}");
        drop(first);
        DataDir::lock(&root).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_refused_and_one_they_may_read_is_closed() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("open");
        std::fs::create_dir(&root).unwrap();
        for (open, refused) in [(0o777, true), (0o755, false)] {
            std::fs::set_permissions(&root, std::fs::Permissions::from_mode(open)).unwrap();
            assert_eq!(DataDir::lock(&root).is_err(), refused, "{open:o}");
        }
        assert_eq!(mode(&root), 0o700);
        let file = parent.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(matches!(DataDir::lock(&file), Err(DataDirError::Io { .. })));
    }

    #[test]
    fn only_what_is_wanted_stays() {
        let parent = tempfile::tempdir().unwrap();
        let directory = DataDir::lock(parent.path()).unwrap();
        for name in ["keep.session", "old.session", ".tmpAbC"] {
            std::fs::write(directory.image(name), "").unwrap();
        }
        directory.clean(|name| name == "keep.session").unwrap();
        let left: Vec<_> =
            std::fs::read_dir(directory.image("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["keep.session"]);
        directory.remove_image("gone.session");
    }
}
