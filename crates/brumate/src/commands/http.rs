//! The HTTP commands: an MCP server for many clients.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use axum::middleware;
use brumate_engine::Trimmer;
use brumate_jupyter::{Caller, Gateway, refusal_body};
use brumate_mcp::{Principal, TokenRevocation};
use brumate_server::http::{EventStore, Health, HttpSettings, KernelApi, Tls, Tokens, serve_http};
use brumate_session::sessions::LOCAL_PRINCIPAL;
use brumate_session::{Admission, CancellationToken};
use futures::FutureExt as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::print_error;
use super::serving::{self, McpService, ServiceEngine};
use crate::exit_status;
use crate::http_settings::HttpServerSettings;
use crate::settings::Settings;
use crate::signals::Signals;

/// How often the server checks whether the tokens file was changed.
const TOKENS_INTERVAL: Duration = Duration::from_secs(5);
/// How often the server returns freed memory to the system.
const TRIM_INTERVAL: Duration = Duration::from_secs(20);

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<u8> {
    let Some(service) = &settings.http else {
        return Ok(exit_status::USAGE);
    };
    let HttpServerSettings { host, port, event_store, .. } = service;
    let prepared = async {
        let (mut serving, listener) = prepare(service, host, *port).await?;
        serving.event_store = event_store.as_deref().map(open_event_store).transpose()?;
        anyhow::Ok((serving, listener))
    };
    let (mut serving, listener) = match prepared.await {
        Ok(prepared) => prepared,
        Err(error) => {
            print_error(&format!("brumate: {error:#}"));
            return Ok(exit_status::FAILURE);
        }
    };
    let address = listener.local_addr()?;
    let allowances = serving.tokens.as_ref().map(Tokens::allowances).unwrap_or_default();
    let Some(McpService { server, sessions, engine, admission, telemetry, shutdown_started, .. }) =
        McpService::start(settings, allowances).await?
    else {
        return Ok(exit_status::FAILURE);
    };
    let signals = Signals::listen()?;
    let gateway = service.kernels.zip(sessions.clone()).map(|(policy, sessions)| Gateway::new(sessions, policy));
    serving.kernels = gateway.as_ref().map(kernel_api);
    serving.health = Health::default().with_admission(admission.clone()).with_sessions(sessions.clone());
    set_ready_when_prepared(
        (engine, settings.clone()),
        sessions.is_some(),
        serving.health.clone(),
        shutdown_started.clone(),
    );
    reload_in_background(&serving, admission)?;
    trim_memory();
    let scheme = if serving.tls.is_some() { "https" } else { "http" };
    print_error(&format!("brumate: serving MCP at {scheme}://{}{}", display_address(host, address), serving.path()));
    if gateway.is_some() {
        print_error(&format!("brumate: serving Jupyter kernels at {scheme}://{}/", display_address(host, address)));
    }
    let shutdown = CancellationToken::new();
    let work = async {
        let served = serve_http(server, serving, listener, shutdown.clone()).await;
        if let Some(gateway) = gateway {
            gateway.close().await;
        }
        let written = serving::end(&shutdown_started, sessions.as_ref(), telemetry).await;
        served.map(|()| written)
    };
    let (result, signalled) = signals.guard(&shutdown, work).await;
    Ok(serving::exit_status_of(signalled, result?))
}

/// Opens the files of the settings, and listens. Addresses that other machines reach need tokens.
pub(super) async fn prepare(
    service: &HttpServerSettings,
    host: &str,
    port: u16,
) -> anyhow::Result<(HttpSettings, TcpListener)> {
    let mut serving = service.serving.clone();
    serving.tokens = service.tokens.as_ref().map(Tokens::open).transpose()?;
    serving.tls = service.tls.as_ref().map(|(chain, key)| Tls::from_pem_files(chain, key)).transpose()?;
    let has_tokens = serving.tokens.is_some() || serving.oauth.is_some();
    let listener = listen(host, port, has_tokens || service.allow_unauthenticated).await?;
    raise_descriptors();
    if serving.tls.is_none() && has_tokens && !listener.local_addr()?.ip().is_loopback() {
        tracing::warn!("tokens are sent over plain HTTP: set --tls-cert and --tls-key, or use a proxy with TLS");
    }
    Ok((serving, listener))
}

