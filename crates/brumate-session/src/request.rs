//! Requests and events of runs.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use brumate_engine_api::{EngineError, Image, Limits, StreamName};
use thiserror::Error;

use crate::admission::WhenFull;
use crate::allowance::OverLimit;
use crate::explain;
use crate::globals::Globals;
use crate::grants::Grants;
use crate::input::InputRequests;
use crate::learned::ImageBuilder;
use crate::packages::PackageEvent;

/// Settings of a [`Runner`](crate::Runner).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunnerSettings {
    /// Limits of each machine.
    pub limits: Limits,
    /// Directories of the host that every run of [`Runner::run`](crate::Runner::run) gets.
    pub grants: Grants,
    /// Requirements that every run gets.
    pub dependencies: Vec<String>,
    /// Most runs at the same time.
    pub max_concurrent: usize,
    /// Treatment of further calls. Default: four times as many may wait.
    pub when_full: WhenFull,
    /// Images that runs are forked from when they import some of their modules.
    pub images: Vec<Image>,
    /// Process that builds images of packages that code imports repeatedly.
    pub builder: ImageBuilder,
    /// File with the counts of imports; `None` keeps them in memory.
    pub imports_file: Option<PathBuf>,
}

impl Default for RunnerSettings {
    /// Returns the engine's default limits, no dependencies, four runs for each processor, and the image with numpy,
    /// pandas and matplotlib.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            limits: Limits::default(),
            grants: Grants::default(),
            dependencies: Vec::new(),
            max_concurrent: processors * 4,
            when_full: WhenFull::default(),
            images: vec![Image::data()],
            builder: ImageBuilder::default(),
            imports_file: None,
        }
    }
}

/// Code to run, with its options.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunRequest {
    /// Source text.
    pub code: String,
    /// File name in tracebacks; `main.py` when empty.
    pub file_name: String,
    /// Globals in addition to Python's own.
    pub globals: Globals,
    /// Sender for the code's input requests; `None` gives the code EOF.
    pub input_requests: Option<InputRequests>,
    /// Principal that the run belongs to.
    pub principal: String,
    /// Wall-clock time limit of this run; `None` leaves that of [`RunnerSettings::limits`].
    pub time_limit: Option<Duration>,
    /// Records when the run is admitted and when its code starts; `None` records nothing.
    pub phases: Option<Arc<Phases>>,
}

/// Times at which a run was admitted and its code started. Only the first call of each method counts.
#[derive(Debug, Default)]
pub struct Phases {
    admitted: OnceLock<Instant>,
    started: OnceLock<Instant>,
}

impl Phases {
    /// Records the admission.
    pub(crate) fn admit(this: Option<&Arc<Self>>) {
        if let Some(this) = this {
            let _ = this.admitted.set(Instant::now());
        }
    }

    /// Records the start of the code.
    pub(crate) fn start(this: Option<&Arc<Self>>) {
        if let Some(this) = this {
            let _ = this.started.set(Instant::now());
        }
    }

    /// Returns the time of the admission.
    pub fn admitted(&self) -> Option<Instant> {
        self.admitted.get().copied()
    }

    /// Returns the time at which the code started.
    pub fn started(&self) -> Option<Instant> {
        self.started.get().copied()
    }
}

impl RunRequest {
    /// Makes a request for code without globals, in `main.py`.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), ..Self::default() }
    }

    /// Sets the globals.
    #[must_use]
    pub fn with_globals(mut self, globals: impl Into<Globals>) -> Self {
        self.globals = globals.into();
        self
    }

    /// Sets the sender for the code's input requests.
    #[must_use]
    pub fn with_input_requests(mut self, input_requests: Option<InputRequests>) -> Self {
        self.input_requests = input_requests;
        self
    }

    /// Sets the principal. Each principal has its own turn and limits.
    #[must_use]
    pub fn with_principal(mut self, principal: impl Into<String>) -> Self {
        self.principal = principal.into();
        self
    }

    /// Sets the wall-clock time limit.
    #[must_use]
    pub fn with_time_limit(mut self, time: Option<Duration>) -> Self {
        self.time_limit = time;
        self
    }

    /// Records the times of admission and start in `phases`.
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

/// Event of a run that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunEvent {
    /// Packages are being found and fetched.
    Packages(PackageEvent),
    /// Packages are being prepared.
    Loading {
        /// Wheels, dependencies first.
        wheels: Vec<String>,
    },
    /// Packages are ready.
    Loaded {
        /// The same wheels.
        wheels: Vec<String>,
    },
    /// Output of the guest, in order and within the limit.
    Output {
        /// Stream that it was written to.
        name: StreamName,
        /// The text.
        text: String,
    },
    /// Picture that the guest shows: PNG, JPEG or GIF, not validated. The output has its text as well.
    Figure {
        /// The file's bytes.
        bytes: Vec<u8>,
    },
}

/// Error of a run that could not take place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// Too many runs are under way.
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
    /// The principal's allowance is used up.
    #[error("the server is busy: {0}")]
    OverLimit(OverLimit),
    /// The principal's access was revoked, before or while the code ran.
    #[error("the access to this server was revoked")]
    Revoked,
    /// The call was cancelled before the code ran.
    #[error("the call was cancelled")]
    Cancelled,
    /// The engine failed.
    #[error("the sandbox failed: {0}")]
    Engine(EngineError),
}
