//! The guest's files of a session, as the server reads and writes them between cells.

use super::error::Error;
#[cfg(doc)]
use super::machine::Machine;
use super::session::Session;
use crate::api::{FileChunk, FileInfo};

impl Session {
    /// As [`Machine::list_files`], while no cell runs.
    ///
    /// # Errors
    /// Those of [`Machine::list_files`] and [`Session::analyze`].
    pub async fn list_files(&self, directory: &str) -> Result<Vec<FileInfo>, Error> {
        let mut state = self.ready().await?;
        let result = state.machine.list_files(directory).await;
        self.roll_back_if_ended(&mut state, result).await
    }

    /// As [`Machine::read_file`], while no cell runs.
    ///
    /// # Errors
    /// Those of [`Machine::read_file`] and [`Session::analyze`].
    pub async fn read_file(&self, path: &str, offset: u64, length: usize) -> Result<FileChunk, Error> {
        let mut state = self.ready().await?;
        let result = state.machine.read_file(path, offset, length).await;
        self.roll_back_if_ended(&mut state, result).await
    }

    /// As [`Machine::write_file`], while no cell runs. The written data stays if a later cell is rolled back.
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
