//! Tool calls: from the request to the result, with the events, the input requests and the task in between.
#![expect(deprecated, reason = "logging is kept for clients of older protocols")]

use std::sync::Arc;

use brumate_mcp::ToolResult;
use brumate_mcp::lowlevel::{self, CallDigest, ResumeResult, is_stateless_protocol};
use brumate_session::{CancellationToken, Report, Request, RunError, RunEvent};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, LoggingLevel};
use rmcp::service::RequestContext;
use tokio::task::JoinError;

use super::PythonServer;
use crate::elicitation::{self, CallEvent, ClientNotifier, EventSink, RunningCall};
use crate::format::{failure_text, result_text, structured};
use crate::interpreter::results;
use crate::log::LogSender;
use crate::progress::ProgressSender;
use crate::tool_request::ToolRequest;
use crate::traces::{RequestSpan, RunSpan};

/// The result for input that comes too late.
const INPUT_TOO_LATE: &str = "The code no longer waits for this input: the input was given already, or it came too late and the \
                              code was interrupted. A session keeps what the code did before that. Run the code again.";

/// The error for input that belongs to a call in another process.
const INPUT_FOR_ANOTHER_SERVER: &str = "This server does not run the code that asked for this input: the code runs in another \
     server process, or its process has ended. If several servers share an address, route all requests of a client to the same \
     one. Run the code again.";

