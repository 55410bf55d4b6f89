//! The jail of each kind of process: its limits, and how a process enters it.

use std::os::fd::RawFd;

use serde::{Deserialize, Serialize};

use brumate_jail::{JailConfig, Profile, Require};

/// Descriptors a zygote and its machines may have open.
const OPEN_FILES: u64 = 4096;

/// Processes one zygote's user may have: machines and their checkpoints.
const PROCESSES: u64 = 16_384;

/// Private writable memory of the builder of an image, in bytes: the largest image and what the host needs beside it. What exceeds it fails.
const BUILD_DATA: u64 = 3 << 30;

/// CPU time of the builder of an image, in seconds. Then it is killed, and the image is not there.
const BUILD_CPU_SECONDS: u64 = 300;

/// Limits of a compiler's process, kept by the kernel. They are set before it reads what it compiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CompileLimits {
    /// Private writable memory, in bytes.
    pub(crate) memory: Option<u64>,
    /// CPU time in whole seconds.
    pub(crate) cpu_seconds: Option<u64>,
    /// One thread, on one core that all such processes share.
    pub(crate) one_core: bool,
    /// Other work on this host goes first.
    pub(crate) nice: i32,
}

impl CompileLimits {
    /// No limits.
    pub(crate) const NONE: CompileLimits = CompileLimits { memory: None, cpu_seconds: None, one_core: false, nice: 0 };
}

/// The jail of a profile, as this crate uses it.
pub(crate) fn config(profile: Profile) -> JailConfig {
    let mut config = JailConfig::of(profile);
    if profile == Profile::Zygote {
        config.limits.open_files = OPEN_FILES;
        config.limits.processes = PROCESSES;
    }
    config
}

/// Jails this process for running guests, or as the builder of an image; returns the walls that could not be raised.
///
/// # Errors
/// When a mandatory wall (any wall, with `all`) cannot be raised.
pub(crate) fn enter_zygote(all: bool, keep: &[RawFd], builder: bool) -> Result<Vec<String>, String> {
    crate::bundle::map_files();
    let mut config = config(Profile::Zygote);
    if builder {
        config.limits.data_bytes = Some(BUILD_DATA);
        config.limits.cpu_seconds = Some(BUILD_CPU_SECONDS);
    }
    config.require = if all { Require::All } else { Require::Best };
    config.keep = keep.to_vec();
    enter(Profile::Zygote, &config)
}

/// Jails this process for compiling, within `limits`.
///
/// # Errors
/// When a mandatory wall cannot be raised.
pub(crate) fn enter_compile(limits: CompileLimits) -> Result<Vec<String>, String> {
    let mut config = config(Profile::Compile);
    let own = &mut config.limits;
    own.data_bytes = limits.memory;
    own.cpu_seconds = limits.cpu_seconds;
    own.nice = limits.nice;
    if let Some(memory) = limits.memory {
        // What it writes is held in memory, too.
        own.file_bytes = own.file_bytes.min(memory);
    }
    enter(Profile::Compile, &config)
}

fn enter(profile: Profile, config: &JailConfig) -> Result<Vec<String>, String> {
    let report = brumate_jail::enter(profile, config).map_err(|error| error.to_string())?;
    Ok(report.missing_walls().map(|(wall, reason)| format!("{wall:?}: {reason}")).collect())
}
