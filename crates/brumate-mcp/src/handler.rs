//! The protocol's side of a server: requests in, what handlers make of them out.

#![expect(deprecated, reason = "logging, sampling and roots, which the protocol keeps until July 2027 at least")]

mod call;
mod work;

use crate::completion::{self, CompletionRequest, MAX_VALUES};
use crate::connection::Connection;
use crate::contents::ResourceContents;
use crate::context::is_modern;
use crate::error::Error;
use crate::http::{Draining, Principal, hides_unscoped, may_call, principal};
use crate::level::Level;
use crate::message::Message;
use crate::prompt::PromptRequest;
use crate::registry::Registry;
use crate::run::run;
use crate::server::{CacheScope, Server};
use crate::tasks::{EXTENSION, TaskSupport, follow};
use crate::tool::ServedTool;
use rmcp::model::{self as wire, ErrorCode};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use work::Interrupted;

/// Serves one connection.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    server: Server,
    connection: Arc<Connection>,
}

impl Handler {
    pub(crate) fn new(server: Server) -> Self {
        let connection = server.shared.hub.connect();
        Self { server, connection }
    }

    /// A page of a list of what is registered, as far as `describe` says something of it.
    fn list<T: DeserializeOwned, I>(
        &self,
        field: &str,
        registry: &Registry<I>,
        request: Option<wire::PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
        describe: impl Fn(&I) -> Option<Value>,
    ) -> Result<T, ErrorData> {
        let settings = self.server.settings();
        let cursor = request.and_then(|request| request.cursor);
        let page = registry.page(cursor.as_deref(), settings.page_size, describe);
        let (items, cursor) = page.map_err(|error| ErrorData::invalid_params(error, None))?;
        let mut list = Map::new();
        list.insert(field.into(), items.into());
        // Taken out again for protocols that do not know it.
        list.insert("resultType".into(), "complete".into());
        if let Some(cursor) = cursor {
            list.insert("nextCursor".into(), cursor.into());
        }
        if let Some((ttl, scope)) = cache_hints(is_modern(context), settings.cache) {
            list.insert("ttlMs".into(), ttl.into());
            list.insert("cacheScope".into(), serde_json::to_value(scope).map_err(internal)?);
        }
        serde_json::from_value(Value::Object(list)).map_err(internal)
    }
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Returns what a retry of a request must repeat: the request, and who sends it.
fn identity(context: &RequestContext<RoleServer>, request: Value) -> String {
    json!([principal(context).map(Principal::name), request]).to_string()
}

/// How long (in milliseconds) and by whom an answer may be cached, for protocols that know such hints.
fn cache_hints(modern: bool, cache: Option<(Duration, CacheScope)>) -> Option<(u64, wire::CacheScope)> {
    let (ttl, scope) = cache.filter(|_| modern)?;
    let scope = match scope {
        CacheScope::Public => wire::CacheScope::Public,
        CacheScope::Private => wire::CacheScope::Private,
    };
    Some((u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX), scope))
}

impl ServerHandler for Handler {
    fn get_info(&self) -> wire::ServerConfig {
        let settings = self.server.settings();
        let shared = &self.server.shared;
        let mut capabilities = json!({"logging": {}});
        if !shared.tools.is_empty() {
            capabilities["tools"] = json!({"listChanged": true});
        }
        if !shared.resources.is_empty() {
            capabilities["resources"] = json!({"listChanged": true, "subscribe": true});
        }
        if !shared.prompts.is_empty() {
            capabilities["prompts"] = json!({"listChanged": true});
        }
        if !shared.completions.is_empty() {
            capabilities["completions"] = json!({});
        }
        let mut extensions = settings.extensions;
        if shared.tools.find(|served| (served.tool.tasks != TaskSupport::Never).then_some(())).is_some() {
            extensions.entry(EXTENSION).or_insert_with(|| json!({}));
        }
        if !extensions.is_empty() {
            capabilities["extensions"] = extensions.into();
        }
        if !settings.experimental.is_empty() {
            capabilities["experimental"] = settings.experimental.into();
        }
        let capabilities = serde_json::from_value(capabilities).unwrap_or_default();
        let mut implementation = wire::Implementation::new(settings.name, settings.version);
        implementation.title = settings.title;
        implementation.description = settings.description;
        implementation.website_url = settings.website;
        implementation.icons = (!settings.icons.is_empty())
            .then(|| serde_json::to_value(settings.icons).ok().and_then(|icons| serde_json::from_value(icons).ok()))
            .flatten();
        let mut info = wire::ServerConfig::new(capabilities);
        info.server_info = implementation;
        info.instructions = settings.instructions;
        info
    }

