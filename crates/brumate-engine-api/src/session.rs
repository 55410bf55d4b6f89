//! Sessions: machines that keep their state, and files in them that outsiders may read and write.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::{BoxFuture, EngineError, Event, Execute, FileChunk, FileInfo, InterruptHandle, Layer, Outcome};

/// Outcome of a cell, and the files after it, or why they cannot be listed.
pub type CellAndFiles = (Outcome, Result<Vec<FileInfo>, EngineError>);

/// A machine that keeps names, modules and files from one execution to the next, whatever an execution does. Dropping it ends
/// its processes. Methods wait for each other.
pub trait Session: Send + Sync {
    /// Runs a cell. Events come while it runs and are complete when the future is ready; limits are those of the session's
    /// [`MachineSpec`](crate::MachineSpec).
    ///
    /// # Errors
    ///
    /// [`EngineError::RolledBack`] when the cell ended the machine and the session is as it was before;
    /// [`EngineError::MachineExited`] when the session is lost.
    fn execute<'a>(
        &'a self,
        request: Execute,
        events: mpsc::Sender<Event>,
    ) -> BoxFuture<'a, Result<Outcome, EngineError>>;

    /// Runs a cell as [`Session::execute`] does, and lists the files below `directory` as [`Session::list_files`] does, in one
    /// go: when the machine ends meanwhile, the cell has not happened.
    ///
    /// # Errors
    ///
    /// Those of [`Session::execute`].
    fn execute_and_list<'a>(
        &'a self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: &'a str,
    ) -> BoxFuture<'a, Result<CellAndFiles, EngineError>>;

    /// Begins a transaction: until [`Session::commit`] or [`Session::roll_back`], the present state is kept, and cells and
    /// written files change the new state only. A transaction that is still open is committed first.
    ///
    /// # Errors
    ///
    /// Those of [`Session::execute`].
    fn begin(&self) -> BoxFuture<'_, Result<(), EngineError>>;

    /// Ends a transaction: what was done counts. Without one it does nothing.
    ///
    /// # Errors
    ///
    /// [`EngineError::RolledBack`] when the machine ended in the transaction and the session is as it was before;
    /// [`EngineError::MachineExited`] when the session is lost.
    fn commit(&self) -> BoxFuture<'_, Result<(), EngineError>>;

    /// Ends a transaction: the session is as it was before, files included. Without one it does nothing.
    ///
    /// # Errors
    ///
    /// [`EngineError::MachineExited`] when the session is lost.
    fn roll_back(&self) -> BoxFuture<'_, Result<(), EngineError>>;

    /// Estimates how many bytes [`Session::hibernate`] would write, rather too many. `None` when that cannot be known.
    fn estimated_bytes(&self) -> BoxFuture<'_, Option<u64>>;

    /// Returns how many bytes [`Session::hibernate`] would write. Takes about as long.
    ///
    /// # Errors
    ///
    /// Fails as [`Session::hibernate`] does.
    fn measured_bytes(&self) -> BoxFuture<'_, Result<u64, EngineError>>;

    /// Mounts layers, and keeps the session like that.
    ///
    /// # Errors
    ///
    /// [`EngineError::Layer`] when one cannot be mounted, and those of [`Session::execute`].
    fn mount<'a>(&'a self, layers: &'a [Layer]) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Lists the layers that are mounted at present; waits for nothing.
    fn layers(&self) -> Vec<Layer>;

    /// Makes another session that goes on from this one's present state.
    ///
    /// # Errors
    ///
    /// When there is no process left; those of [`Session::execute`].
    fn fork(&self) -> BoxFuture<'_, Result<Box<dyn Session>, EngineError>>;

    /// Writes the session to the file `path`, which appears whole and durable or not at all; returns its size in bytes.
    /// This session goes on.
    ///
    /// # Errors
    ///
    /// [`EngineError::Image`] when it holds something that cannot be kept, [`EngineError::Io`] when the disk refuses;
    /// those of [`Session::execute`].
    fn hibernate<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<u64, EngineError>>;

    /// Makes the session survive the end of its server. When the server vanishes, however it ends, the last acknowledged state,
    /// the crash snapshot, is written to files whose names begin with `path`. [`Engine::resume`](crate::Engine::resume) of `path` finds
    /// it. A session that is dropped leaves nothing.
    ///
    /// # Errors
    ///
    /// [`EngineError::Io`] when the disk refuses, [`EngineError::Image`] when another session still has its crash snapshot there;
    /// those of [`Session::execute`].
    fn enable_crash_recovery<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Makes a handle that stops the cell that runs at present. It is good for one cell: a roll-back replaces the machine.
    fn interrupt_handle(&self) -> Arc<dyn InterruptHandle>;

    /// Lists all regular files below `directory` (an absolute path in the guest), in the order of their paths; hidden ones may be
    /// left out. A directory that is not there has none.
    ///
    /// # Errors
    ///
    /// Those of [`Session::execute`]; [`EngineError::Unavailable`] when this engine has no access to files.
    fn list_files<'a>(&'a self, directory: &'a str) -> BoxFuture<'a, Result<Vec<FileInfo>, EngineError>>;

    /// Reads at most `length` bytes of a file from `offset` on. An engine may give less; it gives nothing at the end only.
    ///
    /// # Errors
    ///
    /// [`EngineError::File`], and those of [`Session::list_files`].
    fn read_file<'a>(
        &'a self,
        path: &'a str,
        offset: u64,
        length: u64,
    ) -> BoxFuture<'a, Result<FileChunk, EngineError>>;

    /// Writes `bytes` at `offset`, and makes the file and the directories above it when they are missing. `truncate` ends
    /// the file after these bytes. The session's quota holds.
    ///
    /// # Errors
    ///
    /// As [`Session::read_file`].
    fn write_file<'a>(
        &'a self,
        path: &'a str,
        offset: u64,
        bytes: Vec<u8>,
        truncate: bool,
    ) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// As [`Session::read_file`].
    fn remove_file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), EngineError>>;
}
