//! `brumate stdio`: the MCP server.

use std::sync::Arc;

use brumate_engine::api::Image;
use brumate_server::{PythonServer, ToolSet, serve_stdio};
use brumate_session::CancellationToken;
use brumate_session::engine::{Engine, LocalEngine};
use brumate_session::sessions::{Sessions, session_image};

use super::complain;
use crate::exit_status;
use crate::sandbox::{Sandbox, sandbox, warm_dependencies};
use crate::settings::Settings;
use crate::signals::Signals;

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<u8> {
    let sandbox = sandbox(settings)?;
    let sessions = match sessions(settings, &sandbox).await {
        Ok(sessions) => sessions,
        Err(reason) => {
            complain(&format!("brumate: {reason}"));
            return Ok(exit_status::FAILURE);
        }
    };
    // The client is answered at once; code waits for the sandbox if it has to.
    let shutdown = CancellationToken::new();
    let ends = shutdown.clone();
    sandbox.engine.start_in_background(ends.clone());
    if !settings.runner.dependencies.is_empty() {
        warm_in_background(sandbox.clone(), settings.clone());
    }
    let mut server = PythonServer::new(sandbox.runner, settings.return_mode).with_input_timeout(settings.input_timeout);
    if let Some(sessions) = &sessions {
        server = server.with_sessions(sessions.clone(), settings.tools);
        prepare_in_background(sandbox.engine, ends.clone());
    }
    let serving = async {
        let served = serve_stdio(server, shutdown.clone()).await;
        // Whatever still starts needs not any more.
        ends.cancel();
        if let Some(sessions) = &sessions {
            sessions.close().await;
        }
        served
    };
    let (result, signalled) = Signals::listen()?.guard(&shutdown, serving).await;
    result?;
    // A server that was asked to end and did is fine.
    Ok(if signalled == Some(exit_status::INTERRUPTED) { exit_status::INTERRUPTED } else { exit_status::SUCCESS })
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
async fn sessions(settings: &Settings, sandbox: &Sandbox) -> Result<Option<Sessions>, String> {
    match &settings.sessions {
        Some(sessions) if settings.tools != ToolSet::Run => {
            let mut sessions = sessions.clone();
            sessions.packages = Some(sandbox.runner.packages().clone());
            sessions.dependencies.clone_from(&settings.runner.dependencies);
            let opened = Sessions::open(Arc::new(sandbox.engine.clone()), sessions).await;
            opened.map(Some).map_err(|error| error.to_string())
        }
        _ => Ok(None),
    }
}

/// Compiles what sessions begin with, and builds their image, before the first one needs it.
fn prepare_in_background(engine: LocalEngine, shutdown: CancellationToken) {
    tokio::spawn(async move {
        let wheels = Image::DATA.map(str::to_owned);
        let prepared = async {
            engine.prepare(&wheels).await?;
            engine.warm(&session_image()).await
        };
        match prepared.await {
            Err(error) if shutdown.is_cancelled() => tracing::debug!(%error, "the packages were not prepared any more"),
            Err(error) => tracing::error!(%error, "the packages of sessions cannot be prepared"),
            Ok(()) => {}
        }
    });
}
