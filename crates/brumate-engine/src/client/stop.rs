//! Ends a machine from outside: by its time limits, or through an [`InterruptHandle`].

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
use crate::api::{self, InstallAnswer, Layer, MAX_INPUT, StopReason};

/// Delay after which a KeyboardInterrupt is sent again, repeatedly, because guest code may have swallowed it. Before
/// the second one it is at least half of the grace time, because guest code may be busy handling the first.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(500);

/// The machine's process, by a handle that never refers to another process. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    pidfd: OwnedFd,
}

impl Process {
    /// Opens a handle of a running process.
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

    /// Opens the page map of the process, for it to read; `None` if that is not available.
    pub(super) fn page_map(&self) -> Option<File> {
        // It is alive, so `pid` was its number when the file was opened.
        page_map::open(self.pid).filter(|_| self.is_alive())
    }

    /// Returns its bytes of memory except files; `None` if that is not available.
    pub(super) fn anonymous_bytes(&self) -> Option<u64> {
        // As above.
        footprint::anonymous_bytes(self.pid).filter(|_| self.is_alive())
    }

    /// Returns `false` once it has ended.
    pub(super) fn is_alive(&self) -> bool {
        let mut entry = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut entry, Some(&now)), Ok(0))
    }

    /// Queues the signal that stops one of its executions. If the process has too many queued signals, this one is lost
    /// and the next one is sent later.
    fn stop(&self, execution: u64) {
        let _ = crate::signals::queue(self.pidfd.as_fd(), execution);
    }

    /// Queues the signal that stops the busy task of one of its executions. It may be lost, as above.
    fn interrupt_busy_task(&self, execution: u64) {
        let _ = crate::signals::queue_busy_task(self.pidfd.as_fd(), execution);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Request of an [`InterruptHandle`].
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

/// Answer to the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GuestAnswer {
    /// A line, or the end of the input.
    Input(Option<String>),
    /// Result of an install request.
    Install(Result<InstallAnswer, String>),
}

/// Requests and answers of the handles for one execution, or for the next one.
#[derive(Debug)]
struct HandleState {
    /// Number of the execution, counted from 0.
    execution: u64,
    request: Request,
    /// Number of requests to interrupt the busy task of a server.
    task_interrupts: u64,
    pending: PendingRequest,
}

impl HandleState {
    /// Returns the state before anything is asked of an execution.
    fn of_execution(execution: u64) -> HandleState {
        HandleState { execution, request: Request::None, task_interrupts: 0, pending: PendingRequest::Nothing }
    }
}

/// Stops one execution of a machine from elsewhere, and answers its requests. It belongs to the execution that runs
/// when the handle is created, or else to the next one. It has no effect on later executions.
#[derive(Debug, Clone)]
pub struct InterruptHandle {
    state: watch::Sender<HandleState>,
    execution: u64,
    mounted: Mounted,
}

impl InterruptHandle {
    /// Returns a handle of a machine with these layers.
    pub(super) fn of(mounted: Mounted) -> InterruptHandle {
        InterruptHandle { state: watch::Sender::new(HandleState::of_execution(0)), execution: 0, mounted }
    }

    /// Returns a new handle without layers.
    pub(super) fn new() -> InterruptHandle {
        InterruptHandle::of(Mounted::default())
    }

    /// Stores an answer if the guest waits for one of this kind.
    fn reply(&self, pending: &PendingRequest, answer: GuestAnswer) -> bool {
        self.change(|state| {
            let change = state.pending == *pending;
            if change {
                state.pending = PendingRequest::Answered(answer);
            }
            change
        })
    }

    /// Changes the state if the execution of this handle has not ended.
    fn change(&self, change: impl FnOnce(&mut HandleState) -> bool) -> bool {
        self.state.send_if_modified(|state| state.execution == self.execution && change(state))
    }

    /// Returns a handle for the current execution, or the next one.
    pub(super) fn present(&self) -> InterruptHandle {
        InterruptHandle { execution: self.state.borrow().execution, ..self.clone() }
    }

    /// Ends the current execution: its handles have no effect any more.
    pub(super) fn execution_ended(&self) {
        self.state.send_modify(|state| {
            *state = HandleState::of_execution(state.execution + 1);
        });
    }

    /// Returns the number of its execution, as the machine counts: from 1.
    pub(super) fn number(&self) -> u64 {
        self.execution + 1
    }

    /// Marks that the guest waits for an answer: for packages, or else for a line.
    pub(super) fn ask(&self, install: bool) {
        let pending = if install { PendingRequest::Install } else { PendingRequest::Input };
        self.state.send_modify(|state| state.pending = pending);
    }

    /// Clears the current request; it gets no answer.
    pub(super) fn clear_question(&self) {
        self.state.send_modify(|state| state.pending = PendingRequest::Nothing);
    }

