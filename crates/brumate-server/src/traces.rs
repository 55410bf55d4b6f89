//! Traces of requests and runs for OpenTelemetry, in the words of its semantic conventions for MCP.
//!
//! What people and models write (code, arguments, results, messages of errors) is recorded only if the operator wants it.
//! Names of the interpreter's sessions and tokens never are.

mod handler;
mod parent;

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

pub(crate) use handler::Traced;

/// Longest name from a request that is recorded, in characters.
const MAX_NAME: usize = 128;
/// Longest content that is recorded, in bytes.
const MAX_CONTENT: usize = 16 << 10;

/// Tells OpenTelemetry of requests and runs.
#[derive(Clone)]
pub struct Traces(Arc<Told>);

struct Told {
    tracer: BoxedTracer,
    /// Code, arguments and results too.
    content: bool,
    /// What is to be told of still.
    runs: TaskTracker,
}

impl std::fmt::Debug for Traces {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Traces").field("content", &self.0.content).finish_non_exhaustive()
    }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_NAME).collect()
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_CONTENT));
    text
}

impl Traces {
    /// Spans are made by `tracer`; with `content` they hold what is written too.
    pub fn new(tracer: BoxedTracer, content: bool) -> Self {
        Self(Arc::new(Told { tracer, content, runs: TaskTracker::new() }))
    }

    /// Waits until all runs have ended that were told of.
    pub async fn settled(&self) {
        self.0.runs.close();
        self.0.runs.wait().await;
    }

    /// Begins the span of a request.
    fn begin(&self, method: &str, context: &RequestContext<RoleServer>) -> RequestSpan {
        self.begin_named(method, None, context)
    }

    /// Begins the span of a tool's call.
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

    /// The arguments of a tool, if they are wanted.
    fn arguments(&self, arguments: Option<&JsonObject>) -> Option<KeyValue> {
        let text = serde_json::to_string(arguments.filter(|_| self.0.content)?).ok()?;
        Some(KeyValue::new("gen_ai.tool.call.arguments", cut(text)))
    }

    /// Says what came of a call, and what it said if that is wanted.
    fn describe(&self, context: &Context, result: &CallToolResult) {
        let span = context.span();
        let said = result.structured_content.as_ref();
        // Code that failed is a result like others to the protocol; the tools say it in their own words.
        let failed = result.is_error == Some(true)
            || said.is_some_and(|said| {
                said["success"] == false || said["status"].as_str().is_some_and(|s| s != "success")
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

/// The span of a request, for all that belongs to it.
#[derive(Clone)]
pub(crate) struct RequestSpan {
    traces: Traces,
    context: Context,
}

impl RequestSpan {
    /// The span of the request with this context, if it has one.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<&Self> {
        context.extensions.get()
    }

    /// Begins the span of what runs for the request, which may go on after it.
    pub(crate) fn run(&self) -> RunSpan {
        let (traces, parent) = (self.traces.clone(), self.context.clone());
        let _under_way = traces.0.runs.token();
        RunSpan { traces, parent, begun: SystemTime::now(), since: Instant::now(), phases: Arc::default(), _under_way }
    }

    /// The request is answered.
    fn answered<T>(&self, answer: &Result<T, ErrorData>) {
        let Err(error) = answer else { return };
        let span = self.context.span();
        let code = error.code.0.to_string();
        span.set_attribute(KeyValue::new("error.type", code.clone()));
        span.set_attribute(KeyValue::new("rpc.response.status_code", code));
        // Messages repeat what was written.
        span.set_status(Status::error(if self.traces.0.content { short(&error.message) } else { String::new() }));
    }

    /// The call of a tool is answered.
    fn call_answered(&self, answer: &Result<CallToolResponse, ErrorData>) {
        let kind = match answer {
            Ok(CallToolResponse::Complete(result)) => return self.traces.describe(&self.context, result),
            Ok(CallToolResponse::InputRequired(_)) => "input_required",
            Ok(_) => "task",
            Err(_) => return self.answered(answer),
        };
        self.context.span().set_attribute(KeyValue::new("brumate.answer", kind));
    }
}

/// Ends the span of a request, also of one that nobody waits for any more.
struct Open(RequestSpan);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.context.span().end();
    }
}

/// A run of code.
pub(crate) struct RunSpan {
    traces: Traces,
    parent: Context,
    begun: SystemTime,
    since: Instant,
    phases: Arc<Phases>,
    _under_way: TaskTrackerToken,
}

impl RunSpan {
    pub(crate) fn phases(&self) -> Arc<Phases> {
        Arc::clone(&self.phases)
    }

    /// The run has ended: how long it waited for what, and what came of it. Durations are in seconds.
    pub(crate) fn end(self, result: &CallToolResult) {
        let now = Instant::now();
        let tracer = &self.traces.0.tracer;
        let builder = tracer.span_builder("run").with_kind(SpanKind::Internal).with_start_time(self.begun);
        let span = tracer.build_with_context(builder, &self.parent);
        let context = self.parent.with_span(span);
        let (admitted, started) = (self.phases.admitted(), self.phases.started());
        let phases = [
            ("brumate.run.queue.duration", Some(self.since), admitted),
            ("brumate.run.start.duration", admitted, started),
            ("brumate.run.duration", started, None),
        ];
        for (name, from, to) in phases {
            if let Some(from) = from {
                let lasted = to.unwrap_or(now).saturating_duration_since(from);
                context.span().set_attribute(KeyValue::new(name, lasted.as_secs_f64()));
            }
        }
        self.traces.describe(&context, result);
        context.span().end_with_timestamp(self.begun + now.saturating_duration_since(self.since));
    }
}
