//! The methods of the protocol, as rmcp's `ServerHandler` has them.
#![expect(deprecated, reason = "logging is kept for clients of older protocols")]

use brumate_mcp::lowlevel::{self, is_stateless_protocol};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ErrorData, GetTaskParams, GetTaskResult,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SetLevelRequestMethod, SetLevelRequestParams, SubscriptionFilter, Tool, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, model};

use super::PythonServer;
use super::registry::{OfferedTool, short_name};
use super::resources::only_page;

impl ServerHandler for PythonServer {
    fn get_info(&self) -> ServerConfig {
        self.server_config()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        // Protocols with `initialize` have no tasks.
        result.capabilities.extensions = None;
        Ok(result)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get(lowlevel::principal(&context), &request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.update(lowlevel::principal(&context), &request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.cancel(lowlevel::principal(&context), &request.task_id)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        only_page(request.as_ref())?;
        let tools = self.offered_tools.iter().map(OfferedTool::to_rmcp).collect::<Result<_, _>>()?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.offered_tool(name)?.to_rmcp().ok()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.resources(request, &context).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        only_page(request.as_ref())?;
        self.resource_templates()
    }

    /// There are no prompts, but clients ask.
    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        only_page(request.as_ref())?;
        Ok(ListPromptsResult::default())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.read(&request.uri, &context).await.map(Into::into)
    }

    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let changes = SubscriptionFilter::builder();
        Some(if self.interpreter.is_some() { changes.resources_list_changed().build() } else { changes.build() })
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let interpreter = self.interpreter_for(is_stateless_protocol(context.request_context()));
        if let Some(interpreter) = &interpreter
            && !interpreter.subscribe(context.sink())
        {
            return Err(ErrorData::internal_error("there are too many subscriptions on this connection", None));
        }
        let follow_tasks = async {
            lowlevel::follow_tasks(&self.tasks, &context).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = follow_tasks => {}
            () = context.cancelled() => {}
            () = self.stop.cancelled() => {}
            () = lowlevel::wait_for_drain(context.request_context()) => {}
        }
        if let Some(interpreter) = &interpreter {
            interpreter.unsubscribe(context.sink());
        }
        Ok(())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_stateless_protocol(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        lowlevel::require_session_for_log_level(&context)?;
        self.log_threshold.set(request.level);
        Ok(())
    }

    /// Answers requests that no other method takes. Requests of known methods arrive here when their parameters are wrong.
    async fn on_custom_request(
        &self,
        request: model::CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<model::CustomResult, ErrorData> {
        let method = short_name(&request.method);
        if self.has_method(&method) {
            return Err(ErrorData::invalid_params(format!("Invalid parameters for {method}"), None));
        }
        Err(ErrorData::new(model::ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {method}"), None))
    }
}
