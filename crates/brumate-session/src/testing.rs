//! An engine that plays back scripts: for tests of what sits on top of an engine.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brumate_engine::api::{Analysis, Ended, Event, Execute, MachineSpec, Outcome, ReturnValue, StopReason, StreamName};
use tokio::sync::{mpsc, watch};

use crate::engine::{BoxFuture, Died, Engine, EngineError, Interrupter, Machine};

/// What a machine does with one piece of code.
#[derive(Debug, Clone)]
pub struct Script {
    steps: Vec<Step>,
    end: Result<Outcome, EngineError>,
    analysis: Analysis,
}

#[derive(Debug, Clone)]
enum Step {
    Emit(Event),
    /// Until it is interrupted; then KeyboardInterrupt.
    Loop,
    /// Until it is killed.
    Hang,
    Sleep(Duration),
    Panic,
}

impl Script {
    fn ending(ended: Ended) -> Self {
        Self { steps: Vec::new(), end: Ok(outcome(ended, None)), analysis: Analysis::default() }
    }

    /// Returns `None`.
    pub fn silent() -> Self {
        Self::ending(Ended::Returned(None))
    }

    /// Returns a value that is not a string.
    pub fn returning(json: &str) -> Self {
        Self::ending(Ended::Returned(Some(ReturnValue { json: json.to_owned(), is_str: false })))
    }

    /// Returns a string.
    pub fn returning_str(text: &str) -> Self {
        let json = serde_json::Value::from(text).to_string();
        Self::ending(Ended::Returned(Some(ReturnValue { json, is_str: true })))
    }

    /// Raises.
    pub fn raising(ename: &str, evalue: &str) -> Self {
        let traceback =
            format!("Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\n{ename}: {evalue}\n");
        Self::ending(Ended::Raised { ename: ename.to_owned(), evalue: evalue.to_owned(), traceback })
    }

    /// Exits.
    pub fn exiting(code: i32, message: &str) -> Self {
        Self::ending(Ended::Exited { code, message: message.to_owned() })
    }

    /// Ends with what the engine gives; for outcomes that the other constructors do not make.
    pub fn ending_with(end: Result<Outcome, EngineError>) -> Self {
        Self { steps: Vec::new(), end, analysis: Analysis::default() }
    }

    /// The machine dies.
    pub fn dying(reason: Died) -> Self {
        Self::ending_with(Err(EngineError::Died { reason, output_dropped: 0 }))
    }

    fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Writes to stdout.
    #[must_use]
    pub fn stdout(self, text: &str) -> Self {
        self.then(Step::Emit(Event::Stream { name: StreamName::Stdout, text: text.to_owned() }))
    }

    /// Writes to stderr.
    #[must_use]
    pub fn stderr(self, text: &str) -> Self {
        self.then(Step::Emit(Event::Stream { name: StreamName::Stderr, text: text.to_owned() }))
    }

    /// Sends any event.
    #[must_use]
    pub fn event(self, event: Event) -> Self {
        self.then(Step::Emit(event))
    }

    /// Runs until it is interrupted, and reacts to that.
    #[must_use]
    pub fn endless(self) -> Self {
        self.then(Step::Loop)
    }

    /// Runs until it is killed.
    #[must_use]
    pub fn stubborn(self) -> Self {
        self.then(Step::Hang)
    }

    /// Waits.
    #[must_use]
    pub fn sleep(self, duration: Duration) -> Self {
        self.then(Step::Sleep(duration))
    }

    /// Panics inside the engine.
    #[must_use]
    pub fn panicking(self) -> Self {
        self.then(Step::Panic)
    }

    /// What the guest's parser finds in it.
    #[must_use]
    pub fn imports(mut self, required: &[&str], optional: &[&str]) -> Self {
        self.analysis = Analysis {
            imports: required.iter().map(ToString::to_string).collect(),
            optional_imports: optional.iter().map(ToString::to_string).collect(),
            syntax_error: false,
        };
        self
    }
}

/// An outcome that used no resources.
pub fn outcome(ended: Ended, stopped: Option<StopReason>) -> Outcome {
    Outcome { ended, stopped, output_dropped: 0, peak_memory_bytes: 0, cpu: Duration::ZERO }
}

