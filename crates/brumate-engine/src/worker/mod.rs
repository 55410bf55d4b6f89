//! A forked machine. It serves the requests on its socket. Most of them are executions.

mod checkpoint;
mod crash_snapshot;
mod files;
mod fork;
mod hot_pages;
mod image;
pub(crate) mod increment;
pub(crate) mod limits;
mod written;

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;

use crate::api::{COMMAND_NAME, Ended, Execute, ExecuteMode, FileError, Limits, MAX_LAYERS, Outcome, StopReason};
use crate::caps::network::OpenGateway;
use crate::channel::Channel;
use crate::code::remote::RemoteModules;
use crate::files::layers::{self as files_of_layers, GivenLayer};
use crate::files::{Installs, Quota};
use crate::host::GuestExit;
use crate::image::Base;
use crate::interpreter::{Interpreter, InterpreterError};
use crate::meter::{Meter, cpu_time};
use crate::signals::slice;
use crate::wire::{
    Ending, FileReply, FileRequest, HEADER, MachineMessage, MachineRequest, ModuleRequest, WireError, decode, encode,
};
use brumate_jail::MachineLimits;

use checkpoint::{CheckpointBase, CheckpointUpdates};
use crash_snapshot::{CrashSnapshot, Phase};
use hot_pages::HotPages;
use increment::TornIncrement;

/// Serves the requests to one machine until the server disconnects or the interpreter ends.
///
/// # Errors
/// If the connection breaks.
pub(crate) fn main(machine: Interpreter, base: Arc<Base>, channel: Arc<Channel>, parent: Pid) -> Result<(), WireError> {
    // The process ends when this function returns, so the interpreter is not freed.
    let machine = ManuallyDrop::new(machine);
    if let Err(error) = brumate_jail::tighten_machine(parent, &MachineLimits::default()) {
        return channel.send(&ended(Ending::Trap(error.to_string()), 0));
    }
    channel.send(&hello())?;
    let limits = Limits::default();
    let mut worker = Worker {
        machine,
        base,
        channel,
        parent,
        limits,
        meter: Arc::default(),
        mounts: Vec::new(),
        quota: Arc::default(),
        mounted: false,
        given: Vec::new(),
        paused: false,
        needs_prefault: false,
        hot: HotPages::default(),
        busy: false,
        generation: 0,
        crash_snapshot: None,
        forks: 0,
        next_checkpoint_socket: None,
        checkpoint_updates: None,
        checkpoint_base: None,
    };
    // This work comes before the first request. Machines are kept ready, so it is usually done long before a run takes
    // the machine.
    worker.machine.prefault(&worker.base.pages.written);
    let mut next = worker.machine.refresh_fork().map_err(Failure::from).and_then(|()| Ok(worker.touch_pages()?));
    loop {
        match next {
            Ok(()) => next = worker.serve_one(),
            Err(Failure::Wire(error)) => {
                worker.write_crash_snapshot();
                return Err(error);
            }
            Err(Failure::Interpreter(error)) => {
                let output_dropped = worker.lock_output().end();
                return worker.channel.send(&ended(ending(error), output_dropped));
            }
        }
    }
}

fn hello() -> MachineMessage {
    MachineMessage::Hello { pid: rustix::process::getpid().as_raw_nonzero().get() }
}

/// Reason for the end of the loop.
enum Failure {
    Wire(WireError),
    Interpreter(InterpreterError),
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Failure {
        Failure::Wire(error)
    }
}

impl From<InterpreterError> for Failure {
    fn from(error: InterpreterError) -> Failure {
        Failure::Interpreter(error)
    }
}

fn ended(ending: Ending, output_dropped: u64) -> MachineMessage {
    MachineMessage::Ended { ending, output_dropped }
}

fn ending(error: InterpreterError) -> Ending {
    match error {
        InterpreterError::Exit(GuestExit::Exit(code)) => Ending::Exit(code & 0xff),
        InterpreterError::Exit(GuestExit::Abort) => Ending::Abort,
        InterpreterError::Trap(text) | InterpreterError::Driver(text) => Ending::Trap(text),
        damaged @ InterpreterError::Damaged => Ending::Trap(damaged.to_string()),
    }
}

