//! A server that is nothing but rmcp, for the crate's client; the twin of `tests/python/sdk_server.py`.

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::model as wire;
use rmcp::service::{RequestContext, ServiceError};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{SessionManager, StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, UnixStream};
use tokio::task::JoinHandle;

/// What a client has to send back with its answers (2026-07-28).
const NOTE: &str = "a note of the server";

struct Bare;

type Context = RequestContext<RoleServer>;

fn text(text: impl Into<String>) -> wire::CallToolResponse {
    wire::CallToolResult::success(vec![wire::ContentBlock::text(text)]).into()
}

fn failed(error: ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Returns whether a request is one of 2026-07-28 or later.
fn is_modern(context: &Context) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

fn add(request: &wire::CallToolRequestParams) -> Result<wire::CallToolResponse, ErrorData> {
    let number = |name: &str| request.arguments.as_ref().and_then(|arguments| arguments.get(name));
    let a = number("a").and_then(Value::as_i64).ok_or_else(|| ErrorData::invalid_params("`a` is no number", None))?;
    let b = number("b").and_then(Value::as_i64).unwrap_or(1);
    Ok(wire::CallToolResult::structured(json!({"result": a + b})).into())
}

async fn steps(context: &Context) -> Result<wire::CallToolResponse, ErrorData> {
    let token = context.meta.get_progress_token().ok_or_else(|| ErrorData::invalid_params("no token", None))?;
    for step in 1..=10 {
        let report = wire::ProgressNotificationParam::new(token.clone(), step.into()).with_total(10.0);
        context.peer.notify_progress(report.with_message(format!("step {step}"))).await.map_err(failed)?;
    }
    Ok(text("stepped"))
}

#[expect(deprecated, reason = "logging")]
async fn talks(context: &Context) -> Result<wire::CallToolResponse, ErrorData> {
    // Since 2026-07-28, clients ask for log messages with each request.
    if is_modern(context) && context.meta.log_level().is_none() {
        return Err(ErrorData::invalid_params("no level", None));
    }
    for number in 0..3 {
        let data = json!(format!("fact {number}"));
        let message = wire::LoggingMessageNotificationParam::new(wire::LoggingLevel::Info, data);
        context.peer.notify_logging_message(message).await.map_err(failed)?;
    }
    Ok(text("talked"))
}

async fn asks(request: &wire::CallToolRequestParams, context: &Context) -> Result<wire::CallToolResponse, ErrorData> {
    let form = wire::ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Who is there?".to_owned(),
        requested_schema: wire::ElicitationSchema::builder().required_string("name").build_unchecked(),
    };
    let answer = if is_modern(context) {
        let Some(answers) = &request.input_responses else {
            let question = wire::InputRequest::Elicitation(wire::ElicitRequest::new(form));
            let questions = [("who".to_owned(), question)].into();
            return Ok(wire::InputRequiredResult::new(Some(questions), Some(NOTE.to_owned())).into());
        };
        if request.request_state.as_deref() != Some(NOTE) {
            return Err(ErrorData::invalid_params("the note is missing", None));
        }
        let answer = answers.get("who").cloned().unwrap_or_default();
        serde_json::from_value(answer).map_err(|error| ErrorData::invalid_params(error.to_string(), None))?
    } else {
        context.peer.create_elicitation(form).await.map_err(failed)?
    };
    match answer {
        wire::ElicitResult { action: wire::ElicitationAction::Accept, content: Some(person), .. } => {
            Ok(text(format!("accept {}", person["name"].as_str().unwrap_or_default())))
        }
        other => Ok(text(format!("{other:?}"))),
    }
}

impl ServerHandler for Bare {
    #[expect(deprecated, reason = "logging")]
    fn get_info(&self) -> wire::ServerConfig {
        let capabilities = wire::ServerCapabilities::builder().enable_logging().enable_prompts().enable_resources();
        wire::ServerConfig::new(capabilities.enable_tools().build())
    }

