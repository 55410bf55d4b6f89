//! The directory that sessions are kept in: private to its user, and shared by the servers of that user.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;

use super::id::SessionId;

/// Directory of the files of sessions, in the data directory.
const SESSIONS: &str = "sessions";
/// Directory of the leases, in the data directory.
const LEASES: &str = "leases";
/// Directory of the sockets of the servers, in the data directory.
const SERVERS: &str = "servers";

/// Ending of a sleeping session's name.
const SUFFIX: &str = ".session";

/// What stands behind [`DataDir::will_name`] in the names of the files of a will, in the order in which they are removed.
const WILL_FILES: [&str; 4] = ["", ".will", ".will-1", ".will-0"];

/// Why a data directory cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataDirError {
    /// Other processes use it, and this one needs it alone; or one of them has it alone.
    #[error(
        "the data directory {} is in use by {}; stop it first, or choose another directory with --data-dir",
        path.display(),
        name_processes(processes)
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The processes, as far as they are known.
        processes: Vec<u32>,
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

/// Names processes in a sentence.
fn name_processes(processes: &[u32]) -> String {
    match processes {
        [] => "another Brumate".to_owned(),
        [one] => format!("another Brumate (process {one})"),
        all => {
            let all: Vec<String> = all.iter().map(u32::to_string).collect();
            format!("other Brumates (processes {})", all.join(", "))
        }
    }
}

/// A data directory. This process uses it as long as the value lives, if it was opened by [`DataDir::share`] or
/// [`DataDir::lock`].
#[derive(Debug)]
pub(crate) struct DataDir {
    root: PathBuf,
    images: PathBuf,
    lock: Option<File>,
}

impl DataDir {
    /// Makes the directory if there is none, and uses it beside other servers. A process that is the first has it alone
    /// until [`DataDir::admit_others`], and may prepare what is in it; true then.
    ///
    /// # Errors
    ///
    /// [`DataDirError::InUse`] when another process has it alone, [`DataDirError::NotPrivate`], [`DataDirError::Io`].
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

    /// Makes the directory if there is none, and takes it for this process alone.
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
        // For the message above only: the lock is what counts.
        let note = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
        note.map_err(io)?;
        Ok(Self::at(root, Some(file)))
    }

    fn at(root: &Path, lock: Option<File>) -> Self {
        Self { root: root.to_owned(), images: root.join(SESSIONS), lock }
    }

    /// Lets other servers use the directory as well.
    ///
    /// # Errors
    ///
    /// When the system refuses, or another process took the directory for itself meanwhile.
    pub(crate) fn admit_others(&self) -> Result<(), DataDirError> {
        let Some(file) = &self.lock else { return Ok(()) };
        let io = |source| DataDirError::Io { path: self.root.clone(), source };
        file.set_len(0).map_err(io)?;
        if !lock_file(file, FlockOperation::NonBlockingLockShared).map_err(io)? {
            return Err(DataDirError::InUse { path: self.root.clone(), processes: users(&self.root) });
        }
        Ok(())
    }

    /// Returns the directory of the leases, which has a file for each session that a server has.
    pub(crate) fn leases(&self) -> PathBuf {
        self.root.join(LEASES)
    }

    /// Returns the directory of the sockets of the servers that use this data directory.
    pub(crate) fn servers(&self) -> PathBuf {
        self.root.join(SERVERS)
    }

    /// The directory as another process may have it: to look, not to touch. `None` when there is none.
    pub(crate) fn look(root: &Path) -> Option<Self> {
        let directory = Self::at(root, None);
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

    /// Returns the names of the files of sessions, half-written ones included.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub(crate) fn files(&self) -> std::io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.images)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    /// Returns the session that a file belongs to; `None` for a file that is half written.
    pub(crate) fn session_of(name: &str) -> Option<SessionId> {
        SessionId::parse(name.get(..SessionId::LENGTH)?).filter(|_| name.contains(SUFFIX))
    }

    /// Removes every file of a session that `keep` does not want, half-written ones included.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub(crate) fn clean(&self, keep: impl Fn(&str) -> bool) -> std::io::Result<()> {
        for name in self.files()?.iter().filter(|name| !keep(name)) {
            self.remove_image(name);
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
        // One that has it alone, or of a version before there were several.
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

/// Reads the process from the name of a server's socket.
pub(crate) fn process_of(name: &str) -> Option<u32> {
    name.split_once('-')?.0.parse().ok()
}

/// Locks a file, or changes the lock that this process has on it. Returns false when other processes have it locked.
///
/// # Errors
///
/// When the system refuses.
pub(crate) fn lock_file(file: &File, operation: FlockOperation) -> std::io::Result<bool> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
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
    fn one_process_alone_or_several_together() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("a/b");
        let first = DataDir::lock(&root).unwrap();
        assert_eq!((mode(&root), mode(&root.join("sessions")), mode(&root.join("lock"))), (0o700, 0o700, 0o600));
        let own = std::process::id();
        for error in [DataDir::lock(&root).unwrap_err(), DataDir::share(&root).unwrap_err()] {
            assert!(matches!(&error, DataDirError::InUse { processes, .. } if *processes == [own]), "{error}");
            assert!(error.to_string().contains("--data-dir"), "{error}");
        }
        drop(first);
        let (first, alone) = DataDir::share(&root).unwrap();
        assert!(alone && DataDir::share(&root).is_err());
        first.admit_others().unwrap();
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
            std::fs::write(directory.image(name), "").unwrap();
        }
        directory.clean(|name| name == "keep.session").unwrap();
        let left: Vec<_> =
            std::fs::read_dir(directory.image("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["keep.session"]);
        directory.remove_image("gone.session");
    }
}
