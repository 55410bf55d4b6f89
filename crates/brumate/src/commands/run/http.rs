//! Serving a server's ASGI application over HTTP.

use std::net::IpAddr;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use brumate_python_server::http::{HttpLimits, HttpServeError, HttpService, Isolation};
use brumate_python_server::{MachineEnd, StartedMachine};
use brumate_session::CancellationToken;

use super::launcher::ProgramLauncher;
use crate::cli::IsolateArg;
use crate::commands::http::{display_address, prepare, reload_in_background};
use crate::commands::print_error;
use crate::exit_status;
use crate::http_settings::{HttpServerSettings, host_header};
use crate::settings::Settings;

/// Name of this machine for itself.
const LOCALHOST: &str = "localhost";
/// Longest address of a server that a message repeats, in characters.
const MAX_SHOWN_HOST: usize = 120;
/// Lowest port that a server may name. Lower ones belong to services of the system.
const MIN_OWN_PORT: u16 = 1024;

/// Returns the address that a server names, if it is one of this machine's own, written as such.
///
/// Nothing else is believed: looking up a name would tell it to a name server, and an address of the network is the user's to open.
///
/// # Errors
///
/// The text says that the user has to name the address.
fn own_address(named: &str) -> anyhow::Result<String> {
    let bare = named.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(named);
    match bare.parse::<IpAddr>() {
        Ok(address) if address.is_loopback() => return Ok(address.to_string()),
        Err(_) if named.eq_ignore_ascii_case(LOCALHOST) => return Ok(LOCALHOST.to_owned()),
        _ => {}
    }
    let shown: String = named.chars().take(MAX_SHOWN_HOST).collect();
    bail!(
        "the server wants to listen on {shown:?}, but of itself it may choose a loopback address or `localhost` alone: to serve there, \
         name the address with `--host`, or use `--host 127.0.0.1`"
    )
}

/// Returns the port that a server names; 0 is any free one.
///
/// # Errors
///
/// The text says that the user has to name the port.
fn own_port_of(named: u16) -> anyhow::Result<u16> {
    if named != 0 && named < MIN_OWN_PORT {
        bail!(
            "the server wants to listen on port {named}; name it with `--port {named}`: ports below {MIN_OWN_PORT} are the user's to give"
        );
    }
    Ok(named)
}

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
        let host = if given.0 { host.clone() } else { own_address(&own_host)? };
        let port = if given.1 { *port } else { own_port_of(own_port)? };
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
        print_error(&format!("brumate: serving at {scheme}://{}", display_address(&host, address)));
        match service.serve(launcher, first, listener, shutdown).await {
            Ok(()) => Ok(MachineEnd { status: exit_status::SUCCESS, text: String::new() }),
            Err(error @ (HttpServeError::Start(_) | HttpServeError::CrashLoop(_))) => Ok(super::failed(&error)),
            Err(error) => Err(error.into()),
        }
    }
    .await;
    if served.is_err() {
        kill.kill();
    }
    served
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_choose_addresses_of_this_machine_alone() {
        for (named, host) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.9.9.9", "127.9.9.9"),
            ("::1", "::1"),
            ("[::1]", "::1"),
            ("0:0:0:0:0:0:0:1", "::1"),
            ("localhost", "localhost"),
            ("LocalHost", "localhost"),
        ] {
            assert_eq!(own_address(named).unwrap(), host);
        }
        for named in [
            "secret.attacker.example",
            "localhost.attacker.example",
            "localhost.",
            "127.0.0.1.attacker.example",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0.0.0.0",
            "::",
            "[::]",
            "::ffff:127.0.0.1",
            "192.168.0.1",
            "::1%lo",
            "[localhost]",
            "127.0.0.1:80",
            "127.0.0.1 ",
            "",
            "a\nbrumate: forged\x1b]0;x\x07",
        ] {
            let error = own_address(named).unwrap_err().to_string();
            assert!(error.contains("--host") && !error.contains(['\n', '\x1b']), "{error}");
        }
        assert!(own_address(&"x".repeat(1 << 14)).unwrap_err().to_string().len() < 400);
    }

    #[test]
    fn servers_choose_no_port_of_the_system() {
        for port in [0, 1024, 8000, 65535] {
            assert_eq!(own_port_of(port).unwrap(), port);
        }
        for port in [1, 22, 80, 443, 1023] {
            assert!(own_port_of(port).unwrap_err().to_string().contains("--port"));
        }
    }
}
