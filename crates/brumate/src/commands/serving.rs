//! What every MCP server of this binary serves, whatever the transport.

use std::sync::Arc;
use std::time::Duration;

use brumate_engine_api::Image;
use brumate_server::{PythonServer, ToolSet};
use brumate_session::sessions::{Sessions, session_image};
use brumate_session::{Admission, Allowances, CancellationToken, Runner};

use super::complain;
use crate::engine::LocalEngine;
use crate::sandbox::{Sandbox, server_sandbox, warm_dependencies};
use crate::settings::Settings;
use crate::telemetry::Telemetry;

/// A server and what it needs; its sandbox is being started.
pub(crate) struct Service {
    pub(crate) server: PythonServer,
    pub(crate) runner: Runner,
    pub(crate) sessions: Option<Sessions>,
    pub(crate) engine: LocalEngine,
    pub(crate) admission: Admission,
    /// Traces of what it does, if they are wanted.
    pub(crate) telemetry: Option<Telemetry>,
    /// Cancelled when whatever still starts needs not any more.
    pub(crate) ends: CancellationToken,
}

impl Service {
    /// Makes a server. Clients are answered at once; code waits for the sandbox if it has to. None, and a complaint, when there
    /// is no place for sessions, or no way for traces. Each principal has what `allowances` say.
    pub(crate) async fn start(settings: &Settings, allowances: Allowances) -> anyhow::Result<Option<Self>> {
        let telemetry = match Telemetry::start() {
            Ok(telemetry) => telemetry,
            Err(error) => {
                complain(&format!("brumate: {error:#}"));
                return Ok(None);
            }
        };
        let mut sandbox = server_sandbox(settings)?;
        // Runs in sessions and without are the same to the host.
        let admission = Admission::new(settings.runner.max_concurrent, allowances.clone());
        sandbox.runner = sandbox.runner.with_admission(admission.clone());
        let sessions = match sessions(settings, &sandbox, allowances).await {
            Ok(sessions) => sessions,
            Err(reason) => {
                complain(&format!("brumate: {reason}"));
                return Ok(None);
            }
        };
        let ends = CancellationToken::new();
        sandbox.engine.start_in_background(ends.clone());
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
            prepare_in_background(sandbox.engine.clone(), ends.clone());
        }
        Ok(Some(Self { server, runner, sessions, engine: sandbox.engine, admission, telemetry, ends }))
    }
}

/// Ends what is left of a server that serves nobody any more.
pub(crate) async fn end(ends: &CancellationToken, sessions: Option<&Sessions>, telemetry: Option<Telemetry>) {
    // Whatever still starts needs not any more.
    ends.cancel();
    if let Some(sessions) = sessions {
        sessions.close().await;
    }
    if let Some(telemetry) = telemetry {
        telemetry.finish().await;
    }
}

/// Gets what `--deps` names before the first run needs it. What fails is met again, and told, by that run.
fn warm_in_background(sandbox: Sandbox, settings: Settings) {
    tokio::spawn(async move {
        match warm_dependencies(&sandbox, &settings, &|_| {}).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(error, "the packages given at start cannot be had"),
            Err(error) => tracing::debug!(%error, "the packages given at start were not prepared"),
        }
    });
}

/// The sessions, if the tools need any.
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

/// Time before the image of sessions is prepared: the first call of a client that has just started a server has the processors alone.
const FIRST_CALL: Duration = Duration::from_millis(500);

/// Compiles what sessions begin with, and builds their image, before the first one needs it.
fn prepare_in_background(engine: LocalEngine, shutdown: CancellationToken) {
    tokio::spawn(async move {
        tokio::time::sleep(FIRST_CALL).await;
        match engine.prepare_ahead(&Image::DATA, &session_image()).await {
            Err(error) if shutdown.is_cancelled() => tracing::debug!(%error, "the packages were not prepared any more"),
            Err(error) => tracing::error!(%error, "the packages of sessions cannot be prepared"),
            Ok(()) => {}
        }
    });
}
