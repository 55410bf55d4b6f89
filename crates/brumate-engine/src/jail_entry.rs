//! Entry points of jailed processes: `brumate internal zygote|compile`.

use std::os::fd::OwnedFd;
use std::process::ExitCode;

use crate::channel::Channel;
use crate::jail::config;
use brumate_jail::{JailConfig, ProbeResult, Profile, spawn};

/// Runs an internal command. Must be called at the very start of `main`, before any thread exists: these processes jail
/// themselves and must be single-threaded then. Returns `None` if `arguments` (without the program's name) are no
/// internal command.
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
    Some(spawn::control_socket().map_or(ExitCode::FAILURE, run))
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
