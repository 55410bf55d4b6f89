//! Traces of requests and runs, for OpenTelemetry: what the semantic conventions for MCP name.
//!
//! What people and models write (code, arguments, results) is recorded only if the operator wants it. Names of sessions of
//! the interpreter and tokens are never.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use brumate_session::Phases;
use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::propagation::Extractor;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, ErrorData, JsonObject, RequestId};
use rmcp::service::RequestContext;
use serde_json::{Map, Value};

/// Longest name from a request that is recorded, in characters.
const MAX_NAME: usize = 128;
/// Longest content that is recorded, in bytes.
const MAX_CONTENT: usize = 16 << 10;

/// Tells OpenTelemetry of requests and runs.
#[derive(Clone)]
pub struct Traces {
    tracer: Arc<BoxedTracer>,
    /// Code, arguments and results too.
    content: bool,
}

impl std::fmt::Debug for Traces {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Traces").field("content", &self.content).finish_non_exhaustive()
    }
}

/// Where a client says which trace its request is part of: `_meta`, else the headers of HTTP.
struct Carrier<'a> {
    meta: &'a Map<String, Value>,
    head: Option<&'a http::HeaderMap>,
}

impl Extractor for Carrier<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let said = self.meta.get(key).and_then(Value::as_str);
        // Both fields come from one place.
        if self.meta.contains_key("traceparent") {
            return said;
        }
        said.or_else(|| self.head?.get(key)?.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

fn short(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}

impl Traces {
    /// Tells the global tracer provider; with `content` what is written too.
    pub fn global(content: bool) -> Self {
        Self { tracer: Arc::new(global::tracer("brumate")), content }
    }

    /// Begins the span of a request; `target` is the name that its method acts on.
    pub(crate) fn request(
        &self,
        method: &str,
        target: Option<&str>,
        context: &RequestContext<RoleServer>,
    ) -> RequestSpan {
        let parts = context.extensions.get::<http::request::Parts>();
        let head = parts.map(|parts| &parts.headers);
        let carrier = Carrier { meta: &context.meta.0.0, head };
        let parent = global::get_text_map_propagator(|propagator| propagator.extract(&carrier));
        let id = match &context.id {
            RequestId::Number(id) => id.to_string(),
            RequestId::String(id) => short(id, MAX_NAME),
        };
        let mut attributes = vec![
            KeyValue::new("mcp.method.name", method.to_owned()),
            KeyValue::new("jsonrpc.request.id", id),
            KeyValue::new("network.transport", if head.is_some() { "tcp" } else { "pipe" }),
        ];
        if let Some(version) = context.protocol_version() {
            attributes.push(KeyValue::new("mcp.protocol.version", version.to_string()));
        }
        let session = head.and_then(|head| head.get("mcp-session-id")).and_then(|id| id.to_str().ok());
        if let Some(session) = session {
            attributes.push(KeyValue::new("mcp.session.id", short(session, MAX_NAME)));
        }
        let mut name: Cow<'static, str> = method.to_owned().into();
        if let Some(target) = target.map(|target| short(target, MAX_NAME)) {
            name = format!("{method} {target}").into();
            attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
            attributes.push(KeyValue::new("gen_ai.tool.name", target));
        }
        let builder = self.tracer.span_builder(name).with_kind(SpanKind::Server).with_attributes(attributes);
        let span = self.tracer.build_with_context(builder, &parent);
        RequestSpan { traces: self.clone(), context: parent.with_span(span) }
    }
}

/// The span of a request; it ends when it is dropped.
pub(crate) struct RequestSpan {
    traces: Traces,
    context: Context,
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        self.context.span().end();
    }
}

impl RequestSpan {
    /// The arguments of a tool, if they are wanted.
    pub(crate) fn arguments(&self, arguments: Option<&JsonObject>) {
        if self.traces.content
            && let Some(text) = arguments.and_then(|arguments| serde_json::to_string(arguments).ok())
        {
            self.context.span().set_attribute(KeyValue::new("gen_ai.tool.call.arguments", cut(text)));
        }
    }

    /// The request is answered with an error of the protocol.
    pub(crate) fn fail(&self, error: &ErrorData) {
        let span = self.context.span();
        let code = error.code.0.to_string();
        span.set_attribute(KeyValue::new("error.type", code.clone()));
        span.set_attribute(KeyValue::new("rpc.response.status_code", code));
        span.set_status(Status::error(short(&error.message, MAX_NAME)));
    }

    /// The call of a tool is answered.
    pub(crate) fn end_call(self, response: &Result<CallToolResponse, ErrorData>) {
        match response {
            Ok(CallToolResponse::Complete(result)) => describe(&self.traces, &self.context, result),
            Ok(CallToolResponse::InputRequired(_)) => {
                self.context.span().set_attribute(KeyValue::new("brumate.answer", "input_required"));
            }
            Ok(_) => self.context.span().set_attribute(KeyValue::new("brumate.answer", "task")),
            Err(error) => self.fail(error),
        }
    }

    /// Begins the span of what runs for the request, which may go on after it.
    pub(crate) fn run(&self) -> RunSpan {
        let (traces, parent) = (self.traces.clone(), self.context.clone());
        RunSpan { traces, parent, begun: SystemTime::now(), phases: Arc::default() }
    }
}

/// A run of code.
pub(crate) struct RunSpan {
    traces: Traces,
    parent: Context,
    begun: SystemTime,
    phases: Arc<Phases>,
}

impl RunSpan {
    pub(crate) fn phases(&self) -> Arc<Phases> {
        Arc::clone(&self.phases)
    }

    /// The run has ended: what it waited for, and what came of it.
    pub(crate) fn end(self, result: &CallToolResult) {
        let ended = SystemTime::now();
        let tracer = &self.traces.tracer;
        let builder = tracer.span_builder("run").with_kind(SpanKind::Internal).with_start_time(self.begun);
        let span = tracer.build_with_context(builder, &self.parent);
        let context = self.parent.with_span(span);
        let seconds = |from: SystemTime, to: SystemTime| to.duration_since(from).unwrap_or_default().as_secs_f64();
        let admitted = self.phases.admitted().unwrap_or(ended);
        context.span().set_attribute(KeyValue::new("brumate.run.queue.duration", seconds(self.begun, admitted)));
        if self.phases.admitted().is_some() {
            let started = self.phases.started().unwrap_or(ended);
            context.span().set_attribute(KeyValue::new("brumate.run.start.duration", seconds(admitted, started)));
        }
        if let Some(started) = self.phases.started() {
            context.span().set_attribute(KeyValue::new("brumate.run.duration", seconds(started, ended)));
        }
        describe(&self.traces, &context, result);
        context.span().end_with_timestamp(ended);
    }
}

/// Says what came of a call, and what it said if that is wanted.
fn describe(traces: &Traces, context: &Context, result: &CallToolResult) {
    let span = context.span();
    let said = result.structured_content.as_ref();
    // Code that failed is a result like others to the protocol; the tools say it in their own words.
    let failed = result.is_error == Some(true)
        || said.is_some_and(|said| said["success"] == false || said["status"].as_str().is_some_and(|s| s != "success"));
    if failed {
        span.set_attribute(KeyValue::new("error.type", "tool_error"));
        span.set_status(Status::error("the tool failed"));
    }
    if traces.content
        && let Ok(text) = serde_json::to_string(result)
    {
        span.set_attribute(KeyValue::new("gen_ai.tool.call.result", cut(text)));
    }
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_CONTENT));
    text
}
