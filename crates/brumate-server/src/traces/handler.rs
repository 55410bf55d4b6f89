//! A handler whose requests are told.
#![expect(deprecated, reason = "all that the protocol has, or had")]

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

use super::{Open, Traces};
use crate::handler::PythonServer;

/// A server, and who is told of its requests.
#[derive(Debug, Clone)]
pub(crate) struct Traced {
    server: PythonServer,
    /// Nobody: then requests are the server's own, and nothing else is done.
    traces: Option<Traces>,
}

impl Traced {
    pub(crate) fn new(server: PythonServer) -> Self {
        Self { traces: server.traces(), server }
    }

    /// Begins the span of a request.
    fn open(&self, method: &str, context: &RequestContext<RoleServer>) -> Option<Open> {
        self.traces.as_ref().map(|traces| Open(traces.begin(method, context)))
    }
}

/// An answer, noted.
fn told<T>(open: Option<Open>, answer: Result<T, ErrorData>) -> Result<T, ErrorData> {
    if let Some(Open(span)) = &open {
        span.answered(&answer);
    }
    answer
}

/// Methods that do what the server does; those with a name in a span of that name.
macro_rules! as_the_server {
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
        $(as_the_server! { one $method $name($($params)?) -> $answer })+
    };
    (one $method:literal $name:ident() -> $answer:ty) => {
        async fn $name(&self, context: RequestContext<RoleServer>) -> Result<$answer, ErrorData> {
            let open = self.open($method, &context);
            told(open, ServerHandler::$name(&self.server, context).await)
        }
    };
    (one $method:literal $name:ident($params:ty) -> $answer:ty) => {
        async fn $name(&self, params: $params, context: RequestContext<RoleServer>) -> Result<$answer, ErrorData> {
            let open = self.open($method, &context);
            told(open, ServerHandler::$name(&self.server, params, context).await)
        }
    };
}

/// All methods that the trait has: one that is missing would do less than the server's.
impl ServerHandler for Traced {
    as_the_server! {
        get_info() -> ServerConfig;
        supported_protocol_versions() -> Cow<'static, [ProtocolVersion]>;
        get_tool(name: &str) -> Option<Tool>;
        accepted_subscription_filter(requested: &SubscriptionFilter) -> Option<SubscriptionFilter>;
        negotiate_initialize(request: &InitializeRequestParams) -> Result<InitializeResult, ErrorData>;
    }

    as_the_server! { traced
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

    as_the_server! { async
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
        let open = self.traces.as_ref().map(|traces| Open(traces.begin_call(&call, &context)));
        if let Some(Open(span)) = &open {
            context.extensions.insert(span.clone());
        }
        let answer = self.server.call_tool(call, context).await;
        if let Some(Open(span)) = &open {
            span.call_answered(&answer);
        }
        answer
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let open = self.open("subscriptions/listen", context.request_context());
        told(open, self.server.listen(context).await)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let open = self.open(&request.method, &context);
        told(open, self.server.on_custom_request(request, context).await)
    }
}