impl PythonServer {
    /// Answers `tools/call`.
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut becomes_task = false;
        let call = match &request.request_state {
            Some(state) => match self.pending.resume(state, &request)? {
                ResumeResult::Call(call, input) => call.resume(input),
                ResumeResult::InputMissing(required) => return Ok(required.into()),
                ResumeResult::Unknown => return Ok(error_result(INPUT_TOO_LATE).into()),
                ResumeResult::OtherProcess => return Ok(error_result(INPUT_FOR_ANOTHER_SERVER).into()),
            },
            None => {
                let digest = CallDigest::of(&request);
                let arguments = (request.arguments, lowlevel::exact_arguments(&context).cloned());
                match self.tool_request(&request.name, arguments, is_stateless_protocol(&context)) {
                    Ok(request) => {
                        becomes_task = request.runs_code() && lowlevel::supports_tasks(&context);
                        self.start_call(request, digest, &context)
                    }
                    Err(error) => return Ok(response(ToolResult::from_error(&error)?).into()),
                }
            }
        };
        let (peer, stateless) = (context.peer.clone(), is_stateless_protocol(&context));
        let cancelled = context.ct.clone();
        let response = self.drive_call(call, becomes_task, &context).await;
        if let Some(interpreter) = self.interpreter_for(stateless) {
            tokio::select! {
                () = interpreter.notify_changes(&peer, stateless) => {}
                () = cancelled.cancelled() => {}
            }
        }
        Ok(response)
    }

    /// Starts the work of a call in a task of its own.
    fn start_call(
        &self,
        request: ToolRequest,
        digest: CallDigest,
        context: &RequestContext<RoleServer>,
    ) -> RunningCall {
        let server = self.clone();
        let can_ask = elicitation::supports_form_elicitation(context);
        let span = RequestSpan::of(context).filter(|_| request.runs_code()).map(RequestSpan::run);
        RunningCall::start(self.stop.child_token(), digest, move |call| async move {
            let questions = can_ask.then(|| call.questions.clone());
            let request = request.with_observers(questions, span.as_ref().map(RunSpan::phases));
            let result = server.perform(request, &call.cancel, &mut |event| call.send_event(&event)).await;
            let result = response(result);
            if let Some(span) = span {
                span.end(&result);
            }
            result
        })
    }

    async fn perform(
        &self,
        request: ToolRequest,
        cancel: &CancellationToken,
        event_sink: &mut (dyn FnMut(RunEvent) + Send),
    ) -> ToolResult {
        match request {
            ToolRequest::Run(request) => self.run(*request, cancel, event_sink).await,
            ToolRequest::RunInSession(interpreter, request) => {
                match interpreter.run(*request, cancel, event_sink).await {
                    Ok(report) => self.report_result(report.run).await,
                    Err(message) => ToolResult::error(failure_text(&message, self.mode)),
                }
            }
            ToolRequest::Interpreter(interpreter, call) => interpreter.perform(call, cancel, event_sink).await,
        }
    }

    /// Drives a call until the request has a response: the result, a task, or, since protocol 2026-07-28, an input request.
    /// Sends log and progress messages to the client meanwhile.
    async fn drive_call(
        &self,
        mut call: RunningCall,
        becomes_task: bool,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResponse {
        let mut tail = becomes_task.then(Arc::default);
        let notifier = Arc::new(ClientNotifier {
            log: LogSender::new(context.peer.clone(), context.id.clone(), self.log_level(context)),
            progress: ProgressSender::new(
                context.peer.clone(),
                context.meta.get_progress_token(),
                self.runner.preparing(),
            ),
            tail: tail.clone(),
        });
        let cancel = call.cancel_token();
        let stateless = is_stateless_protocol(context);
        let response = async {
            call.set_event_sink(Some(EventSink::Client(Arc::clone(&notifier))));
            let time = tokio::time::sleep(self.task_after);
            tokio::pin!(time);
            let response = loop {
                let event = tokio::select! {
                    biased;
                    event = call.next_event() => Some(event),
                    () = &mut time, if tail.is_some() => None,
                };
                let question = match event {
                    Some(CallEvent::Finished(result)) => break (self.final_result(result).into(), Some(call)),
                    Some(CallEvent::InputRequested(question)) => Some(question),
                    None => None,
                };
                // When there is no room for a task, the call stays an ordinary call.
                if let Some(tail) = tail.take()
                    && let Ok(task) = self.tasks.reserve(lowlevel::principal(context))
                {
                    break (self.continue_as_task(task, call, question, tail, context).into(), None);
                }
                let Some(question) = question else { continue };
                if stateless {
                    call.set_event_sink(None);
                    match elicitation::suspend(&self.pending, call, question, self.input_timeout) {
                        Ok(required) => break (required.into(), None),
                        Err(still_running) => call = still_running,
                    }
                } else {
                    // This task ends with the input request.
                    let (peer, id) = (context.peer.clone(), context.id.clone());
                    tokio::spawn(elicitation::ask(peer, id, question, self.input_timeout));
                }
            };
            notifier.close();
            response
        };
        // A client that cancelled a request receives no more messages about it.
        let send = async {
            tokio::select! {
                () = notifier.send_messages() => {}
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
            // `_call` is dropped last: dropping it cancels what is left of the call.
            ((response, _call), ()) = async { tokio::join!(response, send) } => response,
            () = pass_on_cancellation => error_result("the call was cancelled").into(),
        }
    }

    /// Returns the result of a call. A panic becomes an error result: the request must have an answer.
    pub(crate) fn final_result(&self, result: Result<CallToolResult, JoinError>) -> CallToolResult {
        result.unwrap_or_else(|error| {
            let Ok(panic) = error.try_into_panic() else { return error_result("the server ends") };
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
        request: Request,
        cancel: &CancellationToken,
        event_sink: &mut (dyn FnMut(RunEvent) + Send),
    ) -> ToolResult {
        let request = request.with_principal(&*self.principal);
        match self.runner.run(request, cancel, event_sink).await {
            Ok(report) => self.report_result(report).await,
            Err(failure) => {
                if let RunError::Engine(error) = &failure {
                    tracing::error!(%error, "a run failed in the engine");
                }
                ToolResult::error(failure_text(&failure.to_string(), self.mode))
            }
        }
    }

    async fn report_result(&self, report: Report) -> ToolResult {
        let limits = self.runner.limits();
        let text = result_text(&report, limits, self.mode);
        let mut result = ToolResult::text(text).structured(structured(&report, limits));
        if self.figures {
            result.extend(results::image_blocks(report.images).await);
        }
        result
    }

    /// Returns the log level of a request. Since protocol 2026-07-28 each request has one; before, it was set for the connection.
    fn log_level(&self, context: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
        if is_stateless_protocol(context) { context.meta.log_level() } else { Some(self.log_threshold.level()) }
    }
}

/// Returns a result as the client gets it. Only a failure has `isError`.
fn response(result: ToolResult) -> CallToolResult {
    let mut result = result.into_rmcp();
    result.is_error = result.is_error.filter(|failed| *failed);
    result
}

fn error_result(message: impl Into<String>) -> CallToolResult {
    response(ToolResult::error(message))
}
