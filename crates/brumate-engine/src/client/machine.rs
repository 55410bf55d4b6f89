//! The server's side of a machine: one jailed process with one interpreter.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot::error::RecvError;
use tokio::sync::{mpsc, oneshot};

use super::SandboxShared;
use super::channel::AsyncChannel;
use super::conversation::{Compiling, Conversation};
use super::error::{EXIT_TIMEOUT, truncate_bytes};
use super::file_checks;
use super::mounted::Mounted;
use super::mounts::Mounts;
use super::oom_kills;
use super::pool::Pool;
use super::session_file::{Header, SessionId, new_session};
use super::stop::{Clock, InterruptHandle, Process};
use super::unassigned::UnassignedMachine;
use super::zygote::Exit;
use crate::api::{
    self, Analysis, EngineError, Event, Execute, ExitReason, FileChunk, FileError, FileInfo, Layer, LayerId, Limits,
    MachineSpec, NetworkAccess, Outcome, StopReason,
};
use crate::wire::{Ending, FileReply, MachineMessage, MachineRequest, WireError};

/// One interpreter. Dropping it kills its process.
#[derive(Debug)]
pub struct Machine {
    /// First, so that it is dropped first: a killed process does not react to the end of its connection.
    process: Process,
    channel: AsyncChannel,
    pub(super) shared: Arc<SandboxShared>,
    pub(super) limits: Limits,
    pub(super) mounts: Mounts,
    exit: oneshot::Receiver<Exit>,
    /// Result of `exit`, which can be received only once.
    exited: Option<Result<Exit, RecvError>>,
    interrupt_handle: InterruptHandle,
    /// Set while a request is unanswered. If it is set when the next request begins, the caller cancelled the last one,
    /// and its late answer could be taken for the next one's.
    conversing: bool,
    /// Bytes of output that the current execution has dropped, as far as is known.
    dropped: u64,
    /// The pool it was forked from.
    pub(super) pool: Arc<Pool>,
    /// The session of this machine.
    pub(super) session: SessionId,
    /// Wheels that are mounted.
    pub(super) mounted: Mounted,
    /// The machine writes its crash snapshot beside this path.
    pub(super) crash_snapshot: Option<PathBuf>,
    /// Channel of the next checkpoint that the machine forks by itself; the machine has the other end.
    pub(super) spare: Option<AsyncChannel>,
    /// Whether incremental updates of its checkpoints are enabled.
    pub(super) has_checkpoint_updates: bool,
    /// Limits for the modules that the guest brings.
    pub(super) compiling: Compiling,
    /// The way to other hosts.
    pub(super) network: Option<Arc<dyn NetworkAccess>>,
    /// Sockets to the gateway that this machine has got.
    pub(super) gateway_sockets: usize,
}

/// Sockets to the gateway that a machine gets. It needs another one only after the gateway has died.
pub(super) const MAX_GATEWAY_SOCKETS: usize = 64;

/// Says what a machine does with its checkpoint after an execution.
pub(super) enum AfterExecution<'a> {
    /// Keeps it as it is.
    LeaveCheckpoint,
    /// Updates it after the answer.
    UpdateCheckpoint {
        /// Socket of the next checkpoint, which the machine may fork by itself.
        next: Option<BorrowedFd<'a>>,
    },
}

impl Machine {
    /// Takes a machine of `pool` and sends it its limits. May take as long as the zygote needs.
    ///
    /// # Errors
    /// If none is available, or a directory of `spec` cannot be opened.
    pub(crate) async fn start(
        shared: Arc<SandboxShared>,
        pool: Arc<Pool>,
        spec: &MachineSpec,
    ) -> Result<Machine, EngineError> {
        let mounts = Mounts::open(&spec.mounts)?;
        let unassigned = take(&pool, spec.limits, Streams::of(spec), &mounts).await?;
        let mut machine = Machine::new(shared, pool, unassigned, spec.limits, mounts, new_session()?);
        machine.compiling.principal = spec.principal.clone();
        machine.network = spec.network.clone();
        machine.mount(&spec.layers).await?;
        Ok(machine)
    }

