//! The guest's files, as the server reads and writes them between cells.
//!
//! The machine works on its own file system. Its replies are checked here like everything that comes out of a jail.

use std::time::Duration;

use super::file_checks::{checked, failed, is_piece, refused};
use super::machine::Machine;
use super::stop::InterruptHandle;
use crate::api::{EngineError, FileChunk, FileInfo, MAX_FILE_CHUNK};
use crate::wire::{FileReply, FileRequest, MachineMessage, MachineRequest};

/// Longest a machine may take over one operation. Listing a large granted directory sends the server a request for each
/// file.
const FILES_TIMEOUT: Duration = Duration::from_secs(60);

impl Machine {
    /// Lists the regular files below a guest directory, sorted by the bytes of their paths. Links are not followed;
    /// hidden files, `__pycache__` and names that are not UTF-8 are left out. A granted host directory is listed if
    /// `directory` is that directory or lies in it, not if it lies below `directory`.
    ///
    /// # Errors
    /// [`EngineError::File`] when there is no such directory, or more than [`crate::api::MAX_LISTED_FILES`] files are in it.
    /// Others when the machine has ended.
    pub async fn list_files(&mut self, directory: &str) -> Result<Vec<FileInfo>, EngineError> {
        let request = FileRequest::List { directory: checked(directory)? };
        let reply = self.ask_for_files(request).await?;
        self.listing(Ok(reply)).await
    }

    /// Reads at most `length` bytes, and never more than [`MAX_FILE_CHUNK`], of a regular guest file, from `offset` on.
    ///
    /// # Errors
    /// [`EngineError::File`] when it cannot be read. Others when the machine has ended.
    pub async fn read_file(&mut self, path: &str, offset: u64, length: usize) -> Result<FileChunk, EngineError> {
        let length = length.min(MAX_FILE_CHUNK);
        let request = FileRequest::Read { path: checked(path)?, offset, length: length as u32 };
        match self.ask_for_files(request).await? {
            FileReply::Read(chunk) if is_piece(&chunk, offset, length) => Ok(chunk),
            FileReply::Read(_) => Err(self.protocol_violation("a piece of a file that cannot be").await),
            _ => Err(self.protocol_violation("an answer to another request").await),
        }
    }

    /// Writes `bytes`, at most [`MAX_FILE_CHUNK`], at `offset` of a guest file, as the guest itself could: under its quota,
    /// into granted directories if they may be changed. With `truncate` the file ends behind them. The file and the
    /// directories above it are made.
    ///
    /// # Errors
    /// [`EngineError::File`] when it cannot be written; a part may have been. Others when the machine has ended.
    pub async fn write_file(
        &mut self,
        path: &str,
        offset: u64,
        bytes: Vec<u8>,
        truncate: bool,
    ) -> Result<(), EngineError> {
        if bytes.len() > MAX_FILE_CHUNK {
            return Err(refused(format!("more than {MAX_FILE_CHUNK} bytes at once")));
        }
        self.change_files(FileRequest::Write { path: checked(path)?, offset, bytes, truncate }).await
    }

    /// Removes a guest file, or a link.
    ///
    /// # Errors
    /// [`EngineError::File`] when it cannot be removed. Others when the machine has ended.
    pub async fn remove_file(&mut self, path: &str) -> Result<(), EngineError> {
        self.change_files(FileRequest::Remove { path: checked(path)? }).await
    }

    /// Removes everything in a guest directory. Granted host directories below it stay as they are.
    ///
    /// # Errors
    /// [`EngineError::File`] when something cannot be removed; the rest may have been. Others when the machine has ended.
    pub async fn remove_tree(&mut self, directory: &str) -> Result<(), EngineError> {
        self.change_files(FileRequest::RemoveTree { directory: checked(directory)? }).await
    }

    async fn change_files(&mut self, request: FileRequest) -> Result<(), EngineError> {
        match self.ask_for_files(request).await? {
            FileReply::Done => Ok(()),
            _ => Err(self.protocol_violation("an answer to another request").await),
        }
    }

    async fn ask_for_files(&mut self, request: FileRequest) -> Result<FileReply, EngineError> {
        // A cell interrupt does not apply here.
        let no_interrupt = InterruptHandle::new();
        let request = MachineRequest::Files(request);
        match self.converse_until(&no_interrupt, &request, &[], None, FILES_TIMEOUT).await?.0 {
            MachineMessage::Files(Ok(reply)) => Ok(reply),
            MachineMessage::Files(Err(error)) => Err(failed(error)),
            _ => Err(self.protocol_violation("an answer to another request").await),
        }
    }
}
