//! The handler of rmcp for a server: answers the requests of one connection.

#![expect(deprecated, reason = "logging, sampling and roots, which the protocol keeps until July 2027 at least")]

mod call;
mod info;
mod layered;
mod lists;
mod methods;
mod outcome;
mod prompts;
mod resources;

pub(crate) use layered::LayeredHandler;

use crate::connection::Connection;
use crate::contents::ResourceContents;
use crate::context::is_stateless_protocol;
use crate::error::Error;
use crate::http::DrainSignal;
use crate::http::request_extensions::{hides_unscoped, may_call, principal, require_session_for_log_level};
use crate::log_level::LogLevel;
use crate::principal::Principal;
use crate::run::run;
use crate::server::Server;
use crate::tasks::{EXTENSION, follow};
use crate::tool::ServedTool;
use lists::cache_hints;
use outcome::HandlerOutcome;
use rmcp::model::{self as wire, ErrorCode};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use std::sync::Arc;

/// Serves one connection.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    server: Server,
    connection: Arc<Connection>,
}

impl Handler {
    pub(crate) fn new(server: Server) -> Self {
        let connection = server.shared.subscribers.connect(server.session_log_level());
        Self { server, connection }
    }

    /// Returns the skills. rmcp answers requests for them only if the server's capabilities have them.
    #[cfg(feature = "skills")]
    fn skills(&self) -> Result<Arc<rmcp::handler::server::skill_catalog::SkillCatalog>, ErrorData> {
        self.server.skill_catalog().ok_or_else(ErrorData::method_not_found::<wire::ListSkillsRequestMethod>)
    }
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Returns the identity that a retry of a request must repeat: the request, and the principal that sends it.
fn identity(context: &RequestContext<RoleServer>, request: Value) -> String {
    json!([principal(context).map(Principal::name), request]).to_string()
}

impl ServerHandler for Handler {
    fn get_info(&self) -> wire::ServerConfig {
        self.info()
    }

