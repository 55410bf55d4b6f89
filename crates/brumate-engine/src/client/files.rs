//! The guest's files, as the server reads and writes them between cells.
//!
//! The machine does the work on its own file system; what it answers is judged here like everything that comes out of a jail.

use std::time::Duration;

use super::error::{Error, cut};
use super::machine::Machine;
use super::session::Session;
use super::stop::Interrupter;
use crate::api::{FileChunk, FileInfo, MAX_FILE_CHUNK, MAX_NEW_FILES};
use crate::wire::{FileReply, FileRequest, FromMachine, ToMachine};

/// Longest path, in bytes: what the guest's own calls accept.
const MAX_PATH: usize = 4095;

/// Longest a machine may take over one operation; listing a large granted directory asks the server about each file.
const FILES_TIMEOUT: Duration = Duration::from_secs(60);

impl Machine {
    /// Regular files below a guest directory, sorted by the bytes of their paths. Links are not followed; hidden files,
    /// `__pycache__` and names that are not UTF-8 are left out. A granted host directory is entered when it, or one in it, is
    /// asked for, not when it lies below `directory`.
    ///
    /// # Errors
    /// [`Error::File`] when there is no such directory, or more than [`crate::api::MAX_LISTED_FILES`] files are in it.
    /// Others when the machine has ended.
    pub async fn list_files(&mut self, directory: &str) -> Result<Vec<FileInfo>, Error> {
        let request = FileRequest::List { directory: checked(directory)? };
        let reply = self.ask_for_files(request, directory).await?;
        self.listing(directory, Ok(reply)).await
    }

    /// What the machine answered when it was asked for the files below `directory`.
    ///
    /// # Errors
    /// As [`Machine::list_files`].
    pub(super) async fn listing(
        &mut self,
        directory: &str,
        reply: Result<FileReply, String>,
    ) -> Result<Vec<FileInfo>, Error> {
        match reply {
            Ok(FileReply::List(files)) if is_listing(&files) => Ok(files),
            Ok(FileReply::List(_)) => Err(self.misbehaved("a listing of files that cannot be").await),
            Ok(_) => Err(self.misbehaved("an answer to another question").await),
            Err(reason) => Err(refused(directory, cut(reason))),
        }
    }

    /// At most `length` bytes, and never more than [`MAX_FILE_CHUNK`], of a regular guest file, from `offset` on.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be read. Others when the machine has ended.
    pub async fn read_file(&mut self, path: &str, offset: u64, length: usize) -> Result<FileChunk, Error> {
        let length = length.min(MAX_FILE_CHUNK);
        let request = FileRequest::Read { path: checked(path)?, offset, length: length as u32 };
        match self.ask_for_files(request, path).await? {
            FileReply::Read(chunk) if is_piece(&chunk, offset, length) => Ok(chunk),
            FileReply::Read(_) => Err(self.misbehaved("a piece of a file that cannot be").await),
            _ => Err(self.misbehaved("an answer to another question").await),
        }
    }

    /// Writes `bytes`, at most [`MAX_FILE_CHUNK`], at `offset` of a guest file, as the guest itself could: under its quota,
    /// into granted directories if they may be changed. With `truncate` the file ends behind them. The file and the
    /// directories above it are made.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be written; a part may have been. Others when the machine has ended.
    pub async fn write_file(&mut self, path: &str, offset: u64, bytes: Vec<u8>, truncate: bool) -> Result<(), Error> {
        if bytes.len() > MAX_FILE_CHUNK {
            return Err(refused(path, format!("more than {MAX_FILE_CHUNK} bytes at once")));
        }
        self.change_files(FileRequest::Write { path: checked(path)?, offset, bytes, truncate }, path).await
    }

    /// Removes a guest file, or a link.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be removed. Others when the machine has ended.
    pub async fn remove_file(&mut self, path: &str) -> Result<(), Error> {
        self.change_files(FileRequest::Remove { path: checked(path)? }, path).await
    }

    /// Removes everything in a guest directory. Granted host directories below it stay as they are.
    ///
    /// # Errors
    /// [`Error::File`] when something cannot be removed; the rest may have been. Others when the machine has ended.
    pub async fn remove_tree(&mut self, directory: &str) -> Result<(), Error> {
        self.change_files(FileRequest::RemoveTree { directory: checked(directory)? }, directory).await
    }

    async fn change_files(&mut self, request: FileRequest, path: &str) -> Result<(), Error> {
        match self.ask_for_files(request, path).await? {
            FileReply::Done => Ok(()),
            _ => Err(self.misbehaved("an answer to another question").await),
        }
    }

    async fn ask_for_files(&mut self, request: FileRequest, path: &str) -> Result<FileReply, Error> {
        // Who stops a cell does not mean this.
        let nobody = Interrupter::new();
        let question = ToMachine::Files(request);
        match self.converse_until(&nobody, &question, &[], None, FILES_TIMEOUT).await?.0 {
            FromMachine::Files(Ok(reply)) => Ok(reply),
            FromMachine::Files(Err(reason)) => Err(refused(path, cut(reason))),
            _ => Err(self.misbehaved("an answer to another question").await),
        }
    }
}

fn refused(path: &str, reason: impl Into<String>) -> Error {
    Error::File { path: path.to_owned(), reason: reason.into() }
}

/// A path that may be sent to a machine.
pub(super) fn checked(path: &str) -> Result<String, Error> {
    match path {
        path if !path.starts_with('/') => Err(refused(path, "the path must be absolute")),
        path if path.len() > MAX_PATH => Err(refused(path, "the path is too long")),
        path if path.contains('\0') => Err(refused(path, "the path contains a null character")),
        path => Ok(path.to_owned()),
    }
}

