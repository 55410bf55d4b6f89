//! The server's answers.
#![expect(deprecated, reason = "logging is kept for clients of older protocols")]

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use brumate_mcp::lowlevel::{self, Tasks, is_stateless_protocol};
use brumate_session::sessions::{CellRequest, LOCAL_PRINCIPAL, ReadAdmission, Sessions};
use brumate_session::{CancellationToken, RunError, RunEvent, RunReport, RunRequest, Runner};
use futures::FutureExt;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock, ErrorData, GetTaskParams,
    GetTaskResult, Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams, ReadResourceRequestMethod,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestMethod,
    SetLevelRequestParams, SubscriptionFilter, Tool, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, model};
use serde_json::Value;
use tokio::task::JoinError;

use crate::clients::Client;
use crate::format::{ReturnMode, failure_text, result_text, structured};
use crate::interpreter::{Call, Interpreter, answer, schemas};
use crate::log::{LogPump, Threshold};
use crate::progress::ProgressPump;
use crate::questions::{self, Audience, Conversation, Listener, Parked, Resumed, Step};
use crate::traces::{RequestSpan, RunSpan, Traces};
use crate::work::Work;
use crate::{arguments, tasks, tool};

/// What a client is told that comes back too late.
const GONE: &str = "The code does not wait for this input any more: it was given already, or came too late, and the code was \
                    interrupted. What a session had done until then is kept. Run the code again.";

/// The error for an answer to a question that another process asked.
const ELSEWHERE: &str = "The code that asked for this input does not run in this server: it waits in another one, or in one that has \
                         ended. Where several servers share an address, all requests of a client must reach the same one. \
                         Run the code again.";

/// Which tools a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSet {
    /// `run_python_code`, as its predecessor had it.
    #[default]
    Run,
    /// Those of the code interpreter, with sessions.
    Interpreter,
    /// All of them; `run_python_code` takes a session as well.
    All,
}

/// The server of one connection.
#[derive(Debug, Clone)]
pub struct PythonServer {
    runner: Runner,
    mode: ReturnMode,
    /// Pictures of `run_python_code` are part of its answers.
    figures: bool,
    threshold: Arc<Threshold>,
    stop: CancellationToken,
    /// Whose runs these are.
    principal: Arc<str>,
    tools: ToolSet,
    /// There unless the tools are [`ToolSet::Run`].
    interpreter: Option<Interpreter>,
    /// How long a person has for an answer.
    pub(crate) patience: Duration,
    parked: Parked,
    pub(crate) tasks: Tasks,
    /// When a call of a client that knows tasks becomes one.
    task_after: Duration,
    /// Who is told of requests and runs, if anybody.
    traces: Option<Traces>,
}

impl PythonServer {
    /// A server whose tool runs code with `runner` and answers in `mode`.
    pub fn new(runner: Runner, mode: ReturnMode) -> Self {
        Self {
            runner,
            mode,
            figures: true,
            threshold: Arc::default(),
            stop: CancellationToken::new(),
            principal: LOCAL_PRINCIPAL.into(),
            tools: ToolSet::Run,
            interpreter: None,
            patience: questions::DEFAULT_PATIENCE,
            parked: Parked::default(),
            tasks: Tasks::default(),
            task_after: tasks::TASK_AFTER,
            traces: None,
        }
    }

    /// The same server whose requests and runs are told to `traces`.
    #[must_use]
    pub fn with_traces(mut self, traces: Option<Traces>) -> Self {
        self.traces = traces;
        self
    }

    /// Who is told of its requests, if anybody.
    pub(crate) fn traces(&self) -> Option<Traces> {
        self.traces.clone()
    }

    /// The same server, where calls of clients that know tasks become tasks after `time`.
    #[must_use]
    pub fn with_task_after(mut self, time: Duration) -> Self {
        self.task_after = time;
        self
    }

    /// Puts the pictures that runs show into their answers, or leaves them out. They are in unless this is called.
    #[must_use]
    pub fn with_figures(mut self, figures: bool) -> Self {
        self.figures = figures;
        self
    }

