//! One call, over as many requests as its questions take.

use std::sync::{Arc, Mutex, PoisonError};

use brumate_session::{CancellationToken, InputRequest, InputRequests, RunEvent, input_requests};
use rmcp::model::CallToolResult;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::DropGuard;

use crate::log::LogPump;
use crate::progress::ProgressPump;
use crate::tasks::{Tail, TaskStatus};

/// What is told of a call to the client while one request of it waits.
pub(crate) struct Audience {
    pub(crate) log: LogPump,
    pub(crate) progress: ProgressPump,
    /// The end of the output, for a call that may become a task.
    pub(crate) tail: Option<Arc<Tail>>,
}

impl Audience {
    fn hear(&self, event: &RunEvent) {
        self.log.push(event);
        self.progress.push(event);
        if let Some(tail) = &self.tail {
            tail.push(event);
        }
    }

    /// Sends until everything is said.
    pub(crate) async fn tell(&self) {
        tokio::join!(self.log.run(), self.progress.run());
    }

    /// Lets [`Audience::tell`] end.
    pub(crate) fn close(&self) {
        self.log.close();
        self.progress.close();
    }
}

/// Who hears of a call.
#[derive(Clone)]
pub(crate) enum Listener {
    /// The client, while one request of it waits.
    Client(Arc<Audience>),
    /// Whoever asks how the task goes.
    Task(Arc<TaskStatus>),
}

/// Where a call's events go; nowhere between two requests, when the code waits.
type Listening = Arc<Mutex<Option<Listener>>>;

/// A call that is under way in a task of its own. Dropping it cancels the call.
pub(crate) struct Conversation {
    task: JoinHandle<CallToolResult>,
    asked: mpsc::Receiver<InputRequest>,
    listener: Listening,
    cancel: CancellationToken,
    _cancel_when_dropped: DropGuard,
    /// Of the tool and the arguments.
    pub(crate) digest: u64,
}

/// What happens next in a call.
pub(crate) enum Step {
    /// It is over; a panic is the inner error.
    Ended(Result<CallToolResult, JoinError>),
    /// Its code wants to know something.
    Asked(InputRequest),
}

/// What a call's work gets.
pub(crate) struct Part {
    pub(crate) cancel: CancellationToken,
    pub(crate) questions: InputRequests,
    listener: Listening,
}

impl Part {
    /// Tells the client of an event.
    pub(crate) fn hear(&self, event: &RunEvent) {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match listener {
            Some(Listener::Client(audience)) => audience.hear(event),
            Some(Listener::Task(status)) => status.hear(event),
            None => {}
        }
    }
}

impl Conversation {
    /// Begins a call that `cancel` ends.
    pub(crate) fn begin<F>(cancel: CancellationToken, digest: u64, work: impl FnOnce(Part) -> F) -> Self
    where
        F: Future<Output = CallToolResult> + Send + 'static,
    {
        let (questions, asked) = input_requests();
        let listener = Listening::default();
        let part = Part { cancel: cancel.clone(), questions, listener: Arc::clone(&listener) };
        let task = tokio::spawn(work(part));
        Self { task, asked, listener, _cancel_when_dropped: cancel.clone().drop_guard(), cancel, digest }
    }

    pub(crate) fn cancel(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// From now on events go to `listener`.
    pub(crate) fn listen(&self, listener: Option<Listener>) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = listener;
    }

    pub(crate) async fn step(&mut self) -> Step {
        tokio::select! {
            biased;
            ended = &mut self.task => Step::Ended(ended),
            Some(question) = self.asked.recv() => Step::Asked(question),
        }
    }
}
