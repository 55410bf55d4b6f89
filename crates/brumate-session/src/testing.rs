//! Fake engine that plays scripts, for tests of code above the engine.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brumate_engine_api::{
    Analysis, BoxFuture, Ended, Engine, EngineError, Event, Execute, ExitReason, Image, InstallAnswer, Interrupter,
    Layer, Machine, MachineSpec, Outcome, Preparing, Session, StopReason, StreamName,
};
use tokio::sync::{mpsc, watch};

mod script;
mod session;

pub use script::Script;
use script::Step;
use session::{FakeSession, Memory};

/// Makes an outcome that used no resources.
pub fn outcome(ended: Ended, stopped: Option<StopReason>) -> Outcome {
    Outcome {
        ended,
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
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    alive: AtomicUsize,
    made: AtomicUsize,
    most_alive: AtomicUsize,
    stamps: AtomicU64,
    /// Whether sessions that end now leave their crash snapshots.
    vanished: AtomicBool,
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

impl Default for State {
    fn default() -> Self {
        Self {
            alive: AtomicUsize::default(),
            made: AtomicUsize::default(),
            most_alive: AtomicUsize::default(),
            stamps: AtomicU64::default(),
            vanished: AtomicBool::default(),
            estimates: AtomicUsize::new(1),
            disk: AtomicU64::new(u64::MAX),
            outdated: AtomicBool::default(),
            executed: Mutex::default(),
            prepared: Mutex::default(),
            preparing: watch::Sender::new(None),
        }
    }
}

impl State {
    fn born(&self) {
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
    pub fn set_vanished(&self, vanished: bool) {
        self.state.vanished.store(vanished, Ordering::SeqCst);
    }

    /// Sets the factor by which estimates of session sizes are too large; 0 gives no estimates.
    pub fn set_estimates(&self, factor: usize) {
        self.state.estimates.store(factor, Ordering::SeqCst);
    }

    /// Sets the largest session that can be written: larger ones fill the disk.
    pub fn set_disk(&self, bytes: u64) {
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
        self.state.executed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns every wheel that was prepared so far.
    pub fn prepared(&self) -> Vec<String> {
        self.state.prepared.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl FakeEngine {
    fn fake_machine(&self) -> FakeMachine {
        self.state.born();
        let signal = Arc::new(Signal::new());
        FakeMachine { scripts: self.scripts.clone(), state: Arc::clone(&self.state), signal }
    }
}

impl Engine for FakeEngine {
    fn machine(&self, _spec: MachineSpec) -> BoxFuture<'_, Result<Box<dyn Machine>, EngineError>> {
        Box::pin(async move { Ok(Box::new(self.fake_machine()) as Box<dyn Machine>) })
    }

    fn session(&self, _spec: MachineSpec) -> BoxFuture<'_, Result<Box<dyn Session>, EngineError>> {
        Box::pin(
            async move { Ok(Box::new(FakeSession::new(self.fake_machine(), Memory::default())) as Box<dyn Session>) },
        )
    }

    fn wake<'a>(&'a self, path: &'a Path, _spec: MachineSpec) -> BoxFuture<'a, Result<Box<dyn Session>, EngineError>> {
        Box::pin(async move {
            self.check_version()?;
            let memory = Memory::read(path)?;
            Ok(Box::new(FakeSession::new(self.fake_machine(), memory)) as Box<dyn Session>)
        })
    }

    fn can_wake<'a>(&'a self, _path: &'a Path) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move { self.check_version() })
    }

    fn recover<'a>(
        &'a self,
        path: &'a Path,
        _spec: MachineSpec,
    ) -> BoxFuture<'a, Result<Box<dyn Session>, EngineError>> {
        Box::pin(async move {
            let memory = Memory { files: Memory::read(path)?.files, ..Memory::default() };
            Ok(Box::new(FakeSession::new(self.fake_machine(), memory)) as Box<dyn Session>)
        })
    }

    fn replaced(&self, _image: &Image, _layers: &[Layer]) -> Vec<String> {
        // Fake images have no modules.
        Vec::new()
    }

    fn preparing(&self) -> Option<watch::Receiver<Option<Preparing>>> {
        Some(self.state.preparing.subscribe())
    }

    fn prepare<'a>(&'a self, wheels: &'a [String]) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let mut prepared = self.state.prepared.lock().unwrap_or_else(PoisonError::into_inner);
            prepared.extend_from_slice(wheels);
            Ok(())
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Urgency {
    None,
    Interrupt,
    Kill,
}

/// State of the machine's standard input.
#[derive(Debug, PartialEq)]
enum Input {
    NotAsked,
    Asked,
    Given(Option<String>),
}

/// Stop signal and standard input of a machine.
struct Signal(watch::Sender<Urgency>, watch::Sender<Input>);

impl Signal {
    fn new() -> Self {
        Self(watch::Sender::new(Urgency::None), watch::Sender::new(Input::NotAsked))
    }

    fn raise(&self, urgency: Urgency) {
        self.0.send_if_modified(|now| {
            let raised = urgency > *now;
            if raised {
                *now = urgency;
            }
            raised
        });
    }
}

impl Signal {
    /// Clears the signal: a killed machine is replaced by its checkpoint.
    fn revive(&self) {
        self.0.send_replace(Urgency::None);
    }
}

impl Interrupter for Signal {
    fn interrupt(&self) {
        self.raise(Urgency::Interrupt);
    }

    fn kill(&self) {
        self.raise(Urgency::Kill);
    }

    fn answer(&self, line: Option<String>) -> bool {
        self.1.send_if_modified(|input| {
            let asked = *input == Input::Asked;
            if asked {
                *input = Input::Given(line);
            }
            asked
        })
    }

    fn install(&self, _answer: Result<InstallAnswer, String>) -> bool {
        // Scripts install nothing.
        false
    }

    fn layers(&self) -> Vec<Layer> {
        Vec::new()
    }

    fn withdraw(&self) {
        self.0.send_if_modified(|now| {
            let change = *now == Urgency::Interrupt;
            if change {
                *now = Urgency::None;
            }
            change
        });
    }
}

struct FakeMachine {
    scripts: HashMap<String, Script>,
    state: Arc<State>,
    signal: Arc<Signal>,
}

impl Drop for FakeMachine {
    fn drop(&mut self) {
        self.state.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl FakeMachine {
    fn another(&self) -> Self {
        self.state.born();
        let signal = Arc::new(Signal::new());
        FakeMachine { scripts: self.scripts.clone(), state: Arc::clone(&self.state), signal }
    }

    fn script(&self, code: &str) -> Result<Script, EngineError> {
        let missing = || EngineError::Unavailable(format!("the fake engine has no script for {code:?}"));
        self.scripts.get(code).cloned().ok_or_else(missing)
    }

    async fn asked_to(&self, urgency: Urgency) {
        let mut signal = self.signal.0.subscribe();
        // The sender is in `self`.
        let _ = signal.wait_for(|now| *now >= urgency).await;
    }

    /// Waits for an interrupt, and returns a KeyboardInterrupt.
    async fn interrupted(&self) -> Result<Outcome, EngineError> {
        self.asked_to(Urgency::Interrupt).await;
        if *self.signal.0.borrow() == Urgency::Kill {
            return Err(EngineError::MachineExited {
                reason: ExitReason::Cancelled,
                output_dropped: 0,
                peak_memory_bytes: None,
            });
        }
        self.signal.withdraw();
        let traceback =
            "Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\nKeyboardInterrupt\n";
        let ended = Ended::Raised {
            ename: "KeyboardInterrupt".to_owned(),
            evalue: String::new(),
            traceback: traceback.to_owned(),
        };
        Ok(outcome(ended, Some(StopReason::Cancelled)))
    }

    /// Plays a script; changes of a session's state go to `state`.
    async fn play(
        &self,
        request: Execute,
        events: mpsc::Sender<Event>,
        memory: &mut Memory,
    ) -> Result<Outcome, EngineError> {
        let script = self.script(&request.code)?;
        self.state.executed.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        for step in script.steps {
            match step {
                Step::Emit(event) => {
                    let _ = events.send(event).await;
                }
                Step::Sleep(duration) => tokio::time::sleep(duration).await,
                Step::Loop => return self.interrupted().await,
                Step::Ask(prompt, password) => {
                    self.signal.1.send_replace(Input::Asked);
                    let _ = events.send(Event::InputRequest { prompt, password }).await;
                    let mut input = self.signal.1.subscribe();
                    tokio::select! {
                        // The sender is in `self`; the returned guard holds its lock.
                        () = async { drop(input.wait_for(|input| matches!(input, Input::Given(_))).await) } => {}
                        ended = self.interrupted() => return ended,
                    }
                    let Input::Given(Some(text)) = self.signal.1.send_replace(Input::NotAsked) else {
                        return Script::raising("EOFError", "EOF when reading a line").end;
                    };
                    let _ = events.send(Event::Stream { name: StreamName::Stdout, text }).await;
                }
                Step::Hang => {
                    self.asked_to(Urgency::Kill).await;
                    return Err(EngineError::MachineExited {
                        reason: ExitReason::Signal(9),
                        output_dropped: 0,
                        peak_memory_bytes: None,
                    });
                }
                Step::Panic => panic!("the script says so"),
                Step::Set(name, value) => {
                    memory.variables.insert(name, value);
                }
                Step::Get(name) => {
                    let Some(value) = memory.variables.get(&name) else {
                        return Script::raising("NameError", &format!("name '{name}' is not defined")).end;
                    };
                    let data = [("text/plain".to_owned(), value.clone())].into();
                    let _ = events.send(Event::ExecuteResult { data }).await;
                }
                Step::Write(path, bytes) => memory.write(&self.state, &path, bytes),
                Step::Remove(path) => {
                    memory.files.remove(&path);
                }
            }
        }
        script.end
    }
}

impl Machine for FakeMachine {
    fn analyze<'a>(&'a mut self, code: &'a str) -> BoxFuture<'a, Result<Analysis, EngineError>> {
        Box::pin(async move { Ok(self.script(code)?.analysis) })
    }

    fn mount<'a>(&'a mut self, _layers: &'a [Layer]) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    fn execute<'a>(
        &'a mut self,
        request: Execute,
        events: mpsc::Sender<Event>,
    ) -> BoxFuture<'a, Result<Outcome, EngineError>> {
        Box::pin(async move { self.play(request, events, &mut Memory::default()).await })
    }

    fn interrupter(&self) -> Arc<dyn Interrupter> {
        Arc::clone(&self.signal) as Arc<dyn Interrupter>
    }
}
