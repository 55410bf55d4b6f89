//! Requests and events of runs.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

#[cfg(doc)]
use brumate_engine_api::Execute;
use brumate_engine_api::{
    EngineError, ExecuteMode, FrontendMessage, FrontendRequest, Image, InterruptHandle, Limits, MessagePipes, Mount,
    ServerTarget, StreamName,
};
use brumate_setting::Setting;
use thiserror::Error;
use tokio::sync::oneshot;

use crate::admission::WhenFull;
use crate::allowance::OverLimit;
use crate::globals::Globals;
use crate::grants::Grants;
use crate::input::InputRequests;
use crate::learned::ImageBuilder;
use crate::new_files::FileSink;
use crate::packages::{Installation, PackageEvent};

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

/// Code to run, with its options: in a fresh interpreter, in a session, or as a program.
#[derive(Default)]
#[non_exhaustive]
pub struct Request {
    /// Source text; the name of a module in [`ExecuteMode::Module`].
    pub code: String,
    /// File name in tracebacks. Empty: `main.py`; a cell has a name of its own.
    pub file_name: String,
    /// Interpreter that runs the code.
    pub place: Place,
    /// How the code is run.
    pub mode: ExecuteMode,
    /// Globals in addition to Python's own.
    pub globals: Globals,
    /// Principal that the code runs for.
    pub principal: String,
    /// Sender for the code's input requests; `None` gives the code EOF, and raises an error in a cell.
    pub input_requests: Option<InputRequests>,
    /// Wall-clock time limit; `None` leaves that of the machine's limits.
    pub time_limit: Option<Duration>,
    /// Records when the code is admitted and when it starts; `None` records nothing.
    pub phases: Option<Arc<Phases>>,
    /// Whether a cell is left out of its session's history: it is not the user's own.
    pub unrecorded: bool,

    /// `sys.argv` of a program.
    pub argv: Vec<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Working directory; empty: the user's home in the sandbox.
    pub directory: String,
    /// Standard input; `None` means empty.
    pub stdin: Option<OwnedFd>,
    /// Host directories that a program may use. Other code uses the directories of its principal.
    pub mounts: Vec<Mount>,
    /// Whether each character of `code` stands for a byte of a file. Python then finds out how the file is encoded.
    pub source_bytes: bool,
    /// Modules that lie beside the program. They are not taken for packages, and their imports count as the code's.
    pub local: LocalModules,
    /// Modules that the program cannot import, with the reasons; an error about one of them gets its reason as a note.
    pub absent_modules: BTreeMap<String, String>,
    /// Requirements of this program, added to the requirements of every run.
    pub requirements: Vec<String>,
    /// Whether the program belongs to a project that states its requirements; see [`Execute::states_requirements`].
    pub states_requirements: bool,
    /// Image to run in, if it is built; else the one that suits the imports.
    pub image: Option<Image>,
    /// Pipes of the messages of a server, in [`ExecuteMode::Server`].
    pub messages: Option<MessagePipes>,
    /// Names the server in the code, in [`ExecuteMode::Server`].
    pub server: ServerTarget,
    /// Gets the machine's handle and packages when the program is about to run.
    pub start: Option<oneshot::Sender<ScriptStart>>,
    /// Receives copies of the files that the program wrote; `None` discards them with the sandbox.
    pub sink: Option<Box<dyn FileSink>>,
}

/// Interpreter that runs the code of a [`Request`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Place {
    /// A fresh one, which ends with the code.
    #[default]
    Fresh,
    /// A new session.
    NewSession,
    /// The session with this id.
    Session(String),
}

impl std::fmt::Debug for Request {
    // The code, its globals and its environment may have secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = formatter.debug_struct("Request");
        debug.field("place", &self.place).field("mode", &self.mode).field("file_name", &self.file_name);
        debug.finish_non_exhaustive()
    }
}

impl Request {
    /// Makes a request for code without globals in a fresh interpreter.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), ..Self::default() }
    }

    /// Makes a request for a cell of a session; of a new one, if `session` is `None`.
    pub fn cell(session: Option<&str>, code: impl Into<String>) -> Self {
        Self::new(code).in_session(session)
    }

    /// Makes a request for a script whose `argv` is the file name alone.
    pub fn script(code: impl Into<String>, file_name: impl Into<String>) -> Self {
        let file_name = file_name.into();
        let argv = vec![file_name.clone()];
        Self { file_name, argv, mode: ExecuteMode::Script, ..Self::new(code) }
    }

    /// Makes a request for the module of this name, without arguments. Its package is installed if it is missing.
    pub fn module(name: impl Into<String>) -> Self {
        let name = name.into();
        // As in CPython, until the module is found.
        let argv = vec!["-m".to_owned()];
        // The name itself is no code that can be parsed for imports.
        let imports = name.split('.').next().filter(|top| is_identifier(top)).map(|top| format!("import {top}"));
        let local = LocalModules { sources: imports.into_iter().collect(), ..LocalModules::default() };
        Self { argv, local, mode: ExecuteMode::Module, ..Self::new(name) }
    }

    /// Runs the code as a cell of this session; of a new one, if it is `None`.
    #[must_use]
    pub fn in_session(mut self, session: Option<&str>) -> Self {
        self.place = session.map_or(Place::NewSession, |id| Place::Session(id.to_owned()));
        self.mode = ExecuteMode::NotebookCell;
        self
    }

    /// Runs a cell as plain Python rather than through IPython's shell: without magics and shell lines, and with the
    /// value of the last expression in the report.
    #[must_use]
    pub fn without_shell(mut self) -> Self {
        self.mode = ExecuteMode::Cell;
        self
    }

    /// Makes a request of a Jupyter frontend in this session.
    pub fn frontend(session: &str, request: &FrontendRequest) -> Self {
        let place = Place::Session(session.to_owned());
        Self { place, mode: ExecuteMode::Frontend, ..Self::new(request.to_string()) }
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

    /// Sets whether a cell is left out of its session's history.
    #[must_use]
    pub fn with_unrecorded(mut self, unrecorded: bool) -> Self {
        self.unrecorded = unrecorded;
        self
    }

    /// Sets the file name.
    #[must_use]
    pub fn with_file_name(mut self, file_name: impl Into<String>) -> Self {
        self.file_name = file_name.into();
        self
    }
}

/// Modules that lie beside a script.
#[derive(Debug, Clone, Default)]
pub struct LocalModules {
    /// Their top-level names.
    pub names: BTreeSet<String>,
    /// Their source texts.
    pub sources: Vec<String>,
}

fn is_identifier(text: &str) -> bool {
    text.chars().next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && text.chars().all(|character| character == '_' || character.is_alphanumeric())
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

/// The machine's handle and the packages of a script that is about to run.
#[non_exhaustive]
pub struct ScriptStart {
    /// Handle of the machine.
    pub handle: Arc<dyn InterruptHandle>,
    /// Packages that were installed for the script.
    pub installation: Arc<Installation>,
}

impl std::fmt::Debug for ScriptStart {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ScriptStart").field("installation", &self.installation).finish_non_exhaustive()
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
    /// A message to the Jupyter frontends, in [`ExecuteMode::Frontend`].
    Frontend(FrontendMessage),
}

/// Error of a run that could not take place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// Too many runs are under way.
    #[error(
        "the server is busy: {running} runs are under way and {waiting} are waiting (set by {}); try again later",
        Setting::MaxConcurrent
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
