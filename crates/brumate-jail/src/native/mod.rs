//! The jail of native programs: interpreters of the host that run code of strangers.
//!
//! WebAssembly does not hold such a program off, and it needs files, threads, processes and local sockets. The walls permit more than
//! those around machines:
//!
//! | wall | machines | native programs |
//! |---|---|---|
//! | root | empty | the directories of [`NativeConfig::read_only`], read-only; `/workspace`, `/tmp`, `/home/user`, `/dev/shm` and `/run` in one file system in memory with a quota; `/proc` of the jail's own processes; six devices, terminals |
//! | network | none | the loopback interface of the jail |
//! | processes | one | up to [`NativeConfig::processes`], in a process namespace |
//! | seccomp | about 60 calls | about 200: no namespaces, mounts, tracing, `io_uring`, `bpf`, `memfd_create`, System V memory |
//! | memory | of the machine | `RLIMIT_DATA` for each process, and the sum of all, which the first process measures |
//!
//! [`enter`] makes the jail around the calling process, which becomes the jail's first process. Programs get in by two ways:
//! [`NativeJail::start`] executes one; a process outside, which the server trusts, joins with the descriptors and the data of
//! [`NativeJail::door`].

mod guard;
mod tree;
mod walls;

use std::ffi::CString;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::namespaces::{self, Before};
use super::supervisor::{self, Server};
use super::sys::SingleThreaded;
use super::{JailConfig, JailError, Profile, Report, Require, Wall, descriptors, identity, landlock, seccomp, sys};

pub use guard::{GuardEnd, MEMORY_EXIT_STATUS};
pub use walls::Walls;

/// Directory of the session.
pub const WORKSPACE: &str = "/workspace";

/// Home directory of the programs.
pub const HOME: &str = "/home/user";

/// Directory of the sockets on which the server reaches a program.
pub const SOCKETS: &str = "/run/kernel";

/// Name of the user that the programs see.
pub const USER: &str = "user";

/// Most paths of [`NativeConfig::read_only`].
pub const MAX_READ_ONLY: usize = 64;

/// Order for the jail of native programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeConfig {
    /// Meaning of a missing wall.
    pub require: Require,
    /// Absolute paths of the host that are in the jail at the same place, read-only. One that does not exist is left out.
    pub read_only: Vec<PathBuf>,
    /// Bytes of all files together.
    pub file_bytes: u64,
    /// Files, directories and links.
    pub inodes: u64,
    /// Descriptors of each process.
    pub open_files: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Private memory of each process, and of all together, in bytes.
    pub memory_bytes: u64,
}

/// A jail, seen from its first process.
#[derive(Debug)]
pub struct NativeJail {
    report: Report,
    walls: Walls,
    /// The file of the namespaces, in the order of [`NativeDoor::namespaces`].
    namespaces: Vec<OwnedFd>,
    names: Vec<String>,
    workspace: OwnedFd,
    sockets: OwnedFd,
    rules: Option<OwnedFd>,
    memory_bytes: u64,
    alone: SingleThreaded,
}

/// The way into a jail: data for a process that joins it. Its descriptors come beside it, in this order: the workspace, the directory
/// of sockets, each of the namespaces, and Landlock's rules if there are any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeDoor {
    /// Walls of the jail.
    pub report: Report,
    /// Names of the namespaces, as in `/proc/self/ns`; the user namespace comes first.
    pub namespaces: Vec<String>,
    /// Whether the last descriptor is Landlock's rules.
    pub landlock: bool,
    /// Walls that the process puts up itself.
    pub walls: Walls,
}

/// Program to execute in a jail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeProgram {
    /// Absolute path of the program, and its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
}