    /// Waits for the answer, and removes it from the state.
    pub(super) async fn answered(&self) -> GuestAnswer {
        let mut state = self.state.subscribe();
        loop {
            // `self` holds the sender, so the channel stays open.
            let _ = state.wait_for(|state| matches!(state.pending, PendingRequest::Answered(_))).await;
            let mut answer = None;
            self.state.send_if_modified(|state| {
                if let PendingRequest::Answered(_) = state.pending
                    && let PendingRequest::Answered(given) =
                        std::mem::replace(&mut state.pending, PendingRequest::Nothing)
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

impl api::InterruptHandle for InterruptHandle {
    fn interrupt(&self) {
        self.change(|state| {
            let change = state.request == Request::None;
            if change {
                state.request = Request::Interrupt;
            }
            change
        });
    }

    fn interrupt_busy_task(&self) {
        self.change(|state| {
            state.task_interrupts += 1;
            true
        });
    }

    fn kill(&self) {
        self.change(|state| {
            state.request = Request::Kill;
            true
        });
    }

    fn answer(&self, line: Option<String>) -> bool {
        if line.as_ref().is_some_and(|line| line.len() > MAX_INPUT) {
            return false;
        }
        self.reply(&PendingRequest::Input, GuestAnswer::Input(line))
    }

    fn install(&self, answer: Result<InstallAnswer, String>) -> bool {
        self.reply(&PendingRequest::Install, GuestAnswer::Install(answer))
    }

    fn layers(&self) -> Vec<Layer> {
        self.mounted.get()
    }

    fn clear(&self) {
        // A handle belongs to one execution: an interrupt never means a later one.
    }
}

/// The time limit of one conversation with a machine or a zygote.
#[derive(Debug)]
pub(super) struct Clock {
    /// `None` while the clock is paused.
    deadline: watch::Sender<Option<Instant>>,
    stopped: OnceLock<StopReason>,
}

/// A paused clock; see [`Clock::resume`].
#[derive(Debug)]
pub(super) struct PausedClock {
    deadline: Option<Instant>,
    since: Instant,
}

impl Clock {
    /// Starts the clock. On overflow there is no deadline.
    pub(super) fn start(wall: Duration) -> Clock {
        Clock { deadline: watch::Sender::new(Instant::now().checked_add(wall)), stopped: OnceLock::new() }
    }

    /// Returns why the guest was interrupted, if it was.
    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.stopped.get().copied()
    }

    /// Does `work`. Its time does not count as the guest's.
    pub(super) async fn paused<T>(&self, work: impl Future<Output = T>) -> T {
        let paused = self.pause();
        let done = work.await;
        self.resume(paused);
        done
    }

    /// Pauses the clock. [`Clock::resume`] needs the returned value.
    pub(super) fn pause(&self) -> PausedClock {
        PausedClock { deadline: self.deadline.send_replace(None), since: Instant::now() }
    }

    /// Resumes the clock. The time of the pause does not count as the guest's.
    pub(super) fn resume(&self, paused: PausedClock) {
        self.deadline.send_replace(paused.deadline.and_then(|at| at.checked_add(paused.since.elapsed())));
    }

    /// Interrupts the guest at the deadline or, in an execution, on request. Returns the reason when the process has to
    /// be killed.
    ///
    /// Must be polled before the execution request is sent, so that an earlier interrupt is sent first.
    pub(super) async fn guard(
        &self,
        process: &Process,
        interrupt_handle: &InterruptHandle,
        execution: Option<u64>,
        grace: Duration,
    ) -> StopReason {
        let mut requests = interrupt_handle.state.subscribe();
        // Requests from before this conversation count as well.
        requests.mark_changed();
        // Only executions can be interrupted. During other requests an interrupt is kept for its execution.
        let least = if execution.is_some() { Request::Interrupt } else { Request::Kill };
        let task_interrupts = pass_task_interrupts(process, interrupt_handle, execution);
        let reason = tokio::select! {
            biased;
            request = requested(&mut requests, least) => {
                if request == Request::Kill {
                    return StopReason::Cancelled;
                }
                StopReason::Cancelled
            }
            () = self.passes() => StopReason::TimeLimit,
            reason = task_interrupts => reason,
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
                _ = requested(&mut requests, Request::Kill) => return StopReason::Cancelled,
                () = sleep_until(kill_at.into_iter().chain(again).min()) => {}
            }
            if kill_at.is_some_and(|at| Instant::now() >= at) {
                return reason;
            }
        }
    }

    /// Waits until the deadline has passed, even if it is moved meanwhile.
    pub(super) async fn passes(&self) {
        let mut deadline = self.deadline.subscribe();
        loop {
            let at = *deadline.borrow_and_update();
            tokio::select! {
                biased;
                // `self` holds the sender, so the channel stays open.
                _ = deadline.changed() => {}
                () = sleep_until(at) => return,
            }
        }
    }
}

/// Passes interrupts of the busy task of a server on to its machine, and never returns.
async fn pass_task_interrupts(process: &Process, handle: &InterruptHandle, execution: Option<u64>) -> StopReason {
    let mut states = handle.state.subscribe();
    let Some(execution) = execution else { return std::future::pending().await };
    let mut seen = 0;
    loop {
        // The handle has the sender, so the channel stays open.
        let _ = states.wait_for(|state| state.task_interrupts > seen).await;
        seen = states.borrow().task_interrupts;
        process.interrupt_busy_task(execution);
    }
}

/// Waits for the request `least`, or [`Request::Kill`].
async fn requested(requests: &mut watch::Receiver<HandleState>, least: Request) -> Request {
    loop {
        // The guard borrows the handle and with it the sender, so the channel stays open.
        let _ = requests.changed().await;
        let request = requests.borrow_and_update().request;
        if request == Request::Kill || request == least {
            return request;
        }
    }
}

/// Sleeps until `at`; forever if it is `None`.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
