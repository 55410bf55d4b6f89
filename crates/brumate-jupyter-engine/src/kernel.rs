//! One kernel: its jail, its process, and its connection.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use brumate_engine_api::{EngineError, ExitReason, Limits};
use brumate_jail::native::{NativeConfig, NativeProgram, WORKSPACE};
use brumate_jail::{Require, Wall};
use brumate_jupyter_protocol::{Header, Message, Signer, new_id};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use crate::connection::{CONNECTION_FILE, Connection, ConnectionFile};
use crate::directory::Directory;
use crate::interpreter::Interpreter;
use crate::jail_process::{JailEnd, JailOrder, JailProcess};
use crate::kernel_spec::{InterruptMode, KernelSpec, environment};
use crate::packages::{self, PackageServer};
use crate::zygote::Zygote;

/// Time in which a kernel listens on its sockets.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Time in which a jail tells why it has ended, after its kernel has.
const REASON_TIMEOUT: Duration = Duration::from_millis(300);
/// Descriptors of each process of a kernel.
const OPEN_FILES: u64 = 1024;
/// Processes and threads of a kernel.
const PROCESSES: u64 = 256;
/// Longest status of a process in `/proc`, in bytes.
const STATUS_BYTES: u64 = 8 << 10;
/// Directories of the host that programs need.
const SYSTEM: [&str; 13] = [
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/sbin",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/R",
];

/// How kernels are started.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// Forks of a zygote.
    Zygote(Arc<Zygote>),
    /// The command line of a kernel specification.
    Command,
}

/// Everything that kernels of an engine have in common.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// This program: it makes jails.
    pub(crate) program: PathBuf,
    pub(crate) spec: KernelSpec,
    /// Python whose directories and programs the kernel has.
    pub(crate) interpreter: Option<Interpreter>,
    /// Whether kernels are forks of a zygote of the interpreter.
    pub(crate) forks: bool,
    pub(crate) require: Require,
    /// Serves packages to the kernels.
    pub(crate) packages: Option<Arc<dyn PackageServer>>,
}

impl Recipe {
    /// Lists the directories with programs.
    fn path(&self) -> Vec<PathBuf> {
        let own = self.interpreter.iter().map(|interpreter| interpreter.prefix.join("bin"));
        own.chain(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from)).collect()
    }

    fn config(&self, limits: &Limits) -> NativeConfig {
        let mut read_only: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        read_only.extend(self.interpreter.iter().flat_map(|interpreter| interpreter.directories.clone()));
        read_only.push(self.spec.directory.clone());
        NativeConfig {
            require: self.require,
            read_only,
            file_bytes: limits.file_bytes,
            inodes: limits.inodes,
            open_files: OPEN_FILES,
            processes: PROCESSES,
            memory_bytes: limits.memory_bytes,
        }
    }

    fn environment(&self) -> Vec<(String, String)> {
        let extra = self.spec.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        let own = self.interpreter.iter().map(|python| ("VIRTUAL_ENV".to_owned(), python.prefix.display().to_string()));
        environment(&self.path(), own.chain(packages::environment(self.packages.is_some())).chain(extra))
    }
}

/// A running kernel. Its processes end when this is dropped.
#[derive(Debug)]
pub(crate) struct Kernel {
    jail: JailProcess,
    process: OwnedFd,
    /// The zygote that knows how the process ends.
    zygote: Option<Arc<Zygote>>,
    pub(crate) pid: i32,
    pub(crate) connection: Connection,
    signer: Signer,
    /// Id of the server in the headers of its messages.
    session: String,
    pub(crate) directory: Directory,
    interrupt_mode: InterruptMode,
    pub(crate) is_python: bool,
    _packages: Option<AbortOnDropHandle<()>>,
}

