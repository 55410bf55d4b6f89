//! The protocol's side of a server: requests in, what handlers make of them out.

#![expect(deprecated, reason = "logging, sampling and roots, which the protocol keeps until July 2027 at least")]

use crate::completion::{self, CompletionRequest, MAX_VALUES};
use crate::connection::Connection;
use crate::content::Content;
use crate::context::{Context, Known, Level, Questions, is_modern};
use crate::error::Error;
use crate::prompt::{Message, PromptRequest};
use crate::resource::ResourceContents;
use crate::run::{Outcome, run};
use crate::server::{CacheScope, Server};
use crate::tool::ServedTool;
use rmcp::model::{self as wire, ErrorCode, SealOptions};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a client may take between the rounds of one request.
const ROUND_TTL: Duration = Duration::from_secs(60 * 60);

/// The most that is carried from round to round, in bytes.
const MAX_CARRIED: usize = 256 * 1024;

/// Serves one connection.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    server: Server,
    connection: Arc<Connection>,
}

type Inputs = (Option<BTreeMap<String, Value>>, Option<String>);

impl Handler {
    pub(crate) fn new(server: Server) -> Self {
        let connection = server.shared.hub.connect();
        Self { server, connection }
    }

    /// The context of a request that may ask questions; `identity` is what a retry must repeat.
    async fn context(
        &self,
        request: RequestContext<RoleServer>,
        (answers, state): Inputs,
        identity: &str,
    ) -> Result<Context, ErrorData> {
        self.server.start().await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let known = match state {
            Some(state) => self.server.shared.sealing.open_json_with(&state, identity.as_bytes()).map_err(|error| {
                tracing::info!(%error, "a request's state was refused");
                ErrorData::invalid_params(
                    "requestState is not one of this server's for this request, or has expired",
                    None,
                )
            })?,
            None => Known::default(),
        };
        let questions = Questions::new(known, answers.unwrap_or_default());
        Ok(Context::new(self.server.clone(), self.connection.clone(), request, questions))
    }

    /// What ends a request whose handler did not return.
    fn interrupted<T>(&self, outcome: Outcome<T>, what: &str, identity: &str) -> Result<Interrupted<T>, ErrorData> {
        match outcome {
            Outcome::Done(result) => Ok(Interrupted::Not(result)),
            Outcome::Panicked(message) => {
                tracing::error!(panic = message, "{what} panicked");
                Err(ErrorData::internal_error(format!("{what} failed unexpectedly"), None))
            }
            // Nobody reads this answer.
            Outcome::Cancelled => Err(ErrorData::internal_error(format!("{what} was cancelled"), None)),
            Outcome::Asks(asked, known) => {
                let options = SealOptions::new().associated_data(identity.as_bytes()).ttl(ROUND_TTL);
                let carried = self.server.shared.sealing.seal_json_with(&known, &options);
                let carried = carried.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                if carried.len() > MAX_CARRIED {
                    return Err(ErrorData::internal_error(
                        format!("{what} carries more than {MAX_CARRIED} bytes between its questions"),
                        None,
                    ));
                }
                Ok(Interrupted::Asks(wire::InputRequiredResult::new(Some(asked), Some(carried))))
            }
        }
    }

    async fn call(
        &self,
        served: Arc<ServedTool>,
        arguments: Map<String, Value>,
        context: Context,
        identity: &str,
    ) -> Result<wire::CallToolResponse, ErrorData> {
        let arguments = Value::Object(arguments);
        if let Err(problems) = served.input.check(&arguments) {
            let text = format!("invalid arguments for `{}`:\n{problems}", served.tool.name);
            return Ok(wire::CallToolResult::error(vec![wire::ContentBlock::text(text)]).into());
        }
        let Some(handler) = served.tool.handler.clone() else {
            return Err(ErrorData::internal_error("the tool has no handler", None));
        };
        let work = {
            let context = context.clone();
            async move { handler(arguments, context).await }
        };
        let what = format!("tool `{}`", served.tool.name);
        let outcome = run(&context, work).await;
        if let Outcome::Panicked(message) = &outcome {
            tracing::error!(panic = message, "{what} panicked");
            let text = format!("{what} failed unexpectedly");
            return Ok(wire::CallToolResult::error(vec![wire::ContentBlock::text(text)]).into());
        }
        match self.interrupted(outcome, &what, identity)? {
            Interrupted::Asks(asks) => Ok(asks.into()),
            Interrupted::Not(Ok(result)) => {
                if let (Some(validator), Some(value)) = (&served.output, &result.structured)
                    && !result.is_error
                    && let Err(problems) = validator.check(value)
                {
                    tracing::error!(problems, "{what}: the structured content does not fit its schema");
                    let text = format!("{what} returned what does not fit its output schema:\n{problems}");
                    return Ok(wire::CallToolResult::error(vec![wire::ContentBlock::text(text)]).into());
                }
                Ok(result.into_wire().into())
            }
            Interrupted::Not(Err(error)) => match error.as_protocol() {
                Some(error) => Err(error),
                None => {
                    let text = Content::text(error.message()).into_wire();
                    Ok(wire::CallToolResult::error(vec![text]).into())
                }
            },
        }
    }

