//! The sandbox: runs code in fresh interpreters, and makes sessions.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brumate_engine::client::{StartMode, Tiers};
use brumate_session::packages::{PackageSettings, Packages};
use brumate_session::sessions::{LOCAL_PRINCIPAL, SessionSettings, Sessions};
use brumate_session::{CancellationToken, Runner, RunnerSettings};
use tokio::sync::OnceCell;

use super::error::Error;
use super::run_builder::RunBuilder;
use super::sandbox_builder::SandboxBuilder;
use super::session::Session;
use super::snapshot;
use crate::directories;
use crate::engine::{LocalEngine, LocalEngineConfig, bundle};

/// Whether `init` was called.
static INITIALIZED: AtomicBool = AtomicBool::new(false);

/// Runs the sandbox's process if this program was started as one, and does not return then. Call it first in `main`, before any
/// thread exists: the sandbox starts this program again as its jailed processes.
pub fn init() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(code) = brumate_engine::internal_main(&arguments) {
        std::process::exit(i32::from(code != ExitCode::SUCCESS));
    }
    INITIALIZED.store(true, Ordering::Relaxed);
}

/// Runs Python code: CPython 3.14 with numpy, pandas, matplotlib and other packages.
///
/// Its processes start with the first call, and end when the last clone is dropped. All methods need a Tokio runtime.
///
/// ```no_run
/// # async fn example() -> Result<(), brumate::Error> {
/// let sandbox = brumate::Sandbox::new()?;
/// let result = sandbox.run("print('hello')\n1 + 1").await?;
/// assert_eq!((result.stdout.as_str(), result.value::<i64>()?), ("hello\n", 2));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Sandbox {
    pub(super) inner: Arc<SandboxInner>,
}

/// The shared part of a sandbox's clones.
#[derive(Debug)]
pub(super) struct SandboxInner {
    pub(super) runner: Runner,
    engine: LocalEngine,
    sessions: OnceCell<Sessions>,
    settings: Option<SessionSettings>,
    cache_dir: PathBuf,
}

impl Sandbox {
    /// Makes a sandbox with the defaults of [`SandboxBuilder`].
    ///
    /// # Errors
    ///
    /// The errors of [`SandboxBuilder::build`].
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Returns a builder with the default settings.
    pub fn builder() -> SandboxBuilder {
        SandboxBuilder::default()
    }

    pub(super) fn from_builder(builder: SandboxBuilder) -> Result<Self, Error> {
        if builder.program.is_none() && !INITIALIZED.load(Ordering::Relaxed) {
            return Err(Error::NotInitialized);
        }
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache_dir = builder.cache_dir.or_else(|| directories::cache(variable("XDG_CACHE_HOME"), variable("HOME")));
        let cache_dir = cache_dir.ok_or(Error::NoDirectory("cache", "cache_dir"))?;
        let data_dir = builder.data_dir.or_else(|| directories::data(variable("XDG_DATA_HOME"), variable("HOME")));
        let engine = LocalEngine::new(LocalEngineConfig {
            cache_dir: cache_dir.clone(),
            require_jail: builder.require_jail,
            start: StartMode::Quick,
            tiers: Tiers::Background,
            program: builder.program,
            ..LocalEngineConfig::default()
        });
        let defective = |error: brumate_packages::BundleError| Error::Sandbox(error.to_string());
        let bundle = Arc::new(bundle().map_err(defective)?);
        let mut packages = PackageSettings::new(&cache_dir);
        packages.sources.index = builder.index;
        packages.sources.find_links = builder.find_links;
        packages.sources.offline = builder.offline;
        packages.sources.check().map_err(|error| Error::Settings(error.to_string()))?;
        let packages = Packages::new(Arc::new(engine.clone()), Arc::clone(&bundle), packages);
        let mut settings = RunnerSettings::default();
        settings.limits = builder.limits;
        settings.dependencies = builder.packages;
        settings.max_concurrent = builder.max_concurrent.unwrap_or(settings.max_concurrent);
        settings.builder = brumate_session::Builder::Here;
        settings.imports_file = Some(cache_dir.join("imports.json"));
        let mut sessions = data_dir.map(SessionSettings::new);
        if let Some(sessions) = &mut sessions {
            sessions.limits = settings.limits;
            sessions.dependencies.clone_from(&settings.dependencies);
            sessions.packages = Some(packages.clone());
            sessions.max_concurrent = settings.max_concurrent;
            sessions.timeout = builder.session_timeout.unwrap_or(sessions.timeout);
        }
        let runner = Runner::new(Arc::new(engine.clone()), bundle, settings).with_packages(packages);
        if let Some(sessions) = &mut sessions {
            // Runs in sessions and other runs share one limit.
            sessions.admission = Some(runner.admission().clone());
        }
        let inner = SandboxInner { runner, engine, sessions: OnceCell::new(), settings: sessions, cache_dir };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes a run of `code` in a fresh interpreter, which ends with the run. `await` starts it.
    pub fn run(&self, code: impl Into<String>) -> RunBuilder<'_> {
        RunBuilder::new(self, None, code.into())
    }

