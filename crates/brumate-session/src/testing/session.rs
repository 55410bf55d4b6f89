//! Sessions of the fake engine: variables and files that scripts change, and that sleep as JSON.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use brumate_engine_api::{
    BoxFuture, CellAndFiles, EngineError, Event, Execute, FileChunk, FileError, FileInfo, Interrupter, Layer, Outcome,
    Session,
};
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, mpsc};

use super::{FakeMachine, State};
use crate::sessions::WORKSPACE;

/// A variable that a session cannot be put to sleep with.
const UNKEEPABLE: &str = "unkeepable";

/// What a session remembers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) variables: BTreeMap<String, String>,
    /// Relative path → content and stamp.
    pub(super) files: BTreeMap<String, (Vec<u8>, u64)>,
}

impl Memory {
    pub(super) fn write(&mut self, state: &State, path: &str, bytes: Vec<u8>) {
        let stamp = state.stamps.fetch_add(1, Ordering::SeqCst) + 1;
        self.files.insert(path.to_owned(), (bytes, stamp));
    }

    #[expect(clippy::disallowed_methods, reason = "it reads what it wrote")]
    pub(super) fn read(path: &Path) -> Result<Self, EngineError> {
        let will = will_of(path);
        if will.exists() {
            std::fs::rename(&will, path).map_err(|error| EngineError::Io(error.to_string()))?;
        }
        let bytes = std::fs::read(path).map_err(|error| EngineError::Io(error.to_string()))?;
        let damaged = |_| EngineError::Image("the sleeping session is damaged: its checksum is wrong".to_owned());
        serde_json::from_slice(&bytes).map_err(damaged)
    }
}

/// Where a session leaves its will; the real ones use more files of such names.
fn will_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".will");
    name.into()
}

/// A session of the fake engine.
pub(super) struct FakeSession {
    machine: FakeMachine,
    memory: Mutex<Memory>,
    /// The value at the beginning of the transaction.
    before: std::sync::Mutex<Option<Memory>>,
    will: std::sync::Mutex<Option<PathBuf>>,
    layers: std::sync::Mutex<Vec<Layer>>,
}

impl Drop for FakeSession {
    fn drop(&mut self) {
        let will = self.will.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(will) = will
            && !self.machine.state.vanished.load(Ordering::SeqCst)
        {
            let _ = std::fs::remove_file(will);
        }
    }
}

impl FakeSession {
    pub(super) fn new(machine: FakeMachine, memory: Memory) -> Self {
        let (will, layers) = (std::sync::Mutex::new(None), std::sync::Mutex::default());
        Self { machine, memory: Mutex::new(memory), before: std::sync::Mutex::default(), will, layers }
    }

    /// Writes the will, if there is to be one. A real session does so when its server is gone.
    fn write_will(&self, memory: &Memory) {
        if let Some(will) = &*self.will.lock().unwrap_or_else(PoisonError::into_inner) {
            let bytes = serde_json::to_vec(memory).unwrap_or_default();
            let _ = std::fs::write(will, bytes);
        }
    }
}

/// Relative to the working directory.
fn relative(path: &str) -> Result<&str, EngineError> {
    path.strip_prefix(WORKSPACE)
        .and_then(|rest| rest.strip_prefix('/'))
        .ok_or_else(|| EngineError::File(FileError::Other(format!("EACCES: {path}"))))
}

