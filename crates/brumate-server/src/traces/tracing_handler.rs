//! A handler that records a span for each request.
#![expect(deprecated, reason = "all methods of the protocol, deprecated ones too")]

use std::borrow::Cow;

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam, CompleteRequestParams,
    CompleteResult, CustomNotification, CustomRequest, CustomResult, DiscoverResult, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};

use super::{SpanGuard, Traces};
use crate::server::PythonServer;

/// A server whose requests are recorded as spans.
#[derive(Debug, Clone)]
pub(crate) struct TracingHandler {
    server: PythonServer,
    /// `None`: requests go to the server unchanged.
    traces: Option<Traces>,
}

impl TracingHandler {
    pub(crate) fn new(server: PythonServer) -> Self {
        Self { traces: server.traces(), server }
    }

    /// Starts the span of a request.
    fn start_span(&self, method: &str, context: &RequestContext<RoleServer>) -> Option<SpanGuard> {
        self.traces.as_ref().map(|traces| SpanGuard(traces.begin(method, context)))
    }
}

/// Records an answer, and returns it.
fn recorded<T>(span: Option<SpanGuard>, answer: Result<T, ErrorData>) -> Result<T, ErrorData> {
    if let Some(SpanGuard(span)) = &span {
        span.record_answer(&answer);
    }
    answer
}

/// Methods that call the server's. `traced` ones do it in a span with the given name.
macro_rules! forward {
    ($($name:ident($($given:ident: $type:ty),*) $(-> $answer:ty)?;)+) => {
        $(fn $name(&self, $($given: $type),*) $(-> $answer)? {
            ServerHandler::$name(&self.server, $($given),*)
        })+
    };
    (async $($name:ident($($given:ident: $type:ty),*);)+) => {
        $(async fn $name(&self, $($given: $type),*) {
            ServerHandler::$name(&self.server, $($given),*).await;
        })+
    };
    (traced $($method:literal $name:ident($($params:ty)?) -> $answer:ty;)+) => {
        $(forward! { one $method $name($($params)?) -> $answer })+
    };
    (one $method:literal $name:ident() -> $answer:ty) => {
        async fn $name(&self, context: RequestContext<RoleServer>) -> Result<$answer, ErrorData> {
            let span = self.start_span($method, &context);
            recorded(span, ServerHandler::$name(&self.server, context).await)
        }
    };
    (one $method:literal $name:ident($params:ty) -> $answer:ty) => {
        async fn $name(&self, params: $params, context: RequestContext<RoleServer>) -> Result<$answer, ErrorData> {
            let span = self.start_span($method, &context);
            recorded(span, ServerHandler::$name(&self.server, params, context).await)
        }
    };
}

/// Has all methods of the trait: a missing one would use the trait's default in place of the server's method.
impl ServerHandler for TracingHandler {
    forward! {
        get_info() -> ServerConfig;
        supported_protocol_versions() -> Cow<'static, [ProtocolVersion]>;
        get_tool(name: &str) -> Option<Tool>;
        accepted_subscription_filter(requested: &SubscriptionFilter) -> Option<SubscriptionFilter>;
        negotiate_initialize(request: &InitializeRequestParams) -> Result<InitializeResult, ErrorData>;
    }

    forward! { traced
        "ping" ping() -> ();
        "server/discover" discover() -> DiscoverResult;
        "initialize" initialize(InitializeRequestParams) -> InitializeResult;
        "completion/complete" complete(CompleteRequestParams) -> CompleteResult;
        "logging/setLevel" set_level(SetLevelRequestParams) -> ();
        "prompts/get" get_prompt(GetPromptRequestParams) -> GetPromptResponse;
        "prompts/list" list_prompts(Option<PaginatedRequestParams>) -> ListPromptsResult;
        "resources/list" list_resources(Option<PaginatedRequestParams>) -> ListResourcesResult;
        "resources/templates/list" list_resource_templates(Option<PaginatedRequestParams>) -> ListResourceTemplatesResult;
        "resources/read" read_resource(ReadResourceRequestParams) -> ReadResourceResponse;
        "resources/subscribe" subscribe(SubscribeRequestParams) -> ();
        "resources/unsubscribe" unsubscribe(UnsubscribeRequestParams) -> ();
        "tools/list" list_tools(Option<PaginatedRequestParams>) -> ListToolsResult;
        "tasks/get" get_task(GetTaskParams) -> GetTaskResult;
        "tasks/update" update_task(UpdateTaskParams) -> ();
        "tasks/cancel" cancel_task(CancelTaskParams) -> ();
    }

    forward! { async
        on_cancelled(notification: CancelledNotificationParam, context: NotificationContext<RoleServer>);
        on_progress(notification: ProgressNotificationParam, context: NotificationContext<RoleServer>);
        on_initialized(context: NotificationContext<RoleServer>);
        on_roots_list_changed(context: NotificationContext<RoleServer>);
        on_custom_notification(notification: CustomNotification, context: NotificationContext<RoleServer>);
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let span = self.traces.as_ref().map(|traces| SpanGuard(traces.begin_call(&call, &context)));
        if let Some(SpanGuard(span)) = &span {
            context.extensions.insert(span.clone());
        }
        let answer = self.server.call_tool(call, context).await;
        if let Some(SpanGuard(span)) = &span {
            span.record_call_answer(&answer);
        }
        answer
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let span = self.start_span("subscriptions/listen", context.request_context());
        recorded(span, self.server.listen(context).await)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let span = self.start_span(&request.method, &context);
        recorded(span, self.server.on_custom_request(request, context).await)
    }
}
