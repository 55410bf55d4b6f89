//! The files of a session, read and written by the server through a descriptor of their directory.
//!
//! The code in the jail changes the same directory meanwhile: it can put links to files of the host there, pipes that nobody writes to,
//! and trees without end. So no path is resolved outside of the directory, nothing but regular files is opened, and each walk has an end.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use brumate_engine_api::{EngineError, FileChunk, FileError, FileInfo, MAX_FILE_CHUNK, MAX_LISTED_FILES};
use brumate_jail::native::WORKSPACE;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

/// Deepest directory that a listing enters.
const MAX_DEPTH: usize = 64;
/// Directories and other files that a listing passes before it gives up.
const MAX_ENTRIES: usize = 200_000;

/// The directory of a session's files. Clones are the same directory.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    root: Arc<OwnedFd>,
    /// User and group of the code in the jail.
    owner: (u32, u32),
}

impl Directory {
    pub(crate) fn new(root: OwnedFd, owner: (u32, u32)) -> Self {
        Self { root: Arc::new(root), owner }
    }

    /// Runs a piece of work with files on a thread that may wait.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let directory = self.clone();
        match tokio::task::spawn_blocking(move || work(&directory)).await {
            Ok(result) => result,
            Err(error) => Err(EngineError::Io(io::Error::other(error).into())),
        }
    }

    /// Lists the regular files below `path`, without hidden ones.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<FileInfo>, EngineError> {
        let Some(path) = inside(path) else { return Ok(Vec::new()) };
        self.blocking(move |directory| {
            let mut walk = Walk { files: Vec::new(), entries: 0 };
            match directory.open(&path, OFlags::RDONLY | OFlags::DIRECTORY) {
                Ok(root) => walk.enter(root, "", 0)?,
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) => return Err(file_error(errno)),
            }
            walk.files.sort_by(|a, b| a.path.cmp(&b.path));
            Ok(walk.files)
        })
        .await
    }

    /// Reads a piece of a file.
    pub(crate) async fn read(&self, path: &str, offset: u64, length: u64) -> Result<FileChunk, EngineError> {
        let path = inside(path).ok_or(EngineError::File(FileError::NotFound))?;
        self.blocking(move |directory| {
            let (file, stat) = directory.open_file(&path, OFlags::RDONLY)?;
            let length = usize::try_from(length).unwrap_or(usize::MAX).min(MAX_FILE_CHUNK);
            let mut bytes = vec![0; length];
            let mut filled = 0;
            while filled < length {
                let at = offset.saturating_add(filled as u64);
                match rustix::io::pread(&file, &mut bytes[filled..], at).map_err(file_error)? {
                    0 => break,
                    count => filled += count,
                }
            }
            bytes.truncate(filled);
            Ok(FileChunk { bytes, size: u64::try_from(stat.st_size).unwrap_or_default() })
        })
        .await
    }

    /// Writes a piece of a file.
    pub(crate) async fn write(
        &self,
        path: &str,
        offset: u64,
        bytes: Vec<u8>,
        truncate: bool,
    ) -> Result<(), EngineError> {
        let path = inside(path).ok_or_else(outside)?;
        self.blocking(move |directory| {
            directory.make_parents(&path)?;
            let is_new = matches!(directory.open(&path, OFlags::PATH), Err(Errno::NOENT));
            let (file, _) = directory.open_file(&path, OFlags::WRONLY | OFlags::CREATE)?;
            if is_new {
                directory.give(file.as_fd())?;
            }
            let mut written = 0;
            while written < bytes.len() {
                let at = offset.saturating_add(written as u64);
                written += rustix::io::pwrite(&file, &bytes[written..], at).map_err(file_error)?;
            }
            if truncate {
                rustix::fs::ftruncate(&file, offset.saturating_add(bytes.len() as u64)).map_err(file_error)?;
            }
            Ok(())
        })
        .await
    }

    /// Removes a file.
    pub(crate) async fn remove(&self, path: &str) -> Result<(), EngineError> {
        let path = inside(path).ok_or(EngineError::File(FileError::NotFound))?;
        self.blocking(move |directory| {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", &path));
            let parent = directory.open(parent, OFlags::PATH | OFlags::DIRECTORY).map_err(file_error)?;
            let stat = rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(file_error)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                return Err(EngineError::File(FileError::NotAFile));
            }
            rustix::fs::unlinkat(&parent, name, AtFlags::empty()).map_err(file_error)
        })
        .await
    }

    /// Opens a path below the directory, and nothing outside of it.
    fn open(&self, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let path = if path.is_empty() { "." } else { path };
        let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o644) } else { Mode::empty() };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        rustix::fs::openat2(&*self.root, path, flags, mode, resolve)
    }

    /// Opens a regular file. A pipe is not waited for.
    fn open_file(&self, path: &str, flags: OFlags) -> Result<(OwnedFd, Stat), EngineError> {
        let file = self.open(path, flags | OFlags::NONBLOCK).map_err(file_error)?;
        let stat = rustix::fs::fstat(&file).map_err(file_error)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file, stat)),
            _ => Err(EngineError::File(FileError::NotAFile)),
        }
    }

    fn make_parents(&self, path: &str) -> Result<(), EngineError> {
        for (end, _) in path.match_indices('/') {
            let (above, name) = path[..end].rsplit_once('/').unwrap_or(("", &path[..end]));
            let parent = self.open(above, OFlags::RDONLY | OFlags::DIRECTORY).map_err(file_error)?;
            match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
                Ok(()) => {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let made = rustix::fs::openat(&parent, name, flags, Mode::empty()).map_err(file_error)?;
                    self.give(made.as_fd())?;
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(file_error(errno)),
            }
        }
        Ok(())
    }

    /// Makes a file that the server has made the jail's own. A server without rights has the same user.
    fn give(&self, file: BorrowedFd<'_>) -> Result<(), EngineError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let (uid, gid) = self.owner;
        rustix::fs::fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))).map_err(file_error)
    }
}

