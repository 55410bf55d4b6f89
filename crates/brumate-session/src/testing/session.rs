//! Sessions of the fake engine: variables and files that scripts change, hibernated as JSON.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use brumate_engine_api::{
    CellAndFiles, EngineError, Event, Execute, ExitReason, FileChunk, FileError, FileInfo, InterruptHandle, Layer,
    Outcome, Session, SessionFiles, SessionTransaction,
};
use tokio::sync::{Mutex, mpsc};

use super::machine::FakeMachine;
use super::state::{FakeSessionState, crash_snapshot_of};
use crate::sessions::WORKSPACE;

/// Name of a variable with which a session cannot be stored.
const NOT_STORABLE: &str = "unkeepable";

/// Session of the fake engine.
pub(super) struct FakeSession {
    machine: FakeMachine,
    state: Mutex<FakeSessionState>,
    /// State at the beginning of the transaction.
    before: parking_lot::Mutex<Option<FakeSessionState>>,
    crash_snapshot: parking_lot::Mutex<Option<PathBuf>>,
    layers: parking_lot::Mutex<Vec<Layer>>,
    /// Whether the next commit fails.
    fails_to_commit: AtomicBool,
}

impl Drop for FakeSession {
    fn drop(&mut self) {
        let crash_snapshot = self.crash_snapshot.lock().take();
        if let Some(crash_snapshot) = crash_snapshot
            && !self.machine.state.server_crashed.load(Ordering::SeqCst)
        {
            let _ = std::fs::remove_file(crash_snapshot);
        }
    }
}

impl FakeSession {
    pub(super) fn new(machine: FakeMachine, state: FakeSessionState) -> Self {
        let (crash_snapshot, layers) = (parking_lot::Mutex::new(None), parking_lot::Mutex::default());
        let (before, fails_to_commit) = (parking_lot::Mutex::default(), AtomicBool::new(false));
        Self { machine, state: Mutex::new(state), before, crash_snapshot, layers, fails_to_commit }
    }

    /// Writes the crash snapshot, if there is to be one. A real session does so when its server has ended.
    fn write_crash_snapshot(&self, state: &FakeSessionState) {
        if let Some(crash_snapshot) = &*self.crash_snapshot.lock() {
            let bytes = serde_json::to_vec(state).unwrap_or_default();
            let _ = std::fs::write(crash_snapshot, bytes);
        }
    }
}

/// Returns a path relative to the working directory.
fn relative(path: &str) -> Result<&str, EngineError> {
    path.strip_prefix(WORKSPACE)
        .and_then(|rest| rest.strip_prefix('/'))
        .ok_or_else(|| EngineError::File(FileError::Other(format!("EACCES: {path}"))))
}

#[async_trait]
impl Session for FakeSession {
    async fn execute(&self, request: Execute, events: mpsc::Sender<Event>) -> Result<Outcome, EngineError> {
        let mut state = self.state.lock().await;
        let script = self.machine.script(&request.code)?;
        let loses = script.loses_session;
        self.fails_to_commit.store(script.fails_to_commit, Ordering::SeqCst);
        let before = state.clone();
        match self.machine.play(request, events, &mut state).await {
            Err(EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }) if !loses => {
                *state = before;
                self.machine.signal.clear();
                Err(EngineError::RolledBack { reason, output_dropped, peak_memory_bytes })
            }
            ended => {
                self.write_crash_snapshot(&state);
                ended
            }
        }
    }

    async fn execute_and_list(
        &self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: &str,
    ) -> Result<CellAndFiles, EngineError> {
        let outcome = self.execute(request, events).await?;
        Ok((outcome, self.list_files(directory).await))
    }

    async fn estimated_bytes(&self) -> Option<u64> {
        let state = self.state.lock().await;
        let factor = self.machine.state.estimates.load(Ordering::SeqCst) as u64;
        let bytes = serde_json::to_vec(&*state).map_or(0, |bytes| bytes.len() as u64);
        (factor > 0).then(|| bytes * factor)
    }

    async fn measured_bytes(&self) -> Result<u64, EngineError> {
        let state = self.state.lock().await;
        Ok(serde_json::to_vec(&*state).map_or(0, |bytes| bytes.len() as u64))
    }

    async fn mount(&self, layers: &[Layer]) -> Result<(), EngineError> {
        self.layers.lock().extend_from_slice(layers);
        Ok(())
    }

    fn layers(&self) -> Vec<Layer> {
        self.layers.lock().clone()
    }

    async fn fork(&self) -> Result<Box<dyn Session>, EngineError> {
        let state = self.state.lock().await.clone();
        Ok(Box::new(FakeSession::new(self.machine.fork(), state)) as Box<dyn Session>)
    }

    async fn write_to(&self, path: &Path) -> Result<u64, EngineError> {
        let state = self.state.lock().await;
        if state.variables.contains_key(NOT_STORABLE) {
            return Err(EngineError::Image("it holds an open connection".to_owned()));
        }
        let io = EngineError::from;
        let bytes = serde_json::to_vec(&*state).map_err(|error| io(error.into()))?;
        let most = self.machine.state.disk.load(Ordering::SeqCst);
        if bytes.len() as u64 > most {
            return Err(io(std::io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error())));
        }
        // Complete or not at all, as with the real engine.
        let half = path.with_extension("half");
        std::fs::write(&half, &bytes).and_then(|()| std::fs::rename(&half, path)).map_err(io)?;
        Ok(bytes.len() as u64)
    }

    async fn enable_crash_recovery(&self, path: &Path) -> Result<(), EngineError> {
        if self.machine.state.no_crash_recovery.load(Ordering::SeqCst) {
            return Err(EngineError::from(std::io::Error::from(std::io::ErrorKind::StorageFull)));
        }
        let state = self.state.lock().await;
        *self.crash_snapshot.lock() = Some(crash_snapshot_of(path));
        self.write_crash_snapshot(&state);
        Ok(())
    }

    fn interrupt_handle(&self) -> Arc<dyn InterruptHandle> {
        Arc::clone(&self.machine.signal) as Arc<dyn InterruptHandle>
    }
}

