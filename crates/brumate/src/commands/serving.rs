//! The parts of an MCP server that do not depend on the transport.

use std::sync::Arc;
use std::time::Duration;

use brumate_engine::client::LocalEngine;
use brumate_engine_api::Image;
use brumate_server::{PythonServer, ToolSet};
use brumate_session::sessions::{Sessions, session_image};
use brumate_session::{Admission, Allowances, CancellationToken, Runner};

use super::print_error;
use crate::exit_status;
use crate::sandbox::{Sandbox, server_sandbox, warm_dependencies};
use crate::settings::Settings;
use crate::telemetry::Telemetry;

/// An MCP server and its parts. Its sandbox starts in the background.
pub(crate) struct McpService {
    pub(crate) server: PythonServer,
    pub(crate) runner: Runner,
    pub(crate) sessions: Option<Sessions>,
    pub(crate) engine: LocalEngine,
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
        let sessions = match sessions(settings, &sandbox, allowances).await {
            Ok(sessions) => sessions,
            Err(reason) => {
                print_error(&format!("brumate: {reason}"));
                return Ok(None);
            }
        };
        let shutdown_started = CancellationToken::new();
        let shutdown = shutdown_started.clone();
        sandbox.engine.start_in_background(move || shutdown.is_cancelled());
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
            prepare_in_background(sandbox.engine.clone(), shutdown_started.clone());
        }
        Ok(Some(Self { server, runner, sessions, engine: sandbox.engine, admission, telemetry, shutdown_started }))
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
fn warm_in_background(sandbox: Sandbox, settings: Settings) {
    tokio::spawn(async move {
        match warm_dependencies(&sandbox, &settings, &|_| {}).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(error, "the packages of --deps cannot be installed"),
            Err(error) => tracing::debug!(%error, "the packages of --deps were not prepared"),
        }
    });
}

/// Opens the sessions, if the tools need them.
async fn sessions(settings: &Settings, sandbox: &Sandbox, allowances: Allowances) -> Result<Option<Sessions>, String> {
    match &settings.sessions {
        Some(sessions) if settings.tools != ToolSet::Run => {
            let mut sessions = sessions.clone();
            sessions.admission = Some(sandbox.runner.admission().clone());
            sessions.allowances = allowances;
            sessions.packages = Some(sandbox.runner.packages().clone());
            sessions.dependencies.clone_from(&settings.runner.dependencies);
            let opened = Sessions::open(Arc::new(sandbox.engine.clone()), sessions).await;
            opened.map(Some).map_err(|error| error.to_string())
        }
        _ => Ok(None),
    }
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