/// Makes a jail. Returns in a **different process** than it was called in: the first process of the jail, which has no rights and
/// runs nothing of a stranger. The calling process stays behind as supervisor.
///
/// To be called first thing in `main` of a re-executed binary, by its only thread, as [`super::enter`]. `control` is the socket to the
/// server.
///
/// # Errors
///
/// A wall is missing that [`NativeConfig::require`] or the kind of the jail demands: without namespaces there is no jail for native
/// programs.
pub fn enter(config: &NativeConfig, control: RawFd) -> Result<NativeJail, JailError> {
    if config.read_only.len() > MAX_READ_ONLY {
        return Err(JailError::Config("too many directories of the host"));
    }
    let jail_config = JailConfig { control, require: config.require, ..JailConfig::of(Profile::Native) };
    jail_config.validate()?;
    let alone = SingleThreaded::prove().map_err(JailError::Threads)?;
    let mut report = Report::new(Profile::Native);
    descriptors::scrub_environment(&alone, &mut report);
    descriptors::close_others(&jail_config, &mut report)?;
    let server = Server::identify(control, &mut report)?;

    let before = Before::read();
    let mut taken = namespaces::take(Profile::Native, &jail_config);
    let tie = supervisor::split(&alone, server, &jail_config)?;
    let proc = namespaces::proc_self(&mut report).ok_or(JailError::Config("/proc is not mounted"))?;
    namespaces::prefer_oom(&proc, &mut report);
    for wall in [Wall::MountNamespace, Wall::PidNamespace, Wall::NetNamespace] {
        if !taken.has(wall) {
            let reason =
                "this host gives no namespaces to this user: allow user namespaces, or start the server as root";
            return Err(JailError::WallsMissing(vec![format!("{wall:?}: {reason}")]));
        }
    }
    let user = taken.has_user_namespace().then_some("user");
    let names: Vec<String> = user.into_iter().chain(taken.names()).map(str::to_owned).collect();
    let open = |name: &String| proc.open_namespace(name).map_err(JailError::os("opening a namespace"));
    let namespaces = names.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    tree::mount(config).map_err(|reason| JailError::WallsMissing(vec![format!("root: {reason}")]))?;
    report.active(Wall::EmptyRoot, "the directories that were named, read-only, and files in memory");
    namespaces::name_host(&mut taken);
    // Without the interface only programs that talk to themselves over TCP miss something.
    let _ = sys::loopback_up();
    namespaces::verify(taken, &before, Some(&proc), &mut report);
    drop(proc);

    let network = report.is_active(Wall::NetNamespace);
    let rules = match landlock::native_rules(&tree::WRITABLE, network) {
        Ok(rules) => {
            report.active(Wall::LandlockFiles, "");
            report.active(Wall::LandlockScopes, "");
            Some(rules)
        }
        Err(reason) => {
            report.missing(Wall::LandlockFiles, reason.clone());
            report.missing(Wall::LandlockScopes, reason);
            None
        }
    };
    report.missing(Wall::LandlockTcp, "the jail has a loopback interface of its own");
    let walls = Walls::new(config, network)?;
    identity::drop_capabilities(&mut report);
    identity::no_new_privs(&mut report)?;
    match identity::make_dumpable(false) {
        Ok(()) => report.active(Wall::NotDumpable, "the first process; others may be traced by none"),
        Err(errno) => report.missing(Wall::NotDumpable, errno.to_string()),
    }
    report.active(Wall::Rlimits, walls.describe_limits());
    report.active(Wall::ProcessLimit, format!("{} processes", config.processes));
    report.active(Wall::Seccomp, format!("{} programs", walls.programs()));
    report.uid = rustix::process::getuid().as_raw();
    tie.tighten()?;
    if config.require == Require::All {
        let missing = report.missing_walls().filter(|(wall, _)| *wall != Wall::LandlockTcp);
        let missing: Vec<String> = missing.map(|(wall, reason)| format!("{wall:?}: {reason}")).collect();
        if !missing.is_empty() {
            return Err(JailError::WallsMissing(missing));
        }
    }
    let directory = |path: &str| {
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
        rustix::fs::open(path, flags, rustix::fs::Mode::empty()).map_err(JailError::os("opening a directory"))
    };
    Ok(NativeJail {
        report,
        walls,
        namespaces,
        names,
        workspace: directory(WORKSPACE)?,
        sockets: directory(SOCKETS)?,
        rules,
        memory_bytes: config.memory_bytes,
        alone,
    })
}

impl NativeJail {
    /// Returns the way into the jail.
    pub fn door(&self) -> NativeDoor {
        NativeDoor {
            report: self.report.clone(),
            namespaces: self.names.clone(),
            landlock: self.rules.is_some(),
            walls: self.walls.clone(),
        }
    }

    /// Lists the descriptors that go with [`NativeJail::door`].
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let first = [&self.workspace, &self.sockets];
        first.into_iter().chain(&self.namespaces).chain(&self.rules).map(|fd| fd.as_fd()).collect()
    }

    /// Executes a program in the jail, behind all of its walls. Its standard streams are `/dev/null`, its working directory is
    /// [`WORKSPACE`].
    ///
    /// # Errors
    ///
    /// The process cannot be made. A program that cannot be executed ends with the status 127.
    pub fn start(&self, program: &NativeProgram) -> Result<rustix::process::Pid, JailError> {
        let text = |text: &str| CString::new(text).map_err(|_| JailError::Config("a text of the program has a NUL"));
        let arguments = program.arguments.iter().map(|argument| text(argument)).collect::<Result<Vec<_>, _>>()?;
        let variables = program.environment.iter().map(|(name, value)| text(&format!("{name}={value}")));
        let variables = variables.collect::<Result<Vec<_>, _>>()?;
        match sys::fork(&self.alone).map_err(|source| JailError::Os { step: "forking a program", source })? {
            sys::Side::Parent(pid) => Ok(pid),
            sys::Side::Child => {
                let status = match self.walls.put_up(self.rules.as_ref().map(|rules| rules.as_fd())) {
                    Ok(()) => sys::execute(&arguments, &variables),
                    Err(_) => 126,
                };
                sys::exit_now(status)
            }
        }
    }

    /// Guards the jail until the server hangs up, `program` ends, or the processes together have more memory than they may.
    pub fn guard(self, control: BorrowedFd<'_>, program: Option<rustix::process::Pid>) -> GuardEnd {
        guard::guard(control, program, self.memory_bytes)
    }
}

/// Installs the filters; see [`Walls::put_up`].
fn install(programs: &[seccompiler::BpfProgram]) -> Result<(), JailError> {
    seccomp::install_native(programs)
}