struct Worker {
    machine: ManuallyDrop<Interpreter>,
    base: Arc<Base>,
    channel: Arc<Channel>,
    /// First process of the jail.
    parent: Pid,
    limits: Limits,
    /// CPU time of the current execution.
    meter: Arc<Meter>,
    mounts: Vec<(String, bool)>,
    /// Write quota of `mounts`.
    quota: Arc<Quota>,
    /// Whether `mounts` are mounted. This happens at the first request that is no `Start`, `Layers` or `Restore`,
    /// because `Restore` replaces the file system by the files of the session.
    mounted: bool,
    /// Layers that the next request mounts, or attaches to the files of a restored session.
    given: Vec<GivenLayer>,
    /// Forked from another machine and not resumed yet.
    paused: bool,
    /// Whether private pages were dropped at the last fork. The next cell must prefault them.
    needs_prefault: bool,
    hot: HotPages,
    /// Whether a request that changes the state is being handled.
    busy: bool,
    /// Number of state changes that were acknowledged.
    generation: u64,
    crash_snapshot: Option<CrashSnapshot>,
    /// Number of checkpoints forked so far; in a checkpoint, its own number.
    forks: u64,
    /// Socket for the next checkpoint.
    next_checkpoint_socket: Option<OwnedFd>,
    /// File and page map for incremental updates of the checkpoint. `None` if updates are not possible.
    checkpoint_updates: Option<CheckpointUpdates>,
    /// State of the machine when the checkpoint was forked. `None` if that checkpoint cannot be updated.
    checkpoint_base: Option<CheckpointBase>,
}

impl Worker {
    /// Applies the caller's limits, standard input, messages and mounts.
    fn start(
        &mut self,
        limits: Limits,
        stdin: Option<OwnedFd>,
        messages: Option<(OwnedFd, OwnedFd)>,
        mounts: Vec<(String, bool)>,
    ) {
        self.limits = limits;
        self.mounts = mounts;
        self.quota.set(limits.mount_bytes);
        self.set_limits();
        let output = self.machine.output().clone();
        let host = self.machine.host();
        host.modules = Box::new(modules_over_machine(self.channel.clone(), self.meter.clone()));
        host.network.set_open(gateway_over_machine(self.channel.clone()));
        if let Some(stdin) = stdin {
            crate::files::set_stdin(&mut host.vfs, stdin);
        }
        if let Some((input, output)) = messages {
            // If this fails, the program has no descriptor for messages. It notices that and ends with an error.
            let _ = crate::files::install_messages(&mut host.vfs, input, output);
        }
        crate::files::connect_events(&mut host.vfs, &output, &self.channel);
        host.installs = Some(Installs::new(&output, &self.channel));
        limits::protect(&self.limits);
    }

    fn mount(&mut self) {
        if !std::mem::replace(&mut self.mounted, true) {
            let host = self.machine.host();
            crate::files::mount_host_directories(&mut host.vfs, &self.mounts, &self.channel, &self.quota);
        }
    }

    fn set_limits(&mut self) {
        let present = self.machine.memory_bytes();
        let limits = self.limits;
        let host = self.machine.host();
        host.account.begin(limits.memory_bytes, present);
        self.set_file_limits();
    }

    fn set_file_limits(&mut self) {
        let limits = self.limits;
        self.machine.host().vfs.set_quota(limits.file_bytes, limits.inodes);
    }

    /// Marks the start of an unacknowledged change. If the server disconnects during it, the machine exits without
    /// writing a snapshot.
    fn begin_change(&mut self) {
        self.busy = true;
        if let Some(files) = &self.crash_snapshot {
            files.set_phase(Phase::Busy);
        }
        crate::signals::watch(&*self.channel.socket());
    }

