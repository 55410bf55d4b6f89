//! The HTTP modes: the same MCP server for many clients.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use brumate_engine::Trimmer;
use brumate_engine_api::Image;
use brumate_server::http::{EventStore, Health, HttpSettings, Tls, Tokens, serve_http};
use brumate_session::sessions::session_image;
use brumate_session::{Admission, CancellationToken};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::complain;
use super::serving::{self, Service};
use crate::engine::LocalEngine;
use crate::exit_status;
use crate::http_settings::HttpService;
use crate::settings::Settings;
use crate::signals::Signals;

/// How often the file of tokens is looked at.
const TOKENS_EVERY: Duration = Duration::from_secs(5);
/// How often the server looks whether it has freed memory to give back.
const TRIM_EVERY: Duration = Duration::from_secs(20);

pub(crate) async fn run(settings: &Settings) -> anyhow::Result<u8> {
    let Some(service) = &settings.http else {
        return Ok(exit_status::USAGE);
    };
    let HttpService { host, port, allow_unauthenticated, tokens, tls, event_store, serving } = service;
    let mut serving = serving.clone();
    let prepared = async {
        serving.tokens = tokens.as_ref().map(Tokens::open).transpose()?;
        serving.tls = tls.as_ref().map(|(chain, key)| Tls::from_pem_files(chain, key)).transpose()?;
        serving.event_store = event_store.as_deref().map(open_event_store).transpose()?;
        listen(host, *port, serving.tokens.is_some() || serving.oauth.is_some() || *allow_unauthenticated).await
    };
    let listener = match prepared.await {
        Ok(listener) => listener,
        Err(error) => {
            complain(&format!("brumate: {error:#}"));
            return Ok(exit_status::FAILURE);
        }
    };
    raise_descriptors();
    let address = listener.local_addr()?;
    if serving.tls.is_none() && (serving.tokens.is_some() || serving.oauth.is_some()) && !address.ip().is_loopback() {
        tracing::warn!("tokens are sent over plain HTTP: give --tls-cert and --tls-key, or put TLS in front");
    }
    let allowances = serving.tokens.as_ref().map(Tokens::allowances).unwrap_or_default();
    let Some(Service { server, sessions, engine, admission, telemetry, ends, .. }) =
        Service::start(settings, allowances).await?
    else {
        return Ok(exit_status::FAILURE);
    };
    let signals = Signals::listen()?;
    serving.health = Health::default().with_admission(admission.clone()).with_sessions(sessions.clone());
    tell_when_ready(engine, sessions.is_some(), serving.health.clone(), ends.clone());
    reload(&serving, admission)?;
    give_memory_back();
    let scheme = if serving.tls.is_some() { "https" } else { "http" };
    complain(&format!("brumate: serving MCP at {scheme}://{}{}", shown(host, address), serving.path()));
    let shutdown = CancellationToken::new();
    let work = async {
        let served = serve_http(server, serving, listener, shutdown.clone()).await;
        serving::end(&ends, sessions.as_ref(), telemetry).await;
        served
    };
    let (result, signalled) = signals.guard(&shutdown, work).await;
    result?;
    Ok(if signalled == Some(exit_status::INTERRUPTED) { exit_status::INTERRUPTED } else { exit_status::SUCCESS })
}

/// The store of sessions of the protocol.
fn open_event_store(directory: &Path) -> anyhow::Result<Arc<EventStore>> {
    let store =
        EventStore::open(directory).map_err(|error| anyhow!("`--event-store {}`: {error}", directory.display()));
    Ok(Arc::new(store?))
}

/// Listens; beyond this machine only where clients need tokens, or the operator wants it otherwise.
async fn listen(host: &str, port: u16, far: bool) -> anyhow::Result<TcpListener> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::net::lookup_host((bare, port)).await.with_context(|| format!("`--host {host}`"))?;
    let addresses: Vec<SocketAddr> = found.collect();
    if !far && addresses.iter().any(|address| !address.ip().is_loopback()) {
        bail!(
            "`{host}` can be reached from other machines, and whoever reaches it may run code: give a file of tokens \
             (`--auth-tokens`, made with `brumate token`), an authorization server (`--auth-issuer`), or `--allow-unauthenticated` if something in front decides who may"
        );
    }
    TcpListener::bind(&addresses[..]).await.with_context(|| format!("cannot listen at {host} port {port}"))
}

/// The address as clients may write it.
fn shown(host: &str, address: SocketAddr) -> String {
    if address.ip().is_unspecified() || host.parse::<std::net::IpAddr>().is_ok() || host.starts_with('[') {
        return address.to_string();
    }
    format!("{host}:{}", address.port())
}

/// Each client is a descriptor: as many as this process may have. What is jailed has limits of its own.
fn raise_descriptors() {
    let limits = getrlimit(Resource::Nofile);
    // A system that refuses leaves what there was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits });
}

/// Says so when code would not have to wait for the sandbox any more.
fn tell_when_ready(engine: LocalEngine, sessions: bool, health: Health, ends: CancellationToken) {
    tokio::spawn(async move {
        let image = if sessions { session_image() } else { Image::data() };
        match engine.prepare_ahead(&Image::DATA, &image).await {
            Ok(()) => health.set_ready(),
            Err(error) if ends.is_cancelled() => tracing::debug!(%error, "the sandbox was not prepared any more"),
            Err(error) => tracing::error!(%error, "the sandbox is not ready"),
        }
    });
}

/// Gives memory back to the system that large answers had taken.
fn give_memory_back() {
    tokio::spawn(async {
        let mut trimmer = Trimmer::default();
        loop {
            tokio::time::sleep(TRIM_EVERY).await;
            let trimmed = tokio::task::spawn_blocking(move || {
                trimmer.trim();
                trimmer
            });
            let Ok(kept) = trimmed.await else { return };
            trimmer = kept;
        }
    });
}

/// Reads tokens and certificates again, at SIGHUP and when the file of tokens was changed. Whoever has no token any more loses what
/// runs and what waits.
fn reload(serving: &HttpSettings, admission: Admission) -> std::io::Result<()> {
    let (tokens, tls) = (serving.tokens.clone(), serving.tls.clone());
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            let asked = tokio::select! {
                _ = hangup.recv() => true,
                () = tokio::time::sleep(TOKENS_EVERY) => false,
            };
            if let Some(tokens) = tokens.clone() {
                match tokio::task::spawn_blocking(move || tokens.reload(asked)).await {
                    Ok(Ok(Some(revoked))) => {
                        tracing::info!("the tokens were read again");
                        for principal in revoked {
                            tracing::info!(principal, "a principal has no token any more: what it runs ends");
                            admission.revoke(&principal);
                        }
                    }
                    Ok(Ok(None)) => {}
                    Ok(Err(error)) => tracing::error!(%error, "the tokens stay as they were"),
                    Err(error) => tracing::error!(%error, "the tokens stay as they were"),
                }
            }
            if let Some(tls) = tls.as_ref().filter(|_| asked) {
                match tls.reload() {
                    Ok(()) => tracing::info!("the certificates were read again"),
                    Err(error) => tracing::error!(%error, "the certificates stay as they were"),
                }
            }
        }
    });
    Ok(())
}