impl Kernel {
    /// Starts a kernel in a jail of its own.
    pub(crate) async fn start(recipe: &Recipe, source: &Source, limits: &Limits) -> Result<Self, EngineError> {
        let deadline = Instant::now() + START_TIMEOUT;
        let file = ConnectionFile::new(&recipe.spec.name);
        let environment = recipe.environment();
        let program = match source {
            Source::Zygote(_) => None,
            Source::Command => {
                let arguments = recipe.spec.command(CONNECTION_FILE, &recipe.path());
                let arguments = arguments.map_err(|error| EngineError::Unavailable(error.to_string()))?;
                Some(NativeProgram { arguments, environment: environment.clone() })
            }
        };
        let order = JailOrder {
            config: recipe.config(limits),
            connection: file.clone(),
            program,
            packages: recipe.packages.is_some(),
        };
        let mut jail = JailProcess::make(&recipe.program, &order).await?;
        let packages = match (&recipe.packages, jail.take_packages()) {
            (Some(server), Some(listener)) => Some(packages::serve(server, listener)?),
            _ => None,
        };
        let (pid, process) = match source {
            Source::Zygote(zygote) => {
                let places = (WORKSPACE, CONNECTION_FILE);
                let forked = zygote.fork(&jail, places, &environment).await?;
                (forked.pid, forked.process)
            }
            Source::Command => {
                let process = jail.program()?;
                (pid_of(&process).unwrap_or_default(), process)
            }
        };
        let zygote = match source {
            Source::Zygote(zygote) => Some(Arc::clone(zygote)),
            Source::Command => None,
        };
        let workspace = jail.workspace()?;
        let sockets = jail.sockets()?;
        let connected = tokio::select! {
            connected = Connection::open(&sockets, &file, deadline) => connected,
            reason = ended(&jail, zygote.as_deref(), pid) => Err(format!("it ended before it listened: {reason}")),
        };
        let walls = &jail.door.walls;
        let directory = Directory::new(workspace, (walls.uid, walls.gid));
        let failed =
            |reason| EngineError::Unavailable(format!("the kernel {:?} does not start: {reason}", recipe.spec.name));
        let kernel = Self {
            connection: connected.map_err(failed)?,
            jail,
            process,
            zygote,
            pid,
            signer: Signer::new(&file.key),
            session: new_id(),
            directory,
            interrupt_mode: recipe.spec.interrupt_mode,
            is_python: recipe.spec.language.eq_ignore_ascii_case("python"),
            _packages: packages,
        };
        if matches!(source, Source::Command) {
            kernel.greet(deadline).await.map_err(failed)?;
        }
        Ok(kernel)
    }

    /// Waits until the kernel answers, and until what it publishes arrives. A kernel that was just started may miss both: it answers
    /// requests before it has seen that somebody listens to it.
    async fn greet(&self, deadline: Instant) -> Result<(), String> {
        while Instant::now() < deadline {
            let request = self.message("kernel_info_request", &serde_json::json!({}));
            let id = request.header.msg_id.clone();
            self.send_shell(request).await.map_err(|error| error.to_string())?;
            let published = async {
                loop {
                    let parts = self.connection.iopub.recv().await.map_err(|error| error.to_string())?;
                    let message = self.read(parts);
                    if message.and_then(|message| crate::messages::parent_of(&message)).as_deref() == Some(&id) {
                        return Ok::<_, String>(());
                    }
                }
            };
            let answered = async { self.connection.shell.recv().await.map(|_| ()).map_err(|error| error.to_string()) };
            let both = async { tokio::try_join!(published, answered).map(|_| ()) };
            tokio::select! {
                greeted = tokio::time::timeout(Duration::from_secs(1), both) => if let Ok(greeted) = greeted {
                    return greeted;
                },
                reason = self.ended() => return Err(format!("it ended before it answered: {reason}")),
            }
        }
        Err(format!("it does not answer within {} s", START_TIMEOUT.as_secs()))
    }

    /// Makes a request.
    pub(crate) fn message(&self, kind: &str, content: &Value) -> Message {
        Message::new(kind, &self.session, &Header::default(), content)
    }

    /// Sends a request on the shell channel.
    pub(crate) async fn send_shell(&self, message: Message) -> Result<(), EngineError> {
        let parts = message.into_parts(Vec::new(), &self.signer);
        self.connection.shell.send(parts).await.map_err(|error| protocol(&error.to_string()))
    }

    /// Sends a message on the stdin channel.
    pub(crate) async fn send_stdin(&self, message: Message) -> Result<(), EngineError> {
        let parts = message.into_parts(Vec::new(), &self.signer);
        self.connection.stdin.send(parts).await.map_err(|error| protocol(&error.to_string()))
    }

    /// Reads a message. `None` for one that is no message, or that is signed with another key.
    pub(crate) fn read(&self, parts: Vec<bytes::Bytes>) -> Option<Message> {
        Message::from_parts(parts, &self.signer).ok().map(|(_, message)| message)
    }

