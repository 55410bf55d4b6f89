//! Data directory of sessions: private to its user, and shared by the servers of that user.

mod error;
mod files;
mod private;
mod reserve;

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::file_store::FileStore;
use super::id::SessionId;
pub use error::DataDirError;
pub(crate) use files::DirectoryFiles;
use private::private_directory;
pub(crate) use private::{lock_file, private_file};

/// Directory of session files, in the data directory.
const SESSIONS: &str = "sessions";
/// Directory of leases, in the data directory.
const LEASES: &str = "leases";
/// Directory of server sockets, in the data directory.
const SERVERS: &str = "servers";

/// Extension of session files.
const SUFFIX: &str = ".session";

/// Suffix of [`DataDir::private_image_name`], after the suffix of session files.
const PRIVATE_IMAGE: &str = ".image";

/// Suffixes of [`DataDir::crash_snapshot_name`] for the files of a crash snapshot, in the order in which they are
/// removed.
const CRASH_SNAPSHOT_SUFFIXES: [&str; 4] = ["", ".will", ".will-1", ".will-0"];

/// Data directory. If it was opened by [`DataDir::share`] or [`DataDir::lock`], this process uses it until the value
/// is dropped.
#[derive(Debug)]
pub(crate) struct DataDir {
    root: PathBuf,
    files: DirectoryFiles,
    lock: Option<File>,
}

