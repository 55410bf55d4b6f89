//! The zygote: a process that holds a booted interpreter and forks machines from it.
//!
//! `brumate internal zygote`, started by the server with one socket. It is single-threaded, jails itself before any guest
//! code runs, and does nothing but fork on request and report how its children ended.

pub(crate) mod sys;

use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::Arc;

use rustix::process::{Pid, WaitOptions, WaitStatus};

use crate::channel::Channel;
use crate::code::remote::{RemoteModules, load};
use crate::engine::{Purpose, engine};
use crate::machine::{Machine, Prelude};
use crate::wire::{FromZygote, ModuleRequest, ToZygote, WireError};

/// Machines alive at a time.
const MAX_MACHINES: usize = 8192;

/// Runs the zygote until the server closes the connection.
pub(crate) fn main(socket: OwnedFd) -> ExitCode {
    let channel = Arc::new(Channel::new(socket));
    match serve(&channel) {
        Ok(()) | Err(WireError::Closed) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(channel: &Arc<Channel>) -> Result<(), WireError> {
    let (ToZygote::Boot { preload, require_jail }, fds) = channel.receive()? else {
        return Err(WireError::MissingDescriptor);
    };
    let [main, trampoline] = <[OwnedFd; 2]>::try_from(fds).map_err(|_| WireError::MissingDescriptor)?;
    match boot(channel, main, trampoline, &preload, require_jail) {
        Ok((machine, missing_walls)) => {
            channel.send(&FromZygote::Ready { missing_walls })?;
            fork_on_request(channel, machine)
        }
        Err(reason) => channel.send(&FromZygote::Failed(reason)),
    }
}

fn boot(
    channel: &Arc<Channel>,
    main: OwnedFd,
    trampoline: OwnedFd,
    preload: &[String],
    require_jail: bool,
) -> Result<(Machine, Vec<String>), String> {
    let missing = crate::jail_entry::enter_zygote(require_jail, &[&main, &trampoline])?;
    crate::signals::install();
    sys::install_child_signal();
    let engine = engine(Purpose::Run).map_err(|error| format!("{error:#}"))?;
    let prelude = Prelude { main: load(&engine, main)?, trampoline: load(&engine, trampoline)? };
    let modules = modules_over_zygote(channel.clone());
    let mut machine = Machine::boot(&engine, &prelude, Box::new(modules)).map_err(|error| error.to_string())?;
    if !preload.is_empty() {
        let names = serde_json::to_string(preload).map_err(|error| error.to_string())?;
        machine.run_driver("preload", &names).map_err(|error| error.to_string())?;
    }
    Ok((machine, missing))
}

fn modules_over_zygote(channel: Arc<Channel>) -> RemoteModules {
    RemoteModules::new(Box::new(move |request: ModuleRequest| {
        channel.send(&FromZygote::Module(request))?;
        match channel.receive()? {
            (ToZygote::Module(reply), fds) => Ok((reply, fds.into_iter().next())),
            _ => Err(WireError::MissingDescriptor),
        }
    }))
}

/// The loop: fork requests from the socket, deaths from the kernel.
fn fork_on_request(channel: &Arc<Channel>, machine: Machine) -> Result<(), WireError> {
    let mut children: Vec<(Pid, u64)> = Vec::new();
    loop {
        report_deaths(channel, &mut children)?;
        if !sys::wait_readable_or_child(&channel.socket()) {
            continue;
        }
        let (request, fds) = channel.receive()?;
        let ToZygote::Fork { id } = request else { return Err(WireError::MissingDescriptor) };
        let Some(socket) = fds.into_iter().next() else { return Err(WireError::MissingDescriptor) };
        if children.len() >= MAX_MACHINES {
            channel.send(&FromZygote::ForkFailed { id, reason: format!("{MAX_MACHINES} machines are alive") })?;
            continue;
        }
        let parent = rustix::process::getpid();
        match sys::fork() {
            Ok(Some(pid)) => children.push((pid, id)),
            Ok(None) => {
                // The child: of the zygote's connection nothing stays.
                channel.replace(socket);
                return crate::worker::main(machine, channel.clone(), parent);
            }
            Err(errno) => {
                channel.send(&FromZygote::ForkFailed { id, reason: errno.to_string() })?;
            }
        }
    }
}

/// Reaps every child that has ended and tells the server.
fn report_deaths(channel: &Channel, children: &mut Vec<(Pid, u64)>) -> Result<(), WireError> {
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if let Some(position) = children.iter().position(|(child, _)| *child == pid) {
            let (_, id) = children.swap_remove(position);
            channel.send(&exited(id, status))?;
        }
    }
    Ok(())
}

fn exited(id: u64, status: WaitStatus) -> FromZygote {
    FromZygote::Exited { id, signal: status.terminating_signal(), code: status.exit_status().unwrap_or(0) }
}