/// Whether a machine that behaves could have sent this listing.
fn is_listing(files: &[FileInfo]) -> bool {
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('\0');
    files.iter().all(|file| file.path.len() <= MAX_PATH && file.path.split('/').all(is_name))
        && files.is_sorted_by(|a, b| a.path < b.path)
}

/// Whether a machine that behaves could have named these files in an outcome.
pub(super) fn are_new_files(files: &[FileInfo]) -> bool {
    let below_root =
        |file: &FileInfo| FileInfo { path: file.path.get(1..).unwrap_or_default().to_owned(), ..file.clone() };
    files.len() <= MAX_NEW_FILES
        && files.iter().all(|file| file.path.starts_with('/'))
        && is_listing(&files.iter().map(below_root).collect::<Vec<_>>())
}

fn is_piece(chunk: &FileChunk, offset: u64, length: usize) -> bool {
    let end = offset.saturating_add(chunk.bytes.len() as u64);
    chunk.bytes.len() <= length && (chunk.bytes.is_empty() || end <= chunk.size)
}

impl Session {
    /// As [`Machine::list_files`], while no cell runs.
    ///
    /// # Errors
    /// Those of [`Machine::list_files`] and [`Session::analyze`].
    pub async fn list_files(&self, directory: &str) -> Result<Vec<FileInfo>, Error> {
        let mut state = self.ready().await?;
        let result = state.machine.list_files(directory).await;
        self.judge(&mut state, result).await
    }

    /// As [`Machine::read_file`], while no cell runs.
    ///
    /// # Errors
    /// Those of [`Machine::read_file`] and [`Session::analyze`].
    pub async fn read_file(&self, path: &str, offset: u64, length: usize) -> Result<FileChunk, Error> {
        let mut state = self.ready().await?;
        let result = state.machine.read_file(path, offset, length).await;
        self.judge(&mut state, result).await
    }

    /// As [`Machine::write_file`], while no cell runs. What has been written stays when a later cell is rolled back.
    ///
    /// # Errors
    /// Those of [`Machine::write_file`] and [`Session::analyze`].
    pub async fn write_file(&self, path: &str, offset: u64, bytes: Vec<u8>, truncate: bool) -> Result<(), Error> {
        let mut state = self.ready().await?;
        let result = state.machine.write_file(path, offset, bytes, truncate).await;
        self.changed(state, result).await
    }

    /// As [`Machine::remove_file`], while no cell runs.
    ///
    /// # Errors
    /// Those of [`Machine::remove_file`] and [`Session::analyze`].
    pub async fn remove_file(&self, path: &str) -> Result<(), Error> {
        let mut state = self.ready().await?;
        let result = state.machine.remove_file(path).await;
        self.changed(state, result).await
    }

    /// As [`Machine::remove_tree`], while no cell runs.
    ///
    /// # Errors
    /// Those of [`Machine::remove_tree`] and [`Session::analyze`].
    pub async fn remove_tree(&self, directory: &str) -> Result<(), Error> {
        let mut state = self.ready().await?;
        let result = state.machine.remove_tree(directory).await;
        self.changed(state, result).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(paths: &[&str]) -> Vec<FileInfo> {
        paths.iter().map(|&path| FileInfo { path: path.to_owned(), size: 0, modified: 0, stamp: 0 }).collect()
    }

    #[test]
    fn listings_that_cannot_be_are_refused() {
        assert!(is_listing(&listing(&["a", "a b/c\n", "b"])));
        let long = "x".repeat(MAX_PATH + 1);
        for paths in [
            &["../a"][..],
            &["a/../b"],
            &["a/.."],
            &["."],
            &[""],
            &["/a"],
            &["a//b"],
            &["a/"],
            &["a\0"],
            &[".hidden"],
            &["b", "a"],
            &["a", "a"],
            &[&long],
        ] {
            assert!(!is_listing(&listing(paths)), "{paths:?}");
        }
        assert!(are_new_files(&listing(&["/a", "/b/c"])));
        for paths in [&["a"][..], &["/../a"], &["/.hidden"], &["/b", "/a"], &["//a"], &["/"], &[""]] {
            assert!(!are_new_files(&listing(paths)), "{paths:?}");
        }
        let many: Vec<String> = (0..=MAX_NEW_FILES).map(|number| format!("/{number:05}")).collect();
        assert!(!are_new_files(&listing(&many.iter().map(String::as_str).collect::<Vec<_>>())));
    }

    #[test]
    fn pieces_that_cannot_be_are_refused() {
        let chunk = |length, size| FileChunk { bytes: vec![0; length], size };
        assert!(is_piece(&chunk(4, 10), 6, 4) && is_piece(&chunk(0, 0), 6, 4) && is_piece(&chunk(2, 10), 0, 4));
        for (chunk, offset) in [(chunk(5, 10), 0), (chunk(4, 3), 0), (chunk(1, 10), u64::MAX)] {
            assert!(!is_piece(&chunk, offset, 4), "{chunk:?} {offset}");
        }
    }

    #[test]
    fn paths_are_checked_before_they_are_sent() {
        assert_eq!(checked("/home/user/../a b").unwrap(), "/home/user/../a b");
        for path in ["", "a", "./a", "/a\0b", &format!("/{}", "x".repeat(MAX_PATH))] {
            assert!(matches!(checked(path), Err(Error::File { .. })), "{path}");
        }
    }
}
