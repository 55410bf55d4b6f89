//! The zygote: a process that loads an interpreter from an image and forks machines from it.
//!
//! The server starts it as `brumate internal zygote` and gives it one socket. It has one thread. It enters the jail
//! before any guest code runs. After that it only forks machines on request. The parent of its machines is the jail's
//! first process ([`init`]), so they continue when the zygote ends. The same command also builds images. For that it
//! boots an interpreter, writes its state to a file, and ends.
//!
//! Of the guest's memory, a zygote touches only the pages that its machines will read. A fork copies the page table
//! entries of these pages. It maps each other page from the page cache at the first use.

mod init;
mod pages;

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;

use wasmtime::Engine;

use rustix::process::{Pid, WaitOptions};

use crate::api::MAX_LAYERS;
use crate::channel::Channel;
use crate::code::remote::{RemoteModules, load};
use crate::engine::publish::load_huge;
use crate::engine::{Purpose, engine};
use crate::files;
use crate::image::{self, Base};
use crate::interpreter::{Interpreter, Prelude};
use crate::wire::{FromZygote, ModuleRequest, ToZygote, WireError};

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
    let mut fds = fds.into_iter();
    let mut next = || fds.next().ok_or(WireError::MissingDescriptor);
    let given = ZygoteFiles { main: next()?, trampoline: next()?, image: next()?.into() };
    if crate::bundle::PACKED.is_some()
        && let Err(error) = crate::bundle::pack::receive(next()?)
    {
        return channel.send(&FromZygote::Failed(error.to_string()));
    }
    match request {
        ToZygote::Load { require_jail, brief, layers } => {
            let reports = next()?;
            let heap = (!brief).then(pages::align_heap);
            if !brief {
                pages::move_text();
            }
            match load_image(channel, given, reports, require_jail, brief, layers) {
                Ok(Loaded { mut machine, base, init, missing_walls }) => {
                    channel.send(&FromZygote::Ready { missing_walls })?;
                    if !brief {
                        // An error is ignored, because a machine that needs the globals searches for them again.
                        let _ = machine.find_globals();
                        // Likewise: a machine without them makes them at its first thread.
                        let _ = machine.prepare_threads();
                    }
                    if let Some(heap) = heap {
                        heap.settle();
                    }
                    fork_on_request(channel, machine, base, init)
                }
                Err(reason) => channel.send(&FromZygote::Failed(reason)),
            }
        }
        ToZygote::Build { require_jail, preload, layers } => {
            match build_image(channel, given, &preload, require_jail, layers) {
                Ok(()) => channel.send(&FromZygote::Built),
                Err(reason) => channel.send(&FromZygote::Failed(reason)),
            }
        }
        _ => Err(WireError::UnexpectedMessage),
    }
}

/// Files that the server sends with the first message.
struct ZygoteFiles {
    main: OwnedFd,
    trampoline: OwnedFd,
    image: File,
}

/// A loaded image, ready for forks of machines.
struct Loaded {
    machine: Interpreter,
    base: Arc<Base>,
    /// Parent of the machines.
    init: Pid,
    missing_walls: Vec<String>,
}

/// Enters the jail. Returns the walls (isolation layers) that are missing. The builder of an image has no `reports`.
fn enter(given: &ZygoteFiles, reports: Option<&OwnedFd>, require_jail: bool) -> Result<Vec<String>, String> {
    let mut keep = vec![given.main.as_raw_fd(), given.trampoline.as_raw_fd(), given.image.as_raw_fd()];
    keep.extend(reports.map(AsRawFd::as_raw_fd));
    crate::jail::enter_zygote(require_jail, &keep, reports.is_none())
}

/// Receives the layers of the image. This runs inside the jail, because it reads the content of the layers.
fn receive_layers(channel: &Channel, count: u32) -> Result<Vec<files::layers::GivenLayer>, String> {
    let mut given = Vec::new();
    while given.len() < count as usize {
        let (request, fds) = channel.receive().map_err(|error: WireError| error.to_string())?;
        let ToZygote::Layers(layers) = request else { return Err("a layer is missing".to_owned()) };
        let mut fds = fds.into_iter();
        for info in layers {
            given.push(files::layers::GivenLayer::receive(info, &mut fds).ok_or("a descriptor is missing")?);
        }
        if given.len() > MAX_LAYERS {
            return Err("too many layers".to_owned());
        }
    }
    Ok(given)
}

