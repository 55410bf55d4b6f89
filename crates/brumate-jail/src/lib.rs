//! The operating system's wall around zygotes, machines and compilers.
//!
//! The server spawns its own binary again ([`spawn`]); the new process, single-threaded and with nothing but a control
//! socket, calls [`enter`] before it reads anything a guest could have written. From then on it has no files, no
//! network, no other processes, no rights and a short list of system calls; machines forked from it inherit all that
//! for nothing.
//!
//! What cannot be built (a container forbids user namespaces, an old kernel lacks Landlock) is reported, never
//! skipped in silence ([`Report`]); [`Require`] decides whether that is fatal. [`probe`] tries every wall from inside.
//!
//! | who starts the server | walls |
//! |---|---|
//! | root | host user id of its own, namespaces owned by the host, Landlock, seccomp |
//! | a user | namespaces in a user namespace, another inside it, Landlock, seccomp |
//! | either, user namespaces forbidden | Landlock, seccomp, limits; as root also an own user id and an empty root |
//!
//! Signals: the server may signal every process of the jail (same user, or root). The jailed process is the first of its
//! process namespace: of signals sent from outside only `SIGKILL`, `SIGSTOP` and those it has a handler for reach it. When
//! it ends, the kernel kills everything else there: a zygote is forked from it, so that its machines outlive it, and after
//! the server's end it must live until their crash snapshots are written. Zygote and machines are ordinary processes, whose own
//! `abort` ends in `SIGSEGV`. Process ids inside mean nothing outside; the server learns a machine's from `SCM_CREDENTIALS`
//! on its socket.

mod config;
mod descriptors;
mod identity;
mod landlock;
mod limits;
mod machine;
mod namespaces;
pub mod native;
pub mod probe;
mod report;
mod root;
mod seccomp;
pub mod spawn;
mod supervisor;
mod sys;

use std::io;

pub use config::{
    CONTROL_FD, CRASH_SNAPSHOT_TIME, JailConfig, JailLimits, MAX_CRASH_SNAPSHOT_TIME, MAX_KEPT_DESCRIPTORS, Profile,
    Require,
};
pub use limits::start_alarm_in;
pub use limits::{
    CPU_GRACE_SECONDS, MachineLimits, start_alarm, start_cpu_timer, start_slices, stop_alarm, stop_cpu_timer,
    stop_slices,
};
pub use machine::{die_with_parent, tighten_machine};
pub use report::{ProbeResult, Report, Wall, WallReport, WallState};

/// Why a jail could not be entered. The process must end then: some walls may stand already.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JailError {
    /// The configuration contradicts itself.
    #[error("jail configuration: {0}")]
    Config(&'static str),
    /// A process with several threads cannot be jailed as a whole.
    #[error("a process to be jailed must have one thread, this one has {0}")]
    Threads(usize),
    /// A descriptor to be kept is not open.
    #[error("descriptor {0} is not open")]
    NotOpen(i32),
    /// The server ended before the jail was complete.
    #[error("the server is gone")]
    ServerGone,
    /// A system call failed.
    #[error("{step}: {source}")]
    Os {
        /// What was being done.
        step: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A limit could not be set.
    #[error("limiting {resource}: {source}")]
    Limit {
        /// Which limit.
        resource: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The filter could not be built or installed.
    #[error("seccomp: {0}")]
    Seccomp(String),
    /// Walls that must stand do not.
    #[error("walls missing: {}", .0.join("; "))]
    WallsMissing(Vec<String>),
}

impl JailError {
    fn os(step: &'static str) -> impl Fn(rustix::io::Errno) -> JailError {
        move |errno| JailError::Os { step, source: errno.into() }
    }
}

/// Enters the jail, for good. Returns in a **different process** than it was called in: a forked child, with all
/// walls up. The calling process stays behind as its supervisor and never returns.
///
/// To be called first thing in `main` of a re-executed binary, by its only thread: every descriptor not named in
/// `config` is closed, whoever owns it, and the environment is overwritten.
///
/// # Errors
///
/// The configuration is unusable, a mandatory wall could not be built, or any wall where `config.require` asks for
/// all. The process must not go on then.
pub fn enter(profile: Profile, config: &JailConfig) -> Result<Report, JailError> {
    config.validate()?;
    let alone = sys::SingleThreaded::prove().map_err(JailError::Threads)?;
    let mut report = Report::new(profile);
    descriptors::scrub_environment(&alone, &mut report);
    descriptors::close_others(config, &mut report)?;
    let server = supervisor::Server::identify(config.control, &mut report)?;

    let before = namespaces::Before::read();
    let mut taken = namespaces::take(profile, config);
    let tie = supervisor::split(&alone, server, config)?;

    let proc = namespaces::proc_self(&mut report);
    if let Some(proc) = &proc {
        namespaces::prefer_oom(proc, &mut report);
    }
    root::mount(&taken, &mut report);
    namespaces::name_host(&mut taken);
    if let Some(proc) = &proc {
        namespaces::box_in(&mut taken, proc);
    }
    root::leave(&alone, &mut report);
    namespaces::verify(taken, &before, proc.as_ref(), &mut report);
    drop(proc);

    identity::drop_capabilities(&mut report);
    identity::no_new_privs(&mut report)?;
    limits::apply(config, &mut report)?;
    match identity::make_dumpable(false) {
        Ok(()) => report.active(Wall::NotDumpable, ""),
        Err(errno) => report.missing(Wall::NotDumpable, errno.to_string()),
    }
    descriptors::refuse_directories(&mut report);
    report.uid = rustix::process::getuid().as_raw();
    let checks = config.self_check.then(|| probe::stages::Checks::before_landlock(&report));
    landlock::enforce(profile, &mut report);
    if let Some(checks) = checks {
        report.checks = checks.after_landlock(&report);
    }
    tie.tighten()?;
    seccomp::install(profile, &mut report)?;
    report.judge(config.require)?;
    Ok(report)
}

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