    #[expect(deprecated, reason = "logging")]
    async fn set_level(&self, request: wire::SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        assert_eq!(request.level, wire::LoggingLevel::Info);
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<wire::PaginatedRequestParams>,
        _: Context,
    ) -> Result<wire::ListToolsResult, ErrorData> {
        let numbers = wire::object(json!({
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
            "required": ["a"],
        }));
        let sum = json!({"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]});
        let add =
            wire::Tool::new("add", "Adds two numbers.", numbers).with_raw_output_schema(Arc::new(wire::object(sum)));
        let others = ["fails", "steps", "talks", "asks"];
        let others = others.map(|name| wire::Tool::new_with_raw(name, None, wire::object(json!({"type": "object"}))));
        Ok(wire::ListToolsResult::with_all_items([add].into_iter().chain(others).collect()))
    }

    async fn call_tool(
        &self,
        request: wire::CallToolRequestParams,
        context: Context,
    ) -> Result<wire::CallToolResponse, ErrorData> {
        match &*request.name {
            "add" => add(&request),
            "fails" => Ok(wire::CallToolResult::error(vec![wire::ContentBlock::text("it always does")]).into()),
            "steps" => steps(&context).await,
            "talks" => talks(&context).await,
            "asks" => asks(&request, &context).await,
            other => Err(ErrorData::invalid_params(format!("no tool `{other}`"), None)),
        }
    }

    async fn list_resources(
        &self,
        _: Option<wire::PaginatedRequestParams>,
        _: Context,
    ) -> Result<wire::ListResourcesResult, ErrorData> {
        Ok(wire::ListResourcesResult::with_all_items(vec![wire::Resource::new("text://about", "about")]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<wire::PaginatedRequestParams>,
        _: Context,
    ) -> Result<wire::ListResourceTemplatesResult, ErrorData> {
        let template = wire::ResourceTemplate::new("text://users/{name}", "user");
        Ok(wire::ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: wire::ReadResourceRequestParams,
        _: Context,
    ) -> Result<wire::ReadResourceResponse, ErrorData> {
        let text = match (&*request.uri, request.uri.strip_prefix("text://users/")) {
            ("text://about", _) => "a server for tests".to_owned(),
            (_, Some(name)) => format!("the user {name}"),
            _ => return Err(ErrorData::resource_not_found("no such resource", None)),
        };
        Ok(wire::ReadResourceResult::new(vec![wire::ResourceContents::text(text, request.uri)]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<wire::PaginatedRequestParams>,
        _: Context,
    ) -> Result<wire::ListPromptsResult, ErrorData> {
        let arguments = vec![wire::PromptArgument::new("name").with_required(true)];
        let prompt = wire::Prompt::new("greet", Some("Asks a model to greet."), Some(arguments));
        Ok(wire::ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: wire::GetPromptRequestParams,
        _: Context,
    ) -> Result<wire::GetPromptResponse, ErrorData> {
        let name = request.arguments.as_ref().and_then(|arguments| arguments.get("name")).and_then(Value::as_str);
        let name = name.ok_or_else(|| ErrorData::invalid_params("`name` is missing", None))?;
        let message = wire::PromptMessage::new_text(wire::Role::User, format!("Greet {name}."));
        Ok(wire::GetPromptResult::new(vec![message]).into())
    }
}

/// Serves one client over a pair of sockets, as over standard input and output. Returns the client's end, and what ends when the
/// client has gone.
pub(crate) fn serve_streams() -> ((OwnedReadHalf, OwnedWriteHalf), JoinHandle<()>) {
    let (client, server) = UnixStream::pair().unwrap();
    let served = tokio::spawn(async move {
        let running = rmcp::serve_server(Bare, server.into_split()).await.unwrap();
        running.waiting().await.unwrap();
    });
    (client.into_split(), served)
}

/// Serves streamable HTTP in sessions, which there are before 2026-07-28. Returns the server's address.
pub(crate) async fn serve_http_in_sessions() -> String {
    listen(LocalSessionManager::default(), StreamableHttpServerConfig::default()).await
}

/// Serves streamable HTTP without sessions; with `json`, answers are JSON where an answer is all there is to say.
pub(crate) async fn serve_http_stateless(json: bool) -> String {
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(json);
    listen(NeverSessionManager::default(), config).await
}

async fn listen<M: SessionManager>(sessions: M, config: StreamableHttpServerConfig) -> String {
    let service = StreamableHttpService::new(|| Ok(Bare), Arc::new(sessions), config);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let service = service.clone();
            let answer = service_fn(move |request: http::Request<Incoming>| {
                let service = service.clone();
                async move { Ok::<_, Infallible>(service.handle(request).await) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
        }
    });
    format!("http://{address}")
}
