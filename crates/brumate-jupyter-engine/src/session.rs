//! Sessions: kernels that keep their state for as long as they live.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use brumate_engine_api::{
    CellAndFiles, EngineError, Event, Execute, ExecuteMode, ExitReason, FileChunk, FileInfo, InterruptHandle, Layer,
    Limits, Outcome, Session, SessionFiles, SessionTransaction,
};
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use crate::cell::{self, Handle};
use crate::directory::Directory;
use crate::kernel::Kernel;

/// Reason why a session of this engine is in no file.
const NOT_STORABLE: &str = "the state of a native kernel cannot be written to a file: it ends with its process";

/// A session with a kernel of its own.
pub(crate) struct KernelSession {
    kernel: AsyncMutex<Option<Kernel>>,
    directory: Directory,
    limits: Limits,
    /// Handle of the request that runs, or of the next one.
    handle: Mutex<Arc<Handle>>,
    answers: AsyncMutex<mpsc::Receiver<(u64, Option<String>)>>,
}

impl KernelSession {
    pub(crate) fn new(kernel: Kernel, limits: Limits) -> Self {
        let (handle, answers) = Handle::new();
        Self {
            directory: kernel.directory.clone(),
            kernel: AsyncMutex::new(Some(kernel)),
            limits,
            handle: Mutex::new(handle),
            answers: AsyncMutex::new(answers),
        }
    }

    async fn run(&self, request: &Execute, events: &mpsc::Sender<Event>) -> Result<Outcome, EngineError> {
        let mut place = self.kernel.lock().await;
        let mut answers = self.answers.lock().await;
        let handle = Arc::clone(&self.handle.lock());
        // A call that is given up leaves no kernel behind that nobody reads.
        let Some(mut kernel) = place.take() else { return Err(gone()) };
        if !request.globals_json.is_empty() {
            self.set_globals(&mut kernel, request, &mut answers).await?;
        }
        let outcome = cell::run(&mut kernel, request, (&self.limits, &handle), &mut answers, events).await;
        handle.clear();
        match outcome {
            Ok(outcome) => {
                *place = Some(kernel);
                Ok(outcome)
            }
            Err(error) => Err(error),
        }
    }

    /// Sets the extra globals of a request.
    async fn set_globals(
        &self,
        kernel: &mut Kernel,
        request: &Execute,
        answers: &mut mpsc::Receiver<(u64, Option<String>)>,
    ) -> Result<(), EngineError> {
        if !kernel.is_python {
            return Err(EngineError::Unavailable("only kernels of Python take global variables".to_owned()));
        }
        let text = serde_json::to_string(&request.globals_json).map_err(std::io::Error::from)?;
        let code = format!("globals().update(__import__('json').loads({text}))");
        let content = serde_json::json!({
            "code": code, "silent": true, "store_history": false, "allow_stdin": false,
        });
        let inner = serde_json::json!({"type": "execute_request", "content": content});
        let request = Execute { code: inner.to_string(), mode: ExecuteMode::Frontend, ..Execute::default() };
        let (events, mut received) = mpsc::channel(1);
        received.close();
        let (handle, _) = Handle::new();
        cell::run(kernel, &request, (&self.limits, &handle), answers, &events).await.map(|_| ())
    }
}

fn gone() -> EngineError {
    EngineError::MachineExited {
        reason: ExitReason::Signal(ExitReason::SIGKILL),
        output_dropped: 0,
        peak_memory_bytes: None,
    }
}

fn not_storable() -> EngineError {
    EngineError::Image(NOT_STORABLE.to_owned())
}

#[async_trait]
impl Session for KernelSession {
    async fn execute(&self, request: Execute, events: mpsc::Sender<Event>) -> Result<Outcome, EngineError> {
        self.run(&request, &events).await
    }

    async fn execute_and_list(
        &self,
        cell: Execute,
        sender: mpsc::Sender<Event>,
        below: &str,
    ) -> Result<CellAndFiles, EngineError> {
        let outcome = self.run(&cell, &sender).await?;
        drop(sender);
        Ok((outcome, self.directory.list(below).await))
    }

    async fn estimated_bytes(&self) -> Option<u64> {
        // It will never be in a file.
        Some(0)
    }

    async fn measured_bytes(&self) -> Result<u64, EngineError> {
        Err(not_storable())
    }

    async fn mount(&self, layers: &[Layer]) -> Result<(), EngineError> {
        match layers {
            [] => Ok(()),
            _ => Err(EngineError::Unavailable("native kernels have the packages of their own environment".to_owned())),
        }
    }

    fn layers(&self) -> Vec<Layer> {
        Vec::new()
    }

    async fn fork(&self) -> Result<Box<dyn Session>, EngineError> {
        Err(EngineError::Unavailable("a native kernel cannot be forked: copy its files to a new session".to_owned()))
    }

    async fn write_to(&self, _path: &Path) -> Result<u64, EngineError> {
        Err(not_storable())
    }

    async fn enable_crash_recovery(&self, _path: &Path) -> Result<(), EngineError> {
        Ok(())
    }

    fn interrupt_handle(&self) -> Arc<dyn InterruptHandle> {
        Arc::clone(&*self.handle.lock()) as Arc<dyn InterruptHandle>
    }
}

#[async_trait]
impl SessionTransaction for KernelSession {
    async fn begin(&self) -> Result<(), EngineError> {
        Ok(())
    }

    async fn commit(&self) -> Result<(), EngineError> {
        Ok(())
    }

    async fn roll_back(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

#[async_trait]
impl SessionFiles for KernelSession {
    async fn list_files(&self, directory: &str) -> Result<Vec<FileInfo>, EngineError> {
        self.directory.list(directory).await
    }

    async fn read_file(&self, path: &str, offset: u64, length: u64) -> Result<FileChunk, EngineError> {
        self.directory.read(path, offset, length).await
    }

    async fn write_file(&self, path: &str, offset: u64, bytes: Vec<u8>, truncate: bool) -> Result<(), EngineError> {
        self.directory.write(path, offset, bytes, truncate).await
    }

    async fn remove_file(&self, path: &str) -> Result<(), EngineError> {
        self.directory.remove(path).await
    }
}
