//! Export of OpenTelemetry traces, configured by the standard variables.
//!
//! Enabled by `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or `OTEL_TRACES_EXPORTER=otlp`. Spans are sent as OTLP
//! over HTTP (protobuf). OpenTelemetry's own crates read the other variables (`OTEL_TRACES_SAMPLER`, `OTEL_BSP_*`,
//! `OTEL_EXPORTER_OTLP_HEADERS`, …). Spans wait in a bounded queue, and a thread sends them. When the queue is full, spans are dropped.

mod otlp_client;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use brumate_packages::settings::Tls;
use brumate_server::Traces;
use opentelemetry::KeyValue;
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;

use crate::env_vars;
use otlp_client::OtlpClient;

/// Default name of the service.
const SERVICE: &str = "brumate";
/// Default time limit of a collector's answer, as in the standard.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of the last spans at shutdown. Clients over stdio kill the server after two seconds.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(1500);

/// Settings of the export, from the variables.
#[derive(Debug, PartialEq, Eq)]
struct TraceSettings {
    /// Whether spans contain code, arguments and results.
    content: bool,
    tls: Tls,
    timeout: Duration,
    /// Default attributes of the resource that the variables do not set.
    resource: Vec<(&'static str, &'static str)>,
}

impl TraceSettings {
    /// Reads the variables. Returns `None` if traces are disabled.
    ///
    /// # Errors
    ///
    /// A variable has an unsupported value.
    fn read(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Self>> {
        let given = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        // A variable for traces overrides the one for all signals.
        let of_traces = |pair: [&'static str; 2]| pair.into_iter().find_map(|name| Some((name, given(name)?)));
        let flag = |name: &str| match given(name) {
            Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
            Some(value) if !value.eq_ignore_ascii_case("false") => bail!("{name}: `{value}` is neither true nor false"),
            _ => Ok(false),
        };
        let exporter = given(env_vars::OTEL_TRACES_EXPORTER);
        let endpoint = of_traces([env_vars::OTEL_TRACES_ENDPOINT, env_vars::OTEL_ENDPOINT]);
        // Only `true` disables. The standard forbids to fail at unknown values.
        let disabled = given(env_vars::OTEL_SDK_DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let enabled = !disabled
            && match exporter.as_deref() {
                Some("none") => false,
                Some("otlp") => true,
                Some(other) => {
                    bail!("{}: `{other}` is not supported; use `otlp` or `none`", env_vars::OTEL_TRACES_EXPORTER)
                }
                None => endpoint.is_some(),
            };
        if !enabled {
            return Ok(None);
        }
        if let Some((name, endpoint)) = endpoint
            && !["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme))
        {
            bail!("{name}: the collector's URL must begin with http:// or https://");
        }
        if let Some((name, protocol)) = of_traces([env_vars::OTEL_TRACES_PROTOCOL, env_vars::OTEL_PROTOCOL])
            && protocol != "http/protobuf"
        {
            bail!("{name}: `{protocol}` is not supported; use `http/protobuf`, which collectors accept at port 4318");
        }
        let bundle = of_traces([env_vars::OTEL_TRACES_CERTIFICATE, env_vars::OTEL_CERTIFICATE]);
        let timeout = match of_traces([env_vars::OTEL_TRACES_TIMEOUT, env_vars::OTEL_TIMEOUT]) {
            Some((name, text)) => match text.parse() {
                Ok(milliseconds) if milliseconds > 0 => Duration::from_millis(milliseconds),
                _ => bail!("{name}: `{text}` is not a number of milliseconds"),
            },
            None => TIMEOUT,
        };
        let attributes = given(env_vars::OTEL_RESOURCE_ATTRIBUTES).unwrap_or_default();
        let is_unset =
            |name: &str| !attributes.split(',').any(|pair| pair.split('=').next().map(str::trim) == Some(name));
        let mut resource = Vec::new();
        if given(env_vars::OTEL_SERVICE_NAME).is_none() && is_unset("service.name") {
            resource.push(("service.name", SERVICE));
        }
        if is_unset("service.version") {
            resource.push(("service.version", env!("CARGO_PKG_VERSION")));
        }
        let tls = Tls { bundle: bundle.map(|(_, path)| PathBuf::from(path)) };
        Ok(Some(Self { content: flag(env_vars::TRACE_CONTENT)?, tls, timeout, resource }))
    }
}

/// The export of traces.
#[derive(Debug)]
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
    traces: Traces,
}

impl Telemetry {
    /// Starts the export if the variables enable it.
    ///
    /// # Errors
    ///
    /// A variable has an unsupported value.
    pub(crate) fn start() -> anyhow::Result<Option<Self>> {
        let Some(settings) = TraceSettings::read(|name| std::env::var(name).ok())? else { return Ok(None) };
        let client = OtlpClient::new(&settings.tls, settings.timeout).context("the collector of traces")?;
        let exporter = SpanExporter::builder().with_http().with_http_client(client).build();
        let exporter = exporter.context("the collector of traces (OTEL_EXPORTER_OTLP_*)")?;
        let attributes = settings.resource.into_iter().map(|(name, value)| KeyValue::new(name, value));
        let resource = Resource::builder().with_attributes(attributes).build();
        let provider = SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build();
        let tracer = BoxedTracer::new(Box::new(provider.tracer(SERVICE)));
        Ok(Some(Self { provider, traces: Traces::new(tracer, settings.content) }))
    }

    /// Returns the recorder of requests and runs.
    pub(crate) fn traces(&self) -> Traces {
        self.traces.clone()
    }

    /// Sends the remaining spans, within [`FLUSH_TIMEOUT`].
    pub(crate) async fn finish(self) {
        // Interrupted runs end soon.
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.traces.wait_for_runs()).await;
        let sent = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(FLUSH_TIMEOUT)).await;
        if let Ok(Err(error)) = sent {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &[(&str, &str)]) -> anyhow::Result<Option<TraceSettings>> {
        TraceSettings::read(|name| given.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    fn wanted(given: &[(&str, &str)]) -> TraceSettings {
        read(given).expect("possible").expect("wanted")
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");

    #[test]
    fn traces_are_sent_where_the_standard_variables_say_so() {
        let off: [&[(&str, &str)]; 6] = [
            &[],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            &[("OTEL_SERVICE_NAME", "brumate"), ("BRUMATE_TRACE_CONTENT", "true")],
            &[ENDPOINT, ("OTEL_SDK_DISABLED", "TRUE")],
            &[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")],
            // Nothing is refused that nobody asks for.
            &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")],
        ];
        for given in off {
            assert_eq!(read(given).expect("possible"), None, "{given:?}");
        }
        let defaults = wanted(&[ENDPOINT]);
        assert_eq!((defaults.content, defaults.timeout, &defaults.tls), (false, TIMEOUT, &Tls::default()));
        assert_eq!(defaults.resource, [("service.name", "brumate"), ("service.version", env!("CARGO_PKG_VERSION"))]);
        let more: [&[(&str, &str)]; 4] = [
            &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://collector/traces")],
            &[("OTEL_TRACES_EXPORTER", "otlp")],
            &[ENDPOINT, ("OTEL_SDK_DISABLED", "false")],
            &[ENDPOINT, ("OTEL_SDK_DISABLED", "perhaps"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")],
        ];
        for given in more {
            assert_eq!(wanted(given), defaults, "{given:?}");
        }
    }

    #[test]
    fn what_is_said_is_used_and_of_traces_first() {
        let said = wanted(&[
            ENDPOINT,
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/all.pem"),
            ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "/traces.pem"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
            ("OTEL_SERVICE_NAME", "tools"),
            ("OTEL_RESOURCE_ATTRIBUTES", "team=a, service.version = 7"),
            ("BRUMATE_TRACE_CONTENT", "True"),
        ]);
        let tls = Tls { bundle: Some("/traces.pem".into()) };
        assert_eq!(
            said,
            TraceSettings { content: true, tls, timeout: Duration::from_millis(2500), resource: Vec::new() }
        );
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for (name, value) in [
            ("OTEL_TRACES_EXPORTER", "console"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            ("BRUMATE_TRACE_CONTENT", "some"),
        ] {
            let refused = read(&[ENDPOINT, (name, value)]).expect_err("not possible").to_string();
            assert!(refused.starts_with(&format!("{name}: ")), "{refused}");
        }
    }
}
