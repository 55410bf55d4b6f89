//! Calls of tools whose handlers run on between the requests of a call.

use super::Handler;
use super::call::{Work, failed};
use crate::context::Context;
use crate::http::request_extensions::principal;
use crate::http::without_charge;
use crate::kept_call::KeptCall;
use crate::suspended_calls::{CallDigest, ResumeResult};
use crate::suspension::Suspension;
use crate::tasks::{TaskReservation, TaskSupport};
use crate::tool::{ServedTool, TaskTiming};
use rmcp::model::{self as wire, CallToolRequestParams, CallToolResponse};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use std::sync::Arc;

impl Handler {
    /// Starts a call, and answers its first request. `timing`: when the call becomes a task, if it can.
    pub(super) async fn begin_kept(
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
    pub(super) async fn resume_kept(
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
