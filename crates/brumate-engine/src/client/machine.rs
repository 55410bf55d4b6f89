//! A machine as the server sees it: one jailed process with one interpreter.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::Shared;
use super::blank::{Blank, Process};
use super::channel::AsyncChannel;
use super::error::{Died, EXIT_TIMEOUT, Error};
use super::mounts::Mounts;
use super::pool::Pool;
use super::zygote::{Exit, answer};
use crate::api::{Analysis, Event, Execute, Limits, MachineSpec, Outcome, StopReason};
use crate::wire::{Ending, FromMachine, ModuleRequest, ToMachine};

/// Time a machine may take to parse a source text.
const ANALYZE_LIMIT: Duration = Duration::from_secs(10);

/// A KeyboardInterrupt is sent again this often while the grace time runs: guest code may have swallowed the first.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(500);

/// One interpreter. Dropping it kills its process.
#[derive(Debug)]
pub struct Machine {
    /// First, so that it is dropped first: a process that is killed does not bother with the end of its connection.
    process: Arc<Process>,
    pub(super) channel: AsyncChannel,
    pub(super) shared: Arc<Shared>,
    pub(super) limits: Limits,
    pub(super) mounts: Mounts,
    exit: oneshot::Receiver<Exit>,
    /// What it was forked from.
    pub(super) pool: Arc<Pool>,
    stop: (watch::Sender<Request>, watch::Receiver<Request>),
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
    /// KeyboardInterrupt in the guest; SIGKILL when it has not ended after [`Limits::grace`].
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
}

impl Machine {
    /// Takes a machine of `pool` and gives it its limits.
    ///
    /// # Errors
    /// When none can be had, or a directory of `spec` cannot be opened.
    pub(crate) async fn start(shared: Arc<Shared>, pool: Arc<Pool>, spec: MachineSpec) -> Result<Machine, Error> {
        let mounts = Mounts::open(&spec.mounts)?;
        let blank = pool.take().await?;
        let start = ToMachine::Start { limits: spec.limits, stdin: spec.stdin.is_some(), mounts: mounts.guest_paths() };
        let fds: Vec<_> = spec.stdin.iter().map(AsFd::as_fd).collect();
        blank.channel.send(&start, &fds).await?;
        Ok(Machine::new(shared, pool, blank, spec.limits, mounts))
    }

    /// A machine that has been started.
    pub(super) fn new(shared: Arc<Shared>, pool: Arc<Pool>, blank: Blank, limits: Limits, mounts: Mounts) -> Machine {
        let Blank { channel, exit, process } = blank;
        Machine { channel, shared, limits, mounts, exit, process, pool, stop: watch::channel(Request::None) }
    }

