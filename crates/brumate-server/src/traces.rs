//! OpenTelemetry traces of requests and runs, by its semantic conventions for MCP.
//!
//! Content (code, arguments, results, error messages) is recorded only if the operator asks for it. Session ids of the interpreter
//! and tokens are never recorded.

mod parent;
mod tracing_handler;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use brumate_session::Phases;
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, JsonObject, RequestId};
use rmcp::service::RequestContext;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub(crate) use tracing_handler::TracingHandler;

/// Longest name from a request that is recorded, in characters.
const MAX_NAME: usize = 128;
/// Longest content that is recorded, in bytes.
const MAX_CONTENT: usize = 16 << 10;

/// Records requests and runs as OpenTelemetry spans. Clones share the recorder.
#[derive(Clone)]
pub struct Traces(Arc<TracesInner>);

struct TracesInner {
    tracer: BoxedTracer,
    /// Whether spans contain code, arguments and results.
    content: bool,
    /// Runs whose spans have not ended.
    runs: TaskTracker,
}

impl std::fmt::Debug for Traces {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Traces").field("content", &self.0.content).finish_non_exhaustive()
    }
}

/// Returns at most [`MAX_NAME`] characters of a name.
fn short(text: &str) -> String {
    text.chars().take(MAX_NAME).collect()
}

/// Returns at most [`MAX_CONTENT`] bytes of a text.
fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_CONTENT));
    text
}

impl Traces {
    /// Makes a recorder. With `content`, spans also contain code, arguments, results and error messages.
    pub fn new(tracer: BoxedTracer, content: bool) -> Self {
        Self(Arc::new(TracesInner { tracer, content, runs: TaskTracker::new() }))
    }

    /// Waits until the spans of all runs have ended.
    pub async fn wait_for_runs(&self) {
        self.0.runs.close();
        self.0.runs.wait().await;
    }

    /// Starts the span of a request.
    fn begin(&self, method: &str, context: &RequestContext<RoleServer>) -> RequestSpan {
        self.begin_named(method, None, context)
    }