/// Loads the engine and the modules that every machine needs. Runs inside the jail.
fn prepare(given: ZygoteFiles, brief: bool) -> Result<(Engine, Prelude, File), String> {
    crate::signals::install();
    let engine = engine(Purpose::Run).map_err(|error| format!("{error:#}"))?;
    let main = if brief { load(&engine, given.main)? } else { load_huge(&engine, &File::from(given.main))? };
    let prelude = Prelude { main, trampoline: load(&engine, given.trampoline)? };
    Ok((engine, prelude, given.image))
}

fn load_image(
    channel: &Arc<Channel>,
    given: ZygoteFiles,
    reports: OwnedFd,
    require_jail: bool,
    brief: bool,
    layers: u32,
) -> Result<Loaded, String> {
    let missing_walls = enter(&given, Some(&reports), require_jail)?;
    let init = init::stay_behind(reports)?;
    let layers = receive_layers(channel, layers)?;
    let (engine, prelude, file) = prepare(given, brief)?;
    let modules = Box::new(modules_over_zygote(channel.clone()));
    let (header, saved, pages, guest) = image::file::read(&file).map_err(|error| error.to_string())?;
    files::set_guest_files(guest);
    let from = (&file, image::file::HEADER_BYTES);
    let mut machine =
        Interpreter::restore(&engine, &prelude, modules, &saved, from, &layers).map_err(|error| error.to_string())?;
    if !brief {
        machine.touch(&pages.read);
    }
    let base = Arc::new(Base { file, header, vfs: saved.vfs, pages, layers });
    Ok(Loaded { machine, base, init, missing_walls })
}

/// Boots an interpreter without randomness, and writes it to the image file. The same bundle then always gives the same
/// image.
fn build_image(
    channel: &Arc<Channel>,
    given: ZygoteFiles,
    preload: &[String],
    require_jail: bool,
    layers: u32,
) -> Result<(), String> {
    enter(&given, None, require_jail)?;
    let layers = receive_layers(channel, layers)?;
    let (engine, prelude, file) = prepare(given, false)?;
    let modules = Box::new(modules_over_zygote(channel.clone()));
    let _rehearsal = crate::caps::rehearsal::begin();
    let mut machine = Interpreter::boot(&engine, &prelude, modules).map_err(|error| error.to_string())?;
    let present = machine.memory_bytes();
    machine.host().account.begin(image::file::MAX_MEMORY, present);
    let mounted = files::layers::mount(&mut machine.host().vfs, layers, &[]);
    mounted.map_err(|problem| format!("cannot mount {}: {}", problem.name, problem.reason))?;
    machine.preload(preload).map_err(|error| error.to_string())?;
    let saved = machine.snapshot().map_err(|error| error.to_string())?;
    image::file::write(&file, machine.memory(), &saved).map_err(|error| error.to_string())?;
    trace(machine, &file, preload.iter().any(|module| module == SHELL))
}

/// The module that marks images for notebooks. The usual run of an image that preloads it is a notebook cell.
const SHELL: &str = "IPython";

/// Runs code in a fork, finds the pages that the run touches, and adds their numbers to the image. With `shell` the run
/// is a notebook cell.
fn trace(mut machine: Interpreter, file: &File, shell: bool) -> Result<(), String> {
    match crate::process::fork() {
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
            crate::process::exit_now(i32::from(written.is_err()))
        }
        Err(errno) => Err(errno.to_string()),
    }
}

fn modules_over_zygote(channel: Arc<Channel>) -> RemoteModules {
    let ask = move |request: ModuleRequest| {
        channel.send(&FromZygote::Module(request))?;
        match channel.receive()? {
            (ToZygote::Module(reply), fds) => Ok((reply, fds.into_iter().next())),
            _ => Err(WireError::UnexpectedMessage),
        }
    };
    // No execution runs in a zygote, so its meter stays empty.
    RemoteModules::new(Box::new(ask), Arc::default())
}

/// Serves the socket. The machines are children of `init`.
fn fork_on_request(channel: &Arc<Channel>, machine: Interpreter, base: Arc<Base>, init: Pid) -> Result<(), WireError> {
    loop {
        let (request, fds) = channel.receive()?;
        let ToZygote::Fork = request else { return Err(WireError::UnexpectedMessage) };
        let Some(socket) = fds.into_iter().next() else { return Err(WireError::MissingDescriptor) };
        match crate::process::fork_sibling() {
            Ok(Some(_)) => {}
            Ok(None) => {
                // This is the new machine. Its own socket replaces the zygote's connection.
                channel.replace(socket);
                let ended = crate::worker::main(machine, base, channel.clone(), init);
                crate::process::exit_now(i32::from(ended.is_err()))
            }
            Err(errno) => channel.send(&FromZygote::ForkFailed(errno.to_string()))?,
        }
    }
}