    /// Marks the change as acknowledged and increments `generation`.
    fn end_change(&mut self) {
        crate::signals::unwatch();
        self.busy = false;
        self.generation = self.generation.saturating_add(1);
        if let Some(files) = &self.crash_snapshot {
            files.set_phase(Phase::Idle);
        }
    }

    fn serve_one(&mut self) -> Result<(), Failure> {
        let (request, fds) = self.channel.receive_request()?;
        let mut fds = fds.into_iter();
        if self.paused {
            let MachineRequest::Resume = request else { return Err(WireError::UnexpectedMessage.into()) };
            self.apply_increment().map_err(|TornIncrement| WireError::Closed)?;
            self.paused = false;
            self.machine.refresh()?;
            if let Some(files) = &self.crash_snapshot {
                files.set_phase(Phase::Idle);
            }
            return Ok(());
        }
        if !matches!(
            request,
            MachineRequest::Start { .. } | MachineRequest::Layers { .. } | MachineRequest::Restore { .. }
        ) {
            self.mount();
        }
        if matches!(request, MachineRequest::Execute { .. } | MachineRequest::Analyze(_))
            && std::mem::take(&mut self.needs_prefault)
        {
            self.machine.prefault(&self.base.pages.later);
            self.hot.prefault(|| false);
        }
        match request {
            MachineRequest::Start { limits, stdin, messages, mounts } => {
                let stdin = if stdin { fds.next() } else { None };
                let messages = if messages { fds.next().zip(fds.next()) } else { None };
                self.start(limits, stdin, messages, mounts);
            }
            MachineRequest::Analyze(code) => {
                self.begin_change();
                let answer = self.machine.call_driver("analyze", &code)?;
                let analysis = serde_json::from_str(&answer).map_err(|_| InterpreterError::Damaged)?;
                self.channel.send(&MachineMessage::Analyzed(analysis))?;
                self.end_change();
            }
            MachineRequest::Execute { number, request, list, checkpoint } => {
                self.next_checkpoint_socket = fds.next().or(self.next_checkpoint_socket.take());
                self.begin_change();
                let outcome = Box::new(self.execute(number, &request)?);
                let host = self.machine.host();
                host.network.flush(&mut host.vfs);
                let listed = list.map(|directory| self.serve_files(FileRequest::List { directory }));
                self.channel.send(&MachineMessage::Done { outcome, listed })?;
                self.end_change();
                if checkpoint {
                    // Yield: the server may be waiting for this CPU to handle `Done`.
                    std::thread::yield_now();
                    self.update_checkpoint()?;
                }
            }
            MachineRequest::Files(request) => {
                let changes = !request.is_read_only();
                if changes {
                    self.begin_change();
                }
                let reply = self.serve_files(request);
                self.channel.send(&MachineMessage::Files(reply))?;
                if changes {
                    self.end_change();
                }
            }
            MachineRequest::Layers { layers, .. } => {
                // The limit is twice the maximum, because a crash snapshot may name both the layers before a change and
                // the layers after it.
                if self.given.len() + layers.len() > 2 * MAX_LAYERS {
                    return Err(WireError::TooLarge(layers.len()).into());
                }
                for info in layers {
                    self.given.push(GivenLayer::receive(info, &mut fds).ok_or(WireError::MissingDescriptor)?);
                }
            }
            MachineRequest::Remount { remove } => {
                self.begin_change();
                let given = std::mem::take(&mut self.given);
                let host = self.machine.host();
                let mounted = files_of_layers::mount(&mut host.vfs, given, &remove);
                host.forget_replaced_libraries();
                self.machine.run_driver("packages_changed", "")?;
                self.channel.send(&MachineMessage::Mounted(mounted))?;
                self.end_change();
            }
            MachineRequest::Fork { checkpoint, idle } => {
                let socket = fds.next().ok_or(WireError::MissingDescriptor)?;
                self.fork(socket, checkpoint, idle)?;
            }
            MachineRequest::CrashSnapshot => {
                let files = CrashSnapshot::new(fds).ok_or(WireError::MissingDescriptor)?;
                files.set_phase(Phase::Idle);
                self.crash_snapshot = Some(files);
            }
            MachineRequest::EnableCheckpointUpdates => {
                self.checkpoint_updates = Some(CheckpointUpdates::new(fds).ok_or(WireError::MissingDescriptor)?);
                // The current checkpoint was forked without this file.
                self.checkpoint_base = None;
            }
            MachineRequest::UpdateCheckpoint => {
                self.next_checkpoint_socket = fds.next().or(self.next_checkpoint_socket.take());
                self.update_checkpoint()?;
            }
            MachineRequest::Snapshot => {
                let to = File::from(fds.next().ok_or(WireError::MissingDescriptor)?);
                let saved = self
                    .snapshot(&to, fds.next().map(File::from).as_ref())
                    .map(|()| self.generation)
                    .map_err(|error| error.to_string());
                self.channel.send(&MachineMessage::SnapshotWritten(saved))?;
            }
            MachineRequest::Restore { generation } => {
                self.restore_session(&File::from(fds.next().ok_or(WireError::MissingDescriptor)?), generation)?;
            }
            MachineRequest::Recover => {
                let from = File::from(fds.next().ok_or(WireError::MissingDescriptor)?);
                self.begin_change();
                let failed = self.recover(&from).err();
                self.channel.send(&MachineMessage::Recovered(failed))?;
                self.end_change();
            }
            MachineRequest::Resume
            | MachineRequest::Answer { .. }
            | MachineRequest::Module(_)
            | MachineRequest::Mount(_)
            | MachineRequest::Network(_) => {
                return Err(WireError::UnexpectedMessage.into());
            }
        }
        Ok(())
    }

