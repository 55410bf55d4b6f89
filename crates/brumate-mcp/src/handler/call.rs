//! Calls of tools: answered in their request or by a task.

use super::Handler;
use super::outcome::HandlerOutcome;
use crate::context::{Context, supports_tasks};
use crate::error::Error;
use crate::http::request_extensions::principal;
use crate::result::ToolResult;
use crate::run::{RunOutcome, run};
use crate::suspended_calls::CallDigest;
use crate::tasks::{TaskHandle, TaskOutcome, TaskReservation, TaskSupport, TooManyTasks};
use crate::tool::{ServedTool, TaskTiming};
use futures::future::BoxFuture;
use rmcp::model::{self as wire, CallToolResponse, CallToolResult, ClientCapabilities};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The work of a handler.
pub(super) type Work = BoxFuture<'static, Result<ToolResult, Error>>;

/// How a call goes on after its handler has requested input, since 2026-07-28.
pub(super) enum CallKind {
    /// The handler runs again. A retry must repeat this identity.
    Rounds(String),
    /// The handler runs on. A retry must have this digest; the request is the first one.
    Kept(CallDigest, RequestContext<RoleServer>),
}

impl Handler {
    /// Answers `tools/call`: checks the arguments, and runs the handler in the request or in a task.
    pub(super) async fn call(
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
        let mut work: Work = {
            let (server, served, context) = (self.server.clone(), served.clone(), context.clone());
            Box::pin(async move { server.call(&served.tool, handler, arguments, context).await })
        };
        let identity = match &kind {
            CallKind::Rounds(identity) => identity,
            CallKind::Kept(digest, request) => {
                let suspension = served.tool.suspension.clone().unwrap_or_default();
                return self.begin_kept(served, &suspension, (context, *digest), task_timing, (work, request)).await;
            }
        };
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
    pub(super) fn task_outcome(
        &self,
        handle: &TaskHandle,
        served: &ServedTool,
        outcome: RunOutcome<ToolResult>,
    ) -> TaskOutcome {
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
    pub(super) fn outcome(
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
}

/// Returns the answer to a call that failed, with a text for the model.
pub(super) fn failed(text: String) -> CallToolResponse {
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