    /// Returns the machine of a process that was started.
    pub(super) fn new(
        shared: Arc<SandboxShared>,
        pool: Arc<Pool>,
        unassigned: UnassignedMachine,
        limits: Limits,
        mounts: Mounts,
        session: SessionId,
    ) -> Machine {
        let UnassignedMachine { channel, exit, process } = unassigned;
        let mounted = Mounted::default();
        mounted.set(pool.image().layers().to_vec());
        let interrupt_handle = InterruptHandle::of(mounted.clone());
        Machine {
            process,
            channel,
            shared,
            limits,
            mounts,
            exit,
            exited: None,
            interrupt_handle,
            conversing: false,
            dropped: 0,
            pool,
            session,
            mounted,
            crash_snapshot: None,
            spare: None,
            has_checkpoint_updates: false,
            compiling: Compiling {
                principal: Arc::default(),
                memory: limits.memory_bytes,
                cpu: limits.cpu,
                spent: Duration::ZERO,
            },
            network: None,
            gateway_sockets: 0,
        }
    }

    /// Returns a handle that stops the execution that runs now, or the next one, from elsewhere.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.interrupt_handle.present()
    }

    /// Runs code as [`api::Machine::execute`] does; also lists the files below `directory`, as [`Machine::list_files`] does.
    /// `checkpoint` says what the machine does with its checkpoint after the answer.
    ///
    /// # Errors
    /// As [`api::Machine::execute`]. A directory that cannot be listed is no error of the call.
    pub(super) async fn execute_and(
        &mut self,
        request: Execute,
        events: mpsc::Sender<Event>,
        directory: Option<&str>,
        checkpoint: AfterExecution<'_>,
    ) -> Result<(Outcome, Result<Vec<FileInfo>, EngineError>), EngineError> {
        let list = directory.map(file_checks::checked).transpose()?;
        let number = self.interrupt_handle().number();
        let wall = request.wall.unwrap_or(self.limits.wall);
        let (checkpoint, socket) = match checkpoint {
            AfterExecution::LeaveCheckpoint => (false, None),
            AfterExecution::UpdateCheckpoint { next } => (true, next),
        };
        let request = MachineRequest::Execute { number, request: Box::new(request), list, checkpoint };
        let fds: Vec<_> = socket.into_iter().collect();
        let answer = self.converse(&request, &fds, Some(events), wall).await;
        self.interrupt_handle.execution_ended();
        let (MachineMessage::Done { mut outcome, listed }, stopped) = answer? else {
            return Err(self.protocol_violation("an answer to another request").await);
        };
        if !file_checks::are_new_files(&outcome.new_files) {
            return Err(self.protocol_violation("new files that cannot be").await);
        }
        outcome.stopped = outcome.stopped.or(stopped);
        outcome.cpu = outcome.cpu.saturating_add(std::mem::take(&mut self.compiling.spent));
        let listed = match (directory, listed) {
            (None, None) => Ok(Vec::new()),
            (Some(_), Some(reply)) => match self.listing(reply).await {
                Err(error @ EngineError::MachineExited { .. }) => return Err(error),
                listed => listed,
            },
            _ => return Err(self.protocol_violation("a listing of files that nobody asked for, or none").await),
        };
        Ok((*outcome, listed))
    }

    /// Returns the listing in a machine's reply.
    ///
    /// # Errors
    /// As [`Machine::list_files`].
    pub(super) async fn listing(&mut self, reply: Result<FileReply, FileError>) -> Result<Vec<FileInfo>, EngineError> {
        match reply {
            Ok(FileReply::List(files)) if file_checks::is_listing(&files) => Ok(files),
            Ok(FileReply::List(_)) => Err(self.protocol_violation("a listing of files that cannot be").await),
            Ok(_) => Err(self.protocol_violation("an answer to another request").await),
            Err(error) => Err(file_checks::failed(error)),
        }
    }

    /// Returns the header that the server writes for this machine's session.
    pub(super) fn header(&self) -> Header {
        self.header_with(self.layers().iter().map(Layer::id).collect())
    }

    /// As [`Machine::header`], with these layers.
    pub(super) fn header_with(&self, layers: Vec<LayerId>) -> Header {
        Header::new(&self.pool, self.session, layers)
    }

    /// Sends a request and serves callbacks until the reply, within `wall` and the grace time.
    pub(super) async fn converse(
        &mut self,
        request: &MachineRequest,
        fds: &[BorrowedFd<'_>],
        events: Option<mpsc::Sender<Event>>,
        wall: Duration,
    ) -> Result<(MachineMessage, Option<StopReason>), EngineError> {
        let interrupt_handle = self.interrupt_handle();
        self.converse_until(&interrupt_handle, request, fds, events, wall).await
    }

    /// As [`Machine::converse`], stopped by `interrupt_handle`.
    pub(super) async fn converse_until(
        &mut self,
        interrupt_handle: &InterruptHandle,
        request: &MachineRequest,
        fds: &[BorrowedFd<'_>],
        events: Option<mpsc::Sender<Event>>,
        wall: Duration,
    ) -> Result<(MachineMessage, Option<StopReason>), EngineError> {
        self.dropped = 0;
        if std::mem::replace(&mut self.conversing, true) {
            return Err(self.kill(StopReason::Cancelled).await);
        }
        let clock = Clock::start(wall);
        let execution = match request {
            MachineRequest::Execute { number, .. } => Some(*number),
            _ => None,
        };
        let mut dropped = 0;
        let conversation = Conversation {
            channel: &mut self.channel,
            shared: &self.shared,
            mounts: &self.mounts,
            mounted: &self.mounted,
            pool: &self.pool,
            session: self.session,
            crash_snapshot: self.crash_snapshot.as_deref(),
            clock: &clock,
            interrupt_handle,
            dropped: &mut dropped,
            compiling: &mut self.compiling,
            network: self.network.as_deref(),
            gateway_sockets: &mut self.gateway_sockets,
        };
        // The guard is polled first, so that the limits hold whatever the machine sends.
        let message = tokio::select! {
            biased;
            reason = clock.guard(&self.process, interrupt_handle, execution, self.limits.grace) => Err(reason),
            message = conversation.serve_until_answer(request, fds, events) => Ok(message),
        };
        self.dropped = dropped;
        self.conversing = false;
        match message {
            Err(reason) => Err(self.kill(reason).await),
            Ok(Ok(MachineMessage::Ended { ending, output_dropped })) => {
                self.process.kill();
                self.dropped = self.dropped.max(output_dropped);
                Err(self.dead(reason_of(ending)))
            }
            Ok(Ok(reply)) => Ok((reply, clock.stopped())),
            Ok(Err(WireError::Closed | WireError::Io(_))) => Err(self.died(clock.stopped()).await),
            Ok(Err(error)) => Err(self.protocol_violation(&error.to_string()).await),
        }
    }

    /// Receives the next message outside of a conversation. May be cancelled.
    pub(super) async fn receive(&mut self) -> Result<MachineMessage, WireError> {
        self.channel.receive().await
    }

    /// Sends a message that the machine does not answer.
    pub(super) async fn tell(&mut self, message: &MachineRequest, fds: &[BorrowedFd<'_>]) -> Result<(), EngineError> {
        match self.channel.send(message, fds).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.died(None).await),
        }
    }

    /// As [`Process::page_map`].
    pub(super) fn page_map(&self) -> Option<File> {
        self.process.page_map()
    }

    /// Estimates how many bytes of memory and files this machine has beyond its image; files are in memory as well.
    /// `None` if that is not available.
    pub(super) fn changed_bytes(&self) -> Option<u64> {
        let more = self.process.anonymous_bytes()?.saturating_sub(self.pool.footprint());
        Some(more.saturating_add(UNSEEN))
    }

    /// Kills the process at a limit or on request.
    async fn kill(&mut self, stopped: StopReason) -> EngineError {
        self.process.kill();
        self.exited().await;
        self.dead(match stopped {
            StopReason::TimeLimit => ExitReason::TimeLimit,
            StopReason::CpuLimit => ExitReason::CpuLimit,
            StopReason::Cancelled => ExitReason::Cancelled,
        })
    }

    fn dead(&self, reason: ExitReason) -> EngineError {
        let peak_memory_bytes = match &self.exited {
            Some(Ok(exit)) => exit.peak_memory_bytes,
            _ => None,
        };
        EngineError::MachineExited { reason, output_dropped: self.dropped, peak_memory_bytes }
    }

    pub(super) async fn protocol_violation(&mut self, what: &str) -> EngineError {
        let _ = self.kill(StopReason::Cancelled).await;
        self.dead(ExitReason::Protocol(what.to_owned()))
    }

    /// Returns how the process ended, if its jail reports it in time. May be called again.
    async fn exited(&mut self) -> Option<Result<Exit, RecvError>> {
        if self.exited.is_none() {
            self.exited = tokio::time::timeout(EXIT_TIMEOUT, &mut self.exit).await.ok();
        }
        self.exited.clone()
    }

    /// Returns the error for a closed connection, with the exit status of the process.
    pub(super) async fn died(&mut self, stopped: Option<StopReason>) -> EngineError {
        let exit = self.exited().await;
        self.process.kill();
        let short_of_memory = self.shared.oom_kills.has_grown();
        self.dead(match (stopped, exit) {
            (_, Some(Ok(Exit { signal: Some(signal), .. }))) if signal == libc::SIGXCPU => ExitReason::CpuLimit,
            (Some(StopReason::TimeLimit), _) => ExitReason::TimeLimit,
            (Some(StopReason::Cancelled), _) => ExitReason::Cancelled,
            (Some(StopReason::CpuLimit), _) => ExitReason::CpuLimit,
            (None, Some(Ok(Exit { signal: Some(libc::SIGKILL), peak_memory_bytes }))) => {
                oom_kills::reason(peak_memory_bytes, self.limits.memory_bytes, short_of_memory)
            }
            (None, Some(Ok(Exit { signal: Some(signal), .. }))) => ExitReason::Signal(signal),
            // The jail's init has exited, so there is no exit status. All machines of the jail have ended with it.
            (None, Some(Err(_))) => ExitReason::Signal(libc::SIGKILL),
            (None, _) => ExitReason::Protocol("it closed its connection".to_owned()),
        })
    }
}

