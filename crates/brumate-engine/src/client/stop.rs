//! What ends a machine from outside: its time limits, and whoever holds an [`Interrupter`].

use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::StopReason;

/// A KeyboardInterrupt is sent again this often while the grace time runs: guest code may have swallowed the first.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(500);

/// The machine's process, by a handle that cannot be mistaken for another's. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Process {
    pidfd: OwnedFd,
}

impl Process {
    /// A handle of a process that is known to live.
    ///
    /// # Errors
    /// When it has ended.
    pub(super) fn open(pid: Pid) -> Result<Process, rustix::io::Errno> {
        Ok(Process { pidfd: pidfd_open(pid, PidfdFlags::empty())? })
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// False once it has ended.
    pub(super) fn is_alive(&self) -> bool {
        let mut entry = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(rustix::event::poll(&mut entry, Some(&now)), Ok(0))
    }

    fn signal(&self, signal: Signal) {
        // A process that has ended already needs no signal.
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What an [`Interrupter`] has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    None,
    Interrupt,
    Kill,
}

/// Stops a machine from elsewhere.
#[derive(Debug, Clone)]
pub struct Interrupter {
    stop: watch::Sender<Request>,
}

impl Interrupter {
    pub(super) fn new() -> Interrupter {
        Interrupter { stop: watch::Sender::new(Request::None) }
    }

    /// KeyboardInterrupt in the guest; SIGKILL when it has not ended after [`Limits::grace`](crate::api::Limits::grace).
    pub fn interrupt(&self) {
        self.stop.send_if_modified(|request| {
            let change = *request == Request::None;
            if change {
                *request = Request::Interrupt;
            }
            change
        });
    }

    /// SIGKILL now.
    pub fn kill(&self) {
        self.stop.send_replace(Request::Kill);
    }

    /// Takes an interrupt back that has had its effect, or came too late: it is not meant for what the machine does next.
    pub fn done(&self) {
        self.stop.send_if_modified(|request| {
            let change = *request == Request::Interrupt;
            if change {
                *request = Request::None;
            }
            change
        });
    }
}

/// The time of one conversation with a machine or a zygote.
#[derive(Debug)]
pub(super) struct Clock {
    /// `None` while it stands still.
    deadline: watch::Sender<Option<Instant>>,
    stopped: OnceLock<StopReason>,
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
        let deadline = self.deadline.send_replace(None);
        let start = Instant::now();
        let done = work.await;
        self.deadline.send_replace(deadline.and_then(|at| at.checked_add(start.elapsed())));
        done
    }

    /// Interrupts the guest when its time is up or when asked to. Returns when the process has to be killed, and why.
    pub(super) async fn guard(&self, process: &Process, interrupter: &Interrupter, grace: Duration) -> StopReason {
        let mut requests = interrupter.stop.subscribe();
        // What was asked before this conversation counts as well.
        requests.mark_changed();
        let reason = tokio::select! {
            biased;
            request = asked(&mut requests, Request::Interrupt) => {
                if request == Request::Kill {
                    return StopReason::Cancelled;
                }
                StopReason::Cancelled
            }
            () = self.passes() => StopReason::WallLimit,
        };
        let reason = *self.stopped.get_or_init(|| reason);
        let kill_at = Instant::now().checked_add(grace);
        loop {
            process.signal(Signal::USR1);
            let again = Instant::now() + INTERRUPT_AGAIN;
            tokio::select! {
                biased;
                _ = asked(&mut requests, Request::Kill) => return StopReason::Cancelled,
                () = tokio::time::sleep_until(kill_at.map_or(again, |at| at.min(again))) => {}
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
async fn asked(requests: &mut watch::Receiver<Request>, least: Request) -> Request {
    loop {
        // The guard borrows an interrupter, hence a sender: it never ends.
        let _ = requests.changed().await;
        let request = *requests.borrow_and_update();
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
