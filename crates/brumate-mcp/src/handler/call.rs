//! Calls of tools: answered in their request, or by a task.

use super::Handler;
use super::work::Interrupted;
use crate::content::Content;
use crate::context::{Context, knows_tasks};
use crate::error::Error;
use crate::http::principal;
use crate::result::ToolResult;
use crate::run::{Outcome, run};
use crate::tasks::{NewTask, NoRoom, TaskEnd, TaskSupport};
use crate::tool::{BecomesTask, ServedTool};
use futures::future::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::{self as wire, CallToolResponse, CallToolResult, ClientCapabilities};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a handler does.
type Work = BoxFuture<'static, Result<ToolResult, Error>>;

impl Handler {
    pub(super) async fn call(
        &self,
        served: Arc<ServedTool>,
        arguments: Map<String, Value>,
        context: Context,
        identity: &str,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(arguments);
        if let Err(problems) = served.input.check(&arguments) {
            return Ok(failed(format!("invalid arguments for `{}`:\n{problems}", served.tool.name)).into());
        }
        let Value::Object(arguments) = arguments else {
            return Err(ErrorData::internal_error("arguments are an object", None));
        };
        let Some(handler) = served.tool.handler.clone() else {
            return Err(ErrorData::internal_error("the tool has no handler", None));
        };
        let becomes = match (served.tool.tasks, knows_tasks(context.request())) {
            (TaskSupport::Required, false) => {
                let required = ClientCapabilities::builder().enable_tasks().build();
                return Err(ErrorData::missing_required_client_capability(required));
            }
            (TaskSupport::Never, _) | (TaskSupport::Optional, false) => None,
            (TaskSupport::Optional | TaskSupport::Required, true) => Some(served.tool.becomes),
        };
        context.set_detachable(becomes == Some(BecomesTask::WhenSaid));
        let mut work: Work = {
            let (server, served, context) = (self.server.clone(), served.clone(), context.clone());
            Box::pin(async move { server.call(&served.tool, handler, arguments, context).await })
        };
        if let Some(becomes) = becomes {
            let time = async || match becomes {
                BecomesTask::AtOnce => {}
                BecomesTask::After(time) => tokio::time::sleep(time).await,
                BecomesTask::WhenSaid => context.detaching().await,
            };
            let outcome = match becomes {
                BecomesTask::AtOnce => None,
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
                return Ok(wire::CreateTaskResult::new(self.go_on(task, served, context, work)).into());
            }
            context.set_detachable(false);
            if becomes == BecomesTask::AtOnce && served.tool.tasks == TaskSupport::Required {
                return Ok(failed(NoRoom.to_string()).into());
            }
        }
        let outcome = run(&context, &mut work).await;
        self.outcome(&served, outcome, identity)
    }

    /// Lets the work of a call go on as a task.
    fn go_on(&self, task: NewTask, served: Arc<ServedTool>, context: Context, work: Work) -> wire::Task {
        let (handle, handler) = (task.handle().clone(), self.clone());
        context.enter_task(handle.clone());
        task.run(async move {
            let outcome = run(&context, work).await;
            if matches!(outcome, Outcome::Cancelled) && handle.is_unwanted() {
                return TaskEnd::Cancelled(None);
            }
            match handler.outcome(&served, outcome, "") {
                Ok(CallToolResponse::Complete(result)) => TaskEnd::Result(result),
                Ok(_) => TaskEnd::Error(ErrorData::internal_error("a task cannot ask in its call", None)),
                Err(error) => TaskEnd::Error(error),
            }
        })
    }

    /// What a call's work became, as its answer.
    fn outcome(
        &self,
        served: &ServedTool,
        outcome: Outcome<ToolResult>,
        identity: &str,
    ) -> Result<CallToolResponse, ErrorData> {
        let what = format!("tool `{}`", served.tool.name);
        if let Outcome::Panicked(message) = &outcome {
            tracing::error!(panic = message, "{what} panicked");
            return Ok(failed(format!("{what} failed unexpectedly")).into());
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
                    return Ok(failed(text).into());
                }
                Ok(result.into_wire().into())
            }
            Interrupted::Not(Err(error)) => match error.as_protocol() {
                Some(error) => Err(error),
                None => Ok(CallToolResult::error(vec![Content::text(error.message()).into_wire()]).into()),
            },
        }
    }
}

fn failed(text: String) -> CallToolResult {
    CallToolResult::error(vec![wire::ContentBlock::text(text)])
}
