//! HTTP to a collector, over this project's TLS.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brumate_packages::index::tls_configuration;
use brumate_packages::settings::Tls;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;

/// Longest answer of a collector that is read, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// Sends for an exporter that runs on a thread of its own, in the server's runtime.
#[derive(Debug)]
pub(super) struct Client {
    client: reqwest::Client,
    runtime: Handle,
    /// Whether what was sent last did not arrive.
    failing: AtomicBool,
}

impl Client {
    /// A client that trusts what `tls` says. Proxies are those of the environment (`HTTPS_PROXY`, `NO_PROXY`, …).
    ///
    /// # Errors
    ///
    /// Its certificates cannot be read.
    pub(super) fn new(tls: &Tls, timeout: Duration) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls_configuration(tls)?)
            .timeout(timeout)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("brumate/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, runtime: Handle::current(), failing: AtomicBool::new(false) })
    }

    /// Says that the collector is out of reach, and that it is back; each once.
    fn tell(&self, failure: Option<&str>) {
        let failed = self.failing.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(error) if !failed => {
                tracing::warn!(
                    error,
                    "traces do not reach their collector (OTEL_EXPORTER_OTLP_*), and are dropped until they do"
                );
            }
            None if failed => tracing::warn!("traces reach their collector again"),
            _ => {}
        }
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (client, request) = (self.client.clone(), reqwest::Request::try_from(request)?);
        let sent = match self.runtime.spawn(send(client, request)).await {
            Ok(sent) => sent,
            // The runtime ends, and with it the process.
            Err(error) => return Err(error.into()),
        };
        match &sent {
            Ok(response) if response.status().is_success() => self.tell(None),
            Ok(response) => self.tell(Some(&format!("it answers {}", response.status()))),
            Err(error) => self.tell(Some(&format!("{error:#}"))),
        }
        Ok(sent?)
    }
}

async fn send(client: reqwest::Client, request: reqwest::Request) -> anyhow::Result<Response<Bytes>> {
    // Addresses may hold passwords.
    let mut answer = client.execute(request).await.map_err(reqwest::Error::without_url)?;
    let mut response = Response::builder().status(answer.status());
    if let Some(headers) = response.headers_mut() {
        headers.clone_from(answer.headers());
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
        anyhow::ensure!(body.len() + chunk.len() <= MAX_ANSWER, "its answer is too long");
        body.extend_from_slice(&chunk);
    }
    Ok(response.body(Bytes::from(body))?)
}
