//! Where jailed processes start: `brumate internal zygote|compile`.

#![expect(unsafe_code, reason = "takes over the control socket, an inherited descriptor")]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::process::ExitCode;

use crate::channel::Channel;
use crate::code::process::Limits;
use brumate_jail::{CONTROL_FD, JailConfig, ProbeResult, Profile, Require};

/// Descriptors a zygote and its machines may have open.
const OPEN_FILES: u64 = 4096;

/// Processes one zygote's user may have: machines and their checkpoints.
const PROCESSES: u64 = 16_384;

/// Private writable memory of the builder of an image, in bytes: the largest image and what the host needs beside it. What exceeds it fails.
const BUILD_DATA: u64 = 3 << 30;

/// CPU time of the builder of an image, in seconds. Then it is killed, and the image is not there.
const BUILD_CPU_SECONDS: u64 = 300;

/// Runs an internal command. To be called at the very start of `main`, before any thread exists: these processes jail
/// themselves and must be single-threaded then. `None` when `arguments` (without the program's name) are not for it.
pub fn internal_main(arguments: &[std::ffi::OsString]) -> Option<ExitCode> {
    let [first, command] = arguments else { return None };
    if first != "internal" {
        return None;
    }
    let run: fn(OwnedFd) -> ExitCode = match command.to_str()? {
        "zygote" => crate::zygote::main,
        "compile" => crate::code::process::main,
        "probe-zygote" => |socket| probe(socket, Profile::Zygote),
        "probe-compile" => |socket| probe(socket, Profile::Compile),
        _ => return None,
    };
    crate::caps::clock::prepare();
    Some(control_socket().map_or(ExitCode::FAILURE, run))
}

/// `brumate internal probe-…`: enters the jail of `profile` and tries every wall from inside.
fn probe(socket: OwnedFd, profile: Profile) -> ExitCode {
    let channel = Channel::new(socket);
    let Ok((server, _)) = channel.receive::<i32>() else { return ExitCode::FAILURE };
    let config = JailConfig { self_check: true, ..config(profile) };
    let result: Result<Vec<ProbeResult>, String> = match brumate_jail::enter(profile, &config) {
        Ok(report) => Ok(brumate_jail::probe::run(&report, Some(server))),
        Err(error) => Err(error.to_string()),
    };
    match channel.send(&result) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The jail of a profile, as this crate uses it.
fn config(profile: Profile) -> JailConfig {
    let mut config = JailConfig::of(profile);
    if profile == Profile::Zygote {
        config.limits.open_files = OPEN_FILES;
        config.limits.processes = PROCESSES;
    }
    config
}

/// The socket the server gave us.
fn control_socket() -> Option<OwnedFd> {
    // SAFETY: descriptor 3 is what `jail::spawn::command` put there; this process has just started and nothing else has
    // taken it over. A descriptor that is not open is found out by the check below before anything uses it.
    let socket = unsafe { OwnedFd::from_raw_fd(CONTROL_FD) };
    match rustix::net::sockopt::socket_type(&socket) {
        Ok(_) => Some(socket),
        Err(_) => {
            // Not ours: it must not be closed.
            std::mem::forget(socket);
            None
        }
    }
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
pub(crate) fn enter_compile(limits: Limits) -> Result<Vec<String>, String> {
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
