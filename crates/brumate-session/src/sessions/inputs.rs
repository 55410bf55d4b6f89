//! Input directories: directories of the host from which files may be copied into sessions by name.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brumate_engine_api::FileError;
use brumate_setting::Setting;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::error::SessionError;
use super::limits::CHUNK_BYTES;

/// Most bytes of a file name in an input directory.
const MAX_NAME_BYTES: usize = 4096;
/// Attempts to open a path that is being moved.
const ATTEMPTS: usize = 8;

/// Error when an input directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputDirError {
    /// The directory cannot be opened.
    #[error("the input directory {path} cannot be opened: {reason}")]
    Open {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        reason: Errno,
    },
    /// Two directories have the same name, or both have none.
    #[error(
        "two input directories are called {0:?}; give each a name of its own: {example}",
        example = Setting::InputDir.with("NAME=DIR")
    )]
    SameName(String),
}

/// Input directories of a server. They are opened once: a directory that later takes the same path is not read.
#[derive(Clone, Default)]
pub struct InputDirs {
    /// Names and directories. The empty name is that of the directory that needs none.
    directories: Arc<Vec<(String, OwnedFd)>>,
}

impl fmt::Debug for InputDirs {
    /// Shows the names only, not the host's paths.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.names()).finish()
    }
}

/// Open file of an input directory.
#[derive(Debug)]
pub struct InputFile {
    file: File,
    /// Unread bytes; at first the size of the file when it was opened.
    pub size: u64,
}

impl InputDirs {
    /// Opens directories, given as pairs of a name and a path. One name may be empty: its files are named without a
    /// prefix.
    ///
    /// # Errors
    ///
    /// [`InputDirError`] for the first directory that cannot be opened, and for equal names.
    pub fn open<'a>(directories: impl IntoIterator<Item = (&'a str, &'a Path)>) -> Result<Self, InputDirError> {
        let mut opened: Vec<(String, OwnedFd)> = Vec::new();
        for (name, path) in directories {
            if opened.iter().any(|(known, _)| known == name) {
                return Err(InputDirError::SameName(name.to_owned()));
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let directory = rustix::fs::open(path, flags, Mode::empty())
                .map_err(|reason| InputDirError::Open { path: path.to_path_buf(), reason })?;
            opened.push((name.to_owned(), directory));
        }
        Ok(Self { directories: Arc::new(opened) })
    }

    /// Returns whether there are no directories.
    pub fn is_empty(&self) -> bool {
        self.directories.is_empty()
    }

    /// Returns the names. The empty name is that of the directory that needs none.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.directories.iter().map(|(name, _)| name.as_str())
    }

    /// Opens a file by name: `NAME/path` below the directory with that name, else the path below the directory without
    /// a name. Neither `..` nor links lead out of the directory. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// [`SessionError::Input`] when the file does not exist or cannot be opened.
    pub fn open_file(&self, name: &str) -> Result<InputFile, SessionError> {
        let refused = |error| SessionError::Input { name: name.escape_debug().take(80).collect(), error };
        let (directory, path) = self.find(name).ok_or_else(|| refused(FileError::NotFound))?;
        if path.is_empty() || path.len() > MAX_NAME_BYTES || path.contains('\0') {
            return Err(refused(FileError::NotFound));
        }
        let file = File::from(open_beneath(directory, path).map_err(|errno| refused(file_error(errno)))?);
        let metadata = file.metadata().map_err(|_| refused(FileError::NotFound))?;
        if !metadata.is_file() {
            return Err(refused(FileError::NotAFile));
        }
        Ok(InputFile { file, size: metadata.len() })
    }

    fn find<'a>(&self, name: &'a str) -> Option<(&OwnedFd, &'a str)> {
        let directory = |wanted: &str| self.directories.iter().find(|(known, _)| known == wanted).map(|(_, fd)| fd);
        if let Some((first, rest)) = name.split_once('/')
            && !first.is_empty()
            && let Some(found) = directory(first)
        {
            return Some((found, rest));
        }
        directory("").map(|found| (found, name))
    }
}