    async fn initialize(
        &self,
        request: wire::InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::InitializeResult, ErrorData> {
        self.server.start_for_client().await?;
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        // Protocols with `initialize` have no tasks.
        if let Some(extensions) = &mut result.capabilities.extensions {
            extensions.remove(EXTENSION);
            if extensions.is_empty() {
                result.capabilities.extensions = None;
            }
        }
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.connection.open(context.peer);
    }

    async fn set_level(
        &self,
        request: wire::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_stateless_protocol(&context) {
            return Err(ErrorData::method_not_found::<wire::SetLevelRequestMethod>());
        }
        self.require::<wire::SetLevelRequestMethod>()?;
        require_session_for_log_level(&context)?;
        self.connection.set_level(LogLevel::from_wire(request.level));
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<wire::PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ListToolsResult, ErrorData> {
        let hides = hides_unscoped(&context);
        let shown = |tool: &ServedTool| !hides || may_call(&context, &tool.tool.scopes);
        let page = self.list("tools", &self.server.shared.tools, request, &context, |tool| {
            shown(tool).then(|| tool.tool.descriptor())
        });
        page.map(|mut page: wire::ListToolsResult| {
            // Another client may see other tools.
            page.cache_scope = page.cache_scope.map(|scope| if hides { wire::CacheScope::Private } else { scope });
            page
        })
    }

    fn get_tool(&self, name: &str) -> Option<wire::Tool> {
        self.server.shared.tools.get(name).map(|served| served.wire.clone())
    }

    async fn call_tool(
        &self,
        request: wire::CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::CallToolResponse, ErrorData> {
        self.require::<wire::CallToolRequestMethod>()?;
        self.answer_call(request, context).await
    }

    async fn get_task(
        &self,
        request: wire::GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::GetTaskResult, ErrorData> {
        let tasks = &self.server.shared.tasks;
        tasks.get(principal(&context), &request.task_id).map(wire::GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: wire::UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let tasks = &self.server.shared.tasks;
        tasks.update(principal(&context), &request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: wire::CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.server.shared.tasks.cancel(principal(&context), &request.task_id)
    }

    async fn list_resources(
        &self,
        request: Option<wire::PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ListResourcesResult, ErrorData> {
        self.resources(request, context).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<wire::PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ListResourceTemplatesResult, ErrorData> {
        self.templates(request, &context)
    }

    async fn read_resource(
        &self,
        request: wire::ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ReadResourceResponse, ErrorData> {
        self.require::<wire::ReadResourceRequestMethod>()?;
        let identity = identity(&context, json!(["resources/read", request.uri]));
        let context = self.context(context, (request.input_responses, request.request_state), &identity).await?;
        let outcome = run(&context, self.server.read_resource(&request.uri, context.clone())).await;
        match self.handler_outcome(outcome, &format!("resource `{}`", request.uri), &identity)? {
            HandlerOutcome::InputRequired(asks) => Ok(asks.into()),
            HandlerOutcome::Returned(result) => {
                let read = result.map_err(Error::into_wire)?;
                let contents = read.contents.into_iter().map(ResourceContents::into_wire).collect();
                let mut result = wire::ReadResourceResult::new(contents);
                let takes_hints = context.is_stateless_protocol() || read.is_provided;
                if let Some((ttl, scope)) = cache_hints(takes_hints, read.cache) {
                    (result.ttl_ms, result.cache_scope) = (Some(ttl), Some(scope));
                }
                Ok(result.into())
            }
        }
    }

    #[cfg(feature = "skills")]
    async fn list_skills(
        &self,
        _request: Option<wire::PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<wire::ListSkillsResult, ErrorData> {
        Ok(self.skills()?.list_skills())
    }

    #[cfg(feature = "skills")]
    async fn get_skill(
        &self,
        request: wire::GetSkillRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<wire::GetSkillResult, ErrorData> {
        self.skills()?.get_skill(&request.uri)
    }

    #[cfg(feature = "skills")]
    async fn read_resource_directory(
        &self,
        request: wire::ReadResourceDirectoryRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<wire::ReadResourceDirectoryResult, ErrorData> {
        self.skills()?.read_resource_directory(&request.uri)
    }

    async fn list_prompts(
        &self,
        request: Option<wire::PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ListPromptsResult, ErrorData> {
        self.list("prompts", &self.server.shared.prompts, request, &context, |prompt| Some(prompt.descriptor()))
    }

    async fn get_prompt(
        &self,
        request: wire::GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::GetPromptResponse, ErrorData> {
        self.require::<wire::GetPromptRequestMethod>()?;
        self.prompt(request, context).await
    }

    async fn complete(
        &self,
        request: wire::CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::CompleteResult, ErrorData> {
        self.require::<wire::CompleteRequestMethod>()?;
        self.completion(request, context).await
    }

    async fn subscribe(
        &self,
        request: wire::SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.require::<wire::SubscribeRequestMethod>()?;
        if self.connection.subscribe(request.uri) {
            Ok(())
        } else {
            Err(ErrorData::new(ErrorCode::INVALID_REQUEST, "this session has too many subscriptions", None))
        }
    }

    async fn unsubscribe(
        &self,
        request: wire::UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.require::<wire::UnsubscribeRequestMethod>()?;
        self.connection.unsubscribe(&request.uri);
        Ok(())
    }

    /// Answers requests that no other method takes.
    async fn on_custom_request(
        &self,
        request: wire::CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::CustomResult, ErrorData> {
        Err(self.unknown_request(&request.method, is_stateless_protocol(&context)))
    }

    /// Accepts everything. rmcp leaves out the kinds that the capabilities do not declare.
    fn accepted_subscription_filter(&self, requested: &wire::SubscriptionFilter) -> Option<wire::SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = context.request_context();
        let client = self.connection.client(request);
        let Some(_listener) = self.server.shared.subscribers.listen(context.sink().clone(), client, request) else {
            return Err(ErrorData::internal_error("there are too many subscriptions on this connection", None));
        };
        let following = async {
            follow(&self.server.shared.tasks, &context).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = following => {}
            () = context.cancelled() => {}
            () = DrainSignal::of(context.request_context()) => {}
        }
        Ok(())
    }
}