    /// Starts the sandbox's processes, so that the first run does not wait for them.
    ///
    /// # Errors
    ///
    /// [`Error::Sandbox`] when they do not start.
    pub async fn start(&self) -> Result<(), Error> {
        let started = self.inner.engine.sandbox().await;
        started.map(drop).map_err(|error| Error::Sandbox(error.to_string()))
    }

    /// Makes a new session.
    ///
    /// # Errors
    ///
    /// There are too many sessions, or the data directory cannot be used.
    pub async fn session(&self) -> Result<Session, Error> {
        let request = brumate_session::sessions::CellRequest::new(None, "");
        let cancel = CancellationToken::new();
        let made = self.sessions().await?.execute(LOCAL_PRINCIPAL, request, &cancel, &mut |_| {}).await?;
        Ok(Session::new(self.clone(), made.id.as_str().to_owned()))
    }

    /// Returns the session with this id, also one of an earlier program. Does not check that it exists: its first use fails if it does
    /// not.
    pub fn open_session(&self, id: impl Into<String>) -> Session {
        Session::new(self.clone(), id.into())
    }

    /// Returns the ids of all sessions in the data directory, most recently used first.
    ///
    /// # Errors
    ///
    /// The data directory cannot be used.
    pub async fn session_ids(&self) -> Result<Vec<String>, Error> {
        let records = self.sessions().await?.list(LOCAL_PRINCIPAL).await;
        Ok(records.iter().map(|record| record.id.as_str().to_owned()).collect())
    }

    /// Makes a new session from a snapshot file of [`Session::snapshot`], also one of another host.
    ///
    /// # Errors
    ///
    /// [`Error::HostFile`] when the file is not a snapshot; [`Error::Session`] when this version of Brumate cannot restore it.
    pub async fn restore(&self, path: impl AsRef<Path>) -> Result<Session, Error> {
        let sessions = self.sessions().await?;
        let cancel = CancellationToken::new();
        let id = snapshot::restore(sessions, &self.inner.cache_dir, path.as_ref(), &cancel).await?;
        Ok(Session::new(self.clone(), id.as_str().to_owned()))
    }

    /// Writes the sessions to their files. Without this call, the sessions' processes write them when this program ends; completed runs
    /// are not lost.
    pub async fn close(self) {
        if let Some(sessions) = self.inner.sessions.get() {
            sessions.close().await;
        }
    }

    pub(super) fn cache_dir(&self) -> &Path {
        &self.inner.cache_dir
    }

    pub(super) async fn sessions(&self) -> Result<&Sessions, Error> {
        let open = || async {
            let settings = self.inner.settings.clone().ok_or(Error::NoDirectory("sessions", "data_dir"))?;
            Ok::<_, Error>(Sessions::open(Arc::new(self.inner.engine.clone()), settings).await?)
        };
        self.inner.sessions.get_or_try_init(open).await
    }
}
