//! The sandbox: runs code in fresh interpreters, and makes sessions.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brumate_session::CancellationToken;
use brumate_session::sessions::LOCAL_PRINCIPAL;

use super::error::Error;
use super::run_builder::RunBuilder;
use super::sandbox_builder::SandboxBuilder;
use super::sandbox_core::SandboxCore;
use super::session::Session;
use super::snapshot;

/// Whether `init` was called.
static INITIALIZED: AtomicBool = AtomicBool::new(false);

/// Runs the sandbox's process if this program was started as one, and does not return then. Call it first in `main`, before any
/// thread exists: the sandbox starts this program again as its jailed processes.
pub fn init() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(code) = brumate_engine::internal_main(&arguments) {
        std::process::exit(i32::from(code != ExitCode::SUCCESS));
    }
    if let Some(code) = brumate_gateway::internal_main(&arguments) {
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
    core: Arc<SandboxCore>,
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

    /// Makes a run of `code` in a fresh interpreter, which ends with the run. `await` starts it.
    pub fn run(&self, code: impl Into<String>) -> RunBuilder<'_> {
        RunBuilder::new(&self.core, None, code.into())
    }

    /// Starts the sandbox's processes, so that the first run does not wait for them.
    ///
    /// # Errors
    ///
    /// [`Error::Sandbox`] when they do not start.
    pub async fn start(&self) -> Result<(), Error> {
        let started = self.core.engine.sandbox().await;
        started.map(drop).map_err(|error| Error::Sandbox(error.to_string()))
    }

    /// Makes a new session.
    ///
    /// # Errors
    ///
    /// There are too many sessions, or the data directory cannot be used.
    pub async fn session(&self) -> Result<Session, Error> {
        let request = brumate_session::Request::cell(None, "").with_principal(LOCAL_PRINCIPAL);
        let cancel = CancellationToken::new();
        let made = self.core.sessions().await?.execute(request, &cancel, &mut |_| {}).await?;
        Ok(Session::new(Arc::clone(&self.core), made.id.as_str().to_owned()))
    }

    /// Returns the session with this id, also one of an earlier program. Does not check that it exists: its first use fails if it does
    /// not.
    pub fn open_session(&self, id: impl Into<String>) -> Session {
        Session::new(Arc::clone(&self.core), id.into())
    }

    /// Returns the ids of all sessions in the data directory, most recently used first.
    ///
    /// # Errors
    ///
    /// The data directory cannot be used.
    pub async fn session_ids(&self) -> Result<Vec<String>, Error> {
        let records = self.core.sessions().await?.list(LOCAL_PRINCIPAL).await;
        Ok(records.iter().map(|record| record.id.as_str().to_owned()).collect())
    }

    /// Makes a new session from a snapshot file of [`Session::snapshot`], also one of another host.
    ///
    /// # Errors
    ///
    /// [`Error::HostFile`] when the file is not a snapshot; [`Error::Session`] when this version of Brumate cannot restore it.
    pub async fn restore(&self, path: impl AsRef<Path>) -> Result<Session, Error> {
        let sessions = self.core.sessions().await?;
        let cancel = CancellationToken::new();
        let id = snapshot::restore(sessions, &self.core.cache_dir, path.as_ref(), &cancel).await?;
        Ok(Session::new(Arc::clone(&self.core), id.as_str().to_owned()))
    }

    /// Writes the sessions to their files. Without this call, the sessions' processes write them when this program ends; completed runs
    /// are not lost.
    ///
    /// Returns the ids of the sessions that could not be written. Of those that the disk refused, the processes stay until
    /// this program ends: they write the sessions then, for which the disk needs room.
    pub async fn close(self) -> Vec<String> {
        let Some(sessions) = self.core.open_sessions() else { return Vec::new() };
        sessions.close().await.iter().map(ToString::to_string).collect()
    }
}

impl SandboxBuilder {
    /// Makes the sandbox. Its processes start with the first call.
    ///
    /// # Errors
    ///
    /// [`Error::NotInitialized`], [`Error::NoDirectory`], or [`Error::Settings`].
    pub fn build(self) -> Result<Sandbox, Error> {
        if self.program.is_none() && !INITIALIZED.load(Ordering::Relaxed) {
            return Err(Error::NotInitialized);
        }
        self.check()?;
        Ok(Sandbox { core: Arc::new(SandboxCore::new(self)?) })
    }
}
