//! Input requests of running code: `input()` and `getpass()` wait for an answer.

use std::fmt;
use std::time::Duration;

use brumate_engine_api::{Event, GuestAnswer, InterruptHandle, StreamName};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep};

/// Most input requests of one execution; further ones get EOF. A loop must not ask a person for ever.
pub const MAX_INPUT_REQUESTS: usize = 100;
/// Requests that may wait for the receiver. Code waits for an answer before it asks again.
const QUEUE: usize = 4;

/// Request for a line of input.
#[derive(Debug)]
#[non_exhaustive]
pub struct InputRequest {
    /// Prompt to show; may be empty.
    pub prompt: String,
    /// Whether the input is secret: do not show or keep it.
    pub password: bool,
    /// Channel for the answer. It is closed when the code does not wait any more. Dropping it interrupts the code.
    pub reply: oneshot::Sender<InputReply>,
}

impl InputRequest {
    /// Makes a request that is answered on `reply`.
    pub fn new(prompt: impl Into<String>, password: bool, reply: oneshot::Sender<InputReply>) -> Self {
        Self { prompt: prompt.into(), password, reply }
    }
}

/// Answer to an input request.
#[derive(Clone, PartialEq, Eq)]
pub enum InputReply {
    /// A line, without its line end.
    Line(String),
    /// No input: EOFError in the code.
    End,
    /// Interrupts the code: KeyboardInterrupt, and this text in its output.
    Stop(String),
}

impl fmt::Debug for InputReply {
    /// Hides the line, which may be a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            InputReply::Line(_) => "Line(..)",
            InputReply::End => "End",
            InputReply::Stop(_) => "Stop(..)",
        })
    }
}

/// Sender of input requests; part of a run's request that allows input.
pub type InputRequests = mpsc::Sender<InputRequest>;

/// Makes a channel for input requests. The sender goes into the run's request.
pub fn input_requests() -> (InputRequests, mpsc::Receiver<InputRequest>) {
    mpsc::channel(QUEUE)
}

/// Forwards the input requests of one execution, and the answers back to it.
pub(crate) struct InputForwarder {
    input_requests: Option<InputRequests>,
    left: usize,
    /// Number of the request that waits, and the receiver of its answer.
    pending: Option<(u64, oneshot::Receiver<InputReply>)>,
    waiting: watch::Sender<bool>,
}

impl InputForwarder {
    pub(crate) fn new(input_requests: Option<InputRequests>) -> Self {
        Self { input_requests, left: MAX_INPUT_REQUESTS, pending: None, waiting: watch::Sender::new(false) }
    }

    /// Returns whether input requests are allowed.
    pub(crate) fn is_allowed(&self) -> bool {
        self.input_requests.is_some()
    }

    /// Returns a receiver that is true while a request waits for its answer.
    pub(crate) fn waiting(&self) -> watch::Receiver<bool> {
        self.waiting.subscribe()
    }

    /// Returns the sender of [`waiting`](Self::waiting).
    pub(crate) fn waiting_sender(&self) -> watch::Sender<bool> {
        self.waiting.clone()
    }

    /// Sends the request with the number `id`. The code gets EOF if there is no receiver.
    pub(crate) fn request(&mut self, id: u64, prompt: String, password: bool, interrupt_handle: &dyn InterruptHandle) {
        let (sender, receiver) = oneshot::channel();
        let request = InputRequest { prompt, password, reply: sender };
        let left = self.left.checked_sub(1);
        let taken = match (&self.input_requests, left) {
            (Some(input_requests), Some(_)) => input_requests.try_send(request).is_ok(),
            _ => false,
        };
        self.left = left.unwrap_or(0);
        // An earlier request was given up by the code.
        self.pending = taken.then_some((id, receiver));
        self.waiting.send_replace(taken);
        if !taken {
            interrupt_handle.answer(id, GuestAnswer::Input(None));
        }
    }

    /// Returns the number of the last request and its answer; never ready when none is pending. Cancellation-safe.
    pub(crate) async fn reply(&mut self) -> (u64, InputReply) {
        let Some((id, pending)) = &mut self.pending else { return std::future::pending().await };
        let id = *id;
        let reply = pending.await.unwrap_or_else(|_| InputReply::Stop("[nobody answers the question]\n".to_owned()));
        self.pending = None;
        self.waiting.send_replace(false);
        (id, reply)
    }
}

/// Passes the answer to the request with the number `id` to the machine. Returns an output event when the code has to be
/// interrupted.
pub(crate) fn deliver_reply(id: u64, reply: InputReply, interrupt_handle: &dyn InterruptHandle) -> Option<Event> {
    let answer = |line| interrupt_handle.answer(id, GuestAnswer::Input(line));
    match reply {
        InputReply::Line(line) => {
            // A line that is too long for the engine counts as EOF.
            if !answer(Some(line)) {
                answer(None);
            }
            None
        }
        InputReply::End => {
            answer(None);
            None
        }
        InputReply::Stop(text) => Some(Event::Stream { name: StreamName::Stderr, text }),
    }
}

/// Waits until `time` has passed, not counting the time during which `waiting` is true.
pub(crate) async fn sleep_excluding_waits(time: Duration, mut waiting: watch::Receiver<bool>) {
    let mut left = time;
    loop {
        if *waiting.borrow_and_update() {
            if waiting.changed().await.is_err() {
                return std::future::pending().await;
            }
            continue;
        }
        let start = Instant::now();
        tokio::select! {
            () = sleep(left) => return,
            changed = waiting.changed() => {
                left = left.saturating_sub(start.elapsed());
                if changed.is_err() {
                    return sleep(left).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_spent_waiting_does_not_count() {
        let start = Instant::now();
        let waiting = watch::Sender::new(false);
        let receiver = waiting.subscribe();
        let asking = async {
            for _ in 0..2 {
                sleep(Duration::from_secs(1)).await;
                waiting.send_replace(true);
                sleep(Duration::from_secs(1000)).await;
                waiting.send_replace(false);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = sleep_excluding_waits(Duration::from_secs(5), receiver) => {}
            () = asking => {}
        }
        // The test's clock is paused.
        assert_eq!(start.elapsed().as_secs(), 2005);
        // The sender is gone.
        let receiver = waiting.subscribe();
        drop(waiting);
        sleep_excluding_waits(Duration::from_secs(5), receiver).await;
        assert_eq!(start.elapsed().as_secs(), 2010);
    }
}
