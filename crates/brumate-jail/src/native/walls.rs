//! Walls that a program's own process puts up, just before it runs anything of a stranger.

use std::os::fd::BorrowedFd;

use rustix::process::Resource;
use serde::{Deserialize, Serialize};

use super::super::{JailError, Report, identity, limits, seccomp, sys};
use super::{NativeConfig, Profile, WORKSPACE};

/// Signals that may be queued.
const PENDING_SIGNALS: u64 = 1024;

/// Resources that are limited, in this order, with their numbers for processes that set the limits themselves.
#[allow(clippy::unnecessary_cast, reason = "the type differs between C libraries")]
const RESOURCES: [(Resource, u32); 10] = [
    (Resource::Core, libc::RLIMIT_CORE as u32),
    (Resource::Memlock, libc::RLIMIT_MEMLOCK as u32),
    (Resource::Msgqueue, libc::RLIMIT_MSGQUEUE as u32),
    (Resource::Nice, libc::RLIMIT_NICE as u32),
    (Resource::Rtprio, libc::RLIMIT_RTPRIO as u32),
    (Resource::Sigpending, libc::RLIMIT_SIGPENDING as u32),
    (Resource::Nofile, libc::RLIMIT_NOFILE as u32),
    (Resource::Fsize, libc::RLIMIT_FSIZE as u32),
    (Resource::Data, libc::RLIMIT_DATA as u32),
    (Resource::Nproc, libc::RLIMIT_NPROC as u32),
];

/// Walls of a process: its user, its limits, its filters of system calls. A process that joins the jail puts them up in this order:
/// the namespaces, the user, no capabilities, `no_new_privs`, the limits, Landlock's rules, the filters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// User and group id.
    pub uid: u32,
    /// See [`Walls::uid`].
    pub gid: u32,
    /// Limits: numbers of resources (`RLIMIT_…`), and values.
    pub limits: Vec<(u32, u64)>,
    /// Programs for seccomp, in this order: each instruction is a code, two jumps and a value.
    pub filters: Vec<Vec<(u16, u8, u8, u32)>>,
    /// Number of the system call `seccomp`.
    pub seccomp: i64,
    /// Number of the system call `landlock_restrict_self`.
    pub landlock_restrict_self: i64,
}

impl Walls {
    pub(super) fn new(config: &NativeConfig, network: bool) -> Result<Self, JailError> {
        let programs = seccomp::native_programs(network)?;
        let instruction = |i: &seccompiler::sock_filter| (i.code, i.jt, i.jf, i.k);
        let values = [
            0,
            0,
            0,
            0,
            0,
            PENDING_SIGNALS,
            config.open_files,
            config.file_bytes,
            config.memory_bytes,
            config.processes,
        ];
        Ok(Self {
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            limits: RESOURCES.into_iter().map(|(_, number)| number).zip(values).collect(),
            filters: programs.iter().map(|program| program.iter().map(instruction).collect()).collect(),
            seccomp: libc::SYS_seccomp,
            landlock_restrict_self: libc::SYS_landlock_restrict_self,
        })
    }

    /// Counts the filters.
    pub(super) fn programs(&self) -> usize {
        self.filters.len()
    }

    /// Describes the limits for a report.
    pub(super) fn describe_limits(&self) -> String {
        let value = |wanted| {
            let mut limits = RESOURCES.into_iter().zip(&self.limits);
            limits.find(|((known, _), _)| *known == wanted).map_or(0, |(_, (_, value))| *value)
        };
        let (files, bytes, data) = (value(Resource::Nofile), value(Resource::Fsize), value(Resource::Data));
        format!("{files} files, {bytes} bytes per file, {data} bytes of memory per process, no core, no locked memory")
    }

    /// Puts the walls up around this process, which is in the namespaces already and has no capabilities.
    pub(super) fn put_up(&self, rules: Option<BorrowedFd<'_>>) -> Result<(), JailError> {
        rustix::process::setsid().map_err(JailError::os("starting a session"))?;
        rustix::process::chdir(WORKSPACE).map_err(JailError::os("entering the workspace"))?;
        identity::no_new_privs(&mut Report::new(Profile::Native))?;
        for ((resource, _), (_, value)) in RESOURCES.into_iter().zip(&self.limits) {
            limits::lower(resource, *value)?;
        }
        if let Some(rules) = rules {
            sys::restrict_to(rules).map_err(|source| JailError::Os { step: "Landlock", source })?;
        }
        let instruction = |&(code, jt, jf, k): &(u16, u8, u8, u32)| seccompiler::sock_filter { code, jt, jf, k };
        let programs: Vec<seccompiler::BpfProgram> =
            self.filters.iter().map(|program| program.iter().map(instruction).collect()).collect();
        super::install(&programs)
    }
}
