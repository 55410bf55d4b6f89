//! What ends a machine from outside: its time limits, and whoever holds an [`InterruptHandle`].

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::sync::watch;
use tokio::time::Instant;

use super::mounted::Mounted;
use super::{footprint, page_map};
use crate::api::{InstallAnswer, Layer, MAX_INPUT, StopReason};

/// A KeyboardInterrupt is sent again after this time, and again: guest code may have swallowed it. Before the second one half of the grace
/// time passes, if that is longer: guest code may be busy with what it does about the first.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(500);

/// The machine's process, by a handle that cannot be mistaken for another's. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    pidfd: OwnedFd,
}

impl Process {
    /// A handle of a process that is known to live.
    ///
    /// # Errors
    /// When it has ended.
    pub(super) fn open(pid: Pid) -> Result<Process, rustix::io::Errno> {
        Ok(Process { pid, pidfd: pidfd_open(pid, PidfdFlags::empty())? })
    }

    pub(super) fn kill(&self) {
        // A process that has ended already needs no signal.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// Which pages of its memory it has to itself, for it to read; `None` where that cannot be had.
    pub(super) fn page_map(&self) -> Option<File> {
        // What lives now was the one with this number then, too.
        page_map::open(self.pid).filter(|_| self.is_alive())
    }

    /// Bytes of memory that it has beside files; `None` where that cannot be had.
    pub(super) fn anonymous_bytes(&self) -> Option<u64> {
        // As above.
        footprint::anonymous_bytes(self.pid).filter(|_| self.is_alive())
    }

    /// False once it has ended.
    pub(super) fn is_alive(&self) -> bool {
        let mut entry = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut entry, Some(&now)), Ok(0))
    }

    /// Asks for the stop of one of its executions. A process that is too full of these gets the next one.
    fn stop(&self, execution: u64) {
        let _ = crate::signals::queue(self.pidfd.as_fd(), execution);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What an [`InterruptHandle`] has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    None,
    Interrupt,
    Kill,
}

/// What the guest waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PendingRequest {
    Nothing,
    Input,
    Install,
    Answered(GuestAnswer),
}

/// What it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GuestAnswer {
    /// A line, or the end of the input.
    Input(Option<String>),
    /// What comes of its wish for packages.
    Install(Result<InstallAnswer, String>),
}

/// What was asked of a machine during one of its executions, or before it.
#[derive(Debug)]
struct Asked {
    /// Which one, counted from 0.
    execution: u64,
    request: Request,
    question: PendingRequest,
}

/// Stops one execution of a machine from elsewhere, and answers its questions. It belongs to the execution that ran when it
/// was made, or else to the next one: what comes too late for that one does not concern those after it.
#[derive(Debug, Clone)]
pub struct InterruptHandle {
    asked: watch::Sender<Asked>,
    execution: u64,
    mounted: Mounted,
}

impl InterruptHandle {
    /// One of a machine with these layers.
    pub(super) fn of(mounted: Mounted) -> InterruptHandle {
        let asked = Asked { execution: 0, request: Request::None, question: PendingRequest::Nothing };
        InterruptHandle { asked: watch::Sender::new(asked), execution: 0, mounted }
    }

    /// One that nobody has.
    pub(super) fn new() -> InterruptHandle {
        InterruptHandle::of(Mounted::default())
    }

    /// Wheels that its machine has mounted at present.
    pub fn layers(&self) -> Vec<Layer> {
        self.mounted.get()
    }

    /// Raises KeyboardInterrupt in the guest; sends SIGKILL when it has not ended after [`Limits::grace`](crate::api::Limits::grace).
    pub fn interrupt(&self) {
        self.change(|asked| {
            let change = asked.request == Request::None;
            if change {
                asked.request = Request::Interrupt;
            }
            change
        });
    }

    /// Kills the machine at once (SIGKILL).
    pub fn kill(&self) {
        self.change(|asked| {
            asked.request = Request::Kill;
            true
        });
    }

    /// Answers an [`InputRequest`](crate::api::Event::InputRequest) with a line, without its end; `None` is the end of the
    /// input. False when the guest waits for no answer, or the line is longer than [`MAX_INPUT`].
    pub fn answer(&self, line: Option<String>) -> bool {
        if line.as_ref().is_some_and(|line| line.len() > MAX_INPUT) {
            return false;
        }
        self.reply(&PendingRequest::Input, GuestAnswer::Input(line))
    }

    /// Answers an [`Install`](crate::api::Event::Install) with what is to be mounted, or with the text of a refusal. False when
    /// the guest waits for no such answer.
    pub fn install(&self, answer: Result<InstallAnswer, String>) -> bool {
        self.reply(&PendingRequest::Install, GuestAnswer::Install(answer))
    }

    fn reply(&self, question: &PendingRequest, answer: GuestAnswer) -> bool {
        self.change(|asked| {
            let change = asked.question == *question;
            if change {
                asked.question = PendingRequest::Answered(answer);
            }
            change
        })
    }

    /// Changes what is asked, if its execution is not over.
    fn change(&self, change: impl FnOnce(&mut Asked) -> bool) -> bool {
        self.asked.send_if_modified(|asked| asked.execution == self.execution && change(asked))
    }

    /// One for the execution that runs now, or the next one.
    pub(super) fn present(&self) -> InterruptHandle {
        InterruptHandle { execution: self.asked.borrow().execution, ..self.clone() }
    }

