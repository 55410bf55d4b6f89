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
use crate::api::{self, GuestAnswer, Layer, MAX_INPUT, StopReason};

/// Time after which a KeyboardInterrupt is sent again. It is sent repeatedly, because guest code may have caught the
/// exception and continued. The pause before the second KeyboardInterrupt is at least half of the grace time, because
/// guest code may still be handling the first one.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(500);

/// Handle of the machine's process. It never refers to another process. Dropping it kills the process.
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

    /// Opens the page map of the process. The machine itself reads it. Returns `None` if the page map is not available.
    pub(super) fn page_map(&self) -> Option<File> {
        // The process is still alive, so `pid` was its number when the file was opened.
        page_map::open(self.pid).filter(|_| self.is_alive())
    }

    /// Returns how many bytes of memory the process has, without mapped files. Returns `None` if the number is not
    /// available.
    pub(super) fn anonymous_bytes(&self) -> Option<u64> {
        // As in `page_map`, `pid` was its number when it was read.
        footprint::anonymous_bytes(self.pid).filter(|_| self.is_alive())
    }

    /// Returns `false` after the process has ended.
    pub(super) fn is_alive(&self) -> bool {
        let mut entry = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut entry, Some(&now)), Ok(0))
    }

    /// Queues the signal that stops the execution with this number. If too many signals are queued for the process, the
    /// signal is lost. The caller sends it again later.
    fn stop(&self, execution: u64) {
        let _ = crate::signals::queue(self.pidfd.as_fd(), execution);
    }

    /// Queues the signal that stops the busy task of the execution with this number. If too many signals are queued, it
    /// is lost.
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

/// The request of the guest that has no answer yet, or the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PendingRequest {
    Nothing,
    /// The guest waits with the request of this number.
    Waiting(u64, RequestKind),
    Answered(GuestAnswer),
}

/// Kind of a request, which its answer has as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum RequestKind {
    #[default]
    Input,
    Install,
}

/// Requests and answers of the handles for one execution. It is the running execution or, if none runs, the next one.
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
    /// Returns the first state of an execution: no request and no answer.
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
    /// Returns a handle for a machine. `mounted` has the layers of the machine.
    pub(super) fn of(mounted: Mounted) -> InterruptHandle {
        InterruptHandle { state: watch::Sender::new(HandleState::of_execution(0)), execution: 0, mounted }
    }

    /// Returns a new handle without layers.
    pub(super) fn new() -> InterruptHandle {
        InterruptHandle::of(Mounted::default())
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

    /// Returns the number of the handle's execution. Machines count executions from 1.
    pub(super) fn number(&self) -> u64 {
        self.execution + 1
    }

    /// Notes that the guest waits with the request `id`.
    pub(super) fn ask(&self, id: u64, kind: RequestKind) {
        self.state.send_modify(|state| state.pending = PendingRequest::Waiting(id, kind));
    }

    /// Clears the guest's current request. The request then gets no answer through a handle.
    pub(super) fn clear_request(&self) {
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

    fn answer(&self, request: u64, answer: GuestAnswer) -> bool {
        let kind = match &answer {
            GuestAnswer::Input(Some(line)) if line.len() > MAX_INPUT => return false,
            GuestAnswer::Input(_) => RequestKind::Input,
            GuestAnswer::Install(_) => RequestKind::Install,
        };
        self.change(|state| {
            let is_awaited = state.pending == PendingRequest::Waiting(request, kind);
            if is_awaited {
                state.pending = PendingRequest::Answered(answer);
            }
            is_awaited
        })
    }

    fn layers(&self) -> Vec<Layer> {
        self.mounted.get()
    }

    fn clear(&self) {
        // A handle belongs to one execution, so an interrupt cannot affect a later execution. There is nothing to
        // clear.
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

    /// Returns the reason why the guest was interrupted; `None` if it was not.
    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.stopped.get().copied()
    }

    /// Runs `work`. The clock is paused meanwhile, so this time does not count as the guest's time.
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

    /// Interrupts the guest at the deadline. During an execution it also interrupts on request. Returns when the
    /// process has to be killed, with the reason.
    ///
    /// The caller must poll this future before it sends the execution request. Then an interrupt from before the
    /// request reaches the machine first.
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
        // Only executions can be interrupted. An interrupt that comes during another request is kept until its
        // execution runs.
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

/// Sends a signal to the machine for each request to interrupt a server's busy task. Never returns.
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

/// Waits until the request is `least` or [`Request::Kill`]. Returns it.
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