impl Session for FakeSession {
    fn execute<'a>(
        &'a self,
        request: Execute,
        events: mpsc::Sender<Event>,
    ) -> BoxFuture<'a, Result<Outcome, EngineError>> {
        Box::pin(async move {
            let mut memory = self.memory.lock().await;
            let loses = self.machine.script(&request.code)?.loses_session;
            let before = memory.clone();
            match self.machine.play(request, events, &mut memory).await {
                Err(EngineError::MachineExited { reason, output_dropped, peak_memory_bytes }) if !loses => {
                    *memory = before;
                    self.machine.signal.revive();
                    Err(EngineError::RolledBack { reason, output_dropped, peak_memory_bytes })
                }
                ended => {
                    self.write_will(&memory);
                    ended
                }
            }
        })
    }

    fn execute_and_list<'a>(
        &'a self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: &'a str,
    ) -> BoxFuture<'a, Result<CellAndFiles, EngineError>> {
        Box::pin(async move {
            let outcome = self.execute(request, events).await?;
            Ok((outcome, self.list_files(directory).await))
        })
    }

    fn begin(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            let memory = self.memory.lock().await.clone();
            *self.before.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
            Ok(())
        })
    }

    fn commit(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            *self.before.lock().unwrap_or_else(PoisonError::into_inner) = None;
            Ok(())
        })
    }

    fn roll_back(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async move {
            let before = self.before.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(before) = before {
                let mut memory = self.memory.lock().await;
                *memory = before;
                self.write_will(&memory);
            }
            Ok(())
        })
    }

    fn estimated_bytes(&self) -> BoxFuture<'_, Option<u64>> {
        Box::pin(async move {
            let memory = self.memory.lock().await;
            let factor = self.machine.state.estimates.load(Ordering::SeqCst) as u64;
            let bytes = serde_json::to_vec(&*memory).map_or(0, |bytes| bytes.len() as u64);
            (factor > 0).then(|| bytes * factor)
        })
    }

    fn mount<'a>(&'a self, layers: &'a [Layer]) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            self.layers.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(layers);
            Ok(())
        })
    }

    fn layers(&self) -> Vec<Layer> {
        self.layers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fork(&self) -> BoxFuture<'_, Result<Box<dyn Session>, EngineError>> {
        Box::pin(async move {
            let memory = self.memory.lock().await.clone();
            Ok(Box::new(FakeSession::new(self.machine.another(), memory)) as Box<dyn Session>)
        })
    }

    fn hibernate<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<u64, EngineError>> {
        Box::pin(async move {
            let memory = self.memory.lock().await;
            if memory.variables.contains_key(UNKEEPABLE) {
                return Err(EngineError::Image("it holds an open connection".to_owned()));
            }
            let io = |error: std::io::Error| EngineError::Io(error.to_string());
            let bytes = serde_json::to_vec(&*memory).map_err(|error| io(error.into()))?;
            let most = self.machine.state.disk.load(Ordering::SeqCst);
            if bytes.len() as u64 > most {
                return Err(io(std::io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error())));
            }
            // As the real ones are: whole or not at all.
            let half = path.with_extension("half");
            std::fs::write(&half, &bytes).and_then(|()| std::fs::rename(&half, path)).map_err(io)?;
            Ok(bytes.len() as u64)
        })
    }

    fn enable_crash_recovery<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let memory = self.memory.lock().await;
            *self.will.lock().unwrap_or_else(PoisonError::into_inner) = Some(will_of(path));
            self.write_will(&memory);
            Ok(())
        })
    }

    fn interrupter(&self) -> Arc<dyn Interrupter> {
        Arc::clone(&self.machine.signal) as Arc<dyn Interrupter>
    }

    fn list_files<'a>(&'a self, directory: &'a str) -> BoxFuture<'a, Result<Vec<FileInfo>, EngineError>> {
        Box::pin(async move {
            assert_eq!(directory, WORKSPACE, "only the working directory is listed");
            let memory = self.memory.lock().await;
            let info = |(path, (bytes, stamp)): (&String, &(Vec<u8>, u64))| FileInfo {
                path: path.clone(),
                size: bytes.len() as u64,
                modified: 0,
                stamp: *stamp,
            };
            Ok(memory.files.iter().map(info).collect())
        })
    }

    fn read_file<'a>(
        &'a self,
        path: &'a str,
        offset: u64,
        length: u64,
    ) -> BoxFuture<'a, Result<FileChunk, EngineError>> {
        Box::pin(async move {
            let memory = self.memory.lock().await;
            let (bytes, _) = memory.files.get(relative(path)?).ok_or(EngineError::File(FileError::NotFound))?;
            let start = bytes.len().min(offset as usize);
            let end = bytes.len().min(start + length as usize);
            Ok(FileChunk { bytes: bytes[start..end].to_vec(), size: bytes.len() as u64 })
        })
    }

    fn write_file<'a>(
        &'a self,
        path: &'a str,
        offset: u64,
        new: Vec<u8>,
        truncate: bool,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let path = relative(path)?;
            let mut memory = self.memory.lock().await;
            if offset > 1 << 30 {
                return Err(EngineError::File(FileError::NoSpace));
            }
            let mut bytes = memory.files.get(path).map(|(bytes, _)| bytes.clone()).unwrap_or_default();
            let end = offset as usize + new.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[offset as usize..end].copy_from_slice(&new);
            if truncate {
                bytes.truncate(end);
            }
            memory.write(&self.machine.state, path, bytes);
            self.write_will(&memory);
            Ok(())
        })
    }

    fn remove_file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let removed = self.memory.lock().await.files.remove(relative(path)?);
            removed.map(drop).ok_or(EngineError::File(FileError::NotFound))
        })
    }
}