    /// A handle that stops this machine from elsewhere.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter { stop: self.stop.0.clone() }
    }

    /// What the guest's parser finds in `code`.
    ///
    /// # Errors
    /// When the machine has ended.
    pub async fn analyze(&mut self, code: &str) -> Result<Analysis, Error> {
        self.send(&ToMachine::Analyze(code.to_owned())).await?;
        let limit = Limits { wall: ANALYZE_LIMIT, ..self.limits };
        let (reply, _) = self.converse(None, limit).await?;
        match reply {
            FromMachine::Analyzed(analysis) => Ok(analysis),
            _ => Err(self.misbehaved("an answer to another question").await),
        }
    }

    /// Runs code. Events arrive while it runs; a receiver that is dropped stops hearing them.
    ///
    /// # Errors
    /// When the machine has ended: killed at a limit, crashed, or exited.
    pub async fn execute(&mut self, request: Execute, events: mpsc::Sender<Event>) -> Result<Outcome, Error> {
        self.send(&ToMachine::Execute(Box::new(request))).await?;
        let (reply, stopped) = self.converse(Some(events), self.limits).await?;
        match reply {
            FromMachine::Done(mut outcome) => {
                outcome.stopped = outcome.stopped.or(stopped);
                Ok(*outcome)
            }
            _ => Err(self.misbehaved("an answer to another question").await),
        }
    }

    pub(super) async fn send(&mut self, message: &ToMachine) -> Result<(), Error> {
        self.send_with(message, &[]).await
    }

    pub(super) async fn send_with(&mut self, message: &ToMachine, fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        match self.channel.send(message, fds).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.died(None).await),
        }
    }

    /// Hears the machine out until it answers, serving its questions, within `limits`.
    pub(super) async fn converse(
        &mut self,
        mut events: Option<mpsc::Sender<Event>>,
        limits: Limits,
    ) -> Result<(FromMachine, Option<StopReason>), Error> {
        let mut deadline = Some(Instant::now() + limits.wall);
        let mut stopped: Option<StopReason> = None;
        let mut kill_at: Option<Instant> = None;
        let mut again: Option<Instant> = None;
        let mut requests = self.stop.1.clone();
        requests.mark_changed();
        loop {
            let next = [deadline, kill_at, again].into_iter().flatten().min();
            tokio::select! {
                biased;
                changed = requests.changed() => {
                    let request = *requests.borrow_and_update();
                    match request {
                        _ if changed.is_err() => {}
                        Request::None => {}
                        Request::Kill => return Err(self.kill(Some(StopReason::Cancelled)).await),
                        Request::Interrupt if stopped.is_none() => {
                            stopped = Some(StopReason::Cancelled);
                            deadline = None;
                            kill_at = Some(Instant::now() + limits.grace);
                            again = Some(Instant::now() + INTERRUPT_AGAIN);
                            self.process.signal(Signal::USR1);
                        }
                        Request::Interrupt => {}
                    }
                }
                () = sleep_until(next) => {
                    let now = Instant::now();
                    if kill_at.is_some_and(|at| now >= at) {
                        return Err(self.kill(stopped).await);
                    }
                    if deadline.is_some_and(|at| now >= at) {
                        stopped = Some(StopReason::WallLimit);
                        deadline = None;
                        kill_at = Some(now + limits.grace);
                    }
                    again = Some(now + INTERRUPT_AGAIN);
                    self.process.signal(Signal::USR1);
                }
                message = self.channel.receive::<FromMachine>() => match message {
                    Ok(FromMachine::Event(event)) => {
                        // A slow receiver holds the machine back, but not beyond its limits.
                        let limit = kill_at.or(deadline).unwrap_or_else(|| Instant::now() + limits.grace);
                        if let Some(sender) = &events {
                            match tokio::time::timeout_at(limit, sender.send(event)).await {
                                Ok(Ok(())) | Err(_) => {}
                                Ok(Err(_)) => events = None,
                            }
                        }
                    }
                    Ok(FromMachine::Module(request)) => {
                        // Compiling the bundle is not the guest's time; compiling what it brought is.
                        let own = matches!(request, ModuleRequest::Bytes(_));
                        let start = Instant::now();
                        let shared = self.shared.clone();
                        let limit = if own { kill_at.or(deadline) } else { kill_at };
                        let (reply, file) = tokio::select! {
                            answer = answer(&shared.cache, &shared.compilers, request) => answer,
                            () = sleep_until(limit) => {
                                return Err(self.kill(stopped.or(Some(StopReason::WallLimit))).await);
                            }
                            () = asked_to_stop(&mut requests) => {
                                return Err(self.kill(Some(StopReason::Cancelled)).await);
                            }
                        };
                        let fds: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
                        let sent = self.channel.send(&ToMachine::Module(reply), &fds).await;
                        if !own {
                            deadline = deadline.map(|at| at + start.elapsed());
                        }
                        if sent.is_err() {
                            return Err(self.died(stopped).await);
                        }
                    }
                    Ok(FromMachine::Mount(request)) => {
                        let (reply, file) = self.mounts.serve(request).await;
                        let fds: Vec<_> = file.iter().map(AsFd::as_fd).collect();
                        if self.channel.send(&ToMachine::Mount(reply), &fds).await.is_err() {
                            return Err(self.died(stopped).await);
                        }
                    }
                    Ok(FromMachine::Ended(ending)) => {
                        self.process.signal(Signal::KILL);
                        return Err(Error::MachineDied { reason: reason_of(ending) });
                    }
                    Ok(reply) => return Ok((reply, stopped)),
                    Err(crate::wire::WireError::Closed | crate::wire::WireError::Io(_)) => {
                        return Err(self.died(stopped).await);
                    }
                    Err(error) => return Err(self.misbehaved(&error.to_string()).await),
                },
            }
        }
    }

    /// Kills the process at a limit or on request.
    async fn kill(&mut self, stopped: Option<StopReason>) -> Error {
        self.process.signal(Signal::KILL);
        let _ = tokio::time::timeout(EXIT_TIMEOUT, &mut self.exit).await;
        let reason = match stopped {
            Some(StopReason::WallLimit) => Died::WallLimit,
            Some(StopReason::CpuLimit) => Died::CpuLimit,
            Some(StopReason::Cancelled) | None => Died::Cancelled,
        };
        Error::MachineDied { reason }
    }

    pub(super) async fn misbehaved(&mut self, what: &str) -> Error {
        let _ = self.kill(None).await;
        Error::MachineDied { reason: Died::Protocol(what.to_owned()) }
    }

    /// The connection is closed: asks how the process ended.
    async fn died(&mut self, stopped: Option<StopReason>) -> Error {
        let exit = tokio::time::timeout(EXIT_TIMEOUT, &mut self.exit).await;
        self.process.signal(Signal::KILL);
        let reason = match (stopped, exit) {
            (_, Ok(Ok(Exit { signal: Some(signal) }))) if signal == libc::SIGXCPU => Died::CpuLimit,
            (Some(StopReason::WallLimit), _) => Died::WallLimit,
            (Some(StopReason::Cancelled), _) => Died::Cancelled,
            (Some(StopReason::CpuLimit), _) => Died::CpuLimit,
            (None, Ok(Ok(Exit { signal: Some(libc::SIGKILL) }))) => Died::MemoryLimit,
            (None, Ok(Ok(Exit { signal: Some(signal) }))) => Died::Signal(signal),
            (None, _) => Died::Protocol("it closed its connection".to_owned()),
        };
        Error::MachineDied { reason }
    }
}

fn reason_of(ending: Ending) -> Died {
    match ending {
        Ending::Exit(code) => Died::Exit(code),
        Ending::Abort => Died::Abort,
        Ending::Trap(text) => Died::Trap(text),
    }
}

/// Waits for a request to stop that has not been seen yet.
async fn asked_to_stop(requests: &mut watch::Receiver<Request>) {
    while requests.changed().await.is_ok() {
        if *requests.borrow() != Request::None {
            return;
        }
    }
    std::future::pending().await
}

/// Sleeps until `at`; for ever when there is none.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
