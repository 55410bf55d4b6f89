//! Questions of running code: `input()` and `getpass()` wait while somebody is asked.

use std::fmt;
use std::time::Duration;

use brumate_engine_api::{Event, Interrupter, StreamName};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep};

/// Questions of one execution; the next ones find the end of the input. A loop must not ask a person for ever.
pub const MAX_QUESTIONS: usize = 100;
/// Questions that may wait for whoever takes them: code waits for the answer to one before it asks the next.
const QUEUE: usize = 4;

/// What running code wants to know.
#[derive(Debug)]
#[non_exhaustive]
pub struct Question {
    /// What to show; may be empty.
    pub prompt: String,
    /// What is typed is not to be shown, nor kept.
    pub password: bool,
    /// Where the answer goes. Closed when the code waits no longer; dropped without an answer, the code is interrupted.
    pub reply: oneshot::Sender<Reply>,
}

impl Question {
    /// A question whose answer goes to `reply`.
    pub fn new(prompt: impl Into<String>, password: bool, reply: oneshot::Sender<Reply>) -> Self {
        Self { prompt: prompt.into(), password, reply }
    }
}

/// What becomes of a question.
#[derive(Clone, PartialEq, Eq)]
pub enum Reply {
    /// A line, without its end.
    Line(String),
    /// There is none: EOFError.
    End,
    /// The code is not to go on: KeyboardInterrupt, and this line in its output.
    Stop(String),
}

impl fmt::Debug for Reply {
    /// Without the line, which may be a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Reply::Line(_) => "Line(..)",
            Reply::End => "End",
            Reply::Stop(_) => "Stop(..)",
        })
    }
}

/// Whoever takes questions; part of a request that may ask.
pub type Questions = mpsc::Sender<Question>;

/// A way for questions: the request gets one end, who asks somebody the other.
pub fn questions() -> (Questions, mpsc::Receiver<Question>) {
    mpsc::channel(QUEUE)
}

/// The questions of one execution, on their way to whoever takes them, and the answers on their way back.
pub(crate) struct Asker {
    questions: Option<Questions>,
    left: usize,
    reply: Option<oneshot::Receiver<Reply>>,
    waiting: watch::Sender<bool>,
}

impl Asker {
    pub(crate) fn new(questions: Option<Questions>) -> Self {
        Self { questions, left: MAX_QUESTIONS, reply: None, waiting: watch::Sender::new(false) }
    }

    /// Somebody takes questions.
    pub(crate) fn allows(&self) -> bool {
        self.questions.is_some()
    }

    /// Becomes true while somebody is asked.
    pub(crate) fn waiting(&self) -> watch::Receiver<bool> {
        self.waiting.subscribe()
    }

    /// What says so.
    pub(crate) fn waiting_sender(&self) -> watch::Sender<bool> {
        self.waiting.clone()
    }

    /// Asks. When nobody takes the question, the code finds the end of the input.
    pub(crate) fn ask(&mut self, prompt: String, password: bool, interrupter: &dyn Interrupter) {
        let (sender, receiver) = oneshot::channel();
        let question = Question { prompt, password, reply: sender };
        let left = self.left.checked_sub(1);
        let taken = match (&self.questions, left) {
            (Some(questions), Some(_)) => questions.try_send(question).is_ok(),
            _ => false,
        };
        self.left = left.unwrap_or(0);
        // A question before it has been given up by the code.
        self.reply = taken.then_some(receiver);
        self.waiting.send_replace(taken);
        if !taken {
            interrupter.answer(None);
        }
    }

    /// The answer to the last question; never ready when there is none to wait for. Nothing is lost when the future is dropped.
    pub(crate) async fn replied(&mut self) -> Reply {
        let Some(reply) = &mut self.reply else { return std::future::pending().await };
        let reply = reply.await.unwrap_or_else(|_| Reply::Stop("[nobody answers the question]\n".to_owned()));
        self.reply = None;
        self.waiting.send_replace(false);
        reply
    }
}

/// Passes an answer on. Gives what is to be interrupted for, as an event of the output.
pub(crate) fn pass_on(reply: Reply, interrupter: &dyn Interrupter) -> Option<Event> {
    match reply {
        Reply::Line(line) => {
            // One that is too long for the engine is none.
            if !interrupter.answer(Some(line)) {
                interrupter.answer(None);
            }
            None
        }
        Reply::End => {
            interrupter.answer(None);
            None
        }
        Reply::Stop(text) => Some(Event::Stream { name: StreamName::Stderr, text }),
    }
}

/// Waits until `time` has passed that was not spent waiting for an answer.
pub(crate) async fn passed(time: Duration, mut waiting: watch::Receiver<bool>) {
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
            () = passed(Duration::from_secs(5), receiver) => {}
            () = asking => {}
        }
        // The clock is the test's own.
        assert_eq!(start.elapsed().as_secs(), 2005);
        // Nobody asks any more.
        let receiver = waiting.subscribe();
        drop(waiting);
        passed(Duration::from_secs(5), receiver).await;
        assert_eq!(start.elapsed().as_secs(), 2010);
    }
}