#[async_trait]
impl api::Machine for Machine {
    async fn analyze(&mut self, code: &str) -> Result<Analysis, EngineError> {
        let request = MachineRequest::Analyze(code.to_owned());
        let limit = self.shared.startup_timeouts.parse;
        match self.converse(&request, &[], None, limit).await {
            Ok((MachineMessage::Analyzed(analysis), _)) => Ok(analysis),
            Ok(_) => Err(self.protocol_violation("an answer to another request").await),
            Err(EngineError::MachineExited { reason: ExitReason::TimeLimit, output_dropped, peak_memory_bytes }) => {
                Err(EngineError::MachineExited {
                    reason: ExitReason::ParseLimit(limit),
                    output_dropped,
                    peak_memory_bytes,
                })
            }
            Err(error) => Err(error),
        }
    }

    async fn mount(&mut self, layers: &[Layer]) -> Result<(), EngineError> {
        self.mount(layers).await
    }

    async fn execute(&mut self, request: Execute, events: mpsc::Sender<Event>) -> Result<Outcome, EngineError> {
        Ok(self.execute_and(request, events, None, AfterExecution::LeaveCheckpoint).await?.0)
    }

    async fn read_file(&mut self, path: &str, offset: u64, length: usize) -> Result<FileChunk, EngineError> {
        self.read_file(path, offset, length).await
    }