/// Returns the API of kernels, whose requests are those of the principal that the server has found.
fn kernel_api(gateway: &Gateway) -> KernelApi {
    let noted = middleware::map_request(async |mut request: axum::extract::Request| {
        let extensions = request.extensions();
        let principal = extensions.get::<Principal>().map_or(LOCAL_PRINCIPAL, Principal::name).to_owned();
        let revocation = extensions.get::<TokenRevocation>().cloned();
        let revoked = async move {
            match revocation {
                Some(revocation) => revocation.revoked().await,
                None => std::future::pending().await,
            }
        };
        request.extensions_mut().insert(Caller { principal, revoked: revoked.boxed().shared() });
        request
    });
    KernelApi { router: gateway.router().layer(noted), refusal_body }
}

/// Opens the store of MCP sessions.
fn open_event_store(directory: &Path) -> anyhow::Result<Arc<EventStore>> {
    let store =
        EventStore::open(directory).map_err(|error| anyhow!("`--event-store {}`: {error}", directory.display()));
    Ok(Arc::new(store?))
}

/// Listens on an address. Other machines may only reach it if `allow_remote`.
async fn listen(host: &str, port: u16, allow_remote: bool) -> anyhow::Result<TcpListener> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::net::lookup_host((bare, port)).await.with_context(|| format!("`--host {host}`"))?;
    let addresses: Vec<SocketAddr> = found.collect();
    if !allow_remote && addresses.iter().any(|address| !address.ip().is_loopback()) {
        bail!(
            "other machines can reach `{host}`, and every client can run code: set a tokens file (`--auth-tokens`, see `brumate token`), \
             an authorization server (`--auth-issuer`), or `--allow-unauthenticated` if a proxy checks the clients"
        );
    }
    TcpListener::bind(&addresses[..]).await.with_context(|| format!("cannot listen on {host} port {port}"))
}

/// Returns the address for clients.
pub(super) fn display_address(host: &str, address: SocketAddr) -> String {
    if address.ip().is_unspecified() || host.parse::<std::net::IpAddr>().is_ok() || host.starts_with('[') {
        return address.to_string();
    }
    format!("{host}:{}", address.port())
}

/// Raises the limit of open descriptors to the maximum: each client needs one. Jailed processes have their own limits.
fn raise_descriptors() {
    let limits = getrlimit(Resource::Nofile);
    // On failure the old limit stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits });
}

/// Prepares the sandbox, and sets the server ready afterwards.
fn set_ready_when_prepared(
    (engine, settings): (ServiceEngine, Settings),
    sessions: bool,
    health: Health,
    shutdown_started: CancellationToken,
) {
    tokio::spawn(async move {
        match engine.prepare(&settings, sessions).await {
            Ok(()) => health.set_ready(),
            Err(error) if shutdown_started.is_cancelled() => {
                tracing::debug!(%error, "the sandbox was not prepared before the shutdown")
            }
            Err(error) => tracing::error!(%error, "the sandbox is not ready"),
        }
    });
}

/// Returns freed memory to the system from time to time, such as that of large answers.
fn trim_memory() {
    tokio::spawn(async {
        let mut trimmer = Trimmer::default();
        loop {
            tokio::time::sleep(TRIM_INTERVAL).await;
            let trimmed = tokio::task::spawn_blocking(move || {
                trimmer.trim();
                trimmer
            });
            let Ok(returned) = trimmed.await else { return };
            trimmer = returned;
        }
    });
}

/// Reads tokens and certificates again at SIGHUP, and the tokens when their file was changed. Runs of a principal that lost its last
/// token are ended.
pub(super) fn reload_in_background(serving: &HttpSettings, admission: Admission) -> std::io::Result<()> {
    let (tokens, tls) = (serving.tokens.clone(), serving.tls.clone());
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            let signalled = tokio::select! {
                _ = hangup.recv() => true,
                () = tokio::time::sleep(TOKENS_INTERVAL) => false,
            };
            if let Some(tokens) = tokens.clone() {
                match tokio::task::spawn_blocking(move || tokens.reload(signalled)).await {
                    Ok(Ok(Some(revoked))) => {
                        tracing::info!("the tokens file was reloaded");
                        for principal in revoked {
                            tracing::info!(principal, "the principal has no token any more; its runs are ended");
                            admission.revoke(&principal);
                        }
                    }
                    Ok(Ok(None)) => {}
                    Ok(Err(error)) => {
                        tracing::error!(%error, "the tokens file was not reloaded; the old tokens stay valid")
                    }
                    Err(error) => {
                        tracing::error!(%error, "the tokens file was not reloaded; the old tokens stay valid")
                    }
                }
            }
            if let Some(tls) = tls.as_ref().filter(|_| signalled) {
                match tls.reload() {
                    Ok(()) => tracing::info!("the certificates were reloaded"),
                    Err(error) => {
                        tracing::error!(%error, "the certificates were not reloaded; the old ones stay in use")
                    }
                }
            }
        }
    });
    Ok(())
}
