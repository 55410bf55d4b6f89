//! `brumate stdio`: the MCP server over standard input and output.

use brumate_server::serve_stdio;
use brumate_session::{Allowances, CancellationToken};

use super::serving::{self, McpService};
use crate::exit_status;
use crate::settings::Settings;
use crate::signals::Signals;

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<u8> {
    let shutdown = CancellationToken::new();
    let Some(McpService { server, sessions, telemetry, shutdown_started, .. }) =
        McpService::start(settings, Allowances::default()).await?
    else {
        return Ok(exit_status::FAILURE);
    };
    let serving = async {
        let served = serve_stdio(server, shutdown.clone()).await;
        let written = serving::end(&shutdown_started, sessions.as_ref(), telemetry).await;
        served.map(|()| written)
    };
    let (result, signalled) = Signals::listen()?.guard(&shutdown, serving).await;
    Ok(serving::exit_status_of(signalled, result?))
}
