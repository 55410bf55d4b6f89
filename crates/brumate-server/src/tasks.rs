//! Calls that go on as tasks (`io.modelcontextprotocol/tasks`): code that takes its time, for clients that know tasks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brumate_mcp::lowlevel::{TaskHandle, TaskOutcome, TaskReservation};
use brumate_session::{InputRequest, RunEvent};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, CreateTaskResult};
use rmcp::service::RequestContext;

use crate::handler::PythonServer;
use crate::questions::{self, Conversation, Listener, Step};

/// Code that has ended by then is answered in its call: asking for it would take longer.
pub(crate) const TASK_AFTER: Duration = Duration::from_secs(2);
/// The end of the output that is shown of code that runs, in bytes.
const MAX_SHOWN: usize = 2048;
/// How long those who listen to changes may take to be told when a task has ended.
const TELL_TIMEOUT: Duration = Duration::from_secs(5);

/// The end of a call's output.
#[derive(Debug, Default)]
pub(crate) struct Tail(Mutex<String>);

impl Tail {
    /// Takes note of an event; whether it is shown.
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

/// Shows the end of the output to whoever asks how a task goes.
pub(crate) struct TaskStatus {
    task: TaskHandle,
    tail: Arc<Tail>,
}

impl TaskStatus {
    fn new(task: TaskHandle, tail: Arc<Tail>) -> Self {
        let text = tail.text();
        if !text.is_empty() {
            task.set_status_message(text);
        }
        Self { task, tail }
    }

    pub(crate) fn hear(&self, event: &RunEvent) {
        if self.tail.push(event) {
            self.task.set_status_message(self.tail.text());
        }
    }
}

impl PythonServer {
    /// Lets a call go on as a task, beginning with a question if it has one; what the client is told.
    pub(crate) fn go_on_as_task(
        &self,
        task: TaskReservation,
        call: Conversation,
        question: Option<InputRequest>,
        tail: Arc<Tail>,
        context: &RequestContext<RoleServer>,
    ) -> CreateTaskResult {
        let (server, peer, handle) = (self.clone(), context.peer.clone(), task.handle().clone());
        // From now on, so that no output falls in between.
        call.listen(Some(Listener::Task(Arc::new(TaskStatus::new(handle.clone(), tail)))));
        CreateTaskResult::new(task.run(async move {
            let end = server.accompany(call, question, handle).await;
            if let Some(interpreter) = server.interpreter_for(true) {
                // Those who take longer see the change when they look.
                let _ = tokio::time::timeout(TELL_TIMEOUT, interpreter.tell_changes(&peer, true)).await;
            }
            end
        }))
    }

    /// Accompanies a call to its end. A task that is cancelled interrupts the code, whose output is kept.
    async fn accompany(&self, mut call: Conversation, mut question: Option<InputRequest>, task: TaskHandle) -> TaskOutcome {
        let cancel = call.cancel();
        let ended = loop {
            if let Some(question) = question.take() {
                // Ends with the question.
                tokio::spawn(questions::ask_in_task(task.clone(), question, self.patience));
            }
            tokio::select! {
                biased;
                () = task.cancellation().cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
                step = call.step() => match step {
                    Step::Ended(ended) => break ended,
                    Step::Asked(asked) => question = Some(asked),
                },
            }
        };
        let result = self.ended(ended);
        if task.is_cancelled_by_client() { TaskOutcome::Cancelled(text(&result)) } else { TaskOutcome::Result(result) }
    }
}

/// What a result says first, in words.
fn text(result: &CallToolResult) -> Option<String> {
    result.content.iter().find_map(|content| content.as_text()).map(|text| text.text.clone())
}
