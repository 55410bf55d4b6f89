//! The parts of an MCP server that do not depend on the transport.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use brumate_engine::client::LocalEngine;
use brumate_engine_api::{Engine, EngineError, Image};
use brumate_jupyter_engine::{JupyterEngine, JupyterEngineConfig, PackageServer};
use brumate_server::{PythonServer, ToolSet};
use brumate_session::packages::PackageGateway;
use brumate_session::sessions::{SessionSettings, Sessions, session_image};
use brumate_session::{Admission, Allowances, CancellationToken, Runner};

use super::print_error;
use crate::exit_status;
use crate::sandbox::{Sandbox, server_sandbox, warm_dependencies};
use crate::settings::{EngineSettings, Settings};
use crate::telemetry::Telemetry;

/// Packages for native kernels, from the sources of the sandbox's packages and under their rules.
#[derive(Debug)]
struct Gateway(PackageGateway);

impl PackageServer for Gateway {
    fn serve(&self, listener: tokio::net::TcpListener) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.0.serve(listener)
    }
}

/// Engine of a server's sessions.
#[derive(Clone)]
pub(crate) enum ServiceEngine {
    /// Python in WebAssembly, which also runs code without a session.
    Sandbox(LocalEngine),
    /// Kernels of Jupyter.
    Jupyter(Arc<JupyterEngine>),
}

impl ServiceEngine {
    async fn make(settings: &Settings, sandbox: &Sandbox) -> Result<Self, EngineError> {
        match &settings.engine {
            EngineSettings::Sandbox => Ok(Self::Sandbox(sandbox.engine.clone())),
            EngineSettings::Jupyter { kernel, python } => {
                let config = JupyterEngineConfig {
                    kernel: kernel.clone(),
                    python: python.clone(),
                    require_jail: settings.require_jail,
                    ready: settings.ready.min(1),
                    packages: Some(Arc::new(Gateway(PackageGateway::new(sandbox.runner.packages().clone())))),
                    program: None,
                };
                Ok(Self::Jupyter(Arc::new(JupyterEngine::new(config).await?)))
            }
        }
    }

    fn interface(&self) -> Arc<dyn Engine> {
        match self {
            Self::Sandbox(engine) => Arc::new(engine.clone()),
            Self::Jupyter(engine) => Arc::clone(engine) as Arc<dyn Engine>,
        }
    }

    pub(super) fn start_in_background(&self, settings: &Settings, is_shut_down: impl Fn() -> bool + Send + 'static) {
        match self {
            Self::Sandbox(engine) => engine.start_in_background(is_shut_down),
            Self::Jupyter(engine) => {
                let (engine, limits) = (Arc::clone(engine), settings.runner.limits);
                tokio::spawn(async move {
                    match engine.prepare(&limits).await {
                        Err(error) if !is_shut_down() => tracing::error!(%error, "no kernel can be started"),
                        _ => {}
                    }
                });
            }
        }
    }

    /// Prepares everything that the first session needs.
    ///
    /// # Errors
    ///
    /// [`EngineError`].
    pub(crate) async fn prepare(&self, settings: &Settings, sessions: bool) -> Result<(), EngineError> {
        match self {
            Self::Sandbox(engine) => {
                let image = if sessions { session_image() } else { Image::data() };
                engine.compile_and_build_ahead(&Image::DATA, &image).await
            }
            Self::Jupyter(engine) => engine.prepare(&settings.runner.limits).await,
        }
    }
}

/// An MCP server and its parts. Its sandbox starts in the background.
pub(crate) struct McpService {
    pub(crate) server: PythonServer,
    pub(crate) runner: Runner,
    pub(crate) sessions: Option<Sessions>,
    pub(crate) engine: ServiceEngine,
    pub(crate) admission: Admission,
    /// Export of traces, if it is configured.
    pub(crate) telemetry: Option<Telemetry>,
    /// Cancelled at shutdown. Preparations in the background then do not report errors.
    pub(crate) shutdown_started: CancellationToken,
}

