//! The process between the server and the jail.
//!
//! A process namespace begins with the next child, so the jailed process is one fork away from what the server
//! spawned. What stays behind is the supervisor: it holds no descriptor of the jail, runs nothing but the loop below under
//! an allow-list of its own, and ties three lives together.
//!
//! - The jail ends: the supervisor ends every process of the jail that is left and ends the same way itself, so that the
//!   server sees the jail's exit status or signal as that of the process it spawned.
//! - The server vanishes: after the crash snapshot's time the supervisor ends the jail.
//! - The supervisor is killed: the kernel kills the jail's first process (`PR_SET_PDEATHSIG`), and with it, in a process
//!   namespace, every other.
//!
//! The server is watched through a descriptor for its process, not through `PR_SET_PDEATHSIG`: that signal comes when
//! the spawning *thread* ends, and a server's worker threads come and go.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions};

use super::sys::{self, Side, SingleThreaded};
use super::{JailConfig, JailError, Report, Wall, identity, limits, seccomp};

/// How often to look where the kernel has no descriptors for processes.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long a jail that cannot be guarded may take to tell the server why.
const TIME_TO_COMPLAIN: Duration = Duration::from_secs(1);

/// Exit status of a supervisor that could not do its work. The jail is dead then.
const SUPERVISOR_FAILED: i32 = 125;

/// The server: the peer of the control socket.
pub(super) struct Server {
    pidfd: Option<OwnedFd>,
    /// The parent process, if that is the server.
    parent: Option<Pid>,
}

impl Server {
    /// Finds the server and a descriptor for it. An error means that it is gone already.
    pub(super) fn identify(control: RawFd, report: &mut Report) -> Result<Self, JailError> {
        sys::with_fd(control, |control| Self::of_peer(control, report)).unwrap_or(Err(JailError::NotOpen(control)))
    }

    fn of_peer(control: BorrowedFd<'_>, report: &mut Report) -> Result<Self, JailError> {
        let peer = sys::peer_pid(control);
        // Where the kernel cannot name the peer, the parent process is taken as the peer.
        let parent = rustix::process::getppid().filter(|&parent| peer.is_none_or(|p| p == parent));
        let pidfd = sys::peer_pidfd(control)
            .or_else(|| rustix::process::pidfd_open(peer.or(parent)?, PidfdFlags::empty()).ok());
        // Asked after the descriptor was made: as long as the server's end is open its process id is not reused.
        if hung_up(control)? {
            return Err(JailError::ServerGone);
        }
        match (&pidfd, parent) {
            (Some(_), _) => report.active(Wall::DiesWithServer, "watched through a pidfd"),
            (None, Some(_)) => report.active(Wall::DiesWithServer, "watched as the parent"),
            (None, None) => {
                report.missing(Wall::DiesWithServer, "no pidfd to be had, and the server is not the parent")
            }
        }
        Ok(Server { pidfd, parent })
    }

    /// Without a pidfd: whether there is a parent to look for now and then.
    fn only_as_parent(&self) -> bool {
        self.pidfd.is_none() && self.parent.is_some()
    }

    fn is_gone(&self) -> Result<bool, JailError> {
        match (&self.pidfd, self.parent) {
            (Some(pidfd), _) => has_exited(pidfd.as_fd()),
            (None, Some(parent)) => Ok(rustix::process::getppid() != Some(parent)),
            (None, None) => Ok(false),
        }
    }
}

