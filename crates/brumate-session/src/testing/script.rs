//! Scripts of the fake engine's machines.

use std::time::Duration;

use brumate_engine_api::{Analysis, Ended, EngineError, Event, ExitReason, Outcome, ReturnValue, StreamName};

use super::outcome;

/// Behaviour of a machine for one source text.
#[derive(Debug, Clone)]
pub struct Script {
    pub(super) steps: Vec<ScriptStep>,
    pub(super) end: Result<Outcome, EngineError>,
    /// Whether the session is lost when the machine ends.
    pub(super) loses_session: bool,
    /// Whether the change of the session cannot be committed.
    pub(super) fails_to_commit: bool,
    pub(super) analysis: Analysis,
}

#[derive(Debug, Clone)]
pub(super) enum ScriptStep {
    Emit(Event),
    /// Waits for an interrupt, then raises KeyboardInterrupt.
    Loop,
    /// Waits until the machine is killed.
    Hang,
    Sleep(Duration),
    /// Writes the answer to its output; EOFError at the end of the input, KeyboardInterrupt when interrupted.
    Ask(String, bool),
    Panic,
    Set(String, String),
    Get(String),
    Write(String, Vec<u8>),
    Remove(String),
}

impl Script {
    fn ending(ended: Ended) -> Self {
        Self::ending_with(Ok(outcome(ended, None)))
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

    /// Ends with any result of the engine.
    pub fn ending_with(end: Result<Outcome, EngineError>) -> Self {
        Self { steps: Vec::new(), end, loses_session: false, fails_to_commit: false, analysis: Analysis::default() }
    }

    /// Ends the machine. A session is rolled back.
    pub fn dying(reason: ExitReason) -> Self {
        Self::ending_with(Err(EngineError::MachineExited { reason, output_dropped: 0, peak_memory_bytes: None }))
    }

    fn then(mut self, step: ScriptStep) -> Self {
        self.steps.push(step);
        self
    }

    /// Writes to stdout.
    #[must_use]
    pub fn stdout(self, text: &str) -> Self {
        self.then(ScriptStep::Emit(Event::Stream { name: StreamName::Stdout, text: text.to_owned() }))
    }

    /// Writes to stderr.
    #[must_use]
    pub fn stderr(self, text: &str) -> Self {
        self.then(ScriptStep::Emit(Event::Stream { name: StreamName::Stderr, text: text.to_owned() }))
    }

    /// Sends any event.
    #[must_use]
    pub fn event(self, event: Event) -> Self {
        self.then(ScriptStep::Emit(event))
    }

    /// Runs until it is interrupted, and reacts to that.
    #[must_use]
    pub fn endless(self) -> Self {
        self.then(ScriptStep::Loop)
    }

    /// Runs until it is killed.
    #[must_use]
    pub fn stubborn(self) -> Self {
        self.then(ScriptStep::Hang)
    }

    /// Requests input and writes the answer to stdout; raises EOFError or KeyboardInterrupt when there is none.
    #[must_use]
    pub fn asks(self, prompt: &str, password: bool) -> Self {
        self.then(ScriptStep::Ask(prompt.to_owned(), password))
    }

    /// Waits for a duration.
    #[must_use]
    pub fn sleep(self, duration: Duration) -> Self {
        self.then(ScriptStep::Sleep(duration))
    }

    /// Panics inside the engine.
    #[must_use]
    pub fn panicking(self) -> Self {
        self.then(ScriptStep::Panic)
    }

    /// Sets a variable of a session.
    #[must_use]
    pub fn sets(self, name: &str, value: &str) -> Self {
        self.then(ScriptStep::Set(name.to_owned(), value.to_owned()))
    }

    /// Shows a variable of a session as the last expression's value; raises NameError if it does not exist.
    #[must_use]
    pub fn gets(self, name: &str) -> Self {
        self.then(ScriptStep::Get(name.to_owned()))
    }

    /// Writes a file below the working directory of a session.
    #[must_use]
    pub fn writes(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.then(ScriptStep::Write(path.to_owned(), bytes.into()))
    }

    /// Removes a file of a session.
    #[must_use]
    pub fn removes(self, path: &str) -> Self {
        self.then(ScriptStep::Remove(path.to_owned()))
    }

    /// Loses the session when its machine ends.
    #[must_use]
    pub fn losing_session(mut self) -> Self {
        self.loses_session = true;
        self
    }

    /// Ends the machine when the change of the session is committed.
    #[must_use]
    pub fn failing_to_commit(mut self) -> Self {
        self.fails_to_commit = true;
        self
    }

    /// Sets the imports that the guest's parser finds.
    #[must_use]
    pub fn imports(mut self, required: &[&str], optional: &[&str]) -> Self {
        self.analysis = Analysis {
            imports: required.iter().map(ToString::to_string).collect(),
            optional_imports: optional.iter().map(ToString::to_string).collect(),
            requirements: Vec::new(),
            syntax_error: false,
        };
        self
    }
}