    fn interrupt_handle(&self) -> Arc<dyn api::InterruptHandle> {
        Arc::new(self.interrupt_handle())
    }
}

/// Bytes that are added to the memory that a machine does not share. Prefaulted pages may have changed unnoticed, and
/// every file needs more than its pages.
const UNSEEN: u64 = 4 << 20;

/// Descriptors that a machine gets when it starts.
#[derive(Clone, Copy, Default)]
pub(super) struct Streams<'a> {
    stdin: Option<BorrowedFd<'a>>,
    /// To read from, to write to.
    messages: Option<[BorrowedFd<'a>; 2]>,
}

impl<'a> Streams<'a> {
    fn of(spec: &'a MachineSpec) -> Self {
        let messages = spec.messages.as_ref().map(|pipes| [pipes.input.as_fd(), pipes.output.as_fd()]);
        Self { stdin: spec.stdin.as_ref().map(AsFd::as_fd), messages }
    }
}

/// Takes a machine of `pool` and sends it `Start`.
pub(super) async fn take(
    pool: &Arc<Pool>,
    limits: Limits,
    streams: Streams<'_>,
    mounts: &Mounts,
) -> Result<UnassignedMachine, EngineError> {
    let unassigned = pool.take().await?;
    let (stdin, messages) = (streams.stdin.is_some(), streams.messages.is_some());
    let start = MachineRequest::Start { limits, stdin, messages, mounts: mounts.guest_paths() };
    let fds: Vec<_> = streams.stdin.into_iter().chain(streams.messages.into_iter().flatten()).collect();
    let ended = |error| EngineError::Unavailable(format!("a new machine ended: {error}"));
    unassigned.channel.send(&start, &fds).await.map_err(ended)?;
    Ok(unassigned)
}

fn reason_of(ending: Ending) -> ExitReason {
    match ending {
        Ending::Exit(code) => ExitReason::Exit(code),
        Ending::Abort => ExitReason::Abort,
        Ending::Trap(text) => ExitReason::Trap(truncate_bytes(text)),
    }
}