    /// The present execution is over; nobody can stop it any more.
    pub(super) fn execution_ended(&self) {
        self.asked.send_modify(|asked| {
            *asked =
                Asked { execution: asked.execution + 1, request: Request::None, question: PendingRequest::Nothing };
        });
    }

    /// Number of its execution, as its machine counts: from 1.
    pub(super) fn number(&self) -> u64 {
        self.execution + 1
    }

    /// The guest waits for an answer from now on: for packages, or else for a line.
    pub(super) fn ask(&self, install: bool) {
        let question = if install { PendingRequest::Install } else { PendingRequest::Input };
        self.asked.send_modify(|asked| asked.question = question);
    }

    /// Nobody will answer the present question.
    pub(super) fn clear(&self) {
        self.asked.send_modify(|asked| asked.question = PendingRequest::Nothing);
    }

    /// Waits for the answer, and takes it.
    pub(super) async fn answered(&self) -> GuestAnswer {
        let mut asked = self.asked.subscribe();
        loop {
            // `self` holds the sender: it never ends.
            let _ = asked.wait_for(|asked| matches!(asked.question, PendingRequest::Answered(_))).await;
            let mut answer = None;
            self.asked.send_if_modified(|asked| {
                if let PendingRequest::Answered(_) = asked.question
                    && let PendingRequest::Answered(given) =
                        std::mem::replace(&mut asked.question, PendingRequest::Nothing)
                {
                    answer = Some(given);
                }
                false
            });
            if let Some(answer) = answer {
                return answer;
            }
        }
    }
}

/// The time of one conversation with a machine or a zygote.
#[derive(Debug)]
pub(super) struct Clock {
    /// `None` while it stands still.
    deadline: watch::Sender<Option<Instant>>,
    stopped: OnceLock<StopReason>,
}

/// A clock that stands still.
#[derive(Debug)]
pub(super) struct StandsStill {
    deadline: Option<Instant>,
    since: Instant,
}

impl Clock {
    /// Starts; a time beyond all measure is none.
    pub(super) fn start(wall: Duration) -> Clock {
        Clock { deadline: watch::Sender::new(Instant::now().checked_add(wall)), stopped: OnceLock::new() }
    }

    /// Why the guest was interrupted, if it was.
    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.stopped.get().copied()
    }

    /// Does `work`, which does not count as the guest's time.
    pub(super) async fn paused<T>(&self, work: impl Future<Output = T>) -> T {
        let still = self.stand_still();
        let done = work.await;
        self.go_on(still);
        done
    }

    /// Stands still from now on; gives what [`Clock::go_on`] wants.
    pub(super) fn stand_still(&self) -> StandsStill {
        StandsStill { deadline: self.deadline.send_replace(None), since: Instant::now() }
    }

    /// Goes on: what passed meanwhile does not count as the guest's time.
    pub(super) fn go_on(&self, still: StandsStill) {
        self.deadline.send_replace(still.deadline.and_then(|at| at.checked_add(still.since.elapsed())));
    }

    /// Interrupts the guest when its time is up or, in an execution, when asked to. Returns when the process has to be killed,
    /// and why.
    ///
    /// To be asked before the machine is told of the execution: what was asked for already is on its way first.
    pub(super) async fn guard(
        &self,
        process: &Process,
        interrupt_handle: &InterruptHandle,
        execution: Option<u64>,
        grace: Duration,
    ) -> StopReason {
        let mut requests = interrupt_handle.asked.subscribe();
        // What was asked before this conversation counts as well.
        requests.mark_changed();
        // What else a machine does cannot be interrupted: a stop is kept for the execution it is meant for.
        let least = if execution.is_some() { Request::Interrupt } else { Request::Kill };
        let reason = tokio::select! {
            biased;
            request = asked(&mut requests, least) => {
                if request == Request::Kill {
                    return StopReason::Cancelled;
                }
                StopReason::Cancelled
            }
            () = self.passes() => StopReason::TimeLimit,
        };
        let reason = *self.stopped.get_or_init(|| reason);
        let kill_at = Instant::now().checked_add(grace);
        let mut pause = INTERRUPT_AGAIN.max(grace / 2);
        loop {
            if let Some(execution) = execution {
                process.stop(execution);
            }
            let again = Instant::now().checked_add(pause).or(kill_at);
            pause = INTERRUPT_AGAIN;
            tokio::select! {
                biased;
                _ = asked(&mut requests, Request::Kill) => return StopReason::Cancelled,
                () = sleep_until(kill_at.into_iter().chain(again).min()) => {}
            }
            if kill_at.is_some_and(|at| Instant::now() >= at) {
                return reason;
            }
        }
    }

    /// Waits until the deadline has passed, wherever it is moved meanwhile.
    pub(super) async fn passes(&self) {
        let mut deadline = self.deadline.subscribe();
        loop {
            let at = *deadline.borrow_and_update();
            tokio::select! {
                biased;
                // `self` holds the sender: it never ends.
                _ = deadline.changed() => {}
                () = sleep_until(at) => return,
            }
        }
    }
}

/// Waits until at least `least` is asked for.
async fn asked(requests: &mut watch::Receiver<Asked>, least: Request) -> Request {
    loop {
        // The guard borrows an interrupt_handle, hence a sender: it never ends.
        let _ = requests.changed().await;
        let request = requests.borrow_and_update().request;
        if request == Request::Kill || request == least {
            return request;
        }
    }
}

/// Sleeps until `at`; for ever when there is none.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
