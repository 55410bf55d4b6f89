//! The guest's files of a session, as the server reads and writes them between cells.

use async_trait::async_trait;

#[cfg(doc)]
use super::machine::Machine;
use super::session::Session;
use crate::api::{EngineError, FileChunk, FileError, FileInfo, SessionFiles};

impl Session {
    /// As [`Machine::remove_tree`], while no cell runs.
    ///
    /// # Errors
    /// The errors of [`Machine::remove_tree`] and [`Session::analyze`].
    pub async fn remove_tree(&self, directory: &str) -> Result<(), EngineError> {
        let mut state = self.ready().await?;
        let result = state.machine.remove_tree(directory).await;
        self.changed(state, result).await
    }
}

#[async_trait]
impl SessionFiles for Session {
    async fn list_files(&self, directory: &str) -> Result<Vec<FileInfo>, EngineError> {
        let mut state = self.ready().await?;
        let result = state.machine.list_files(directory).await;
        listing(self.roll_back_if_ended(&mut state, result).await)
    }

    async fn read_file(&self, path: &str, offset: u64, length: u64) -> Result<FileChunk, EngineError> {
        let mut state = self.ready().await?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let result = state.machine.read_file(path, offset, length).await;
        self.roll_back_if_ended(&mut state, result).await
    }

    async fn write_file(&self, path: &str, offset: u64, bytes: Vec<u8>, truncate: bool) -> Result<(), EngineError> {
        let mut state = self.ready().await?;
        let result = state.machine.write_file(path, offset, bytes, truncate).await;
        self.changed(state, result).await
    }

    async fn remove_file(&self, path: &str) -> Result<(), EngineError> {
        let mut state = self.ready().await?;
        let result = state.machine.remove_file(path).await;
        self.changed(state, result).await
    }
}

/// Returns a list of files; a missing directory has none.
pub(super) fn listing(listed: Result<Vec<FileInfo>, EngineError>) -> Result<Vec<FileInfo>, EngineError> {
    match listed {
        Err(EngineError::File(FileError::NotFound)) => Ok(Vec::new()),
        listed => listed,
    }
}