impl DataDir {
    /// Opens the directory together with other servers, and makes it if it does not exist. Returns true to the first
    /// process, which has the directory exclusively until [`DataDir::allow_others`] and may prepare it.
    ///
    /// # Errors
    ///
    /// [`DataDirError::InUse`] when another process has it exclusively, [`DataDirError::NotPrivate`],
    /// [`DataDirError::Io`].
    pub(crate) fn share(root: &Path) -> Result<(Self, bool), DataDirError> {
        match Self::lock(root) {
            Ok(directory) => Ok((directory, true)),
            Err(DataDirError::InUse { processes, .. }) => {
                let io = |source| DataDirError::Io { path: root.to_owned(), source };
                let file = private_file(&root.join("lock")).map_err(io)?;
                if !lock_file(&file, FlockOperation::NonBlockingLockShared).map_err(io)? {
                    return Err(DataDirError::InUse { path: root.to_owned(), processes });
                }
                Ok((Self::at(root, Some(file)), false))
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the directory exclusively, and makes it if it does not exist.
    ///
    /// # Errors
    ///
    /// [`DataDirError::InUse`] when another process uses it, [`DataDirError::NotPrivate`], [`DataDirError::Io`].
    pub(crate) fn lock(root: &Path) -> Result<Self, DataDirError> {
        let io = |source| DataDirError::Io { path: root.to_owned(), source };
        private_directory(root, root)?;
        for name in [SESSIONS, LEASES, SERVERS] {
            private_directory(root, &root.join(name))?;
        }
        let mut file = private_file(&root.join("lock")).map_err(io)?;
        if !lock_file(&file, FlockOperation::NonBlockingLockExclusive).map_err(io)? {
            return Err(DataDirError::InUse { path: root.to_owned(), processes: users(root) });
        }
        // The process id is for error messages only; a full disk may refuse it.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self::at(root, Some(file)))
    }

    /// Names a directory, which `lock` keeps in use.
    pub(crate) fn at(root: &Path, lock: Option<File>) -> Self {
        Self { root: root.to_owned(), files: DirectoryFiles::new(&root.join(SESSIONS)), lock }
    }

    /// Allows other servers to use the directory as well.
    ///
    /// # Errors
    ///
    /// [`DataDirError::Io`]; [`DataDirError::InUse`] when another process took the directory exclusively meanwhile.
    pub(crate) fn allow_others(&self) -> Result<(), DataDirError> {
        let Some(file) = &self.lock else { return Ok(()) };
        let io = |source| DataDirError::Io { path: self.root.clone(), source };
        file.set_len(0).map_err(io)?;
        if !lock_file(file, FlockOperation::NonBlockingLockShared).map_err(io)? {
            return Err(DataDirError::InUse { path: self.root.clone(), processes: users(&self.root) });
        }
        Ok(())
    }

    /// Returns the directory of leases, which has a file for each session that a server owns.
    pub(crate) fn leases(&self) -> PathBuf {
        self.root.join(LEASES)
    }

    /// Returns the directory of the sockets of the servers that use this data directory.
    pub(crate) fn servers(&self) -> PathBuf {
        self.root.join(SERVERS)
    }

    /// Opens the directory read-only, also while other processes use it. `None` if it has no registry.
    pub(crate) fn open_read_only(root: &Path) -> Option<Self> {
        let directory = Self::at(root, None);
        directory.registry().is_file().then_some(directory)
    }

    /// Opens an empty directory as [`DataDir::lock`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`DataDir::lock`]; [`DataDirError::NotEmpty`].
    pub(crate) fn lock_empty(root: &Path) -> Result<Self, DataDirError> {
        Self::check_empty(root)?;
        Self::lock(root)
    }

    /// Checks that a directory is empty or does not exist.
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

    /// Syncs the list of files to disk.
    ///
    /// # Errors
    ///
    /// An I/O error.
    pub(crate) fn sync(&self) -> std::io::Result<()> {
        File::open(self.file(""))?.sync_all()?;
        File::open(&self.root)?.sync_all()
    }

    /// Removes the registry and the files that SQLite keeps beside it.
    ///
    /// # Errors
    ///
    /// An I/O error.
    pub(crate) fn remove_registry(&self) -> std::io::Result<()> {
        for suffix in ["", "-wal", "-shm"] {
            match std::fs::remove_file(self.root.join(format!("sessions.sqlite{suffix}"))) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the path of the registry.
    pub(crate) fn registry(&self) -> PathBuf {
        self.root.join("sessions.sqlite")
    }

    /// Returns the store that keeps session files in this directory.
    pub(crate) fn store(&self) -> DirectoryFiles {
        self.files.clone()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the name of the file that holds a generation of a session's state.
    pub(crate) fn state_file_name(id: &SessionId, generation: u64) -> String {
        format!("{id}-{generation}{SUFFIX}")
    }

    /// Returns the name of the file that a session's crash snapshot becomes. No other file has this name.
    pub(crate) fn crash_snapshot_name(id: &SessionId) -> String {
        format!("{id}{SUFFIX}")
    }

    /// Returns the path of the image that came with a session from a snapshot or a backup: only that session uses it.
    pub(crate) fn private_image(&self, id: &SessionId) -> PathBuf {
        self.file(&Self::private_image_name(id))
    }

    /// Returns the file name of [`DataDir::private_image`].
    pub(crate) fn private_image_name(id: &SessionId) -> String {
        format!("{id}{SUFFIX}{PRIVATE_IMAGE}")
    }

    /// Returns the path of the image that came with a session, if there is one.
    pub(crate) fn existing_private_image(&self, id: &SessionId) -> Option<PathBuf> {
        Some(self.private_image(id)).filter(|path| path.is_file())
    }

    /// Returns whether a session has left a crash snapshot, or a file that was made of one.
    pub(crate) fn has_crash_snapshot(&self, id: &SessionId) -> bool {
        let name = Self::crash_snapshot_name(id);
        self.file(&format!("{name}.will")).is_file() || self.file(&name).is_file()
    }

    /// Returns the size of the session file that a crash snapshot is, or will become.
    pub(crate) fn crash_snapshot_bytes(&self, id: &SessionId) -> u64 {
        let name = Self::crash_snapshot_name(id);
        let size =
            |beside: &str| std::fs::metadata(self.file(&format!("{name}{beside}"))).map_or(0, |found| found.len());
        // One of the two is in use.
        size("").max(size(".will-0")).max(size(".will-1"))
    }

    /// Returns the names of a crash snapshot's files that exist.
    pub(crate) fn crash_snapshot_files(&self, id: &SessionId) -> Vec<String> {
        let name = Self::crash_snapshot_name(id);
        let all = CRASH_SNAPSHOT_SUFFIXES.iter().map(|beside| format!("{name}{beside}"));
        all.filter(|name| self.file(name).is_file()).collect()
    }

    /// Returns the path of a session file.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.files.path(name)
    }

    /// Removes a session file. A file that cannot be removed is removed at the next start.
    pub(crate) fn remove_file(&self, name: &str) {
        self.files.remove(name);
    }

    /// Removes a session's crash snapshot.
    pub(crate) fn remove_crash_snapshot(&self, id: &SessionId) {
        let name = Self::crash_snapshot_name(id);
        for beside in CRASH_SNAPSHOT_SUFFIXES {
            self.remove_file(&format!("{name}{beside}"));
        }
    }

    /// Returns the names of all session files, incomplete ones included.
    ///
    /// # Errors
    ///
    /// An I/O error when the directory cannot be read.
    pub(crate) fn files(&self) -> std::io::Result<Vec<String>> {
        self.files.names()
    }

    /// Returns the session that a file belongs to; `None` for an incomplete file.
    pub(crate) fn session_of(name: &str) -> Option<SessionId> {
        SessionId::parse(name.get(..SessionId::LENGTH)?).filter(|_| name.contains(SUFFIX))
    }

    /// Removes all session files for which `keep` is false, incomplete ones included.
    ///
    /// # Errors
    ///
    /// An I/O error when the directory cannot be read.
    pub(crate) fn clean(&self, keep: impl Fn(&str) -> bool) -> std::io::Result<()> {
        for name in self.files()?.iter().filter(|name| !keep(name)) {
            self.remove_file(name);
        }
        Ok(())
    }
}

/// Returns the processes that use a data directory, as far as they are known.
#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
pub(crate) fn users(root: &Path) -> Vec<u32> {
    let servers = std::fs::read_dir(root.join(SERVERS)).into_iter().flatten().flatten();
    let mut processes: Vec<u32> =
        servers.filter_map(|entry| process_of(entry.file_name().to_str()?)).filter(|pid| is_process(*pid)).collect();
    if processes.is_empty() {
        // A process that has it exclusively, or one of a version that could not share it.
        let mut owner = String::new();
        let read = File::open(root.join("lock")).and_then(|lock| lock.take(32).read_to_string(&mut owner));
        processes.extend(read.ok().and_then(|_| owner.trim().parse::<u32>().ok()));
    }
    processes.sort_unstable();
    processes
}

fn is_process(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Reads the process id from the name of a server's socket.
pub(crate) fn process_of(name: &str) -> Option<u32> {
    name.split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn one_process_alone_or_several_together() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("a/b");
        let first = DataDir::lock(&root).unwrap();
        assert_eq!((mode(&root), mode(&root.join("sessions")), mode(&root.join("lock"))), (0o700, 0o700, 0o600));
        let own = std::process::id();
        for error in [DataDir::lock(&root).unwrap_err(), DataDir::share(&root).unwrap_err()] {
            assert!(matches!(&error, DataDirError::InUse { processes, .. } if *processes == [own]), "{error}");
            assert!(error.to_string().contains("`data_dir`"), "{error}");
        }
        drop(first);
        let (first, alone) = DataDir::share(&root).unwrap();
        assert!(alone && DataDir::share(&root).is_err());
        first.allow_others().unwrap();
        let (second, alone) = DataDir::share(&root).unwrap();
        assert!(!alone && DataDir::lock(&root).is_err());
        drop((first, second));
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
            std::fs::write(directory.file(name), "").unwrap();
        }
        directory.clean(|name| name == "keep.session").unwrap();
        let left: Vec<_> =
            std::fs::read_dir(directory.file("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["keep.session"]);
        directory.remove_file("gone.session");
    }
}
