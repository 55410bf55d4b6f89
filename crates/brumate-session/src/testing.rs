//! Fake engine that plays scripts, for tests of code above the engine.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use brumate_engine_api::{
    Ended, Engine, EngineError, Execute, Image, Layer, Machine, MachineSpec, Outcome, Preparing, Session, StopReason,
};
use parking_lot::Mutex;
use tokio::sync::watch;

mod machine;
mod script;
mod session;
mod state;

use machine::FakeMachine;
pub use script::Script;
use session::FakeSession;
use state::FakeSessionState;

/// Makes an outcome that used no resources.
pub fn outcome(ended: Ended, stopped: Option<StopReason>) -> Outcome {
    Outcome {
        ended,
        is_printed: false,
        stopped,
        output_dropped: 0,
        peak_memory_bytes: 0,
        cpu: Duration::ZERO,
        new_files: Vec::new(),
        more_new_files: 0,
    }
}

/// Engine that plays the script of each source text.
#[derive(Debug, Default)]
pub struct FakeEngine {
    scripts: HashMap<String, Script>,
    state: Arc<FakeEngineState>,
}

#[derive(Debug)]
struct FakeEngineState {
    alive: AtomicUsize,
    made: AtomicUsize,
    most_alive: AtomicUsize,
    stamps: AtomicU64,
    /// Whether sessions that end now leave their crash snapshots.
    server_crashed: AtomicBool,
    /// Whether the files of crash snapshots cannot be made.
    no_crash_recovery: AtomicBool,
    /// Factor by which estimates of session sizes are too large; 0 gives no estimates.
    estimates: AtomicUsize,
    /// Largest session that can be written, in bytes.
    disk: AtomicU64,
    /// Whether files of sessions are of another version.
    outdated: AtomicBool,
    executed: Mutex<Vec<Execute>>,
    prepared: Mutex<Vec<String>>,
    preparing: watch::Sender<Option<Preparing>>,
}

impl Default for FakeEngineState {
    fn default() -> Self {
        Self {
            alive: AtomicUsize::default(),
            made: AtomicUsize::default(),
            most_alive: AtomicUsize::default(),
            stamps: AtomicU64::default(),
            server_crashed: AtomicBool::default(),
            no_crash_recovery: AtomicBool::default(),
            estimates: AtomicUsize::new(1),
            disk: AtomicU64::new(u64::MAX),
            outdated: AtomicBool::default(),
            executed: Mutex::default(),
            prepared: Mutex::default(),
            preparing: watch::Sender::new(None),
        }
    }
}

impl FakeEngineState {
    fn count_machine(&self) {
        let alive = self.alive.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_alive.fetch_max(alive, Ordering::SeqCst);
        self.made.fetch_add(1, Ordering::SeqCst);
    }
}

impl FakeEngine {
    /// Plays `script` when `code` is run. Code without a script is an engine error.
    #[must_use]
    pub fn on(mut self, code: &str, script: Script) -> Self {
        self.scripts.insert(code.to_owned(), script);
        self
    }

    /// Returns the number of machines that exist now.
    pub fn alive(&self) -> usize {
        self.state.alive.load(Ordering::SeqCst)
    }

    /// Returns the number of machines that were made so far.
    pub fn made(&self) -> usize {
        self.state.made.load(Ordering::SeqCst)
    }

    /// Returns the largest number of machines that existed at the same time.
    pub fn most_alive(&self) -> usize {
        self.state.most_alive.load(Ordering::SeqCst)
    }

    /// Sets whether sessions that end do so because their server crashed.
    pub fn set_server_crashed(&self, server_crashed: bool) {
        self.state.server_crashed.store(server_crashed, Ordering::SeqCst);
    }

    /// Sets whether the files of crash snapshots cannot be made, as on a full disk.
    pub fn set_no_crash_recovery(&self, fails: bool) {
        self.state.no_crash_recovery.store(fails, Ordering::SeqCst);
    }

    /// Sets the factor by which estimates of session sizes are too large; 0 gives no estimates.
    pub fn set_estimate_factor(&self, factor: usize) {
        self.state.estimates.store(factor, Ordering::SeqCst);
    }

    /// Sets the largest session that can be written: larger ones fill the disk.
    pub fn set_max_session_bytes(&self, bytes: u64) {
        self.state.disk.store(bytes, Ordering::SeqCst);
    }

    /// Sets whether files of sessions are of another version.
    pub fn set_outdated(&self, outdated: bool) {
        self.state.outdated.store(outdated, Ordering::SeqCst);
    }

    /// Sets the work that runs say they wait for.
    pub fn set_preparing(&self, preparing: Option<Preparing>) {
        self.state.preparing.send_replace(preparing);
    }

    fn check_version(&self) -> Result<(), EngineError> {
        match self.state.outdated.load(Ordering::SeqCst) {
            true => Err(EngineError::Outdated("another Brumate put it to sleep".to_owned())),
            false => Ok(()),
        }
    }

    /// Returns everything that was executed so far.
    pub fn executed(&self) -> Vec<Execute> {
        self.state.executed.lock().clone()
    }

    /// Returns every wheel that was prepared so far.
    pub fn prepared(&self) -> Vec<String> {
        self.state.prepared.lock().clone()
    }
}

impl FakeEngine {
    fn fake_machine(&self) -> FakeMachine {
        FakeMachine::new(self.scripts.clone(), Arc::clone(&self.state))
    }
}

#[async_trait]
impl Engine for FakeEngine {
    async fn machine(&self, _spec: MachineSpec) -> Result<Box<dyn Machine>, EngineError> {
        Ok(Box::new(self.fake_machine()) as Box<dyn Machine>)
    }

    async fn session(&self, _spec: MachineSpec) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(FakeSession::new(self.fake_machine(), FakeSessionState::default())) as Box<dyn Session>)
    }

    async fn resume(&self, path: &Path, _spec: MachineSpec) -> Result<Box<dyn Session>, EngineError> {
        self.check_version()?;
        let state = FakeSessionState::read(path)?;
        Ok(Box::new(FakeSession::new(self.fake_machine(), state)) as Box<dyn Session>)
    }

    async fn can_resume(&self, _path: &Path, _private_image: Option<&Path>) -> Result<(), EngineError> {
        self.check_version()
    }

    async fn recover(&self, path: &Path, _spec: MachineSpec) -> Result<Box<dyn Session>, EngineError> {
        let state = FakeSessionState { files: FakeSessionState::read(path)?.files, ..FakeSessionState::default() };
        Ok(Box::new(FakeSession::new(self.fake_machine(), state)) as Box<dyn Session>)
    }

    fn replaced_packages(&self, _image: &Image, _layers: &[Layer]) -> Vec<String> {
        // Fake images have no modules.
        Vec::new()
    }

    fn preparing(&self) -> Option<watch::Receiver<Option<Preparing>>> {
        Some(self.state.preparing.subscribe())
    }

    async fn compile_wheels(&self, wheels: &[String]) -> Result<(), EngineError> {
        let mut prepared = self.state.prepared.lock();
        prepared.extend_from_slice(wheels);
        Ok(())
    }
}