/// Opens a file for reading without blocking on pipes. The caller checks that it is a regular file.
fn open_beneath(directory: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mut last = Errno::AGAIN;
    for _ in 0..ATTEMPTS {
        match openat2(directory, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => last = Errno::AGAIN,
            opened => return opened,
        }
    }
    Err(last)
}

fn file_error(errno: Errno) -> FileError {
    match errno {
        // Paths outside count as missing, whether they exist or not.
        Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP | Errno::NAMETOOLONG | Errno::INVAL => {
            FileError::NotFound
        }
        Errno::NXIO | Errno::ISDIR => FileError::NotAFile,
        Errno::ACCESS | Errno::PERM => FileError::Other("the server may not read it".to_owned()),
        other => FileError::Other(other.to_string()),
    }
}

impl InputFile {
    /// Reads the next piece in a blocking thread; empty at the end.
    ///
    /// # Errors
    ///
    /// An I/O error.
    #[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
    pub(crate) async fn next(&mut self) -> std::io::Result<Vec<u8>> {
        let file = self.file.try_clone()?;
        let room = self.size.min(CHUNK_BYTES);
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = Vec::new();
            file.take(room).read_to_end(&mut piece).map(|_| piece)
        });
        let piece = read.await.map_err(std::io::Error::other)??;
        self.size = self.size.saturating_sub(piece.len() as u64);
        Ok(piece)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_files_within_are_found() {
        let place = tempfile::tempdir().unwrap();
        let (inside, other) = (place.path().join("in"), place.path().join("other"));
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(place.path().join("secret"), "s").unwrap();
        fs::write(inside.join("a.csv"), "1,2\n").unwrap();
        fs::write(inside.join("sub/b.csv"), "12345").unwrap();
        fs::write(other.join("a.csv"), "other").unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        symlink(place.path().join("secret"), inside.join("absolute")).unwrap();
        symlink("sub/b.csv", inside.join("link")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, inside.join("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        let inputs = InputDirs::open([("", inside.as_path()), ("o", other.as_path())]).unwrap();
        for (name, size) in [("a.csv", 4), ("sub/b.csv", 5), ("link", 5), ("sub/../a.csv", 4), ("o/a.csv", 5)] {
            assert_eq!(inputs.open_file(name).unwrap().size, size, "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "/",
            "sub",
            "sub/",
            "up",
            "up/secret",
            "out",
            "absolute",
            "loop",
            "pipe",
            "../secret",
            "sub/../../secret",
            "/etc/passwd",
            "//etc/passwd",
            "o/../in/a.csv",
            "o/",
            "o",
            "a.csv\0",
            "a.csv/",
            "/proc/self/environ",
            "none",
            "..\\secret",
            "%2e%2e/secret",
        ] {
            let error = inputs.open_file(name).unwrap_err();
            assert!(matches!(error, SessionError::Input { .. }), "{name}: {error}");
            assert!(!error.to_string().contains(place.path().to_str().unwrap()), "{error}");
        }
        let long = "x/".repeat(10_000);
        assert!(inputs.open_file(&long).unwrap_err().to_string().len() < 300);
        // A directory that later takes the same path is not read.
        fs::rename(&inside, place.path().join("moved")).unwrap();
        symlink("/etc", &inside).unwrap();
        assert!(inputs.open_file("passwd").is_err());
        assert!(inputs.open_file("a.csv").is_ok());
    }

    #[test]
    fn names_are_told_apart() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path();
        assert!(matches!(InputDirs::open([("", path), ("", path)]), Err(InputDirError::SameName(_))));
        assert!(matches!(InputDirs::open([("a", path.join("none").as_path())]), Err(InputDirError::Open { .. })));
        assert!(InputDirs::default().open_file("a").is_err());
    }
}
