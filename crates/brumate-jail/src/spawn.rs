//! The server's side: starting the process that will jail itself.

#![expect(unsafe_code, reason = "prepares the child between fork and exec")]

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::CONTROL_FD;

/// Native stack of a jailed process's main thread. Deep recursion in the guest is deep recursion here. Memory is
/// taken as it is touched.
pub const MAIN_STACK_BYTES: u64 = 512 << 20;

/// How the C library keeps the heap of a jailed process: in one piece, never given back in part. A zygote has it in huge pages:
/// a fork copies the page tables of everything the process has written to.
const HEAP: &str = "glibc.malloc.mmap_threshold=67108864:glibc.malloc.trim_threshold=1073741824";

/// Builds the command for `program arguments…` as a process to be jailed: the standard streams are `/dev/null`, the
/// environment is empty, descriptor [`CONTROL_FD`] is `control`, the main thread's stack may grow to `stack_bytes` (or
/// to the hard limit, if that is lower), session and process group are its own. Every other descriptor of the server
/// is closed by `exec`, as long as it was opened close-on-exec, and by [`super::enter`] in any case.
///
/// Killing the spawned process (`SIGKILL`) ends everything in the jail. There is deliberately no
/// `PR_SET_PDEATHSIG` from the server: it would fire when the spawning thread ends. Until [`super::enter`] ties the
/// process to the server, the end of the control socket tells it that the server is gone.
///
/// Works with `tokio::process::Command::from` too. `program` must be an absolute path. In a closure that the caller adds
/// with `pre_exec`, [`CONTROL_FD`] is the control socket already, whatever had that number in the server.
///
/// # Errors
///
/// The control socket could not be duplicated.
pub fn command<I, S>(program: &Path, arguments: I, control: BorrowedFd<'_>, stack_bytes: u64) -> io::Result<Command>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    // Never CONTROL_FD itself, unless that was free: then it is taken from now on, and the pipe over which `Command`
    // reports a failed exec cannot get this number and be overwritten below.
    let control = duplicate_from(control, CONTROL_FD)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("GLIBC_TUNABLES", HEAP)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let stack = stack_limit(stack_bytes);
    let prepare = move || {
        place(control.as_raw_fd())?;
        start_session()?;
        set_stack(&stack)
    };
    // SAFETY: between fork and exec `prepare` makes async-signal-safe system calls only; it does not allocate
    // (`last_os_error` does not either) and takes no lock.
    unsafe { command.pre_exec(prepare) };
    Ok(command)
}

/// A close-on-exec duplicate with a number of at least `lowest`.
fn duplicate_from(fd: BorrowedFd<'_>, lowest: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC takes a number; the new descriptor is ours alone.
    unsafe {
        match libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, lowest) {
            -1 => Err(io::Error::last_os_error()),
            new => Ok(OwnedFd::from_raw_fd(new)),
        }
    }
}

/// In the child: makes `fd` descriptor [`CONTROL_FD`], open across `exec`.
fn place(fd: RawFd) -> io::Result<()> {
    // SAFETY: plain numbers; the child owns its table.
    let status =
        unsafe { if fd == CONTROL_FD { libc::fcntl(fd, libc::F_SETFD, 0) } else { libc::dup2(fd, CONTROL_FD) } };
    if status == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// In the child: a session of its own, out of reach of the terminal's signals.
fn start_session() -> io::Result<()> {
    // SAFETY: no arguments.
    match unsafe { libc::setsid() } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn stack_limit(bytes: u64) -> libc::rlimit {
    let hard = rustix::process::getrlimit(rustix::process::Resource::Stack).maximum;
    libc::rlimit { rlim_cur: hard.map_or(bytes, |hard| bytes.min(hard)), rlim_max: hard.unwrap_or(libc::RLIM_INFINITY) }
}

/// In the child: the soft limit decides how far the next program's main thread may grow its stack.
fn set_stack(limit: &libc::rlimit) -> io::Result<()> {
    // SAFETY: `limit` is a live structure.
    match unsafe { libc::setrlimit(libc::RLIMIT_STACK, limit) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Returns the control socket in a process that [`command`] started. To be called once, before the process opens anything. `None` for a
/// process that somebody else started.
pub fn control_socket() -> Option<OwnedFd> {
    // SAFETY: descriptor 3 is what `command` put there; this process has just started and nothing else has
    // taken ownership of it. The check below detects a descriptor that is not open before it is used.
    let socket = unsafe { OwnedFd::from_raw_fd(CONTROL_FD) };
    match rustix::net::sockopt::socket_type(&socket) {
        Ok(_) => Some(socket),
        Err(_) => {
            // Not the server's socket: it must not be closed.
            std::mem::forget(socket);
            None
        }
    }
}
