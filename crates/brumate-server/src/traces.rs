//! Traces of requests and runs for OpenTelemetry, in the words of its semantic conventions for MCP.
//!
//! What people and models write (code, arguments, results, messages of errors) is recorded only if the operator wants it.
//! Names of the interpreter's sessions and tokens never are.

mod parent;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use brumate_session::Phases;
use opentelemetry::global::BoxedTracer;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ClientRequest, ErrorData, JsonObject, RequestId, ServerResult};
use rmcp::service::{NotificationContext, RequestContext, Service, ServiceRole};

use crate::handler::PythonServer;

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
        Self(Arc::new(Told { tracer, content }))
    }

    /// Begins the span of a request.
    fn begin(&self, request: &ClientRequest, context: &RequestContext<RoleServer>) -> RequestSpan {
        let head = context.extensions.get::<axum::http::request::Parts>().map(|parts| &parts.headers);
        let header = |name| head.and_then(|head| head.get(name)?.to_str().ok());
        let of_meta = parent::parse(context.meta.get_traceparent(), context.meta.get_tracestate());
        let parent = of_meta.or_else(|| parent::parse(header("traceparent"), header("tracestate")));
        let parent = parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        let method = short(request.method());
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
        let mut name: Cow<'static, str> = method.into();
        if let ClientRequest::CallToolRequest(call) = request {
            let tool = short(&call.params.name);
            name = format!("{name} {tool}").into();
            attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
            attributes.push(KeyValue::new("gen_ai.tool.name", tool));
            attributes.extend(self.arguments(call.params.arguments.as_ref()));
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
            || said.and_then(|said| said["status"].as_str()).is_some_and(|status| status != "success");
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
        RunSpan { traces, parent, begun: SystemTime::now(), since: Instant::now(), phases: Arc::default() }
    }

    /// The request is answered.
    fn answered(&self, answer: &Result<ServerResult, ErrorData>) {
        let span = self.context.span();
        match answer {
            Ok(ServerResult::CallToolResult(result)) => self.traces.describe(&self.context, result),
            Ok(ServerResult::InputRequiredResult(_)) => {
                span.set_attribute(KeyValue::new("brumate.answer", "input_required"));
            }
            Ok(ServerResult::CreateTaskResult(_)) => span.set_attribute(KeyValue::new("brumate.answer", "task")),
            Ok(_) => {}
            Err(error) => {
                let code = error.code.0.to_string();
                span.set_attribute(KeyValue::new("error.type", code.clone()));
                span.set_attribute(KeyValue::new("rpc.response.status_code", code));
                // Messages repeat what was written.
                span.set_status(Status::error(if self.traces.0.content { short(&error.message) } else { String::new() }));
            }
        }
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

/// The server of a connection, whose requests are told to its [`Traces`], if it has any.
#[derive(Debug, Clone)]
pub(crate) struct Traced(pub(crate) PythonServer);

impl Service<RoleServer> for Traced {
    async fn handle_request(
        &self,
        request: <RoleServer as ServiceRole>::PeerReq,
        mut context: RequestContext<RoleServer>,
    ) -> Result<<RoleServer as ServiceRole>::Resp, ErrorData> {
        let open = self.0.traces().map(|traces| Open(traces.begin(&request, &context)));
        if let Some(Open(span)) = &open {
            context.extensions.insert(span.clone());
        }
        let answer = self.0.handle_request(request, context).await;
        if let Some(Open(span)) = &open {
            span.answered(&answer);
        }
        answer
    }

    async fn handle_notification(
        &self,
        notification: <RoleServer as ServiceRole>::PeerNot,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> <RoleServer as ServiceRole>::Info {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [rmcp::model::ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}
