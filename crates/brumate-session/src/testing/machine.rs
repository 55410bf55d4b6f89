//! Machines of the fake engine.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use brumate_engine_api::{
    Analysis, Ended, EngineError, Event, Execute, ExitReason, GuestAnswer, GuestRequest, InterruptHandle, Layer,
    Machine, Outcome, RequestBody, StopReason, StreamName,
};
use tokio::sync::{mpsc, watch};

use super::script::{Script, ScriptStep};
use super::state::FakeSessionState;
use super::{FakeEngineState, outcome};

#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum StopSignal {
    None,
    Interrupt,
    Kill,
}

/// State of the machine's standard input.
#[derive(Debug, PartialEq)]
enum StdinState {
    NotAsked,
    Asked,
    Given(Option<String>),
}

/// Stop signal and standard input of a machine.
pub(super) struct FakeInterrupter(watch::Sender<StopSignal>, watch::Sender<StdinState>);

impl FakeInterrupter {
    fn new() -> Self {
        Self(watch::Sender::new(StopSignal::None), watch::Sender::new(StdinState::NotAsked))
    }

    fn raise(&self, urgency: StopSignal) {
        self.0.send_if_modified(|now| {
            let raised = urgency > *now;
            if raised {
                *now = urgency;
            }
            raised
        });
    }
}

impl FakeInterrupter {
    /// Clears the signal: a killed machine is replaced by its checkpoint.
    pub(super) fn clear(&self) {
        self.0.send_replace(StopSignal::None);
    }
}

impl InterruptHandle for FakeInterrupter {
    fn interrupt(&self) {
        self.raise(StopSignal::Interrupt);
    }

    fn kill(&self) {
        self.raise(StopSignal::Kill);
    }

    fn answer(&self, _request: u64, answer: GuestAnswer) -> bool {
        // Scripts install nothing.
        let GuestAnswer::Input(line) = answer else { return false };
        self.1.send_if_modified(|input| {
            let asked = *input == StdinState::Asked;
            if asked {
                *input = StdinState::Given(line);
            }
            asked
        })
    }

    fn layers(&self) -> Vec<Layer> {
        Vec::new()
    }

    fn clear(&self) {
        self.0.send_if_modified(|now| {
            let change = *now == StopSignal::Interrupt;
            if change {
                *now = StopSignal::None;
            }
            change
        });
    }
}

/// Machine of the fake engine.
pub(super) struct FakeMachine {
    scripts: HashMap<String, Script>,
    pub(super) state: Arc<FakeEngineState>,
    pub(super) signal: Arc<FakeInterrupter>,
}

impl Drop for FakeMachine {
    fn drop(&mut self) {
        self.state.alive.fetch_sub(1, Ordering::SeqCst);
    }
}

impl FakeMachine {
    /// Makes a machine that plays `scripts`.
    pub(super) fn new(scripts: HashMap<String, Script>, state: Arc<FakeEngineState>) -> Self {
        state.count_machine();
        Self { scripts, state, signal: Arc::new(FakeInterrupter::new()) }
    }

    /// Makes another machine that plays the same scripts.
    pub(super) fn fork(&self) -> Self {
        Self::new(self.scripts.clone(), Arc::clone(&self.state))
    }

    /// Returns the script of a source text.
    pub(super) fn script(&self, code: &str) -> Result<Script, EngineError> {
        let missing = || EngineError::Unavailable(format!("the fake engine has no script for {code:?}"));
        self.scripts.get(code).cloned().ok_or_else(missing)
    }

    async fn stop_requested(&self, urgency: StopSignal) {
        let mut signal = self.signal.0.subscribe();
        // The sender is in `self`.
        let _ = signal.wait_for(|now| *now >= urgency).await;
    }

    /// Waits for an interrupt, and returns a KeyboardInterrupt.
    async fn interrupted(&self) -> Result<Outcome, EngineError> {
        self.stop_requested(StopSignal::Interrupt).await;
        if *self.signal.0.borrow() == StopSignal::Kill {
            return Err(EngineError::MachineExited {
                reason: ExitReason::Cancelled,
                output_dropped: 0,
                peak_memory_bytes: None,
            });
        }
        self.signal.clear();
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
    pub(super) async fn play(
        &self,
        request: Execute,
        events: mpsc::Sender<Event>,
        state: &mut FakeSessionState,
    ) -> Result<Outcome, EngineError> {
        let script = self.script(&request.code)?;
        self.state.executed.lock().push(request);
        for step in script.steps {
            match step {
                ScriptStep::Emit(event) => {
                    let _ = events.send(event).await;
                }
                ScriptStep::Sleep(duration) => tokio::time::sleep(duration).await,
                ScriptStep::Loop => return self.interrupted().await,
                ScriptStep::Ask(prompt, password) => {
                    self.signal.1.send_replace(StdinState::Asked);
                    let (id, body) = (1, RequestBody::Input { prompt, password });
                    let _ = events.send(Event::Request(GuestRequest { id, body })).await;
                    let mut input = self.signal.1.subscribe();
                    tokio::select! {
                        // The sender is in `self`; the returned guard holds its lock.
                        () = async { drop(input.wait_for(|input| matches!(input, StdinState::Given(_))).await) } => {}
                        ended = self.interrupted() => return ended,
                    }
                    let StdinState::Given(Some(text)) = self.signal.1.send_replace(StdinState::NotAsked) else {
                        return Script::raising("EOFError", "EOF when reading a line").end;
                    };
                    let _ = events.send(Event::Stream { name: StreamName::Stdout, text }).await;
                }
                ScriptStep::Hang => {
                    self.stop_requested(StopSignal::Kill).await;
                    return Err(EngineError::MachineExited {
                        reason: ExitReason::Signal(9),
                        output_dropped: 0,
                        peak_memory_bytes: None,
                    });
                }
                ScriptStep::Panic => panic!("the script says so"),
                ScriptStep::Set(name, value) => {
                    state.variables.insert(name, value);
                }
                ScriptStep::Get(name) => {
                    let Some(value) = state.variables.get(&name) else {
                        return Script::raising("NameError", &format!("name '{name}' is not defined")).end;
                    };
                    let data = [("text/plain".to_owned(), value.clone())].into();
                    let _ = events.send(Event::ExecuteResult { data }).await;
                }
                ScriptStep::Write(path, bytes) => state.write(&self.state, &path, bytes),
                ScriptStep::Remove(path) => {
                    state.files.remove(&path);
                }
            }
        }
        script.end
    }
}

#[async_trait]
impl Machine for FakeMachine {
    async fn analyze(&mut self, code: &str) -> Result<Analysis, EngineError> {
        Ok(self.script(code)?.analysis)
    }

    async fn mount(&mut self, _layers: &[Layer]) -> Result<(), EngineError> {
        Ok(())
    }

    async fn execute(&mut self, request: Execute, events: mpsc::Sender<Event>) -> Result<Outcome, EngineError> {
        self.play(request, events, &mut FakeSessionState::default()).await
    }

    fn interrupt_handle(&self) -> Arc<dyn InterruptHandle> {
        Arc::clone(&self.signal) as Arc<dyn InterruptHandle>
    }
}