    /// Starts the span of a tool call.
    fn begin_call(&self, call: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> RequestSpan {
        self.begin_named("tools/call", Some(call), context)
    }

    fn begin_named(
        &self,
        method: &str,
        call: Option<&CallToolRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> RequestSpan {
        let head = context.extensions.get::<axum::http::request::Parts>().map(|parts| &parts.headers);
        let header = |name| head.and_then(|head| head.get(name)?.to_str().ok());
        let of_meta = parent::parse(context.meta.get_traceparent(), context.meta.get_tracestate());
        let parent = of_meta.or_else(|| parent::parse(header("traceparent"), header("tracestate")));
        let parent = parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        let method = short(method);
        let id = match &context.id {
            RequestId::Number(id) => id.to_string(),
            RequestId::String(id) => short(id),
        };
        let mut attributes = vec![
            KeyValue::new("mcp.method.name", method.clone()),
            KeyValue::new("jsonrpc.request.id", id),
            KeyValue::new("network.transport", if head.is_some() { "tcp" } else { "pipe" }),
        ];
        if let Some(version) = context.protocol_version() {
            attributes.push(KeyValue::new("mcp.protocol.version", short(version.as_str())));
        }
        if let Some(session) = header("mcp-session-id") {
            attributes.push(KeyValue::new("mcp.session.id", short(session)));
        }
        let mut name = method;
        if let Some(call) = call {
            let tool = short(&call.name);
            name = format!("{name} {tool}");
            attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
            attributes.push(KeyValue::new("gen_ai.tool.name", tool));
            attributes.extend(self.arguments(call.arguments.as_ref()));
        }
        let builder = self.0.tracer.span_builder(name).with_kind(SpanKind::Server).with_attributes(attributes);
        let span = self.0.tracer.build_with_context(builder, &parent);
        RequestSpan { traces: self.clone(), context: parent.with_span(span) }
    }

    /// Returns the arguments of a tool as an attribute, if content is recorded.
    fn arguments(&self, arguments: Option<&JsonObject>) -> Option<KeyValue> {
        let text = serde_json::to_string(arguments.filter(|_| self.0.content)?).ok()?;
        Some(KeyValue::new("gen_ai.tool.call.arguments", cut(text)))
    }

    /// Records the result of a call: whether it failed and, if content is recorded, its text.
    fn record_result(&self, context: &Context, result: &CallToolResult) {
        let span = context.span();
        let fields = result.structured_content.as_ref();
        // For the protocol, code that failed is an ordinary result. The tools' own fields say that it failed.
        let failed = result.is_error == Some(true)
            || fields.is_some_and(|fields| {
                fields["success"] == false || fields["status"].as_str().is_some_and(|s| s != "success")
            });
        if failed {
            span.set_attribute(KeyValue::new("error.type", "tool_error"));
            span.set_status(Status::error(""));
        }
        if self.0.content
            && let Ok(text) = serde_json::to_string(result)
        {
            span.set_attribute(KeyValue::new("gen_ai.tool.call.result", cut(text)));
        }
    }
}

/// The span of a request. Clones share the span.
#[derive(Clone)]
pub(crate) struct RequestSpan {
    traces: Traces,
    context: Context,
}

impl RequestSpan {
    /// Returns the span of the request with this context, if it has one.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<&Self> {
        context.extensions.get()
    }

    /// Starts the span of a run. The run may end after the request.
    pub(crate) fn run(&self) -> RunSpan {
        let (traces, parent) = (self.traces.clone(), self.context.clone());
        let _running = traces.0.runs.token();
        RunSpan {
            traces,
            parent,
            start_time: SystemTime::now(),
            start: Instant::now(),
            phases: Arc::default(),
            _running,
        }
    }

    /// Records the answer of a request.
    fn record_answer<T>(&self, answer: &Result<T, ErrorData>) {
        let Err(error) = answer else { return };
        let span = self.context.span();
        let code = error.code.0.to_string();
        span.set_attribute(KeyValue::new("error.type", code.clone()));
        span.set_attribute(KeyValue::new("rpc.response.status_code", code));
        // Error messages may repeat content.
        span.set_status(Status::error(if self.traces.0.content { short(&error.message) } else { String::new() }));
    }

    /// Records the answer of a tool call.
    fn record_call_answer(&self, answer: &Result<CallToolResponse, ErrorData>) {
        let kind = match answer {
            Ok(CallToolResponse::Complete(result)) => return self.traces.record_result(&self.context, result),
            Ok(CallToolResponse::InputRequired(_)) => "input_required",
            Ok(_) => "task",
            Err(_) => return self.record_answer(answer),
        };
        self.context.span().set_attribute(KeyValue::new("brumate.answer", kind));
    }
}

/// Ends the span of a request when it is dropped, also when the request was cancelled.
struct SpanGuard(RequestSpan);

impl Drop for SpanGuard {
    fn drop(&mut self) {
        self.0.context.span().end();
    }
}

/// The span of a run of code.
pub(crate) struct RunSpan {
    traces: Traces,
    parent: Context,
    start_time: SystemTime,
    start: Instant,
    phases: Arc<Phases>,
    _running: TaskTrackerToken,
}

impl RunSpan {
    /// Returns where the run records the times of its phases.
    pub(crate) fn phases(&self) -> Arc<Phases> {
        Arc::clone(&self.phases)
    }

    /// Ends the span with the result and the durations of the run's phases, in seconds.
    pub(crate) fn end(self, result: &CallToolResult) {
        let now = Instant::now();
        let tracer = &self.traces.0.tracer;
        let builder = tracer.span_builder("run").with_kind(SpanKind::Internal).with_start_time(self.start_time);
        let span = tracer.build_with_context(builder, &self.parent);
        let context = self.parent.with_span(span);
        let (admitted, started) = (self.phases.admitted(), self.phases.started());
        let phases = [
            ("brumate.run.queue.duration", Some(self.start), admitted),
            ("brumate.run.start.duration", admitted, started),
            ("brumate.run.duration", started, None),
        ];
        for (name, from, to) in phases {
            if let Some(from) = from {
                let duration = to.unwrap_or(now).saturating_duration_since(from);
                context.span().set_attribute(KeyValue::new(name, duration.as_secs_f64()));
            }
        }
        self.traces.record_result(&context, result);
        context.span().end_with_timestamp(self.start_time + now.saturating_duration_since(self.start));
    }
}
