//! The server's answers.
#![expect(deprecated, reason = "logging is kept for clients of older protocols")]

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use brumate_session::{CancellationToken, Failure, RunEvent, RunRequest, Runner};
use futures::FutureExt;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, JsonObject,
    ListToolsResult, LoggingLevel, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
    SetLevelRequestMethod, SetLevelRequestParams, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, model};
use serde_json::Value;

use crate::format::{ReturnMode, failure_text, result_text, structured};
use crate::log::{LogPump, Threshold};
use crate::progress::ProgressPump;
use crate::{arguments, tool};

/// The server of one connection.
#[derive(Debug, Clone)]
pub struct PythonServer {
    runner: Runner,
    mode: ReturnMode,
    threshold: Arc<Threshold>,
    stop: CancellationToken,
}

impl PythonServer {
    /// A server whose tool runs code with `runner` and answers in `mode`.
    pub fn new(runner: Runner, mode: ReturnMode) -> Self {
        Self { runner, mode, threshold: Arc::default(), stop: CancellationToken::new() }
    }

    /// Cancelling this token cancels every call that is under way.
    pub(crate) fn stop_token(&self) -> &CancellationToken {
        &self.stop
    }

    /// How long a cancelled run may take to end.
    pub(crate) fn grace(&self) -> std::time::Duration {
        self.runner.limits().grace
    }

    async fn run_python_code(
        &self,
        arguments: Option<JsonObject>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let request = match arguments::parse(arguments) {
            Ok(request) => request,
            Err(message) => return error_result(message),
        };
        let log = LogPump::new(context.peer.clone(), self.log_level(&context));
        let progress = ProgressPump::new(context.peer.clone(), context.meta.get_progress_token());
        let cancel = self.stop.child_token();
        let answer = async {
            let answer = self.run(request, &cancel, &log, &progress).await;
            log.close();
            progress.close();
            answer
        };
        // Whoever cancelled does not listen any more, so nothing is sent to them.
        let send = async {
            tokio::select! {
                _ = async { tokio::join!(log.run(), progress.run()) } => {}
                () = cancel.cancelled() => {}
            }
        };
        let pass_on_cancellation = async {
            context.ct.cancelled().await;
            cancel.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            (answer, ()) = async { tokio::join!(answer, send) } => answer,
            () = pass_on_cancellation => error_result("the call was cancelled".to_owned()),
        }
    }

    async fn run(
        &self,
        request: RunRequest,
        cancel: &CancellationToken,
        log: &LogPump,
        progress: &ProgressPump,
    ) -> CallToolResult {
        let mut onlooker = |event: RunEvent| {
            log.push(&event);
            progress.push(&event);
        };
        match self.runner.run(request, cancel, &mut onlooker).await {
            Ok(report) => {
                let limits = self.runner.limits();
                let mut result = CallToolResult::default();
                result.content = vec![ContentBlock::text(result_text(&report, limits, self.mode))];
                result.structured_content = Some(Value::Object(structured(&report, limits)));
                result
            }
            Err(failure) => {
                if let Failure::Engine(error) = &failure {
                    tracing::error!(%error, "a run failed in the engine");
                }
                error_result(failure_text(&failure.to_string(), self.mode))
            }
        }
    }

    /// What the client of this request wants to see: since 2026-07-28 each request says so, before it was a setting.
    fn log_level(&self, context: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
        if is_modern(context) { context.meta.log_level() } else { Some(self.threshold.level()) }
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn error_result(message: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

impl ServerHandler for PythonServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_logging().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(tool::SERVER_NAME, env!("CARGO_PKG_VERSION")).with_title("Brumate"))
            .with_instructions(tool::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![tool::tool()]))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == tool::TOOL_NAME).then(tool::tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != tool::TOOL_NAME {
            let name: String = request.name.chars().take(64).collect();
            return Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
        }
        // A panic that is not caught here leaves the request without an answer for ever.
        let contained = AssertUnwindSafe(self.run_python_code(request.arguments, context)).catch_unwind();
        Ok(match contained.await {
            Ok(result) => result.into(),
            Err(panic) => {
                let message = panic
                    .downcast_ref::<&str>()
                    .map(ToString::to_string)
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                tracing::error!(%message, "a call panicked; this is a defect");
                let text = "Brumate failed; this is a defect, and its log says more. Other calls are not affected.";
                error_result(failure_text(text, self.mode)).into()
            }
        })
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_modern(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.threshold.set(request.level);
        Ok(())
    }

    /// Requests whose parameters do not fit their method arrive here too; "not found" would mislead.
    async fn on_custom_request(
        &self,
        request: model::CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<model::CustomResult, ErrorData> {
        const KNOWN: [&str; 5] = ["initialize", "tools/call", "tools/list", "logging/setLevel", "ping"];
        let method: String = request.method.chars().take(64).collect();
        if KNOWN.contains(&method.as_str()) {
            return Err(ErrorData::invalid_params(format!("Invalid parameters for {method}"), None));
        }
        Err(ErrorData::new(model::ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {method}"), None))
    }
}