    /// The same server that waits at most `patience` for each answer to a question of running code.
    #[must_use]
    pub fn with_input_timeout(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same server with `tools`, which work on `sessions`.
    #[must_use]
    pub fn with_sessions(mut self, sessions: Sessions, tools: ToolSet) -> Self {
        self.tools = tools;
        self.interpreter = (tools != ToolSet::Run).then(|| Interpreter::new(sessions));
        self
    }

    /// The same server for another connection.
    pub(crate) fn for_client(&self, client: &Client) -> Self {
        let interpreter = self.interpreter.as_ref();
        Self {
            threshold: Arc::default(),
            principal: client.name.clone(),
            interpreter: interpreter.map(|known| known.for_connection(client.name.clone(), client.connection.clone())),
            parked: client.parked.clone(),
            ..self.clone()
        }
    }

    /// Cancelling this token cancels every call that is under way.
    pub(crate) fn stop_token(&self) -> &CancellationToken {
        &self.stop
    }

    /// How long a cancelled run may take to end.
    pub(crate) fn grace(&self) -> std::time::Duration {
        self.runner.limits().grace
    }

    /// What a call asks for.
    ///
    /// # Errors
    ///
    /// The outer one when there is no such tool, the inner one a text for the model.
    fn work(&self, name: &str, arguments: Option<JsonObject>, modern: bool) -> Result<Result<Work, String>, ErrorData> {
        let interpreter = self.interpreter_for(modern);
        match interpreter {
            None if name == tool::TOOL_NAME => return Ok(arguments::parse(arguments).map(Work::Run)),
            Some(interpreter) if name == tool::TOOL_NAME && self.tools == ToolSet::All => {
                let parsed = arguments::parse_with_session(arguments);
                return Ok(parsed.map(|(request, session)| match session {
                    None => Work::Run(request),
                    Some(_) => {
                        let cell = CellRequest::new(session.as_deref(), request.code).with_globals(request.globals);
                        Work::RunInSession(interpreter, cell)
                    }
                }));
            }
            Some(interpreter) => {
                if let Some(call) = Call::parse(name, arguments) {
                    return Ok(call.map(|call| Work::Call(interpreter, call)));
                }
            }
            None => {}
        }
        let name: String = name.chars().take(64).collect();
        Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None))
    }

    /// The interpreter as a request sees it.
    pub(crate) fn interpreter_for(&self, modern: bool) -> Option<Interpreter> {
        self.interpreter.as_ref().map(|interpreter| interpreter.of_request(modern))
    }

    /// Begins to do it.
    fn begin(&self, work: Work, digest: u64, context: &RequestContext<RoleServer>) -> Conversation {
        let server = self.clone();
        let can_ask = questions::can_be_asked(context);
        let span = RequestSpan::of(context).filter(|_| work.is_code()).map(RequestSpan::run);
        Conversation::begin(self.stop.child_token(), digest, move |part| async move {
            let questions = can_ask.then(|| part.questions.clone());
            let work = work.heard_by(questions, span.as_ref().map(RunSpan::phases));
            let result = server.perform(work, &part.cancel, &mut |event| part.hear(&event)).await;
            if let Some(span) = span {
                span.end(&result);
            }
            result
        })
    }

    async fn perform(
        &self,
        work: Work,
        cancel: &CancellationToken,
        onlooker: &mut (dyn FnMut(RunEvent) + Send),
    ) -> CallToolResult {
        match work {
            Work::Run(request) => self.run(request, cancel, onlooker).await,
            Work::RunInSession(interpreter, request) => match interpreter.run(request, cancel, onlooker).await {
                Ok(report) => self.report_result(report.into_run_report()).await,
                Err(message) => error_result(failure_text(&message, self.mode)),
            },
            Work::Call(interpreter, call) => interpreter.perform(call, cancel, onlooker).await,
        }
    }

    /// Accompanies a call to its end or, since 2026-07-28, to its next question; meanwhile the client hears what it wants to
    /// hear.
    async fn attend(
        &self,
        mut call: Conversation,
        becomes_task: bool,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let mut tail = becomes_task.then(Arc::default);
        let audience = Arc::new(Audience {
            log: LogPump::new(context.peer.clone(), context.id.clone(), self.log_level(context)),
            progress: ProgressPump::new(
                context.peer.clone(),
                context.meta.get_progress_token(),
                self.runner.preparing(),
            ),
            tail: tail.clone(),
        });
        let cancel = call.cancel();
        let modern = is_stateless_protocol(context);
        let response = async {
            call.listen(Some(Listener::Client(Arc::clone(&audience))));
            let time = tokio::time::sleep(self.task_after);
            tokio::pin!(time);
            let response = loop {
                let step = tokio::select! {
                    biased;
                    step = call.step() => Some(step),
                    () = &mut time, if tail.is_some() => None,
                };
                let question = match step {
                    Some(Step::Ended(ended)) => break (self.ended(ended).into(), Some(call)),
                    Some(Step::Asked(question)) => Some(question),
                    None => None,
                };
                // Where there is no room for a task, it is a call as others are from now on.
                if let Some(tail) = tail.take()
                    && let Ok(task) = self.tasks.reserve(lowlevel::principal(context))
                {
                    break (self.go_on_as_task(task, call, question, tail, context).into(), None);
                }
                let Some(question) = question else { continue };
                if modern {
                    call.listen(None);
                    match self.parked.park(call, question, self.patience) {
                        Ok(required) => break (required.into(), None),
                        Err(kept) => call = kept,
                    }
                } else {
                    // Ends with the question.
                    let (peer, id) = (context.peer.clone(), context.id.clone());
                    tokio::spawn(questions::ask(peer, id, question, self.patience));
                }
            };
            audience.close();
            response
        };
        // Whoever cancelled does not listen any more, so nothing is sent to them.
        let send = async {
            tokio::select! {
                () = audience.tell() => {}
                () = cancel.cancelled() => {}
            }
        };
        let pass_on_cancellation = async {
            tokio::select! {
                () = context.ct.cancelled() => {}
                () = lowlevel::wait_for_session_end(context) => {}
            }
            cancel.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            // The call goes last: that cancels what is left of it.
            ((response, _call), ()) = async { tokio::join!(response, send) } => response,
            () = pass_on_cancellation => error_result("the call was cancelled".to_owned()).into(),
        }
    }

    /// The result of a call; a panic that is not caught leaves its request without an answer for ever.
    pub(crate) fn ended(&self, ended: Result<CallToolResult, JoinError>) -> CallToolResult {
        ended.unwrap_or_else(|error| {
            let Ok(panic) = error.try_into_panic() else { return error_result("the server ends".to_owned()) };
            let message = panic
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            tracing::error!(%message, "a call panicked; this is a defect");
            let text = "Brumate failed; this is a defect, and its log says more. Other calls are not affected.";
            error_result(failure_text(text, self.mode))
        })
    }

    async fn run(
        &self,
        request: RunRequest,
        cancel: &CancellationToken,
        onlooker: &mut (dyn FnMut(RunEvent) + Send),
    ) -> CallToolResult {
        let request = request.with_principal(&*self.principal);
        match self.runner.run(request, cancel, onlooker).await {
            Ok(report) => self.report_result(report).await,
            Err(failure) => {
                if let RunError::Engine(error) = &failure {
                    tracing::error!(%error, "a run failed in the engine");
                }
                error_result(failure_text(&failure.to_string(), self.mode))
            }
        }
    }

    async fn report_result(&self, mut report: RunReport) -> CallToolResult {
        let limits = self.runner.limits();
        let mut result = CallToolResult::default();
        result.content = vec![ContentBlock::text(result_text(&report, limits, self.mode))];
        result.structured_content = Some(Value::Object(structured(&report, limits)));
        if self.figures {
            result.content.extend(answer::blocks(std::mem::take(&mut report.figures)).await);
        }
        result
    }

    fn session_tools(&self) -> Vec<Tool> {
        let inputs = self.interpreter.as_ref().map(|interpreter| interpreter.sessions().settings().inputs.clone());
        schemas::tools(&inputs.unwrap_or_default())
    }

    fn listed_tools(&self) -> Vec<Tool> {
        match self.tools {
            ToolSet::Run => vec![tool::tool()],
            ToolSet::Interpreter => self.session_tools(),
            ToolSet::All => std::iter::once(tool::with_session()).chain(self.session_tools()).collect(),
        }
    }

    /// What the client of this request wants to see: since 2026-07-28 each request says so, before it was a setting.
    fn log_level(&self, context: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
        if is_stateless_protocol(context) { context.meta.log_level() } else { Some(self.threshold.level()) }
    }
}

