//! `brumate stdio`: the MCP server.

use brumate_server::{PythonServer, serve_stdio};
use brumate_session::CancellationToken;

use crate::exit_status;
use crate::sandbox::sandbox;
use crate::settings::Settings;
use crate::signals::Signals;

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<u8> {
    let sandbox = sandbox(settings)?;
    // The client is answered at once; code waits for the sandbox if it has to.
    sandbox.engine.start_in_background();
    let shutdown = CancellationToken::new();
    let server = PythonServer::new(sandbox.runner, settings.return_mode);
    let serving = serve_stdio(server, shutdown.clone());
    let (result, signalled) = Signals::listen()?.guard(&shutdown, serving).await;
    result?;
    // A server that was asked to end and did is fine.
    Ok(if signalled == Some(exit_status::INTERRUPTED) { exit_status::INTERRUPTED } else { exit_status::SUCCESS })
}