/// Returns a path of the jail as one below the workspace. `None` for a path outside of it.
fn inside(path: &str) -> Option<String> {
    let rest = path.strip_prefix(WORKSPACE)?;
    let rest = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    (!parts.contains(&"..") && !rest.contains('\0')).then(|| parts.join("/"))
}

fn outside() -> EngineError {
    EngineError::File(FileError::Other(format!("it is not below {WORKSPACE}")))
}

fn file_error(errno: Errno) -> EngineError {
    EngineError::File(match errno {
        Errno::NOENT => FileError::NotFound,
        Errno::ISDIR | Errno::NOTDIR | Errno::NXIO => FileError::NotAFile,
        Errno::NOSPC | Errno::DQUOT => FileError::NoSpace,
        Errno::XDEV | Errno::LOOP => FileError::Other("it is a link out of the session's directory".to_owned()),
        errno => FileError::Other(io::Error::from(errno).to_string()),
    })
}

/// A walk through a tree.
struct Walk {
    files: Vec<FileInfo>,
    entries: usize,
}

impl Walk {
    fn enter(&mut self, directory: OwnedFd, path: &str, depth: usize) -> Result<(), EngineError> {
        let entries = Dir::read_from(&directory).map_err(file_error)?;
        for entry in entries {
            let entry = entry.map_err(file_error)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with('.') {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES || self.files.len() >= MAX_LISTED_FILES {
                let reason = format!("{WORKSPACE} has more than {MAX_LISTED_FILES} files; remove some");
                return Err(EngineError::File(FileError::Other(reason)));
            }
            let Ok(stat) = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => self.files.push(info(path, &stat)),
                FileType::Directory if depth < MAX_DEPTH => {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    if let Ok(inner) = rustix::fs::openat(&directory, name, flags, Mode::empty()) {
                        self.enter(inner, &path, depth + 1)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn info(path: String, stat: &Stat) -> FileInfo {
    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    let (modified, nanoseconds) = (stat.st_mtime as i64, stat.st_mtime_nsec as i64);
    // The time of the last change of the inode cannot be set.
    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    let changed = (stat.st_ctime as u64).wrapping_mul(1_000_000_000).wrapping_add(stat.st_ctime_nsec as u64);
    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    let inode = stat.st_ino as u64;
    FileInfo {
        path,
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        modified: modified.saturating_mul(1_000_000_000).saturating_add(nanoseconds),
        stamp: changed ^ inode.rotate_left(32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> (tempfile::TempDir, Directory) {
        let place = tempfile::tempdir().unwrap();
        let root = std::fs::File::open(place.path()).unwrap().into();
        let owner = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        (place, Directory::new(root, owner))
    }

    #[tokio::test]
    async fn files_are_written_listed_read_and_removed() {
        let (_place, directory) = directory();
        directory.write("/workspace/a/b.txt", 0, b"hello world".to_vec(), true).await.unwrap();
        directory.write("/workspace/a/b.txt", 6, b"W".to_vec(), true).await.unwrap();
        let listed = directory.list("/workspace").await.unwrap();
        assert_eq!(listed.iter().map(|file| (&file.path[..], file.size)).collect::<Vec<_>>(), [("a/b.txt", 7)]);
        let read = directory.read("/workspace/a/b.txt", 1, 100).await.unwrap();
        assert_eq!((&read.bytes[..], read.size), (&b"ello W"[..], 7));
        directory.remove("/workspace/a/b.txt").await.unwrap();
        assert_eq!(directory.remove("/workspace/a/b.txt").await, Err(EngineError::File(FileError::NotFound)));
    }

    #[tokio::test]
    async fn nothing_outside_is_reached() {
        let (place, directory) = directory();
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(secret.path(), place.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/", place.path().join("root")).unwrap();
        std::os::unix::fs::symlink("..", place.path().join("up")).unwrap();
        std::os::unix::fs::symlink("/proc/self/root", place.path().join("magic")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, place.path().join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        for path in ["link", "root/etc/passwd", "up/x", "magic/etc/passwd", "pipe", "../x", "a/../../x"] {
            let path = format!("/workspace/{path}");
            assert!(directory.read(&path, 0, 10).await.is_err(), "{path}");
            assert!(directory.write(&path, 0, b"x".to_vec(), true).await.is_err(), "{path}");
        }
        for path in ["/etc/passwd", "/workspaces/x", "workspace/x", ""] {
            assert!(directory.read(path, 0, 10).await.is_err(), "{path}");
            assert!(directory.write(path, 0, b"x".to_vec(), true).await.is_err(), "{path}");
        }
        assert_eq!(directory.list("/workspace").await.unwrap(), []);
        assert_eq!(secret.as_file().metadata().unwrap().len(), 0);
    }
}
