//! `brumate stdio`: the MCP server.

use brumate_server::serve_stdio;
use brumate_session::{Allowances, CancellationToken};

use super::serving::{self, Service};
use crate::exit_status;
use crate::settings::Settings;
use crate::signals::Signals;

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<u8> {
    let shutdown = CancellationToken::new();
    let Some(Service { server, sessions, telemetry, ends, .. }) =
        Service::start(settings, Allowances::default()).await?
    else {
        return Ok(exit_status::FAILURE);
    };
    let serving = async {
        let served = serve_stdio(server, shutdown.clone()).await;
        serving::end(&ends, sessions.as_ref(), telemetry).await;
        served
    };
    let (result, signalled) = Signals::listen()?.guard(&shutdown, serving).await;
    result?;
    // A server that was asked to end and did is fine.
    Ok(if signalled == Some(exit_status::INTERRUPTED) { exit_status::INTERRUPTED } else { exit_status::SUCCESS })
}
