//! Serving a server's ASGI application over HTTP.

use std::sync::Arc;

use anyhow::Context as _;
use brumate_python_server::http::{HttpLimits, HttpServeError, HttpService, Isolation};
use brumate_python_server::{MachineEnd, StartedMachine};
use brumate_session::CancellationToken;

use super::launcher::ProgramLauncher;
use crate::cli::IsolateArg;
use crate::commands::http::{prepare, reload_in_background, shown};
use crate::commands::print_error;
use crate::exit_status;
use crate::http_settings::{HttpServerSettings, host_header};
use crate::settings::Settings;

/// Serves an application at the address that it names, or at that of the command line.
///
/// # Errors
///
/// The address cannot be used, or a file of the settings cannot be read.
pub(super) async fn serve_http(
    launcher: Arc<ProgramLauncher>,
    first: StartedMachine,
    (own_host, own_port): (String, u16),
    settings: &Settings,
    isolate: IsolateArg,
    shutdown: CancellationToken,
) -> anyhow::Result<MachineEnd> {
    let kill = Arc::clone(&first.control);
    let served = async {
        let service = settings.http.as_ref().context("this command has no settings of HTTP")?;
        let HttpServerSettings { host, port, given, .. } = service;
        let (host, port) = (if given.0 { host.clone() } else { own_host }, if given.1 { *port } else { own_port });
        let (mut serving, listener) = prepare(service, &host, port).await?;
        serving.allow_hosts.extend(host_header(&host));
        reload_in_background(&serving, launcher.runner.admission().clone())?;
        let address = listener.local_addr()?;
        let scheme = if serving.tls.is_some() { "https" } else { "http" };
        let options = serving.options().map_err(anyhow::Error::msg)?;
        let limits = &settings.runner.limits;
        let machines = HttpLimits {
            request_time_limit: limits.wall,
            interrupt_grace: limits.grace,
            shutdown_grace: limits.grace,
            ..HttpLimits::default()
        };
        let isolation = match isolate {
            IsolateArg::Server => Isolation::Server,
            IsolateArg::Session => Isolation::Session,
        };
        let service = HttpService::new(options).isolation(isolation).limits(machines);
        let service = match serving.tls {
            Some(tls) => service.tls(tls),
            None => service,
        };
        print_error(&format!("brumate: serving at {scheme}://{}", shown(&host, address)));
        match service.serve(launcher, first, listener, shutdown).await {
            Ok(()) => Ok(MachineEnd { status: exit_status::SUCCESS, text: String::new() }),
            Err(error @ (HttpServeError::Start(_) | HttpServeError::CrashLoop(_))) => {
                Ok(MachineEnd { status: exit_status::FAILURE, text: format!("brumate: {error}") })
            }
            Err(error) => Err(error.into()),
        }
    }
    .await;
    if served.is_err() {
        kill.kill();
    }
    served
}
