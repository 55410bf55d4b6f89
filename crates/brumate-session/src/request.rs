//! What goes into a run and what is seen of it from outside.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use brumate_engine_api::{EngineError, Image, Limits, StreamName};
use thiserror::Error;

use crate::allowance::OverLimit;
use crate::explain;
use crate::learned::Builder;
use crate::packages::PackageEvent;
use crate::question::Questions;

/// Settings of a [`Runner`](crate::Runner).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunnerSettings {
    /// Limits of each machine.
    pub limits: Limits,
    /// Requirements that every run gets.
    pub dependencies: Vec<String>,
    /// Runs at the same time; four times as many may wait.
    pub max_concurrent: usize,
    /// Images that runs are forked from when they import something of them.
    pub images: Vec<Image>,
    /// The process that builds images of packages that code imports repeatedly.
    pub builder: Builder,
    /// The file that keeps what code imports; `None`: only this process knows it.
    pub imports_file: Option<PathBuf>,
}

impl Default for RunnerSettings {
    /// The engine's default limits, no dependencies, four runs per processor, the image with numpy, pandas and matplotlib.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            limits: Limits::default(),
            dependencies: Vec::new(),
            max_concurrent: processors * 4,
            images: vec![Image::data()],
            builder: Builder::default(),
            imports_file: None,
        }
    }
}

/// Code to run.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunRequest {
    /// Source text.
    pub code: String,
    /// Shown in tracebacks; `main.py` when empty.
    pub file_name: String,
    /// Globals beside Python's own.
    pub globals: serde_json::Map<String, serde_json::Value>,
    /// Who takes the code's questions; nobody: it finds the end of the input.
    pub questions: Option<Questions>,
    /// Whose run it is.
    pub principal: String,
    /// Where it is noted when the run was let in and when its code began; nowhere.
    pub phases: Option<Arc<Phases>>,
}

/// When a run was let in and when its code began, for those who want to know how long it waited; the first time counts.
#[derive(Debug, Default)]
pub struct Phases {
    admitted: OnceLock<Instant>,
    started: OnceLock<Instant>,
}

impl Phases {
    /// It has its place among those that run at the same time.
    pub(crate) fn admit(this: Option<&Arc<Self>>) {
        if let Some(this) = this {
            let _ = this.admitted.set(Instant::now());
        }
    }

    /// Its code begins.
    pub(crate) fn start(this: Option<&Arc<Self>>) {
        if let Some(this) = this {
            let _ = this.started.set(Instant::now());
        }
    }

    /// When it was let in, if it was.
    pub fn admitted(&self) -> Option<Instant> {
        self.admitted.get().copied()
    }

    /// When its code began, if it did.
    pub fn started(&self) -> Option<Instant> {
        self.started.get().copied()
    }
}

impl RunRequest {
    /// Code without globals, in `main.py`.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), ..Self::default() }
    }

    /// Sets the globals.
    #[must_use]
    pub fn with_globals(mut self, globals: serde_json::Map<String, serde_json::Value>) -> Self {
        self.globals = globals;
        self
    }

    /// Code whose questions somebody takes.
    #[must_use]
    pub fn with_questions(mut self, questions: Option<Questions>) -> Self {
        self.questions = questions;
        self
    }

    /// Says whose run it is: each principal has its turn, and its limits.
    #[must_use]
    pub fn of_principal(mut self, principal: impl Into<String>) -> Self {
        self.principal = principal.into();
        self
    }

    /// Notes in `phases` when the run is let in and when its code begins.
    #[must_use]
    pub fn with_phases(mut self, phases: Option<Arc<Phases>>) -> Self {
        self.phases = phases;
        self
    }

    /// Sets the file name.
    #[must_use]
    pub fn with_file_name(mut self, file_name: impl Into<String>) -> Self {
        self.file_name = file_name.into();
        self
    }
}

/// What an onlooker sees while a run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEvent {
    /// Packages are found and fetched.
    Packages(PackageEvent),
    /// Packages are made ready.
    Loading {
        /// Wheels, requirements first.
        wheels: Vec<String>,
    },
    /// Packages are ready.
    Loaded {
        /// The same wheels.
        wheels: Vec<String>,
    },
    /// Output of the guest, in order and within the limit.
    Output {
        /// Which stream.
        name: StreamName,
        /// The text.
        text: String,
    },
    /// Picture that the guest shows: PNG, JPEG or GIF, unchecked. Its text is in the output as well.
    Figure {
        /// The file's bytes.
        bytes: Vec<u8>,
    },
}

/// A run that could not take place, or whose result nobody waits for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Failure {
    /// Too many runs.
    #[error(
        "the server is busy: {running} runs are under way and {waiting} are waiting (set by {}); try again later",
        explain::MAX_CONCURRENT
    )]
    Busy {
        /// Runs under way.
        running: usize,
        /// Calls that wait.
        waiting: usize,
    },
    /// The principal has used what it may.
    #[error("the server is busy: {0}")]
    OverLimit(OverLimit),
    /// The principal's access was taken away, before or while the code ran.
    #[error("the access to this server was revoked")]
    Revoked,
    /// The call was cancelled before the code ran.
    #[error("the call was cancelled")]
    Cancelled,
    /// The engine failed.
    #[error("the sandbox failed: {0}")]
    Engine(EngineError),
}
