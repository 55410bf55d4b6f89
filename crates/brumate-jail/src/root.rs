//! An empty root directory.

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::process::Signal;
use rustix::thread::CapabilitySet;

use super::namespaces::Taken;
use super::sys::{self, Side, SingleThreaded};
use super::{Report, Wall, identity};

/// Where the new root is mounted before it becomes the root. It exists wherever a jail can be built, and what it
/// hides is held open ([`super::namespaces::ProcSelf`]).
const MOUNT_POINT: &str = "/proc";

/// Exchanges the root for an empty read-only file system. Needs the capabilities over the mount namespace, so it
/// comes before [`super::namespaces::box_in`].
pub(super) fn mount(taken: &Taken, report: &mut Report) {
    let result = if taken.has(Wall::MountNamespace) { mount_empty() } else { Err("no mount namespace".to_owned()) };
    match result {
        Ok(detail) => report.active(Wall::EmptyRoot, detail),
        Err(reason) => report.missing(Wall::EmptyRoot, reason),
    }
}

/// Where nothing could be mounted: makes a directory the root that no longer exists, so that nothing can be made in it.
/// Comes after [`super::namespaces::box_in`]: the kernel refuses user namespaces to a process whose root was changed
/// this way.
pub(super) fn leave(alone: &SingleThreaded, report: &mut Report) {
    let Some(reason) =
        report.missing_walls().find(|(wall, _)| *wall == Wall::EmptyRoot).map(|(_, reason)| reason.to_owned())
    else {
        return;
    };
    match dead_directory(alone) {
        Ok(detail) => report.active(Wall::EmptyRoot, detail),
        Err(also) => report.missing(Wall::EmptyRoot, format!("{reason}; {also}")),
    }
}

fn mount_empty() -> Result<&'static str, String> {
    let step = |what: &'static str| move |errno: rustix::io::Errno| format!("{what}: {errno}");
    rustix::mount::mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .map_err(step("making mounts private"))?;
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("tmpfs", MOUNT_POINT, "tmpfs", flags, Some(c"size=4096,nr_inodes=2,mode=0555"))
        .map_err(step("mounting tmpfs"))?;
    rustix::process::chdir(MOUNT_POINT).map_err(step("entering tmpfs"))?;
    // The old root lands on top of the new one, at the same place, and is taken off again.
    let pivoted = rustix::process::pivot_root(".", ".").and_then(|()| {
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        rustix::process::chdir("/")
    });
    if pivoted.is_ok() {
        return Ok("pivot_root into an empty read-only tmpfs");
    }
    // An initial ramdisk cannot be pivoted away: cover it instead.
    rustix::mount::mount_move(".", "/").map_err(step("moving tmpfs over the root"))?;
    rustix::process::chroot(".").map_err(step("chroot into tmpfs"))?;
    rustix::process::chdir("/").map_err(step("entering the new root"))?;
    Ok("chroot into an empty read-only tmpfs moved over the root")
}

/// The descriptor directory of a process that is gone is empty and will stay so.
fn dead_directory(alone: &SingleThreaded) -> Result<&'static str, String> {
    if !identity::has(CapabilitySet::SYS_CHROOT) {
        return Err("no capability to chroot".into());
    }
    // The kernel shows the directory to processes that may inspect the child. The child inherits this flag.
    identity::make_dumpable(true).map_err(|errno| format!("becoming dumpable: {errno}"))?;
    // The child's number in `/proc`, which may belong to another process namespace than `fork`'s answer: only the child
    // can ask.
    let (answer, ask) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|errno| format!("pipe: {errno}"))?;
    let child = match sys::fork(alone).map_err(|error| format!("fork: {error}"))? {
        Side::Parent(child) => child,
        Side::Child => {
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            if let Ok(number) = rustix::fs::readlink("/proc/self", Vec::new()) {
                let _ = rustix::io::write(&ask, number.as_bytes());
            }
            drop(ask);
            // Killed long before this ends, unless the parent was first.
            let minute = rustix::thread::Timespec { tv_sec: 60, tv_nsec: 0 };
            let _ = rustix::thread::nanosleep(&minute);
            sys::exit_now(0)
        }
    };
    drop(ask);
    let mut number = [0; 16];
    let moved = rustix::io::read(&answer, &mut number).and_then(|length| {
        let number = std::str::from_utf8(&number[..length]).unwrap_or_default();
        rustix::process::chdir(format!("/proc/{number}/fdinfo"))?;
        rustix::process::chroot(".")
    });
    let ended = rustix::process::kill_process(child, Signal::KILL)
        .and_then(|()| rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()));
    moved.map_err(|errno| format!("chroot into fdinfo: {errno}"))?;
    ended.map_err(|errno| format!("ending the child: {errno}"))?;
    Ok("chroot into the directory of a process that is gone")
}
