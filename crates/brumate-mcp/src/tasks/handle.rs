//! What the work of a task sees of it.

use super::store::Tasks;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, InputRequest};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How a task's work ended.
#[derive(Debug)]
pub enum TaskEnd {
    /// With a result, which may be an error of the tool.
    Result(CallToolResult),
    /// With an error of the protocol.
    Error(ErrorData),
    /// Because the client wanted it to; with something to say about it.
    Cancelled(Option<String>),
}

/// A task, for the work that it stands for.
#[derive(Clone, Debug)]
pub struct TaskHandle {
    pub(super) tasks: Tasks,
    pub(super) id: String,
    pub(super) cancel: CancellationToken,
}

impl TaskHandle {
    /// Its name for the client.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Fires when the work should end: the client wants it to, it has run for too long, or the server stops.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Whether it was the client who wanted the work to end.
    pub fn is_unwanted(&self) -> bool {
        self.tasks.with(&self.id, |entry| entry.unwanted).unwrap_or(true)
    }

    /// Says how the work goes, in a line for people; the client sees it when it asks.
    pub fn say(&self, message: impl Into<String>) {
        self.tasks.with(&self.id, |entry| {
            if entry.is_running() {
                entry.say(message.into());
            }
        });
        self.tasks.tell();
    }

    /// Asks the client, which answers when it has seen the question. Questions have names that are used once: if there was
    /// one called `key` before, this one gets another name. Dropping the future withdraws the question.
    ///
    /// # Errors
    ///
    /// There are too many questions, or nobody will answer because the task is to end; in words.
    pub async fn ask(&self, key: &str, request: InputRequest) -> Result<Value, String> {
        let (answer, receiver) = oneshot::channel();
        let key = self.tasks.open(&self.id, key, request, answer)?;
        let _withdrawn = Withdraw { handle: self, key };
        if let Ok(answer) = receiver.await {
            return Ok(answer);
        }
        // Work that looks at its cancellation ends by that, and not with a failure.
        tokio::task::yield_now().await;
        Err("nobody answers: the task is to end".to_owned())
    }
}

/// Takes back a question that nobody waits for.
struct Withdraw<'a> {
    handle: &'a TaskHandle,
    key: String,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        let withdrawn = self.handle.tasks.with(&self.handle.id, |entry| {
            let open = entry.open.remove(&self.key).is_some();
            if open {
                entry.touch();
            }
            open
        });
        if withdrawn == Some(true) {
            self.handle.tasks.tell();
        }
    }
}