    /// A page of a list, as JSON with cache hints.
    fn page<T: serde::de::DeserializeOwned>(
        &self,
        field: &str,
        page: Result<(Vec<Value>, Option<String>), String>,
    ) -> Result<T, ErrorData> {
        let (items, cursor) = page.map_err(|error| ErrorData::invalid_params(error, None))?;
        let mut object = Map::new();
        object.insert(field.into(), items.into());
        // Taken out again for protocols that do not know it.
        object.insert("resultType".into(), "complete".into());
        if let Some(cursor) = cursor {
            object.insert("nextCursor".into(), cursor.into());
        }
        cache_hints(&mut object, self.server.settings().cache);
        serde_json::from_value(Value::Object(object)).map_err(internal)
    }

    fn cursor(request: Option<wire::PaginatedRequestParams>) -> Option<String> {
        request.and_then(|request| request.cursor)
    }
}

enum Interrupted<T> {
    Not(Result<T, Error>),
    Asks(wire::InputRequiredResult),
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn cache_hints(object: &mut Map<String, Value>, cache: Option<(Duration, CacheScope)>) {
    if let Some((ttl, scope)) = cache {
        object.insert("ttlMs".into(), u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).into());
        let scope = match scope {
            CacheScope::Public => "public",
            CacheScope::Private => "private",
        };
        object.insert("cacheScope".into(), scope.into());
    }
}

/// Lists end up in requests of protocols that know no such hints.
fn without_hints(modern: bool, ttl: &mut Option<u64>, scope: &mut Option<wire::CacheScope>) {
    if !modern {
        (*ttl, *scope) = (None, None);
    }
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
        if !settings.extensions.is_empty() {
            capabilities["extensions"] = settings.extensions.into();
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
        self.server.start().await.map_err(internal)?;
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
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
        self.connection.set_level(Level::from_wire(request.level));
        Ok(())
    }

    async fn list_tools(
        &self,
        request: Option<wire::PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ListToolsResult, ErrorData> {
        let cursor = Self::cursor(request);
        let size = self.server.settings().page_size;
        let page = self.server.shared.tools.page(cursor.as_deref(), size, |tool| Some(tool.tool.descriptor()));
        let mut list: wire::ListToolsResult = self.page("tools", page)?;
        without_hints(is_modern(&context), &mut list.ttl_ms, &mut list.cache_scope);
        Ok(list)
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
        let arguments = request.arguments.unwrap_or_default();
        let identity = json!(["tools/call", request.name, arguments]).to_string();
        let context = self.context(context, (request.input_responses, request.request_state), &identity).await?;
        self.call(served, arguments, context, &identity).await
    }

    async fn list_resources(
        &self,
        request: Option<wire::PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ListResourcesResult, ErrorData> {
        let cursor = Self::cursor(request);
        let size = self.server.settings().page_size;
        let page = self
            .server
            .shared
            .resources
            .page(cursor.as_deref(), size, |resource| (!resource.is_template()).then(|| resource.descriptor()));
        let mut list: wire::ListResourcesResult = self.page("resources", page)?;
        without_hints(is_modern(&context), &mut list.ttl_ms, &mut list.cache_scope);
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Option<wire::PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ListResourceTemplatesResult, ErrorData> {
        let cursor = Self::cursor(request);
        let size = self.server.settings().page_size;
        let page = self
            .server
            .shared
            .resources
            .page(cursor.as_deref(), size, |resource| resource.is_template().then(|| resource.descriptor()));
        let mut list: wire::ListResourceTemplatesResult = self.page("resourceTemplates", page)?;
        without_hints(is_modern(&context), &mut list.ttl_ms, &mut list.cache_scope);
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: wire::ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::ReadResourceResponse, ErrorData> {
        let modern = is_modern(&context);
        let identity = json!(["resources/read", request.uri]).to_string();
        let context = self.context(context, (request.input_responses, request.request_state), &identity).await?;
        let outcome = run(&context, self.server.read(&request.uri, context.clone())).await;
        match self.interrupted(outcome, &format!("resource `{}`", request.uri), &identity)? {
            Interrupted::Asks(asks) => Ok(asks.into()),
            Interrupted::Not(result) => {
                let (contents, cache) = result.map_err(Error::into_rmcp)?;
                let contents = contents.into_iter().map(ResourceContents::into_wire).collect();
                let mut result = wire::ReadResourceResult::new(contents);
                if let (true, Some((ttl, scope))) = (modern, cache) {
                    result.ttl_ms = Some(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
                    result.cache_scope = Some(match scope {
                        CacheScope::Public => wire::CacheScope::Public,
                        CacheScope::Private => wire::CacheScope::Private,
                    });
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
        let cursor = Self::cursor(request);
        let size = self.server.settings().page_size;
        let page = self.server.shared.prompts.page(cursor.as_deref(), size, |prompt| Some(prompt.descriptor()));
        let mut list: wire::ListPromptsResult = self.page("prompts", page)?;
        without_hints(is_modern(&context), &mut list.ttl_ms, &mut list.cache_scope);
        Ok(list)
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
        let identity = json!(["prompts/get", request.name, arguments]).to_string();
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
                result.description = prompt.description.clone();
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
        context.cancelled().await;
        Ok(())
    }
}
