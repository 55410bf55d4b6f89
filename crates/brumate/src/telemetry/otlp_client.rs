//! The HTTP client of the exporter, with this project's TLS.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brumate_packages::index::tls_configuration;
use brumate_packages::settings::Tls;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;

/// Longest answer of a collector, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// Sends requests of the exporter. The exporter has its own thread; requests run in the server's runtime.
#[derive(Debug)]
pub(super) struct OtlpClient {
    client: reqwest::Client,
    runtime: Handle,
    /// Whether the last request failed.
    failing: AtomicBool,
}

impl OtlpClient {
    /// Makes a client with these TLS settings. Proxies are those of the environment (`HTTPS_PROXY`, `NO_PROXY`, …).
    ///
    /// # Errors
    ///
    /// The certificates cannot be read.
    pub(super) fn new(tls: &Tls, timeout: Duration) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls_configuration(tls)?)
            .timeout(timeout)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("brumate/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, runtime: Handle::current(), failing: AtomicBool::new(false) })
    }

    /// Logs when the collector becomes unreachable, and when it is reachable again.
    fn log_change(&self, failure: Option<&str>) {
        let failed = self.failing.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(error) if !failed => {
                tracing::warn!(
                    error,
                    "the collector of traces cannot be reached (OTEL_EXPORTER_OTLP_*); traces are dropped until it can"
                );
            }
            None if failed => tracing::warn!("the collector of traces can be reached again"),
            _ => {}
        }
    }
}

#[async_trait::async_trait]
impl HttpClient for OtlpClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (client, request) = (self.client.clone(), reqwest::Request::try_from(request)?);
        let sent = match self.runtime.spawn(send(client, request)).await {
            Ok(sent) => sent,
            // The runtime and the process end.
            Err(error) => return Err(error.into()),
        };
        match &sent {
            Ok(response) if response.status().is_success() => self.log_change(None),
            Ok(response) => self.log_change(Some(&format!("it answers {}", response.status()))),
            Err(error) => self.log_change(Some(&format!("{error:#}"))),
        }
        Ok(sent?)
    }
}

async fn send(client: reqwest::Client, request: reqwest::Request) -> anyhow::Result<Response<Bytes>> {
    // URLs may contain passwords.
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
