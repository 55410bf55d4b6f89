//! Calls of tools: answered in their request, over several requests, or by a task.

use super::methods::short_name;
use super::outcome::HandlerOutcome;
use super::{Handler, identity};
use crate::context::{Context, supports_tasks};
use crate::error::Error;
use crate::http::request_extensions::{may_call, principal};
use crate::http::without_charge;
use crate::kept_call::KeptCall;
use crate::result::ToolResult;
use crate::run::{RunOutcome, run};
use crate::suspended_calls::{CallDigest, ResumeResult};
use crate::suspension::Suspension;
use crate::tasks::{TaskHandle, TaskOutcome, TaskReservation, TaskSupport, TooManyTasks};
use crate::tool::{ServedTool, TaskTiming};
use futures::future::BoxFuture;
use rmcp::model::{self as wire, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The work of a handler.
type Work = BoxFuture<'static, Result<ToolResult, Error>>;

/// How a call goes on after its handler has requested input, since 2026-07-28.
enum CallKind {
    /// The handler runs again. A retry must repeat this identity.
    Rounds(String),
    /// The handler runs on. A retry must have this digest; the request is the first one.
    Kept(CallDigest, RequestContext<RoleServer>),
}

impl Handler {
    /// Answers `tools/call`: begins a call, or goes on with one whose input the request brings.
    pub(super) async fn answer_call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The state says which call it is, whatever tool the request names.
        if let Some(state) = &request.request_state
            && self.server.shared.kept_calls.of(principal(&context)).has(state)
        {
            let tool = self.server.shared.tools.get(&request.name);
            let suspension = tool.and_then(|served| served.tool.suspension.clone()).unwrap_or_default();
            return self.resume_kept(&suspension, (&request, state), context).await;
        }
        let Some(served) = self.server.shared.tools.get(&request.name) else {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {}", short_name(&request.name)), None));
        };
        if !may_call(&context, &served.tool.scopes) {
            let needed = served.tool.scopes.join(" ");
            let text = format!("tool `{}` needs an access token with the scope `{needed}`", request.name);
            return Err(ErrorData::invalid_request(text, None));
        }
        if let Some(suspension) = &served.tool.suspension {
            if let Some(state) = &request.request_state {
                return self.resume_kept(suspension, (&request, state), context).await;
            }
            let digest = CallDigest::of(&request);
            let kept = self.context(without_charge(&context), (None, None), "").await?;
            let arguments = request.arguments.unwrap_or_default();
            return self.call(served, arguments, kept, CallKind::Kept(digest, context)).await;
        }
        let arguments = request.arguments.unwrap_or_default();
        let identity = identity(&context, json!(["tools/call", request.name, arguments]));
        let context = self.context(context, (request.input_responses, request.request_state), &identity).await?;
        self.call(served, arguments, context, CallKind::Rounds(identity)).await
    }

    /// Begins a call: checks the arguments, and runs the handler in the request or in a task.
    async fn call(
        &self,
        served: Arc<ServedTool>,
        arguments: Map<String, Value>,
        context: Context,
        kind: CallKind,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(arguments);
        if let Err(problems) = served.check_arguments(&arguments) {
            return Ok(failed(format!("invalid arguments for `{}`:\n{problems}", served.tool.name)));
        }
        let Value::Object(arguments) = arguments else {
            return Err(ErrorData::internal_error("arguments are an object", None));
        };
        let Some(handler) = served.tool.handler.clone() else {
            return Err(ErrorData::internal_error("the tool has no handler", None));
        };
        let task_timing = match (served.tool.tasks, supports_tasks(context.request())) {
            (TaskSupport::Required, false) => {
                let required = ClientCapabilities::builder().enable_tasks().build();
                return Err(ErrorData::missing_required_client_capability(required));
            }
            (TaskSupport::Never, _) | (TaskSupport::Optional, false) => None,
            (TaskSupport::Optional | TaskSupport::Required, true) => Some(served.tool.task_timing),
        };
        let work: Work = {
            let (server, served, context) = (self.server.clone(), served.clone(), context.clone());
            Box::pin(async move { server.call(&served.tool, handler, arguments, context).await })
        };
        match kind {
            CallKind::Rounds(identity) => self.call_in_rounds(served, (context, &identity), task_timing, work).await,
            CallKind::Kept(digest, request) => {
                let suspension = served.tool.suspension.clone().unwrap_or_default();
                self.begin_kept(served, &suspension, (context, digest), task_timing, (work, &request)).await
            }
        }
    }

    /// Answers a request of a call whose handler runs again for each request, or lets it go on as a task.
    async fn call_in_rounds(
        &self,
        served: Arc<ServedTool>,
        (context, identity): (Context, &str),
        task_timing: Option<TaskTiming>,
        mut work: Work,
    ) -> Result<CallToolResponse, ErrorData> {
        context.set_detachable(task_timing == Some(TaskTiming::OnDetach));
        if let Some(task_timing) = task_timing {
            let time = async || match task_timing {
                TaskTiming::Immediately => {}
                TaskTiming::After(time) => tokio::time::sleep(time).await,
                TaskTiming::OnDetach => context.detach_requested().await,
            };
            let outcome = match task_timing {
                TaskTiming::Immediately => None,
                _ => tokio::select! {
                    biased;
                    outcome = run(&context, &mut work) => Some(outcome),
                    () = time() => None,
                },
            };
            if let Some(outcome) = outcome {
                return self.outcome(&served, outcome, identity);
            }
            if let Ok(task) = self.server.shared.tasks.reserve(principal(context.request())) {
                return Ok(wire::CreateTaskResult::new(self.continue_as_task(task, served, context, work)).into());
            }
            context.set_detachable(false);
            if task_timing == TaskTiming::Immediately && served.tool.tasks == TaskSupport::Required {
                return Ok(failed(TooManyTasks.to_string()));
            }
        }
        let outcome = run(&context, &mut work).await;
        self.outcome(&served, outcome, identity)
    }

    /// Continues the work of a call as a task.
    fn continue_as_task(
        &self,
        task: TaskReservation,
        served: Arc<ServedTool>,
        context: Context,
        work: Work,
    ) -> wire::Task {
        let (handle, handler) = (task.handle().clone(), self.clone());
        context.enter_task(handle.clone());
        task.run(async move {
            let outcome = run(&context, work).await;
            handler.task_outcome(&handle, &served, outcome)
        })
    }

    /// Returns the outcome of a task for the outcome of its call.
    fn task_outcome(&self, handle: &TaskHandle, served: &ServedTool, outcome: RunOutcome<ToolResult>) -> TaskOutcome {
        // A handler that watches its cancellation may return before it is dropped. The end is the same.
        if handle.is_cancelled_by_client() && !matches!(outcome, RunOutcome::Panicked(_)) {
            return TaskOutcome::Cancelled(served.tool.suspension.as_ref().and_then(|_| last_words(&outcome)));
        }
        match self.outcome(served, outcome, "") {
            Ok(CallToolResponse::Complete(result)) => TaskOutcome::Result(result),
            Ok(_) => TaskOutcome::Error(ErrorData::internal_error("a task cannot ask in its call", None)),
            Err(error) => TaskOutcome::Error(error),
        }
    }

    /// Turns the outcome of a call into its answer.
    fn outcome(
        &self,
        served: &ServedTool,
        outcome: RunOutcome<ToolResult>,
        identity: &str,
    ) -> Result<CallToolResponse, ErrorData> {
        let what = format!("tool `{}`", served.tool.name);
        if let RunOutcome::Panicked(message) = &outcome {
            tracing::error!(panic = message, "{what} panicked");
            return Ok(failed(format!("{what} failed unexpectedly")));
        }
        match self.handler_outcome(outcome, &what, identity)? {
            HandlerOutcome::InputRequired(asks) => Ok(asks.into()),
            HandlerOutcome::Returned(Ok(result)) => {
                if let (Some(validator), Some(value)) = (&served.output, &result.structured)
                    && !result.is_error
                    && let Err(problems) = validator.check(value)
                {
                    tracing::error!(problems, "{what}: the structured content does not fit its schema");
                    let text = format!("{what} returned what does not fit its output schema:\n{problems}");
                    return Ok(failed(text));
                }
                Ok(result.into_wire().into())
            }
            HandlerOutcome::Returned(Err(error)) => Ok(ToolResult::from_error(&error)?.into_wire().into()),
        }
    }

    /// Starts a call, and answers its first request. `timing`: when the call becomes a task, if it can.
    async fn begin_kept(
        &self,
        served: Arc<ServedTool>,
        suspension: &Suspension,
        (context, digest): (Context, CallDigest),
        timing: Option<TaskTiming>,
        (work, request): (Work, &RequestContext<RoleServer>),
    ) -> Result<CallToolResponse, ErrorData> {
        context.set_detachable(timing.is_some());
        let mut reserved = None;
        if timing == Some(TaskTiming::Immediately) {
            match self.server.shared.tasks.reserve(principal(request)) {
                Ok(task) => reserved = Some(task),
                Err(full) if served.tool.tasks == TaskSupport::Required => return Ok(failed(full.to_string())),
                Err(_) => context.set_detachable(false),
            }
        }
        let call = KeptCall::start(served, context, digest, suspension, work);
        if let Some(task) = reserved {
            return Ok(wire::CreateTaskResult::new(self.kept_task(task, call)).into());
        }
        let timing = timing.filter(|timing| *timing != TaskTiming::Immediately);
        self.drive_kept(call, timing, request).await
    }

    /// Answers a request that brings the input of a call.
    async fn resume_kept(
        &self,
        suspension: &Suspension,
        (params, state): (&CallToolRequestParams, &str),
        request: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let calls = self.server.shared.kept_calls.of(principal(&request));
        match calls.resume(state, params)? {
            ResumeResult::Call(call, input) => {
                call.context.enter_request(without_charge(&request));
                call.context.input_requests().answer(input);
                self.drive_kept(call, None, &request).await
            }
            ResumeResult::InputMissing(required) => Ok(required.into()),
            ResumeResult::Unknown => Ok(failed(suspension.too_late.clone())),
            ResumeResult::OtherProcess => Ok(failed(suspension.other_process.clone())),
        }
    }

    /// Waits until the request of a call has an answer: the result, a task, or input requests.
    async fn drive_kept(
        &self,
        mut call: KeptCall,
        timing: Option<TaskTiming>,
        request: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let context = call.context.clone();
        let becomes_task = async {
            let time = async {
                match timing {
                    Some(TaskTiming::After(time)) => tokio::time::sleep(time).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                () = context.detach_requested() => {}
                () = time => {}
            }
        };
        tokio::pin!(becomes_task);
        let mut may_become_task = timing.is_some();
        loop {
            tokio::select! {
                biased;
                outcome = call.outcome() => return self.outcome(&call.served, outcome, ""),
                () = context.input_requests().asked() => {
                    match self.server.shared.kept_calls.of(principal(request)).keep(call) {
                        Ok(required) => return Ok(required.into()),
                        Err(running) => call = running,
                    }
                }
                () = &mut becomes_task, if may_become_task => {
                    may_become_task = false;
                    if let Ok(task) = self.server.shared.tasks.reserve(principal(request)) {
                        return Ok(wire::CreateTaskResult::new(self.kept_task(task, call)).into());
                    }
                    context.set_detachable(false);
                }
            }
        }
    }

    /// Continues a call as a task.
    fn kept_task(&self, task: TaskReservation, mut call: KeptCall) -> wire::Task {
        let (handle, handler) = (task.handle().clone(), self.clone());
        let context = call.context.clone();
        // The answer shows the status. Questions come after it.
        drop(context.show_status(&handle));
        let entered = handle.clone();
        let task = task.run(async move {
            let outcome = call.outcome().await;
            handler.task_outcome(&handle, &call.served, outcome)
        });
        context.enter_task(entered);
        task
    }
}

/// Returns the answer to a call that failed, with a text for the model.
fn failed(text: String) -> CallToolResponse {
    CallToolResult::error(vec![wire::ContentBlock::text(text)]).into()
}

/// Returns the text of a handler that has returned although its task was cancelled.
fn last_words(outcome: &RunOutcome<ToolResult>) -> Option<String> {
    match outcome {
        RunOutcome::Returned(Ok(result)) => result.content.iter().find_map(|block| block.as_text()).map(str::to_owned),
        RunOutcome::Returned(Err(error)) => Some(error.message().to_owned()),
        _ => None,
    }
}
