//! The handler of a connection with the request layers of its server.

#![expect(deprecated, reason = "all methods of the protocol, deprecated ones too")]

use super::Handler;
use crate::request_layer::{McpRequest, RequestLayers};
use crate::server::Server;
use rmcp::model::{self as wire, CallToolRequestParams, CallToolResponse};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::borrow::Cow;

/// Serves one connection, with the request layers of the server around each request.
#[derive(Clone, Debug)]
pub(crate) struct LayeredHandler(Handler);

impl LayeredHandler {
    pub(crate) fn new(server: Server) -> Self {
        Self(Handler::new(server))
    }

    /// Returns the request layers; `None` if there are none.
    fn layers(&self) -> Option<RequestLayers> {
        Some(self.0.server.request_layers()).filter(|layers| !layers.is_empty())
    }

    /// Answers a request by `work`, with layers around it.
    async fn answer<T, F>(
        &self,
        layers: RequestLayers,
        method: impl Into<Cow<'static, str>>,
        (call, context): (Option<CallToolRequestParams>, RequestContext<RoleServer>),
        work: impl FnOnce(Handler, Option<CallToolRequestParams>, RequestContext<RoleServer>) -> F + Send + 'static,
    ) -> Result<T, ErrorData>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ErrorData>> + Send + 'static,
    {
        let (handler, request) = (self.0.clone(), McpRequest::new(method.into(), call, context));
        let answer = layers.answer(request, move |call, context| work(handler, call, context)).await;
        answer.map_err(|error| self.0.server.shown("a request layer", error).into_wire())
    }
}

/// Calls the handler's methods, with the request layers around them.
macro_rules! layered {
    ($($method:literal $name:ident($($params:ty)?) -> $answer:ty;)+) => {
        $(layered! { one $method $name($($params)?) -> $answer })+
    };
    (one $method:literal $name:ident() -> $answer:ty) => {
        async fn $name(&self, context: RequestContext<RoleServer>) -> Result<$answer, ErrorData> {
            let Some(layers) = self.layers() else { return ServerHandler::$name(&self.0, context).await };
            let work = async |handler: Handler, _, context| ServerHandler::$name(&handler, context).await;
            self.answer(layers, $method, (None, context), work).await
        }
    };
    (one $method:literal $name:ident($params:ty) -> $answer:ty) => {
        async fn $name(&self, params: $params, context: RequestContext<RoleServer>) -> Result<$answer, ErrorData> {
            let Some(layers) = self.layers() else { return ServerHandler::$name(&self.0, params, context).await };
            let work = async |handler: Handler, _, context| ServerHandler::$name(&handler, params, context).await;
            self.answer(layers, $method, (None, context), work).await
        }
    };
}

impl ServerHandler for LayeredHandler {
    layered! {
        "ping" ping() -> ();
        "server/discover" discover() -> wire::DiscoverResult;
        "initialize" initialize(wire::InitializeRequestParams) -> wire::InitializeResult;
        "completion/complete" complete(wire::CompleteRequestParams) -> wire::CompleteResult;
        "logging/setLevel" set_level(wire::SetLevelRequestParams) -> ();
        "prompts/get" get_prompt(wire::GetPromptRequestParams) -> wire::GetPromptResponse;
        "prompts/list" list_prompts(Option<wire::PaginatedRequestParams>) -> wire::ListPromptsResult;
        "resources/list" list_resources(Option<wire::PaginatedRequestParams>) -> wire::ListResourcesResult;
        "resources/templates/list"
            list_resource_templates(Option<wire::PaginatedRequestParams>) -> wire::ListResourceTemplatesResult;
        "resources/read" read_resource(wire::ReadResourceRequestParams) -> wire::ReadResourceResponse;
        "resources/subscribe" subscribe(wire::SubscribeRequestParams) -> ();
        "resources/unsubscribe" unsubscribe(wire::UnsubscribeRequestParams) -> ();
        "tools/list" list_tools(Option<wire::PaginatedRequestParams>) -> wire::ListToolsResult;
        "tasks/get" get_task(wire::GetTaskParams) -> wire::GetTaskResult;
        "tasks/update" update_task(wire::UpdateTaskParams) -> ();
        "tasks/cancel" cancel_task(wire::CancelTaskParams) -> ();
        "skills/list" list_skills(Option<wire::PaginatedRequestParams>) -> wire::ListSkillsResult;
        "skills/get" get_skill(wire::GetSkillRequestParams) -> wire::GetSkillResult;
        "resources/directory/read"
            read_resource_directory(wire::ReadResourceDirectoryRequestParams) -> wire::ReadResourceDirectoryResult;
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(layers) = self.layers() else { return self.0.call_tool(call, context).await };
        let work = async |handler: Handler, call, context| match call {
            Some(call) => handler.call_tool(call, context).await,
            None => Err(ErrorData::internal_error("a layer passed on another request", None)),
        };
        self.answer(layers, "tools/call", (Some(call), context), work).await
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Some(layers) = self.layers() else { return self.0.listen(context).await };
        let request = context.request_context().clone();
        let work = async |handler: Handler, _, _| handler.listen(context).await;
        self.answer(layers, "subscriptions/listen", (None, request), work).await
    }

    async fn on_custom_request(
        &self,
        request: wire::CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::CustomResult, ErrorData> {
        let Some(layers) = self.layers() else { return self.0.on_custom_request(request, context).await };
        let method = request.method.clone();
        let work = async |handler: Handler, _, context| handler.on_custom_request(request, context).await;
        self.answer(layers, method, (None, context), work).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.on_initialized(context).await;
    }

    fn get_info(&self) -> wire::ServerConfig {
        self.0.get_info()
    }

    fn get_tool(&self, name: &str) -> Option<wire::Tool> {
        self.0.get_tool(name)
    }

    fn accepted_subscription_filter(&self, requested: &wire::SubscriptionFilter) -> Option<wire::SubscriptionFilter> {
        self.0.accepted_subscription_filter(requested)
    }
}