fn hung_up(socket: BorrowedFd<'_>) -> Result<bool, JailError> {
    let mut entry = [PollFd::new(&socket, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut entry, Some(&now)).map_err(JailError::os("polling"))?;
    Ok(entry[0].revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

/// A descriptor for the supervisor, held by the jailed process until it is safely tied.
pub(super) struct Tie(Option<OwnedFd>);

impl Tie {
    /// From here on the kernel kills this process when the supervisor ends. Comes after the last change of credentials,
    /// because each of those unties it.
    pub(super) fn tighten(self) -> Result<(), JailError> {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(JailError::os("tying the jail to its supervisor"))?;
        // The supervisor may have ended before.
        let gone = match &self.0 {
            Some(pidfd) => has_exited(pidfd.as_fd())?,
            None => false,
        };
        if gone { Err(JailError::ServerGone) } else { Ok(()) }
    }
}

fn has_exited(pidfd: BorrowedFd<'_>) -> Result<bool, JailError> {
    let mut entry = [PollFd::new(&pidfd, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let ready = rustix::event::poll(&mut entry, Some(&now)).map_err(JailError::os("polling"))?;
    Ok(ready > 0)
}

/// Forks. Returns in the jailed process only: first process of a new process namespace (if one was taken), leader of
/// its own session and process group.
pub(super) fn split(alone: &SingleThreaded, server: Server, config: &JailConfig) -> Result<Tie, JailError> {
    let own = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).ok();
    match sys::fork(alone).map_err(|source| JailError::Os { step: "forking the jail", source })? {
        Side::Parent(jail) => {
            drop(own);
            let status = guard(&server, jail, config.crash_snapshot_time).unwrap_or(SUPERVISOR_FAILED);
            sys::exit_now(status)
        }
        Side::Child => {
            drop(server);
            // Temporary, until `tighten`: covers the time up to the first change of credentials.
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(JailError::os("tying the jail to its supervisor"))?;
            rustix::process::setsid().map_err(JailError::os("starting a session"))?;
            Ok(Tie(own))
        }
    }
}

/// The supervisor's whole life. The error means that the jail was killed because it could not be guarded.
fn guard(server: &Server, jail: Pid, crash_snapshot_time: Duration) -> Result<i32, JailError> {
    let ready = prepare(server, jail);
    let pidfd = match ready {
        Ok(pidfd) => pidfd,
        Err(_) => {
            // What was refused to the supervisor is refused to the jail as well, which is about to say so and end.
            let deadline = Instant::now() + TIME_TO_COMPLAIN;
            while Instant::now() < deadline && !has_ended(jail)? {
                wait(server, None, Some(LOOK_EVERY))?;
            }
            return Ok(mirror(end_all(jail)));
        }
    };
    let mut deadline: Option<Instant> = None;
    loop {
        if has_ended(jail)? {
            break;
        }
        if deadline.is_none() && server.is_gone()? {
            deadline = Some(Instant::now() + crash_snapshot_time);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            break;
        }
        wait(server, pidfd.as_ref(), left)?;
    }
    let status = end_all(jail);
    Ok(mirror(status))
}

/// Gives up everything the supervisor does not need. Its descriptors are those for the two processes.
fn prepare(server: &Server, jail: Pid) -> Result<Option<OwnedFd>, JailError> {
    use std::os::fd::AsRawFd;
    let pidfd = rustix::process::pidfd_open(jail, PidfdFlags::empty()).ok();
    // What the jail leaves behind comes here, to be found and ended.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let mut keep: Vec<RawFd> = server.pidfd.iter().chain(&pidfd).map(AsRawFd::as_raw_fd).collect();
    keep.sort_unstable();
    let mut next = 0;
    for fd in keep {
        // The standard streams are /dev/null and stay.
        if fd > next.max(3) {
            close_from(next.max(3), fd - 1);
        }
        next = fd + 1;
    }
    close_from(next.max(3), RawFd::MAX);
    let mut scratch = Report::new(super::Profile::Zygote);
    limits::no_core_dumps()?;
    identity::drop_capabilities(&mut scratch);
    identity::no_new_privs(&mut scratch)?;
    seccomp::install_supervisor()?;
    Ok(pidfd)
}

fn close_from(first: RawFd, last: RawFd) {
    if sys::close_range(first, last as u32).is_err() {
        (first..=last.min(4096)).for_each(sys::close);
    }
}

fn has_ended(jail: Pid) -> Result<bool, JailError> {
    // Left unreaped: its number, and with it the process group's, stays taken until `end_all` is done.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    rustix::process::waitid(WaitId::Pid(jail), options)
        .map(|status| status.is_some())
        .map_err(JailError::os("waiting for the jail"))
}

/// Sleeps until something may have changed.
fn wait(server: &Server, jail: Option<&OwnedFd>, left: Option<Duration>) -> Result<(), JailError> {
    let blind = jail.is_none() || server.only_as_parent();
    let timeout = match (left, blind) {
        (None, false) => None,
        (None, true) => Some(LOOK_EVERY),
        (Some(left), false) => Some(left),
        (Some(left), true) => Some(left.min(LOOK_EVERY)),
    };
    // A server known to be gone would make the poll return at once, again and again.
    let watched = server.pidfd.as_ref().filter(|_| left.is_none());
    let mut entries: Vec<PollFd<'_>> =
        watched.into_iter().chain(jail).map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let timeout = timeout
        .map(|timeout| Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) });
    match rustix::event::poll(&mut entries, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(JailError::os("polling")(errno)),
    }
}

/// Kills and reaps everything the jail left. Its first process leads a process group that no jailed process can leave
/// (the filter refuses `setpgid` and `setsid`). Returns how the first process ended.
fn end_all(jail: Pid) -> Option<rustix::process::WaitStatus> {
    // Not yet a leader, when the jail was stopped while it was being built.
    let _ = rustix::process::kill_process_group(jail, Signal::KILL);
    let _ = rustix::process::kill_process(jail, Signal::KILL);
    let mut first = None;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == jail => first = Some(status),
            Ok(_) | Err(Errno::INTR) => {}
            // ECHILD: none left.
            Err(_) => return first,
        }
    }
}

/// Ends like the jail did: by the same signal, or returning its exit status.
fn mirror(status: Option<rustix::process::WaitStatus>) -> i32 {
    let Some(status) = status else {
        return SUPERVISOR_FAILED;
    };
    if let Some(code) = status.exit_status() {
        return code;
    }
    if let Some(signal) = status.terminating_signal() {
        sys::reset_signal(signal);
        if let Some(named) = Signal::from_named_raw(signal) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), named);
        }
        return 128 + signal;
    }
    SUPERVISOR_FAILED
}
