//! Calls that continue as tasks (`io.modelcontextprotocol/tasks`), for clients that know tasks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brumate_mcp::lowlevel::{TaskHandle, TaskOutcome, TaskReservation};
use brumate_session::{InputRequest, RunEvent};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, CreateTaskResult};
use rmcp::service::RequestContext;

use crate::elicitation::{self, CallEvent, EventSink, RunningCall};
use crate::server::PythonServer;

/// Default time after which a call becomes a task: 2 seconds. Shorter calls are answered directly, which is faster than polling.
pub(crate) const TASK_AFTER: Duration = Duration::from_secs(2);
/// How much of the end of the output a task's status shows, in bytes.
const MAX_SHOWN: usize = 2048;
/// Longest time to notify subscribers of changed resources when a task has ended.
const TELL_TIMEOUT: Duration = Duration::from_secs(5);

/// The last 2 KiB of a call's output.
#[derive(Debug, Default)]
pub(crate) struct OutputTail(Mutex<String>);

impl OutputTail {
    /// Adds an event. Returns whether the shown text changed.
    pub(crate) fn push(&self, event: &RunEvent) -> bool {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::Output { text, .. } => shown.push_str(text),
            RunEvent::Loading { wheels } => shown.push_str(&format!("Loading {}\n", wheels.join(", "))),
            _ => return false,
        }
        if shown.len() > MAX_SHOWN {
            let from = shown.ceil_char_boundary(shown.len() - MAX_SHOWN);
            shown.drain(..from);
        }
        true
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Sets the status message of a task to the end of the output.
pub(crate) struct TaskStatus {
    task: TaskHandle,
    tail: Arc<OutputTail>,
}

impl TaskStatus {
    fn new(task: TaskHandle, tail: Arc<OutputTail>) -> Self {
        let text = tail.text();
        if !text.is_empty() {
            task.set_status_message(text);
        }
        Self { task, tail }
    }

    /// Adds an event of the run.
    pub(crate) fn push(&self, event: &RunEvent) {
        if self.tail.push(event) {
            self.task.set_status_message(self.tail.text());
        }
    }
}

impl PythonServer {
    /// Continues a call as a task. `question` is an input request that was not sent yet. Returns the response to the call.
    pub(crate) fn continue_as_task(
        &self,
        task: TaskReservation,
        call: RunningCall,
        question: Option<InputRequest>,
        tail: Arc<OutputTail>,
        context: &RequestContext<RoleServer>,
    ) -> CreateTaskResult {
        let (server, peer, handle) = (self.clone(), context.peer.clone(), task.handle().clone());
        // Set before the task runs, so that no output is lost in between.
        call.set_event_sink(Some(EventSink::Task(Arc::new(TaskStatus::new(handle.clone(), tail)))));
        CreateTaskResult::new(task.run(async move {
            let end = server.drive_task(call, question, handle).await;
            if let Some(interpreter) = server.interpreter_for(true) {
                // Slow subscribers see the change with their next request.
                let _ = tokio::time::timeout(TELL_TIMEOUT, interpreter.notify_changes(&peer, true)).await;
            }
            end
        }))
    }

    /// Drives a call to its end. Cancelling the task interrupts the code; its output becomes the status message.
    async fn drive_task(
        &self,
        mut call: RunningCall,
        mut question: Option<InputRequest>,
        task: TaskHandle,
    ) -> TaskOutcome {
        let cancel = call.cancel_token();
        let result = loop {
            if let Some(question) = question.take() {
                // This task ends with the input request.
                tokio::spawn(elicitation::ask_through_task(task.clone(), question, self.input_timeout));
            }
            tokio::select! {
                biased;
                () = task.cancellation().cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
                event = call.next_event() => match event {
                    CallEvent::Finished(result) => break result,
                    CallEvent::InputRequested(next) => question = Some(next),
                },
            }
        };
        let result = self.final_result(result);
        if task.is_cancelled_by_client() { TaskOutcome::Cancelled(text(&result)) } else { TaskOutcome::Result(result) }
    }
}

/// Returns the first text of a result.
fn text(result: &CallToolResult) -> Option<String> {
    result.content.iter().find_map(|content| content.as_text()).map(|text| text.text.clone())
}