impl McpService {
    /// Makes a server. Clients are answered at once; code waits until the sandbox has started. Prints an error and returns `None` if
    /// sessions or traces cannot be set up. `allowances` are the limits of principals.
    pub(crate) async fn start(settings: &Settings, allowances: Allowances) -> anyhow::Result<Option<Self>> {
        let telemetry = match Telemetry::start() {
            Ok(telemetry) => telemetry,
            Err(error) => {
                print_error(&format!("brumate: {error:#}"));
                return Ok(None);
            }
        };
        let mut sandbox = server_sandbox(settings)?;
        // Runs in sessions and other runs share one limit.
        let admission = Admission::new(settings.runner.max_concurrent, allowances.clone(), settings.runner.when_full);
        sandbox.runner = sandbox.runner.with_admission(admission.clone());
        let engine = match ServiceEngine::make(settings, &sandbox).await {
            Ok(engine) => engine,
            Err(error) => {
                print_error(&format!("brumate: {error}"));
                return Ok(None);
            }
        };
        let sessions = match sessions(settings, &sandbox, &engine, allowances).await {
            Ok(sessions) => sessions,
            Err(reason) => {
                print_error(&format!("brumate: {reason}"));
                return Ok(None);
            }
        };
        let shutdown_started = CancellationToken::new();
        let shutdown = shutdown_started.clone();
        engine.start_in_background(settings, move || shutdown.is_cancelled());
        if !settings.runner.dependencies.is_empty() {
            warm_in_background(sandbox.clone(), settings.clone());
        }
        let runner = sandbox.runner.clone();
        let mut server = PythonServer::new(sandbox.runner, settings.return_mode)
            .with_figures(settings.figures)
            .with_input_timeout(settings.input_timeout)
            .with_traces(telemetry.as_ref().map(Telemetry::traces));
        if let Some(sessions) = &sessions {
            server = server.with_sessions(sessions.clone(), settings.tools);
            if let ServiceEngine::Sandbox(engine) = &engine {
                prepare_in_background(engine.clone(), shutdown_started.clone());
            }
        }
        Ok(Some(Self { server, runner, sessions, engine, admission, telemetry, shutdown_started }))
    }
}

/// Closes the sessions and sends the last traces of a server that has served its last client. Returns false, and names
/// the sessions, if some could not be written.
pub(crate) async fn end(
    shutdown_started: &CancellationToken,
    sessions: Option<&Sessions>,
    telemetry: Option<Telemetry>,
) -> bool {
    shutdown_started.cancel();
    let unwritten = match sessions {
        Some(sessions) => sessions.close().await,
        None => Vec::new(),
    };
    if !unwritten.is_empty() {
        // Whoever knows an id may use the session, so only its beginning is shown.
        let ids: Vec<String> = unwritten.iter().map(|id| format!("{id:?}")).collect();
        print_error(&format!("brumate: {} sessions could not be written: {}", ids.len(), ids.join(", ")));
    }
    if let Some(telemetry) = telemetry {
        telemetry.finish().await;
    }
    unwritten.is_empty()
}

/// Returns the exit status of a server. One that ended because of SIGTERM succeeded, if all its sessions are `written`.
pub(crate) fn exit_status_of(signalled: Option<u8>, written: bool) -> u8 {
    match signalled {
        _ if !written => exit_status::FAILURE,
        Some(exit_status::INTERRUPTED) => exit_status::INTERRUPTED,
        _ => exit_status::SUCCESS,
    }
}

/// Installs the packages of `--deps` before the first run. A failure is logged; the run will report it again.
pub(super) fn warm_in_background(sandbox: Sandbox, settings: Settings) {
    tokio::spawn(async move {
        match warm_dependencies(&sandbox, &settings, &|_| {}).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(error, "the packages of --deps cannot be installed"),
            Err(error) => tracing::debug!(%error, "the packages of --deps were not prepared"),
        }
    });
}

/// Opens the sessions, if the tools or kernels need them.
async fn sessions(
    settings: &Settings,
    sandbox: &Sandbox,
    engine: &ServiceEngine,
    allowances: Allowances,
) -> Result<Option<Sessions>, String> {
    let has_kernels = settings.http.as_ref().is_some_and(|http| http.kernels.is_some());
    match &settings.sessions {
        Some(sessions) if settings.tools != ToolSet::Run || has_kernels => {
            let mut sessions = sessions.clone();
            sessions.allowances = allowances;
            open_sessions(settings, sandbox, engine, sessions).await.map(Some)
        }
        _ => Ok(None),
    }
}

/// Opens sessions that share the limits and packages of a sandbox.
pub(super) async fn open_sessions(
    settings: &Settings,
    sandbox: &Sandbox,
    engine: &ServiceEngine,
    mut sessions: SessionSettings,
) -> Result<Sessions, String> {
    sessions.admission = Some(sandbox.runner.admission().clone());
    // Native kernels have the packages of their environment.
    if let ServiceEngine::Sandbox(_) = engine {
        sessions.packages = Some(sandbox.runner.packages().clone());
        sessions.dependencies.clone_from(&settings.runner.dependencies);
    }
    Sessions::open(engine.interface(), sessions).await.map_err(|error| error.to_string())
}

/// Delay before the image of sessions is prepared. The first call of a new client has all processors meanwhile.
const PREPARE_DELAY: Duration = Duration::from_millis(500);

/// Compiles the packages of sessions and builds their image, before the first session needs them.
fn prepare_in_background(engine: LocalEngine, shutdown: CancellationToken) {
    tokio::spawn(async move {
        tokio::time::sleep(PREPARE_DELAY).await;
        match engine.compile_and_build_ahead(&Image::DATA, &session_image()).await {
            Err(error) if shutdown.is_cancelled() => {
                tracing::debug!(%error, "the packages were not prepared before the shutdown")
            }
            Err(error) => tracing::error!(%error, "the packages of sessions cannot be prepared"),
            Ok(()) => {}
        }
    });
}
