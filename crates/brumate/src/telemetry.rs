//! OpenTelemetry traces, where the standard variables ask for them.
//!
//! Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is set; then spans go there as OTLP over
//! HTTP (protobuf). What is not read here (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`,
//! `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_BSP_*`, …) OpenTelemetry's own crates read.

use std::time::Duration;

use anyhow::Context;
use brumate_server::Traces;
use opentelemetry::global;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;

use crate::env_vars;

/// What a trace is of, if nothing else is said.
const SERVICE: &str = "brumate";
/// How long a collector may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last spans may take when the server ends.
const LAST: Duration = Duration::from_secs(5);
/// Longest answer of a collector that is read, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// Traces that are being sent.
#[derive(Debug)]
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
    content: bool,
}

fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Whether the variables ask for traces.
fn wanted(set: impl Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, value: &str| set(name).is_some_and(|set| set.eq_ignore_ascii_case(value));
    let somewhere =
        ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"].iter().any(|name| set(name).is_some());
    somewhere && !is("OTEL_SDK_DISABLED", "true") && !is("OTEL_TRACES_EXPORTER", "none")
}

impl Telemetry {
    /// Begins to send traces, if the variables ask for it.
    ///
    /// # Errors
    ///
    /// The variables say what cannot be done.
    pub(crate) fn start() -> anyhow::Result<Option<Self>> {
        if !wanted(set) {
            return Ok(None);
        }
        let protocol = set("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL").or_else(|| set("OTEL_EXPORTER_OTLP_PROTOCOL"));
        if let Some(protocol) = protocol.filter(|protocol| protocol != "http/protobuf") {
            anyhow::bail!("OTEL_EXPORTER_OTLP_PROTOCOL: `{protocol}` is not offered, `http/protobuf` is");
        }
        let client = Client::new().context("OpenTelemetry's client")?;
        let exporter = SpanExporter::builder().with_http().with_http_client(client).build();
        let exporter = exporter.context("OTEL_EXPORTER_OTLP_*")?;
        let named = set("OTEL_SERVICE_NAME").is_some()
            || set("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|attributes| attributes.contains("service.name="));
        let resource = Resource::builder();
        let resource = if named { resource } else { resource.with_service_name(SERVICE) };
        let provider = SdkTracerProvider::builder().with_resource(resource.build()).with_batch_exporter(exporter).build();
        global::set_text_map_propagator(TraceContextPropagator::new());
        global::set_tracer_provider(provider.clone());
        let content = set(env_vars::TRACE_CONTENT).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        Ok(Some(Self { provider, content }))
    }

    /// Where requests and runs are told.
    pub(crate) fn traces(&self) -> Traces {
        Traces::global(self.content)
    }

    /// Sends what is left.
    pub(crate) async fn finish(self) {
        let sent = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(LAST)).await;
        if let Ok(Err(error)) = sent {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// HTTP over this project's TLS, for an exporter that runs on a thread of its own.
#[derive(Debug)]
struct Client {
    client: reqwest::Client,
    runtime: Handle,
}

impl Client {
    fn new() -> anyhow::Result<Self> {
        let tls = brumate_packages::index::tls_configuration()?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .timeout(TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("brumate/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { client, runtime: Handle::current() })
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (client, request) = (self.client.clone(), reqwest::Request::try_from(request)?);
        let sent = self.runtime.spawn(async move {
            let mut answer = client.execute(request).await?;
            let mut response = Response::builder().status(answer.status());
            if let Some(headers) = response.headers_mut() {
                headers.clone_from(answer.headers());
            }
            let mut body = Vec::new();
            while let Some(chunk) = answer.chunk().await? {
                if body.len() + chunk.len() > MAX_ANSWER {
                    return Err(HttpError::from("the collector's answer is too long"));
                }
                body.extend_from_slice(&chunk);
            }
            Ok(response.body(Bytes::from(body))?)
        });
        sent.await?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_sent_where_the_standard_variables_say_so() {
        let with = |given: &[(&str, &str)]| {
            wanted(|name| given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
        assert!(!with(&[]) && !with(&[("OTEL_SERVICE_NAME", "brumate")]));
        assert!(with(&[endpoint]) && with(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://collector/traces")]));
        assert!(with(&[endpoint, ("OTEL_SDK_DISABLED", "false")]));
        assert!(!with(&[endpoint, ("OTEL_SDK_DISABLED", "TRUE")]));
        assert!(!with(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]));
    }
}