    fn serve_files(&mut self, request: FileRequest) -> Result<FileReply, FileError> {
        files::serve(&mut self.machine.host().vfs, request)
    }

    fn lock_output(&self) -> parking_lot::MutexGuard<'_, crate::caps::output::GuestOutput> {
        self.machine.output().lock()
    }
}

/// Asks the server for a socket to the gateway.
fn gateway_over_machine(channel: Arc<Channel>) -> OpenGateway {
    let lost = |error: WireError| format!("the server does not answer: {error}");
    Box::new(move || {
        channel.send(&MachineMessage::Network).map_err(lost)?;
        match channel.receive_request().map_err(lost)? {
            (MachineRequest::Network(Some(refusal)), _) => Err(refusal),
            (MachineRequest::Network(None), fds) => {
                fds.into_iter().next().ok_or_else(|| lost(WireError::MissingDescriptor))
            }
            _ => Err(lost(WireError::UnexpectedMessage)),
        }
    })
}

fn modules_over_machine(channel: Arc<Channel>, meter: Arc<Meter>) -> RemoteModules {
    let ask = move |request: ModuleRequest| {
        channel.send(&MachineMessage::Module(request))?;
        match channel.receive_request()? {
            (MachineRequest::Module(reply), fds) => Ok((reply, fds.into_iter().next())),
            _ => Err(WireError::UnexpectedMessage),
        }
    };
    RemoteModules::new(Box::new(ask), meter)
}

/// Answer of the driver's `execute`.
#[derive(serde::Deserialize)]
struct ExecuteReply {
    ended: Ended,
    printed: bool,
}

/// Returns the command line of a program, as in `sys.orig_argv`.
fn command_line(request: &Execute) -> Vec<&str> {
    let mut line = vec!["python"];
    let option = match request.mode {
        ExecuteMode::Module => Some("-m"),
        ExecuteMode::Script if request.file_name == COMMAND_NAME => Some("-c"),
        ExecuteMode::Script | ExecuteMode::Server => None,
        ExecuteMode::Snippet | ExecuteMode::Cell | ExecuteMode::NotebookCell | ExecuteMode::Frontend => return line,
    };
    match option {
        // The option and the code take the place of the first argument.
        Some(option) => line.extend([option, &request.code]),
        None => line.push(request.argv.first().unwrap_or(&request.file_name)),
    }
    line.extend(request.argv.iter().skip(1).map(String::as_str));
    line
}

