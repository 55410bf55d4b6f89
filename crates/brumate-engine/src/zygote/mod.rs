//! The zygote: a process that holds an interpreter out of an image and forks machines from it.
//!
//! `brumate internal zygote`, started by the server with one socket. It is single-threaded, jails itself before any guest
//! code runs, and does nothing but fork on request and report how its children ended. The same command builds images: then
//! it boots an interpreter, writes it down, and ends.
//!
//! Of the guest's memory a zygote touches the pages that its machines will read, and no others: a fork copies their page
//! tables, and maps the rest from the page cache when it is used.

mod pages;
pub(crate) mod sys;

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use wasmtime::Engine;

use rustix::process::{Pid, WaitOptions, WaitStatus};

use crate::channel::Channel;
use crate::code::publish::load_huge;
use crate::code::remote::{RemoteModules, load};
use crate::engine::{Purpose, engine};
use crate::image::{self, Base};
use crate::jail;
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
    let (request, fds) = channel.receive()?;
    let [main, trampoline, image] = <[OwnedFd; 3]>::try_from(fds).map_err(|_| WireError::MissingDescriptor)?;
    let given = Given { main, trampoline, image: image.into() };
    match request {
        ToZygote::Load { require_jail, brief } => {
            let heap = (!brief).then(pages::align_heap);
            if !brief {
                pages::move_text();
            }
            match load_image(channel, given, require_jail, brief) {
                Ok((machine, base, missing_walls)) => {
                    channel.send(&FromZygote::Ready { missing_walls })?;
                    if let Some(heap) = heap {
                        heap.settle();
                    }
                    fork_on_request(channel, machine, base)
                }
                Err(reason) => channel.send(&FromZygote::Failed(reason)),
            }
        }
        ToZygote::Build { require_jail, preload } => match build_image(channel, given, &preload, require_jail) {
            Ok(()) => channel.send(&FromZygote::Built),
            Err(reason) => channel.send(&FromZygote::Failed(reason)),
        },
        _ => Err(WireError::MissingDescriptor),
    }
}

/// What the server gives with the first message.
struct Given {
    main: OwnedFd,
    trampoline: OwnedFd,
    image: File,
}

/// The engine and the modules every machine needs, inside the jail.
fn prepare(given: Given, require_jail: bool, brief: bool) -> Result<(Engine, Prelude, File, Vec<String>), String> {
    let missing = crate::jail_entry::enter_zygote(
        require_jail,
        &[given.main.as_raw_fd(), given.trampoline.as_raw_fd(), given.image.as_raw_fd()],
    )?;
    crate::signals::install();
    sys::install_child_signal();
    let engine = engine(Purpose::Run).map_err(|error| format!("{error:#}"))?;
    let main = if brief { load(&engine, given.main)? } else { load_huge(&engine, &File::from(given.main))? };
    let prelude = Prelude { main, trampoline: load(&engine, given.trampoline)? };
    Ok((engine, prelude, given.image, missing))
}

fn load_image(
    channel: &Arc<Channel>,
    given: Given,
    require_jail: bool,
    brief: bool,
) -> Result<(Machine, Arc<Base>, Vec<String>), String> {
    let (engine, prelude, file, missing) = prepare(given, require_jail, brief)?;
    let modules = Box::new(modules_over_zygote(channel.clone()));
    let (header, frozen, pages) = image::file::read(&file).map_err(|error| error.to_string())?;
    let mut machine = Machine::restore(&engine, &prelude, modules, &frozen, &file, image::file::HEADER_BYTES)
        .map_err(|error| error.to_string())?;
    if !brief {
        machine.touch(&pages.read);
    }
    Ok((machine, Arc::new(Base { file, header, vfs: frozen.vfs, pages }), missing))
}

/// Boots an interpreter without chance, and writes it down.
fn build_image(channel: &Arc<Channel>, given: Given, preload: &[String], require_jail: bool) -> Result<(), String> {
    let (engine, prelude, file, _) = prepare(given, require_jail, false)?;
    let modules = Box::new(modules_over_zygote(channel.clone()));
    let _rehearsal = crate::caps::rehearsal::begin();
    let mut machine = Machine::boot(&engine, &prelude, modules).map_err(|error| error.to_string())?;
    machine.preload(preload).map_err(|error| error.to_string())?;
    let frozen = machine.freeze().map_err(|error| error.to_string())?;
    image::file::write(&file, machine.memory(), &frozen).map_err(|error| error.to_string())?;
    trace(machine, &file, preload.iter().any(|module| module == SHELL))
}

/// The module of images whose usual run is a notebook's cell.
const SHELL: &str = "IPython";

/// Finds out, in a fork, what a run touches, and adds it to the image. `shell`: the run is a notebook's cell.
fn trace(mut machine: Machine, file: &File, shell: bool) -> Result<(), String> {
    match sys::fork() {
        Ok(Some(child)) => {
            let ended = rustix::process::waitpid(Some(child), WaitOptions::empty());
            match ended {
                Ok(Some((_, status))) if status.exit_status() == Some(0) => Ok(()),
                _ => Err("the image's first run failed".to_owned()),
            }
        }
        Ok(None) => {
            let traced = machine.trace_run(shell).map_err(|error| error.to_string());
            let written =
                traced.and_then(|pages| image::file::write_pages(file, &pages).map_err(|error| error.to_string()));
            sys::exit_now(i32::from(written.is_err()))
        }
        Err(errno) => Err(errno.to_string()),
    }
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

/// Serves the socket, and stays for the machines' last wills when it ends.
fn fork_on_request(channel: &Arc<Channel>, machine: Machine, base: Arc<Base>) -> Result<(), WireError> {
    let ended = serve_forks(channel, machine, base);
    // With the zygote all its machines end. Those that have nothing to write see that the server is gone, and end.
    let deadline = Instant::now() + jail::LAST_WILL;
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return ended;
                }
                sys::wait_child(left);
            }
            // None is left.
            Err(_) => return ended,
        }
    }
}

/// The loop: fork requests from the socket, deaths from the kernel.
fn serve_forks(channel: &Arc<Channel>, machine: Machine, base: Arc<Base>) -> Result<(), WireError> {
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
                let ended = crate::worker::main(machine, base, channel.clone(), parent);
                sys::exit_now(i32::from(ended.is_err()))
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
        // Machines forked by machines are the zygote's children too, but not in its list.
        let position = children.iter().position(|(child, _)| *child == pid);
        let id = position.map_or(0, |position| children.swap_remove(position).1);
        channel.send(&exited(id, pid, status))?;
    }
    Ok(())
}

fn exited(id: u64, pid: Pid, status: WaitStatus) -> FromZygote {
    let pid = pid.as_raw_nonzero().get();
    FromZygote::Exited { id, pid, signal: status.terminating_signal(), code: status.exit_status().unwrap_or(0) }
}
