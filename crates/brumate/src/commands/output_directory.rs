//! Copies the files of a script to the directory of `--output-dir`.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use brumate_session::FileSink;

/// Working directory of scripts in the sandbox.
const SCRIPT_DIRECTORY: &str = "/home/user/";

/// A directory of the host that files are copied to. Symbolic links below it are not followed: the script chooses the names, and a
/// link could lead anywhere. An existing file is replaced when its copy is complete.
#[derive(Debug)]
pub(super) struct OutputDirectory {
    root: PathBuf,
    /// The copy that was begun and not finished.
    copy: Option<FileCopy>,
}

/// An unfinished copy of a file.
#[derive(Debug)]
struct FileCopy {
    file: File,
    temporary: PathBuf,
    target: PathBuf,
}

impl OutputDirectory {
    /// Creates the directory if it does not exist.
    ///
    /// # Errors
    ///
    /// The directory cannot be created.
    pub(super) fn new(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root)?;
        Ok(Self { root: std::path::absolute(root)?, copy: None })
    }

    /// Returns the target of a copy. Creates its parent directories.
    fn target(&self, path: &str) -> io::Result<PathBuf> {
        let relative = path.strip_prefix(SCRIPT_DIRECTORY).unwrap_or(path.trim_start_matches('/'));
        let mut parts: Vec<&str> = relative.split('/').collect();
        if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return Err(Error::new(ErrorKind::InvalidInput, "the path has empty parts, `.` or `..`"));
        }
        let name = parts.pop().unwrap_or_default();
        let mut target = self.root.clone();
        for part in parts {
            target.push(part);
            match fs::symlink_metadata(&target) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => return Err(conflict(&target, "is not a directory")),
                Err(error) if error.kind() == ErrorKind::NotFound => fs::create_dir(&target)?,
                Err(error) => return Err(error),
            }
        }
        target.push(name);
        match fs::symlink_metadata(&target) {
            Ok(found) if !found.is_file() => Err(conflict(&target, "exists and is not a regular file")),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(target),
        }
    }
}

impl FileSink for OutputDirectory {
    fn begin(&mut self, path: &str) -> io::Result<()> {
        let target = self.target(path)?;
        let temporary = temporary_name(&target);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        self.copy = Some(FileCopy { file, temporary, target });
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.copy {
            Some(copy) => copy.file.write_all(bytes),
            None => Err(Error::other("no copy was begun")),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let Some(copy) = &self.copy else { return Err(Error::other("no copy was begun")) };
        fs::rename(&copy.temporary, &copy.target)?;
        self.copy = None;
        Ok(())
    }
}

impl Drop for OutputDirectory {
    fn drop(&mut self) {
        if let Some(copy) = self.copy.take() {
            let _ = fs::remove_file(copy.temporary);
        }
    }
}

/// Returns a temporary name in the directory of `target`, unique to this process.
fn temporary_name(target: &Path) -> PathBuf {
    let mut name = OsString::from(format!(".brumate-{}-", std::process::id()));
    // The name is shortened: with the prefix it could exceed the limit of the file system.
    name.push(target.file_name().unwrap_or_default().to_string_lossy().chars().take(60).collect::<String>());
    target.with_file_name(name)
}

/// Returns the error for an existing file that is in the way.
fn conflict(path: &Path, reason: &str) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("{} {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(sink: &mut OutputDirectory, path: &str, content: &str) -> io::Result<()> {
        sink.begin(path)?;
        sink.write(content.as_bytes())?;
        sink.finish()
    }

    #[test]
    fn files_are_copied_by_their_paths() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("new/out");
        let mut sink = OutputDirectory::new(&root).unwrap();
        for (path, place) in [("/home/user/a.csv", "a.csv"), ("/home/user/d/b", "d/b"), ("/tmp/c", "tmp/c")] {
            copy(&mut sink, path, "first").unwrap();
            copy(&mut sink, path, path).unwrap();
            assert_eq!(fs::read_to_string(root.join(place)).unwrap(), path);
        }
        sink.begin("/home/user/half").unwrap();
        drop(sink);
        let mut names: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a.csv", "d", "tmp"]);
    }

    #[test]
    fn nothing_is_written_through_links() {
        let directory = tempfile::tempdir().unwrap();
        let (root, outside) = (directory.path().join("out"), directory.path().join("outside"));
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "mine").unwrap();
        let mut sink = OutputDirectory::new(&root).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
        std::os::unix::fs::symlink(outside.join("file"), root.join("file")).unwrap();
        for path in
            ["/home/user/link/file", "/home/user/link/new", "/home/user/file", "/home/user/../x", "/home/user//x"]
        {
            let error = copy(&mut sink, path, "theirs").unwrap_err();
            assert!(!error.to_string().is_empty(), "{path}");
        }
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "mine");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }
}