impl Worker {
    /// Runs the code that handles requests once. Then its pages are in memory before the first request.
    fn touch_pages(&mut self) -> Result<(), WireError> {
        self.start(self.limits, None, None, Vec::new());
        self.touch_message_pages()
    }

    /// Encodes and decodes sample messages. [`Worker::touch_pages`] calls it once, and it is repeated after each
    /// checkpoint.
    fn touch_message_pages(&self) -> Result<(), WireError> {
        let start = MachineRequest::Start { limits: self.limits, stdin: false, messages: false, mounts: Vec::new() };
        decode::<MachineRequest>(&encode(&start, 0)?[HEADER..])?;
        let request = Box::new(Execute { code: "1+1".to_owned(), ..Execute::default() });
        let request = MachineRequest::Execute { number: 1, request, list: None, checkpoint: false };
        if let MachineRequest::Execute { request, .. } = decode(&encode(&request, 0)?[HEADER..])? {
            // This cannot fail, because the value was decoded from a request.
            drop(serde_json::to_string(&*request));
        }
        let answer = r#"{"ended":{"Returned":{"json":"2","is_str":false}},"printed":false}"#;
        if let Ok(reply) = serde_json::from_str(answer) {
            let outcome = Box::new(self.outcome(reply, cpu_time(), false));
            encode(&MachineMessage::Done { outcome, listed: None }, 0)?;
        }
        Ok(())
    }

    fn execute(&mut self, number: u64, request: &Execute) -> Result<Outcome, Failure> {
        let text = serde_json::to_string(request)
            .map_err(|error| InterpreterError::Driver(format!("bad request: {error}")))?;
        let channel = self.channel.clone();
        self.lock_output().begin(crate::files::event_sink(channel), self.limits.output_bytes);
        let host = self.machine.host();
        host.account.refused = false;
        host.vfs.process_mut().set_command_line(command_line(request));
        let since = self.machine.host().vfs.last_change();
        let before = cpu_time();
        crate::signals::arm(number);
        if self.machine.host().threads.count() > 0 {
            slice::start();
        }
        self.meter.begin(self.limits.cpu, self.limits.grace);
        let answer = self.machine.call_driver("execute", &text);
        if answer.is_ok() && request.ends_program {
            // Writes the buffers of open files of the C library. A failure would be an error of the program, but the
            // program has ended, so the failure is ignored.
            let _ = self.machine.call_export("fflush", &[0]);
        }
        self.meter.end();
        let cpu_limit = crate::signals::disarm();
        slice::stop();
        let answer = answer?;
        let executed: ExecuteReply = serde_json::from_str(&answer).map_err(|_| InterpreterError::Damaged)?;
        let mut outcome = self.outcome(executed, before, cpu_limit);
        let except = request.mode.keeps_names().then_some(crate::api::WORKSPACE);
        (outcome.new_files, outcome.more_new_files) = files::new_files(&mut self.machine.host().vfs, since, except);
        if matches!(request.mode, ExecuteMode::Script | ExecuteMode::Server) {
            // The driver puts the script there.
            let script = format!("{}/{}", crate::files::HOME, request.file_name);
            outcome.new_files.retain(|file| file.path != script);
        }
        Ok(outcome)
    }

    /// Returns the outcome of an execution. `before` is the CPU time when it began.
    fn outcome(&self, reply: ExecuteReply, before: Duration, cpu_limit: bool) -> Outcome {
        Outcome {
            ended: reply.ended,
            is_printed: reply.printed,
            stopped: cpu_limit.then_some(StopReason::CpuLimit),
            output_dropped: self.lock_output().end(),
            peak_memory_bytes: self.machine.memory_bytes(),
            cpu: cpu_time().saturating_sub(before),
            new_files: Vec::new(),
            more_new_files: 0,
        }
    }
}
