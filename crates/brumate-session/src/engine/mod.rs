//! What an engine is to the rest of Brumate: something that makes machines and speaks with them in messages.

mod local;
mod local_session;
mod session;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use brumate_engine::api::{Analysis, Event, Execute, InstallAnswer, Layer, LayerId, MachineSpec, Outcome};
use thiserror::Error;
use tokio::sync::mpsc;

pub use brumate_engine::api::{FileChunk, FileInfo};
pub use local::{LocalEngine, LocalEngineConfig, bundle};
pub use session::{CellAndFiles, FileError, Session};

/// A boxed future: engines are used as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Makes machines.
pub trait Engine: Send + Sync {
    /// A fresh machine.
    ///
    /// # Errors
    ///
    /// Any [`EngineError`]: no process, no memory, no sandbox on this host.
    fn machine(&self, spec: MachineSpec) -> BoxFuture<'_, Result<Box<dyn Machine>, EngineError>>;

    /// Makes bundle wheels and what they require ready to be imported. The first time this may compile them, which
    /// takes seconds; afterwards it costs next to nothing.
    ///
    /// # Errors
    ///
    /// [`EngineError::Compile`] above all.
    fn prepare<'a>(&'a self, wheels: &'a [String]) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Compiles native modules of layers ahead, like [`Engine::prepare`].
    ///
    /// # Errors
    ///
    /// As [`Engine::prepare`].
    fn prepare_layers<'a>(&'a self, _layers: &'a [Layer]) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    /// The bytecode of a wheel, as [`Layer::bytecode`] wants it.
    ///
    /// # Errors
    ///
    /// [`EngineError::Layer`] when the wheel cannot be mounted, and those of [`Engine::machine`].
    fn bytecode<'a>(&'a self, _layer: &'a Layer) -> BoxFuture<'a, Result<Vec<u8>, EngineError>> {
        Box::pin(async { Err(EngineError::Unavailable("this engine makes no bytecode".to_owned())) })
    }

    /// Layers of the session that is asleep in a file: [`Engine::wake`] wants them in `spec`.
    ///
    /// # Errors
    ///
    /// As [`Engine::wake`].
    fn layers_of<'a>(&'a self, _path: &'a Path) -> BoxFuture<'a, Result<Vec<LayerId>, EngineError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// A fresh session.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::machine`].
    fn session(&self, spec: MachineSpec) -> BoxFuture<'_, Result<Box<dyn Session>, EngineError>>;

    /// The session that is asleep in the file `path`, which stays. `spec.image` is ignored: a session wakes from the image
    /// that it began with.
    ///
    /// # Errors
    ///
    /// [`EngineError::Image`] when the file is damaged or of another version of Brumate, [`EngineError::Io`] when it cannot
    /// be read; those of [`Engine::machine`].
    fn wake<'a>(&'a self, path: &'a Path, spec: MachineSpec) -> BoxFuture<'a, Result<Box<dyn Session>, EngineError>>;
}

/// One interpreter in its own process. Dropping it ends the process.
pub trait Machine: Send {
    /// Finds the imports of `code` with the guest's own parser. Runs nothing of it.
    ///
    /// # Errors
    ///
    /// [`EngineError::Died`] when the parser brings the machine down.
    fn analyze<'a>(&'a mut self, code: &'a str) -> BoxFuture<'a, Result<Analysis, EngineError>>;

    /// Mounts layers: imports find them from now on.
    ///
    /// # Errors
    ///
    /// [`EngineError::Layer`] when one cannot be mounted; none is then.
    fn mount<'a>(&'a mut self, layers: &'a [Layer]) -> BoxFuture<'a, Result<(), EngineError>>;

    /// Runs code. Events come while it runs and are complete when the future is ready; it enforces the limits of
    /// the machine's [`MachineSpec`].
    ///
    /// # Errors
    ///
    /// [`EngineError::Died`] when the machine did not survive. An exception of the guest is an [`Outcome`].
    fn execute<'a>(
        &'a mut self,
        request: Execute,
        events: mpsc::Sender<Event>,
    ) -> BoxFuture<'a, Result<Outcome, EngineError>>;

    /// A handle that stops the machine from elsewhere.
    fn interrupter(&self) -> Arc<dyn Interrupter>;
}

/// Stops a running machine. The methods return at once and do nothing when the machine is gone.
pub trait Interrupter: Send + Sync {
    /// Raises KeyboardInterrupt in the guest; a guest that does not react within the grace time is killed.
    fn interrupt(&self);
    /// Ends the machine without asking it.
    fn kill(&self);
    /// Answers the question that the guest waits for: a line without its end, or `None` for the end of the input. False when
    /// it waits for none, or the line is longer than [`MAX_INPUT`](brumate_engine::api::MAX_INPUT).
    fn answer(&self, line: Option<String>) -> bool;
    /// Answers the request for packages that the guest waits with: what is to be mounted, or why nothing is. False when it
    /// waits with none.
    fn install(&self, answer: Result<InstallAnswer, String>) -> bool;
    /// Layers that the machine has mounted at present.
    fn layers(&self) -> Vec<Layer>;
    /// Takes back an interrupt that came too late for what it was meant for.
    fn withdraw(&self);
}

/// Why a machine is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Died {
    /// Parsing its source took longer than this.
    ParseLimit(Duration),
    /// It passed the wall-clock limit and did not react to the interrupt.
    TimeLimit,
    /// It used up its CPU time and did not react to the interrupt.
    CpuLimit,
    /// It took more memory than it may.
    MemoryLimit,
    /// The caller cancelled and it did not react to the interrupt.
    Cancelled,
    /// A signal ended it.
    Signal(i32),
    /// `os._exit` or C's `exit`, with this status.
    Exit(i32),
    /// `abort` or a fatal error of Python.
    Abort,
    /// The WebAssembly code trapped; the text says how.
    Trap(String),
    /// It said something that makes no sense and was ended.
    Protocol(String),
}

/// Why an engine could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The machine is gone.
    #[error("the machine is gone: {reason:?}")]
    Died {
        /// Why.
        reason: Died,
        /// Output bytes that were dropped past the limit before it died.
        output_dropped: u64,
        /// Most memory that its process had, in bytes; `None` when that is not known.
        peak_memory_bytes: Option<u64>,
    },
    /// A cell ended its session's machine; the session is as it was before that cell.
    #[error("the machine is gone: {reason:?}; the session is as it was before")]
    RolledBack {
        /// Why.
        reason: Died,
        /// Output bytes that were dropped past the limit before it died.
        output_dropped: u64,
        /// Most memory that its process had, in bytes; `None` when that is not known.
        peak_memory_bytes: Option<u64>,
    },
    /// A session cannot be put to sleep, or not be woken; the text says why.
    #[error("{0}")]
    Image(String),
    /// A file of a session cannot be read or written.
    #[error("{0}")]
    File(FileError),
    /// A wheel cannot be mounted; the machine is as it was.
    #[error("{0}")]
    Layer(String),
    /// A wheel or the interpreter could not be compiled.
    #[error("could not compile: {0}")]
    Compile(String),
    /// The host refused something.
    #[error("the host refused: {0}")]
    Io(String),
    /// There is no engine on this host.
    #[error("the sandbox is not available: {0}")]
    Unavailable(String),
}
