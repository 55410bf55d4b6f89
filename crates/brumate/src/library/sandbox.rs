//! The sandbox: fresh interpreters, and the way to sessions.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brumate_session::CancellationToken;
use brumate_session::sessions::LOCAL_PRINCIPAL;

use super::builder::Builder;
use super::code::Code;
use super::core::Core;
use super::error::Error;
use super::session::Session;
use super::snapshot;

/// `init` was called.
static INITIALIZED: AtomicBool = AtomicBool::new(false);

/// Lets this program be started again as the sandbox's jailed processes. To be called first in `main`, before any thread exists.
///
/// Such a process does not return from it.
pub fn init() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(code) = brumate_engine::internal_main(&arguments) {
        std::process::exit(i32::from(code != ExitCode::SUCCESS));
    }
    INITIALIZED.store(true, Ordering::Relaxed);
}

/// Runs Python code: CPython 3.14 with numpy, pandas, matplotlib and other packages.
///
/// Its processes start with the first call and end with the last clone. All methods need a Tokio runtime.
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
    core: Arc<Core>,
}

impl Sandbox {
    /// Makes a sandbox with the defaults of [`Builder`].
    ///
    /// # Errors
    ///
    /// Those of [`Builder::build`].
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Returns the settings of a sandbox, to be changed.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Prepares code for a fresh interpreter, which is gone afterwards. `await` runs it.
    pub fn run(&self, code: impl Into<String>) -> Code<'_> {
        Code::new(&self.core, None, code.into())
    }

    /// Starts the sandbox's processes ahead of the first call.
    ///
    /// # Errors
    ///
    /// [`Error::Sandbox`]: why they do not start.
    pub async fn start(&self) -> Result<(), Error> {
        let started = self.core.engine.sandbox().await;
        started.map(drop).map_err(|error| Error::Sandbox(error.to_string()))
    }

    /// Makes a new session.
    ///
    /// # Errors
    ///
    /// When there can be no more, or the data directory cannot be used.
    pub async fn session(&self) -> Result<Session, Error> {
        let request = brumate_session::sessions::CellRequest::new(None, "");
        let cancel = CancellationToken::new();
        let made = self.core.sessions().await?.execute(LOCAL_PRINCIPAL, request, &cancel, &mut |_| {}).await?;
        Ok(Session::new(Arc::clone(&self.core), made.id.as_str().to_owned()))
    }

    /// Returns the session with this id, which an earlier program may have made. Whether there is one shows with its first use.
    pub fn open_session(&self, id: impl Into<String>) -> Session {
        Session::new(Arc::clone(&self.core), id.into())
    }

    /// Returns the ids of all sessions in the data directory, those that were used last first.
    ///
    /// # Errors
    ///
    /// When the data directory cannot be used.
    pub async fn session_ids(&self) -> Result<Vec<String>, Error> {
        let records = self.core.sessions().await?.list(LOCAL_PRINCIPAL).await;
        Ok(records.iter().map(|record| record.id.as_str().to_owned()).collect())
    }

    /// Makes a new session of a file that [`Session::snapshot`] wrote, here or on another host.
    ///
    /// # Errors
    ///
    /// [`Error::HostFile`] when it is no snapshot; [`Error::Session`] when this version cannot continue it.
    pub async fn restore(&self, path: impl AsRef<Path>) -> Result<Session, Error> {
        let sessions = self.core.sessions().await?;
        let cancel = CancellationToken::new();
        let id = snapshot::restore(sessions, &self.core.cache_dir, path.as_ref(), &cancel).await?;
        Ok(Session::new(Arc::clone(&self.core), id.as_str().to_owned()))
    }

    /// Writes the sessions to their files. Without it, nothing that was answered is lost either: their processes write it when this
    /// program ends.
    pub async fn close(self) {
        if let Some(sessions) = self.core.open_sessions() {
            sessions.close().await;
        }
    }
}

impl Builder {
    /// Makes the sandbox. Its processes start with the first call.
    ///
    /// # Errors
    ///
    /// [`Error::NotInitialized`], [`Error::NoDirectory`], or [`Error::Settings`].
    pub fn build(self) -> Result<Sandbox, Error> {
        if self.program.is_none() && !INITIALIZED.load(Ordering::Relaxed) {
            return Err(Error::NotInitialized);
        }
        Ok(Sandbox { core: Arc::new(Core::new(self)?) })
    }
}