/// Plays back the script that belongs to a code.
#[derive(Debug, Default)]
pub struct FakeEngine {
    scripts: HashMap<String, Script>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    alive: AtomicUsize,
    made: AtomicUsize,
    executed: Mutex<Vec<Execute>>,
    prepared: Mutex<Vec<String>>,
}

impl FakeEngine {
    /// Plays `script` when `code` is run. Code without a script is an engine error.
    #[must_use]
    pub fn on(mut self, code: &str, script: Script) -> Self {
        self.scripts.insert(code.to_owned(), script);
        self
    }

    /// Machines that exist now.
    pub fn alive(&self) -> usize {
        self.state.alive.load(Ordering::SeqCst)
    }

    /// Machines that were made so far.
    pub fn made(&self) -> usize {
        self.state.made.load(Ordering::SeqCst)
    }

    /// Everything that was executed so far.
    pub fn executed(&self) -> Vec<Execute> {
        self.state.executed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every wheel that was prepared so far.
    pub fn prepared(&self) -> Vec<String> {
        self.state.prepared.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Engine for FakeEngine {
    fn machine(&self, _spec: MachineSpec) -> BoxFuture<'_, Result<Box<dyn Machine>, EngineError>> {
        Box::pin(async move {
            self.state.alive.fetch_add(1, Ordering::SeqCst);
            self.state.made.fetch_add(1, Ordering::SeqCst);
            let signal = Arc::new(Signal(watch::channel(Urgency::None).0));
            let machine = FakeMachine { scripts: self.scripts.clone(), state: Arc::clone(&self.state), signal };
            Ok(Box::new(machine) as Box<dyn Machine>)
        })
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

/// How urgently the machine is asked to stop.
struct Signal(watch::Sender<Urgency>);

impl Signal {
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

impl Interrupter for Signal {
    fn interrupt(&self) {
        self.raise(Urgency::Interrupt);
    }

    fn kill(&self) {
        self.raise(Urgency::Kill);
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
    fn script(&self, code: &str) -> Result<Script, EngineError> {
        let missing = || EngineError::Unavailable(format!("the fake engine has no script for {code:?}"));
        self.scripts.get(code).cloned().ok_or_else(missing)
    }

    async fn asked_to(&self, urgency: Urgency) {
        let mut signal = self.signal.0.subscribe();
        // The sender lives in `self`.
        let _ = signal.wait_for(|now| *now >= urgency).await;
    }

    async fn play(&self, request: Execute, events: mpsc::Sender<Event>) -> Result<Outcome, EngineError> {
        let script = self.script(&request.code)?;
        self.state.executed.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        for step in script.steps {
            match step {
                Step::Emit(event) => {
                    let _ = events.send(event).await;
                }
                Step::Sleep(duration) => tokio::time::sleep(duration).await,
                Step::Loop => {
                    self.asked_to(Urgency::Interrupt).await;
                    let traceback = "Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\nKeyboardInterrupt\n";
                    let ended = Ended::Raised {
                        ename: "KeyboardInterrupt".to_owned(),
                        evalue: String::new(),
                        traceback: traceback.to_owned(),
                    };
                    return Ok(outcome(ended, Some(StopReason::Cancelled)));
                }
                Step::Hang => {
                    self.asked_to(Urgency::Kill).await;
                    return Err(EngineError::Died { reason: Died::Signal(9), output_dropped: 0 });
                }
                Step::Panic => panic!("the script says so"),
            }
        }
        script.end
    }
}

impl Machine for FakeMachine {
    fn analyze<'a>(&'a mut self, code: &'a str) -> BoxFuture<'a, Result<Analysis, EngineError>> {
        Box::pin(async move { Ok(self.script(code)?.analysis) })
    }

    fn execute<'a>(
        &'a mut self,
        request: Execute,
        events: mpsc::Sender<Event>,
    ) -> BoxFuture<'a, Result<Outcome, EngineError>> {
        Box::pin(self.play(request, events))
    }

    fn interrupter(&self) -> Arc<dyn Interrupter> {
        Arc::clone(&self.signal) as Arc<dyn Interrupter>
    }
}
