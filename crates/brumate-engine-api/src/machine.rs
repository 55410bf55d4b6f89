//! Machines, and the handles that stop them and answer them from elsewhere.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::{Analysis, EngineError, Event, Execute, FileChunk, GuestAnswer, Layer, Outcome};

/// One interpreter in its own process. Dropping it ends the process.
#[async_trait]
pub trait Machine: Send {
    /// Finds the imports of `code` with the guest's own parser. Runs nothing of it.
    ///
    /// # Errors
    ///
    /// [`EngineError::MachineExited`] when the parser brings the machine down.
    async fn analyze(&mut self, code: &str) -> Result<Analysis, EngineError>;

    /// Mounts layers: imports find them from now on.
    ///
    /// # Errors
    ///
    /// [`EngineError::Layer`] when one cannot be mounted; none is then.
    async fn mount(&mut self, layers: &[Layer]) -> Result<(), EngineError>;

    /// Runs code. Events come while it runs and are complete when the future is ready; it enforces the limits of
    /// the machine's [`MachineSpec`](crate::MachineSpec).
    ///
    /// # Errors
    ///
    /// [`EngineError::MachineExited`] when the machine did not survive. An exception of the guest is an [`Outcome`].
    async fn execute(&mut self, request: Execute, events: mpsc::Sender<Event>) -> Result<Outcome, EngineError>;

    /// Reads at most `length` bytes of a guest file, and never more than [`MAX_FILE_CHUNK`](crate::MAX_FILE_CHUNK), from
    /// `offset` on.
    ///
    /// # Errors
    ///
    /// [`EngineError::File`] when it cannot be read, [`EngineError::MachineExited`] when the machine has ended.
    async fn read_file(&mut self, _path: &str, _offset: u64, _length: usize) -> Result<FileChunk, EngineError> {
        Err(EngineError::Unavailable("this engine reads no files".to_owned()))
    }

    /// Makes a handle that stops the machine from elsewhere.
    fn interrupt_handle(&self) -> Arc<dyn InterruptHandle>;
}

/// Stops a running machine. The methods return at once and do nothing when the machine is gone.
pub trait InterruptHandle: Send + Sync {
    /// Raises KeyboardInterrupt in the guest; a guest that does not react within the grace time is killed.
    fn interrupt(&self);
    /// Raises `TimeoutError` in the function that keeps the event loop of a server busy
    /// ([`ExecuteMode::Server`](crate::ExecuteMode::Server)); does nothing while the loop waits. The execution goes on.
    fn interrupt_busy_task(&self) {}
    /// Ends the machine without asking it.
    fn kill(&self);
    /// Answers the request of the code with the number `request`. Returns false when the code does not wait for it, when
    /// the answer is of another kind, or a line is longer than [`MAX_INPUT`](crate::MAX_INPUT): nothing happens then.
    fn answer(&self, request: u64, answer: GuestAnswer) -> bool;
    /// Lists the layers that the machine has mounted at present.
    fn layers(&self) -> Vec<Layer>;
    /// Takes back an interrupt that came too late for what it was meant for.
    fn clear(&self);
}