    /// Interrupts the code that runs, and the processes that it has started.
    pub(crate) async fn interrupt(&self) {
        match self.interrupt_mode {
            InterruptMode::Message => {
                let parts = self.message("interrupt_request", &serde_json::json!({}));
                let sent = self.connection.control.send(parts.into_parts(Vec::new(), &self.signer));
                // A kernel that does not read is killed later.
                let _ = tokio::time::timeout(Duration::from_millis(100), sent).await;
            }
            InterruptMode::Signal => {
                // The number is that of the kernel until its process has ended.
                if let (true, Some(group)) = (self.is_alive(), rustix::process::Pid::from_raw(self.pid)) {
                    let _ = rustix::process::kill_process_group(group, Signal::INT);
                }
            }
        }
    }

    /// Lists the walls that the jail lacks, with their reasons.
    pub(crate) fn missing_walls(&self) -> Vec<String> {
        let missing = self.jail.door.report.missing_walls();
        // Its interface is the jail's own.
        let missing = missing.filter(|(wall, _)| *wall != Wall::LandlockTcp);
        missing.map(|(wall, reason)| format!("{wall:?}: {reason}")).collect()
    }

    /// Returns whether the kernel's process lives. A descriptor of a process is readable when it has ended.
    pub(crate) fn is_alive(&self) -> bool {
        let mut entry = [PollFd::new(&self.process, PollFlags::IN)];
        rustix::event::poll(&mut entry, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
    }

    /// Ends the kernel.
    pub(crate) fn kill(&self) {
        let _ = rustix::process::pidfd_send_signal(&self.process, Signal::KILL);
        self.jail.kill();
    }

    /// Waits for the end of the kernel. Safe to cancel.
    pub(crate) async fn ended(&self) -> ExitReason {
        ended(&self.jail, self.zygote.as_deref(), self.pid).await
    }

    /// Returns the CPU time of the kernel's process and of the processes that it has waited for.
    pub(crate) fn cpu(&self) -> Duration {
        let Some(text) = proc_file(self.pid, "stat") else { return Duration::ZERO };
        // The name in parentheses may have spaces.
        let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
        let ticks: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        Duration::from_millis(ticks.saturating_mul(1000) / per_second)
    }

    /// Returns the most memory that the kernel's process has had, in bytes.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        let text = proc_file(self.pid, "status")?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.split_ascii_whitespace().next()?.parse::<u64>().ok()? * 1024)
    }
}

/// Waits for the end of a kernel: the zygote tells how a fork has ended, and the jail of a program ends with it.
async fn ended(jail: &JailProcess, zygote: Option<&Zygote>, pid: i32) -> ExitReason {
    let told = async {
        match zygote {
            Some(zygote) => zygote.status_of(pid).await,
            None => std::future::pending().await,
        }
    };
    let status = tokio::select! {
        // A jail that ends takes the kernel with it, and knows why.
        status = told => match tokio::time::timeout(REASON_TIMEOUT, jail.ended()).await {
            Ok(JailEnd::Memory) => return ExitReason::MemoryLimit,
            _ => status,
        },
        end = jail.ended() => match end {
            JailEnd::Memory => return ExitReason::MemoryLimit,
            // As a shell tells of signals.
            JailEnd::Exit(status) if status > 128 => 128 - status,
            JailEnd::Exit(status) => status,
            JailEnd::Signal(signal) => -signal,
        },
    };
    if status < 0 { ExitReason::Signal(-status) } else { ExitReason::Exit(status) }
}

/// Returns the error of a kernel that breaks the protocol.
pub(crate) fn protocol(reason: &str) -> EngineError {
    EngineError::MachineExited {
        reason: ExitReason::Protocol(reason.to_owned()),
        output_dropped: 0,
        peak_memory_bytes: None,
    }
}

#[expect(clippy::disallowed_methods, reason = "at most `STATUS_BYTES`")]
fn proc_file(pid: i32, name: &str) -> Option<String> {
    use std::io::Read as _;
    let file = std::fs::File::open(Path::new("/proc").join(pid.to_string()).join(name)).ok()?;
    let mut text = String::new();
    file.take(STATUS_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns the number of the process of a descriptor, as this process sees it.
fn pid_of(process: &OwnedFd) -> Option<i32> {
    use std::os::fd::AsRawFd as _;
    let text = proc_file(std::process::id().cast_signed(), &format!("fdinfo/{}", process.as_raw_fd()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    line.trim().parse().ok()
}