    async fn initialize(
        &self,
        request: wire::InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::InitializeResult, ErrorData> {
        self.server.start_for_client().await?;
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        // Protocols that begin so know no tasks.
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
        if is_modern(&context) {
            return Err(ErrorData::method_not_found::<wire::SetLevelRequestMethod>());
        }
        crate::lowlevel::check_log_level_is_kept(&context)?;
        self.connection.set_level(Level::from_wire(request.level));
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
            // Another client's list may be another one.
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
        let Some(served) = self.server.shared.tools.get(&request.name) else {
            return Err(ErrorData::invalid_params(format!("unknown tool: {}", request.name), None));
        };
        if !may_call(&context, &served.tool.scopes) {
            let needed = served.tool.scopes.join(" ");
            let text = format!("tool `{}` needs an access token with the scope `{needed}`", request.name);
            return Err(ErrorData::invalid_request(text, None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let identity = identity(&context, json!(["tools/call", request.name, arguments]));
        let context = self.context(context, (request.input_responses, request.request_state), &identity).await?;
        self.call(served, arguments, context, &identity).await
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
        self.list("resources", &self.server.shared.resources, request, &context, |resource| {
            (!resource.is_template()).then(|| resource.descriptor())
        })
    }

    async fn list_resource_templates(
        &self,
        request: Option<wire::PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ListResourceTemplatesResult, ErrorData> {
        self.list("resourceTemplates", &self.server.shared.resources, request, &context, |resource| {
            resource.is_template().then(|| resource.descriptor())
        })
    }

    async fn read_resource(
        &self,
        request: wire::ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ReadResourceResponse, ErrorData> {
        let identity = identity(&context, json!(["resources/read", request.uri]));
        let context = self.context(context, (request.input_responses, request.request_state), &identity).await?;
        let outcome = run(&context, self.server.read(&request.uri, context.clone())).await;
        match self.interrupted(outcome, &format!("resource `{}`", request.uri), &identity)? {
            Interrupted::Asks(asks) => Ok(asks.into()),
            Interrupted::Not(result) => {
                let (contents, cache) = result.map_err(Error::into_rmcp)?;
                let contents = contents.into_iter().map(ResourceContents::into_wire).collect();
                let mut result = wire::ReadResourceResult::new(contents);
                if let Some((ttl, scope)) = cache_hints(context.is_modern(), cache) {
                    (result.ttl_ms, result.cache_scope) = (Some(ttl), Some(scope));
                }
                Ok(result.into())
            }
        }
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
        let prompt = self.server.shared.prompts.get(&request.name);
        let handler = prompt.as_ref().and_then(|prompt| prompt.handler.clone());
        let (Some(prompt), Some(handler)) = (prompt, handler) else {
            return Err(ErrorData::invalid_params(format!("unknown prompt: {}", request.name), None));
        };
        let arguments: BTreeMap<String, String> = request
            .arguments
            .unwrap_or_default()
            .into_iter()
            .map(|(name, value)| match value {
                Value::String(text) => (name, text),
                value => (name, value.to_string()),
            })
            .collect();
        let missing = prompt.missing(&arguments);
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(ErrorData::invalid_params(format!("prompt `{}` requires: {missing}", prompt.name), None));
        }
        let identity = identity(&context, json!(["prompts/get", request.name, arguments]));
        let context = self.context(context, (request.input_responses, request.request_state), &identity).await?;
        let work = {
            let context = context.clone();
            let request = PromptRequest { name: prompt.name.clone(), arguments };
            async move { handler(request, context).await }
        };
        let outcome = run(&context, work).await;
        match self.interrupted(outcome, &format!("prompt `{}`", prompt.name), &identity)? {
            Interrupted::Asks(asks) => Ok(asks.into()),
            Interrupted::Not(messages) => {
                let messages = messages.map_err(Error::into_rmcp)?;
                let mut result = wire::GetPromptResult::new(messages.into_iter().map(Message::into_wire).collect());
                result.description = prompt.described.description.clone();
                Ok(result.into())
            }
        }
    }

    async fn complete(
        &self,
        request: wire::CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::CompleteResult, ErrorData> {
        let key = match &request.r#ref {
            wire::Reference::Prompt(prompt) => completion::key("prompt", &prompt.name, &request.argument.name),
            wire::Reference::Resource(template) => completion::key("template", &template.uri, &request.argument.name),
            _ => return Ok(wire::CompleteResult::default()),
        };
        let Some(completion) = self.server.shared.completions.get(&key) else {
            // Nothing to suggest is no error.
            return Ok(wire::CompleteResult::default());
        };
        let context = self.context(context, (None, None), "").await?;
        let arguments = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let handler = completion.handler.clone();
        let work = {
            let context = context.clone();
            let request =
                CompletionRequest { value: request.argument.value, arguments: arguments.into_iter().collect() };
            async move { handler(request, context).await }
        };
        let outcome = run(&context, work).await;
        match self.interrupted(outcome, "completion", "")? {
            Interrupted::Asks(_) => Err(ErrorData::internal_error("completions cannot ask", None)),
            Interrupted::Not(suggestions) => {
                let mut values = suggestions.map_err(Error::into_rmcp)?;
                let total = values.len();
                values.truncate(MAX_VALUES);
                let mut info = wire::CompletionInfo::new(values).map_err(internal)?;
                info.total = u32::try_from(total).ok();
                info.has_more = Some(total > MAX_VALUES);
                Ok(wire::CompleteResult::new(info))
            }
        }
    }

    async fn subscribe(
        &self,
        request: wire::SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
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
        self.connection.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &wire::SubscriptionFilter) -> Option<wire::SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let _listening = self.server.shared.hub.listen(context.sink().clone());
        let following = async {
            follow(&self.server.shared.tasks, &context).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = following => {}
            () = context.cancelled() => {}
            () = Draining::of(context.request_context()) => {}
        }
        Ok(())
    }
}
