//! OpenTelemetry traces of requests and runs, by its semantic conventions for MCP.
//!
//! Content (code, arguments, results, error messages) is recorded only if the operator asks for it. Session ids of the interpreter
//! and tokens are never recorded.

mod parent;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use brumate_mcp::{AnswerKind, Error, McpAnswer, McpRequest, NextRequest, RequestLayer, ToolResult};
use brumate_session::Phases;
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use serde_json::Value;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

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
fn truncate_bytes(mut text: String) -> String {
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
    fn begin(&self, request: &McpRequest) -> RequestSpan {
        let head = request.http().map(|parts| &parts.headers);
        let header = |name| head.and_then(|head| head.get(name)?.to_str().ok());
        let meta = |name: &str| request.meta().get(name).and_then(Value::as_str);
        let of_meta = parent::parse(meta("traceparent"), meta("tracestate"));
        let parent = of_meta.or_else(|| parent::parse(header("traceparent"), header("tracestate")));
        let parent = parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        let method = short(request.method());
        let mut attributes = vec![
            KeyValue::new("mcp.method.name", method.clone()),
            KeyValue::new("jsonrpc.request.id", short(&request.id())),
            KeyValue::new("network.transport", if head.is_some() { "tcp" } else { "pipe" }),
        ];
        if let Some(version) = request.protocol_version() {
            attributes.push(KeyValue::new("mcp.protocol.version", short(&version)));
        }
        if let Some(session) = header("mcp-session-id") {
            attributes.push(KeyValue::new("mcp.session.id", short(session)));
        }
        let mut name = method;
        if let Some(tool) = request.tool().map(short) {
            name = format!("{name} {tool}");
            attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
            attributes.push(KeyValue::new("gen_ai.tool.name", tool));
            let arguments = request.arguments().filter(|_| self.0.content);
            if let Some(text) = arguments.and_then(|arguments| serde_json::to_string(arguments).ok()) {
                attributes.push(KeyValue::new("gen_ai.tool.call.arguments", truncate_bytes(text)));
            }
        }
        let builder = self.0.tracer.span_builder(name).with_kind(SpanKind::Server).with_attributes(attributes);
        let span = self.0.tracer.build_with_context(builder, &parent);
        RequestSpan { traces: self.clone(), context: parent.with_span(span) }
    }

    /// Records the result of a call: whether it failed and, if content is recorded, its JSON.
    fn record_result(
        &self,
        context: &Context,
        is_error: bool,
        fields: Option<&Value>,
        json: impl FnOnce() -> Option<String>,
    ) {
        let span = context.span();
        // For the protocol, code that failed is an ordinary result. The tools' own fields say that it failed.
        let failed = is_error
            || fields.is_some_and(|fields| {
                fields["success"] == false || fields["status"].as_str().is_some_and(|s| s != "success")
            });
        if failed {
            span.set_attribute(KeyValue::new("error.type", "tool_error"));
            span.set_status(Status::error(""));
        }
        if self.0.content
            && let Some(text) = json()
        {
            span.set_attribute(KeyValue::new("gen_ai.tool.call.result", truncate_bytes(text)));
        }
    }
}

impl RequestLayer for Traces {
    async fn call(&self, mut request: McpRequest, next: NextRequest) -> Result<McpAnswer, Error> {
        let span = SpanGuard(self.begin(&request));
        if request.tool().is_some() {
            request.insert(span.0.clone());
        }
        let answer = next.run(request).await;
        match &answer {
            Ok(answer) => span.0.record_answer(answer),
            Err(error) => span.0.record_error(error),
        }
        answer
    }
}

/// The span of a request. Clones share the span.
#[derive(Clone)]
pub(crate) struct RequestSpan {
    traces: Traces,
    context: Context,
}

impl RequestSpan {
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

    /// Records the error of a request.
    fn record_error(&self, error: &Error) {
        let span = self.context.span();
        let code = error.code().to_string();
        span.set_attribute(KeyValue::new("error.type", code.clone()));
        span.set_attribute(KeyValue::new("rpc.response.status_code", code));
        // Error messages may repeat content.
        span.set_status(Status::error(if self.traces.0.content { short(error.message()) } else { String::new() }));
    }

    /// Records the answer of a request.
    fn record_answer(&self, answer: &McpAnswer) {
        let kind = match answer.kind() {
            AnswerKind::InputRequired => "input_required",
            AnswerKind::Task => "task",
            _ => {
                let json = || answer.tool_result_json();
                return self.traces.record_result(&self.context, answer.is_error(), answer.structured(), json);
            }
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
    /// Returns the record of the times of the run's phases.
    pub(crate) fn phases(&self) -> Arc<Phases> {
        Arc::clone(&self.phases)
    }

    /// Ends the span with the result and the durations of the run's phases, in seconds.
    pub(crate) fn end(self, result: &ToolResult) {
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
        let json = || Some(result.to_json());
        self.traces.record_result(&context, result.is_error(), result.structured_content(), json);
        context.span().end_with_timestamp(self.start_time + now.saturating_duration_since(self.start));
    }
}