/// Bytes of an answer with a file of `bytes`: in base 64, or text with what JSON escapes, and what is around it.
fn answer_bytes(bytes: u64) -> usize {
    const AROUND: u64 = 4096;
    usize::try_from(bytes.saturating_add(bytes / 3 + AROUND)).unwrap_or(usize::MAX)
}

fn error_result(message: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

impl ServerHandler for PythonServer {
    fn get_info(&self) -> ServerConfig {
        let plain = ServerCapabilities::builder().enable_logging().enable_tools().enable_tasks();
        let capabilities = match self.tools {
            ToolSet::Run => plain.build(),
            ToolSet::Interpreter | ToolSet::All => plain.enable_resources().enable_resources_list_changed().build(),
        };
        let (name, instructions) = match self.tools {
            ToolSet::Run => (tool::SERVER_NAME, tool::INSTRUCTIONS.to_owned()),
            ToolSet::Interpreter => (schemas::SERVER_NAME, schemas::INSTRUCTIONS.to_owned()),
            ToolSet::All => ("Brumate", format!("{} {}", schemas::INSTRUCTIONS, tool::BESIDE_SESSIONS)),
        };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(name, env!("CARGO_PKG_VERSION")).with_title("Brumate"))
            .with_instructions(instructions)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        // Protocols that begin so know no tasks.
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
        Ok(ListToolsResult::with_all_items(self.listed_tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.listed_tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut becomes_task = false;
        let call = match &request.request_state {
            Some(state) => match self.parked.resume(state, &request)? {
                Resumed::Call(call) => call,
                Resumed::Again(required) => return Ok(required.into()),
                Resumed::Gone => return Ok(error_result(GONE.to_owned()).into()),
                Resumed::Elsewhere => return Ok(error_result(ELSEWHERE.to_owned()).into()),
            },
            None => {
                let digest = questions::digest(&request);
                match self.work(&request.name, request.arguments, is_stateless_protocol(&context))? {
                    Ok(work) => {
                        becomes_task = work.is_code() && lowlevel::supports_tasks(&context);
                        self.begin(work, digest, &context)
                    }
                    Err(message) => return Ok(error_result(message).into()),
                }
            }
        };
        let (peer, modern) = (context.peer.clone(), is_stateless_protocol(&context));
        let cancelled = context.ct.clone();
        let response = self.attend(call, becomes_task, &context).await;
        if let Some(interpreter) = self.interpreter_for(modern) {
            tokio::select! {
                () = interpreter.tell_changes(&peer, modern) => {}
                () = cancelled.cancelled() => {}
            }
        }
        Ok(response)
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
        interpreter.resources(cursor.as_deref()).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if self.interpreter.is_none() {
            return Ok(ListResourceTemplatesResult::default());
        }
        Ok(ListResourceTemplatesResult::with_all_items(vec![Interpreter::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let interpreter =
            self.interpreter.as_ref().ok_or_else(ErrorData::method_not_found::<ReadResourceRequestMethod>)?;
        let cancel = self.stop.child_token();
        let asked = context.clone();
        let admit = ReadAdmission::new(move |bytes| {
            Box::pin(async move { lowlevel::reserve_response(&asked, answer_bytes(bytes)).await })
        });
        let read = interpreter.read(&request.uri, is_stateless_protocol(&context), admit, &cancel);
        let read = AssertUnwindSafe(read).catch_unwind();
        tokio::select! {
            read = read => match read {
                Ok(read) => read.map(Into::into),
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
        let following = async {
            lowlevel::follow_tasks(&self.tasks, &context).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = following => {}
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
        self.threshold.set(request.level);
        Ok(())
    }

    /// Requests whose parameters do not fit their method arrive here too; "not found" would mislead.
    async fn on_custom_request(
        &self,
        request: model::CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<model::CustomResult, ErrorData> {
        const KNOWN: [&str; 8] = [
            "initialize",
            "tools/call",
            "tools/list",
            "logging/setLevel",
            "ping",
            "tasks/get",
            "tasks/update",
            "tasks/cancel",
        ];
        const OF_RESOURCES: [&str; 3] = ["resources/list", "resources/templates/list", "resources/read"];
        let method: String = request.method.chars().take(64).collect();
        let of_resources = self.interpreter.is_some() && OF_RESOURCES.contains(&method.as_str());
        if of_resources || KNOWN.contains(&method.as_str()) {
            return Err(ErrorData::invalid_params(format!("Invalid parameters for {method}"), None));
        }
        Err(ErrorData::new(model::ErrorCode::METHOD_NOT_FOUND, format!("Method not found: {method}"), None))
    }
}
