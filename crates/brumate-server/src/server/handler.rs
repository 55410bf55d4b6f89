//! The methods of the protocol, as rmcp's `ServerHandler` has them.
#![expect(deprecated, reason = "logging is kept for clients of older protocols")]

use std::panic::AssertUnwindSafe;

use brumate_mcp::lowlevel::{self, is_stateless_protocol};
use brumate_mcp::{Error, Resource};
use brumate_session::sessions::ReadAdmission;
use futures::FutureExt;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, ErrorData, GetTaskParams, GetTaskResult,
    InitializeRequestParams, InitializeResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscriptionFilter, Tool,
    UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, model};

use super::PythonServer;
use super::registry::short_name;
use crate::interpreter::Interpreter;

/// Returns the size of an answer that contains a file of `bytes`, as base64 or as JSON text.
fn answer_bytes(bytes: u64) -> usize {
    /// Size of the message around the content.
    const ENVELOPE: u64 = 4096;
    usize::try_from(bytes.saturating_add(bytes / 3 + ENVELOPE)).unwrap_or(usize::MAX)
}

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
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.offered_tools().iter().map(brumate_mcp::Tool::to_rmcp).collect::<Result<_, _>>();
        tools.map(ListToolsResult::with_all_items).map_err(Error::into_rmcp)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.offered_tools().iter().filter_map(|tool| tool.to_rmcp().ok()).find(|tool| tool.name == name)
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
        let Some(interpreter) = self.interpreter_for(is_stateless_protocol(&context)) else {
            return Ok(ListResourcesResult::default());
        };
        let cursor = request.and_then(|request| request.cursor);
        let (page, next_cursor) = interpreter.resources(cursor.as_deref()).await.map_err(Error::into_rmcp)?;
        let resources = page.iter().map(Resource::to_rmcp).collect::<Result<_, _>>().map_err(Error::into_rmcp)?;
        let mut list = ListResourcesResult::with_all_items(resources);
        list.next_cursor = next_cursor;
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if self.interpreter.is_none() {
            return Ok(ListResourceTemplatesResult::default());
        }
        let template = Interpreter::template().to_rmcp_template().map_err(Error::into_rmcp)?;
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let interpreter =
            self.interpreter.as_ref().ok_or_else(ErrorData::method_not_found::<ReadResourceRequestMethod>)?;
        let cancel = self.stop.child_token();
        let request_context = context.clone();
        let admit = ReadAdmission::new(move |bytes| {
            Box::pin(async move { lowlevel::reserve_response(&request_context, answer_bytes(bytes)).await })
        });
        let read = interpreter.read(&request.uri, is_stateless_protocol(&context), admit, &cancel);
        let read = AssertUnwindSafe(read).catch_unwind();
        tokio::select! {
            read = read => match read {
                // The next cell may change the file, and only this principal may read it.
                Ok(Ok(contents)) => {
                    let result = ReadResourceResult::new(vec![contents.into_rmcp()]);
                    Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private).into())
                }
                Ok(Err(error)) => Err(error.into_rmcp()),
                Err(_) => {
                    tracing::error!("reading a resource panicked; this is a defect");
                    Err(ErrorData::internal_error("Brumate failed; this is a defect", None))
                }
            },
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
            () = lowlevel::wait_for_session_end(&context) => Err(ErrorData::internal_error("the session has ended", None)),
        }
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
