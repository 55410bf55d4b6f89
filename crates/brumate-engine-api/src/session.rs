//! Sessions: machines that keep their state, and files in them that outsiders may read and write.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::{EngineError, Event, Execute, FileChunk, FileInfo, InterruptHandle, Layer, Outcome};

/// Outcome of a cell, and the files after it, or why they cannot be listed.
pub type CellAndFiles = (Outcome, Result<Vec<FileInfo>, EngineError>);

/// A machine that keeps names, modules and files from one execution to the next, whatever an execution does. Dropping it ends
/// its processes. Methods wait for each other.
#[async_trait]
pub trait Session: SessionTransaction + SessionFiles {
    /// Runs a cell. Events come while it runs and are complete when the future is ready; limits are those of the session's
    /// [`MachineSpec`](crate::MachineSpec).
    ///
    /// # Errors
    ///
    /// [`EngineError::RolledBack`] when the cell ended the machine and the session is as it was before;
    /// [`EngineError::MachineExited`] when the session is lost.
    async fn execute(&self, request: Execute, events: mpsc::Sender<Event>) -> Result<Outcome, EngineError>;

    /// Runs a cell as [`Session::execute`] does, and lists the files below `directory` as [`SessionFiles::list_files`] does, in one
    /// go: when the machine ends meanwhile, the cell has not happened.
    ///
    /// # Errors
    ///
    /// The errors of [`Session::execute`].
    async fn execute_and_list(
        &self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: &str,
    ) -> Result<CellAndFiles, EngineError>;

    /// Estimates how many bytes [`Session::write_to`] would write, rather too many. `None` when that cannot be known.
    async fn estimated_bytes(&self) -> Option<u64>;

    /// Returns how many bytes [`Session::write_to`] would write. Takes about as long.
    ///
    /// # Errors
    ///
    /// Fails as [`Session::write_to`] does.
    async fn measured_bytes(&self) -> Result<u64, EngineError>;

    /// Mounts layers, and keeps the session like that.
    ///
    /// # Errors
    ///
    /// [`EngineError::Layer`] when one cannot be mounted, and the errors of [`Session::execute`].
    async fn mount(&self, layers: &[Layer]) -> Result<(), EngineError>;

    /// Lists the layers that are mounted at present; waits for nothing.
    fn layers(&self) -> Vec<Layer>;

    /// Makes another session that goes on from this one's present state.
    ///
    /// # Errors
    ///
    /// When there is no process left; the errors of [`Session::execute`].
    async fn fork(&self) -> Result<Box<dyn Session>, EngineError>;

    /// Writes the session to the file `path`, which appears whole and durable or not at all; returns its size in bytes.
    /// This session goes on.
    ///
    /// # Errors
    ///
    /// [`EngineError::Image`] when it holds something that cannot be kept, [`EngineError::Io`] when the disk refuses;
    /// the errors of [`Session::execute`].
    async fn write_to(&self, path: &Path) -> Result<u64, EngineError>;

    /// Makes the session survive the end of its server. When the server vanishes, however it ends, the last acknowledged state,
    /// the crash snapshot, is written to files whose names begin with `path`. [`Engine::resume`](crate::Engine::resume) of `path` finds
    /// it. A session that is dropped leaves nothing.
    ///
    /// # Errors
    ///
    /// [`EngineError::Io`] when the disk refuses, [`EngineError::Image`] when another session still has its crash snapshot there;
    /// the errors of [`Session::execute`].
    async fn enable_crash_recovery(&self, path: &Path) -> Result<(), EngineError>;

    /// Makes a handle that stops the cell that runs at present. It is good for one cell: a roll-back replaces the machine.
    fn interrupt_handle(&self) -> Arc<dyn InterruptHandle>;
}

/// The transaction of a session: changes that its user keeps or takes back.
#[async_trait]
pub trait SessionTransaction: Send + Sync {
    /// Begins a transaction: until [`SessionTransaction::commit`] or [`SessionTransaction::roll_back`], the present
    /// state is kept, and cells and written files change the new state only. A transaction that is still open is
    /// committed first.
    ///
    /// # Errors
    ///
    /// The errors of [`Session::execute`].
    async fn begin(&self) -> Result<(), EngineError>;

    /// Ends a transaction: what was done counts. Without one it does nothing.
    ///
    /// # Errors
    ///
    /// [`EngineError::RolledBack`] when the machine ended in the transaction and the session is as it was before;
    /// [`EngineError::MachineExited`] when the session is lost.
    async fn commit(&self) -> Result<(), EngineError>;

    /// Ends a transaction: the session is as it was before, files included. Without one it does nothing.
    ///
    /// # Errors
    ///
    /// [`EngineError::MachineExited`] when the session is lost.
    async fn roll_back(&self) -> Result<(), EngineError>;
}

/// The files of a session, between cells.
#[async_trait]
pub trait SessionFiles: Send + Sync {
    /// Lists all regular files below `directory` (an absolute path in the guest), in the order of their paths; hidden ones may be
    /// left out. A directory that is not there has none.
    ///
    /// # Errors
    ///
    /// The errors of [`Session::execute`]; [`EngineError::Unavailable`] when this engine has no access to files.
    async fn list_files(&self, directory: &str) -> Result<Vec<FileInfo>, EngineError>;

    /// Reads at most `length` bytes of a file from `offset` on. An engine may give less; it gives nothing at the end only.
    ///
    /// # Errors
    ///
    /// [`EngineError::File`], and the errors of [`SessionFiles::list_files`].
    async fn read_file(&self, path: &str, offset: u64, length: u64) -> Result<FileChunk, EngineError>;

    /// Writes `bytes` at `offset`, and makes the file and the directories above it when they are missing. `truncate` ends
    /// the file after these bytes. The session's quota holds.
    ///
    /// # Errors
    ///
    /// As [`SessionFiles::read_file`].
    async fn write_file(&self, path: &str, offset: u64, bytes: Vec<u8>, truncate: bool) -> Result<(), EngineError>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// As [`SessionFiles::read_file`].
    async fn remove_file(&self, path: &str) -> Result<(), EngineError>;
}