#[async_trait]
impl SessionTransaction for FakeSession {
    async fn begin(&self) -> Result<(), EngineError> {
        let state = self.state.lock().await.clone();
        *self.before.lock() = Some(state);
        Ok(())
    }

    async fn commit(&self) -> Result<(), EngineError> {
        if self.fails_to_commit.swap(false, Ordering::SeqCst) {
            let reason = ExitReason::Signal(ExitReason::SIGKILL);
            return Err(EngineError::MachineExited { reason, output_dropped: 0, peak_memory_bytes: None });
        }
        *self.before.lock() = None;
        Ok(())
    }

    async fn roll_back(&self) -> Result<(), EngineError> {
        let before = self.before.lock().take();
        if let Some(before) = before {
            let mut state = self.state.lock().await;
            *state = before;
            self.write_crash_snapshot(&state);
        }
        Ok(())
    }
}

#[async_trait]
impl SessionFiles for FakeSession {
    async fn list_files(&self, directory: &str) -> Result<Vec<FileInfo>, EngineError> {
        assert_eq!(directory, WORKSPACE, "only the working directory is listed");
        let state = self.state.lock().await;
        let info = |(path, (bytes, stamp)): (&String, &(Vec<u8>, u64))| FileInfo {
            path: path.clone(),
            size: bytes.len() as u64,
            modified: 0,
            stamp: *stamp,
        };
        Ok(state.files.iter().map(info).collect())
    }

    async fn read_file(&self, path: &str, offset: u64, length: u64) -> Result<FileChunk, EngineError> {
        let state = self.state.lock().await;
        let (bytes, _) = state.files.get(relative(path)?).ok_or(EngineError::File(FileError::NotFound))?;
        let start = bytes.len().min(offset as usize);
        let end = bytes.len().min(start + length as usize);
        Ok(FileChunk { bytes: bytes[start..end].to_vec(), size: bytes.len() as u64 })
    }

    async fn write_file(&self, path: &str, offset: u64, new: Vec<u8>, truncate: bool) -> Result<(), EngineError> {
        let path = relative(path)?;
        let mut state = self.state.lock().await;
        if offset > 1 << 30 {
            return Err(EngineError::File(FileError::NoSpace));
        }
        let mut bytes = state.files.get(path).map(|(bytes, _)| bytes.clone()).unwrap_or_default();
        let end = offset as usize + new.len();
        bytes.resize(bytes.len().max(end), 0);
        bytes[offset as usize..end].copy_from_slice(&new);
        if truncate {
            bytes.truncate(end);
        }
        state.write(&self.machine.state, path, bytes);
        self.write_crash_snapshot(&state);
        Ok(())
    }

    async fn remove_file(&self, path: &str) -> Result<(), EngineError> {
        let removed = self.state.lock().await.files.remove(relative(path)?);
        removed.map(drop).ok_or(EngineError::File(FileError::NotFound))
    }
}
