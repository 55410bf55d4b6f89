//! A tool call in a task of its own. One call may take several requests of the client: one more for each input request.

use std::sync::{Arc, Mutex, PoisonError};

use brumate_mcp::lowlevel::CallDigest;
use brumate_session::{CancellationToken, InputRequest, InputRequests, RunEvent, input_requests};
use rmcp::model::CallToolResult;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::DropGuard;

use crate::log::LogSender;
use crate::progress::ProgressSender;
use crate::tasks::{OutputTail, TaskStatus};

/// Sends the events of a call to the client while one of its requests waits for a response.
pub(crate) struct ClientNotifier {
    pub(crate) log: LogSender,
    pub(crate) progress: ProgressSender,
    /// The end of the output. `None` for a call that cannot become a task.
    pub(crate) tail: Option<Arc<OutputTail>>,
}

impl ClientNotifier {
    fn push(&self, event: &RunEvent) {
        self.log.push(event);
        self.progress.push(event);
        if let Some(tail) = &self.tail {
            tail.push(event);
        }
    }

    /// Sends messages until [`ClientNotifier::close`] was called and all of them are sent.
    pub(crate) async fn send_messages(&self) {
        tokio::join!(self.log.run(), self.progress.run());
    }

    /// Says that no more events follow.
    pub(crate) fn close(&self) {
        self.log.close();
        self.progress.close();
    }
}

/// The receiver of a call's events.
#[derive(Clone)]
pub(crate) enum EventSink {
    /// The client, while one of its requests waits for a response.
    Client(Arc<ClientNotifier>),
    /// The status of the task that the call has become.
    Task(Arc<TaskStatus>),
}

/// The current event sink of a call. `None` between two requests of the client, while the code waits for input.
type CurrentSink = Arc<Mutex<Option<EventSink>>>;

/// A call that runs in a task of its own. Dropping it cancels the call.
pub(crate) struct RunningCall {
    task: JoinHandle<CallToolResult>,
    input_requests: mpsc::Receiver<InputRequest>,
    event_sink: CurrentSink,
    cancel: CancellationToken,
    _cancel_when_dropped: DropGuard,
    /// The digest of the tool's name and arguments.
    pub(crate) digest: CallDigest,
}

/// The next event of a call that its request must act on.
pub(crate) enum CallEvent {
    /// The call has ended. The inner error is a panic.
    Finished(Result<CallToolResult, JoinError>),
    /// The code asks for input.
    InputRequested(InputRequest),
}

/// The context that the work of a call receives.
pub(crate) struct CallContext {
    pub(crate) cancel: CancellationToken,
    pub(crate) questions: InputRequests,
    event_sink: CurrentSink,
}

impl CallContext {
    /// Sends an event to the current event sink.
    pub(crate) fn send_event(&self, event: &RunEvent) {
        let event_sink = self.event_sink.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match event_sink {
            Some(EventSink::Client(notifier)) => notifier.push(event),
            Some(EventSink::Task(status)) => status.push(event),
            None => {}
        }
    }
}

impl RunningCall {
    /// Starts `work` in a task of its own. `cancel` cancels it.
    pub(crate) fn start<F>(cancel: CancellationToken, digest: CallDigest, work: impl FnOnce(CallContext) -> F) -> Self
    where
        F: Future<Output = CallToolResult> + Send + 'static,
    {
        let (questions, input_requests) = input_requests();
        let event_sink = CurrentSink::default();
        let context = CallContext { cancel: cancel.clone(), questions, event_sink: Arc::clone(&event_sink) };
        let task = tokio::spawn(work(context));
        Self { task, input_requests, event_sink, _cancel_when_dropped: cancel.clone().drop_guard(), cancel, digest }
    }

    /// Returns the token that cancels the call.
    pub(crate) fn cancel_token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Sets where events go from now on. `None`: they are dropped.
    pub(crate) fn set_event_sink(&self, event_sink: Option<EventSink>) {
        *self.event_sink.lock().unwrap_or_else(PoisonError::into_inner) = event_sink;
    }

    /// Waits for the result or the next input request.
    pub(crate) async fn next_event(&mut self) -> CallEvent {
        tokio::select! {
            biased;
            result = &mut self.task => CallEvent::Finished(result),
            Some(question) = self.input_requests.recv() => CallEvent::InputRequested(question),
        }
    }
}
