//! Namespaces: taking them, and proving by their identities that they are new.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, UnshareFlags};

use super::{JailConfig, Profile, Report, Wall, identity, sys};

/// The namespaces besides the user namespace: wall, flag, name under `/proc/self/ns`.
const OTHERS: [(Wall, UnshareFlags, &str); 6] = [
    (Wall::MountNamespace, UnshareFlags::NEWNS, "mnt"),
    (Wall::PidNamespace, UnshareFlags::NEWPID, "pid"),
    (Wall::NetNamespace, UnshareFlags::NEWNET, "net"),
    (Wall::IpcNamespace, UnshareFlags::NEWIPC, "ipc"),
    (Wall::UtsNamespace, UnshareFlags::NEWUTS, "uts"),
    (Wall::CgroupNamespace, UnshareFlags::NEWCGROUP, "cgroup"),
];

/// Why a gateway has no network namespace.
const HOST_NETWORK: &str = "a gateway connects from the host's network";

/// Host name inside the jail.
pub(super) const HOST_NAME: &str = "brumate";

/// This process's directory in `/proc`, held open because the path goes away with the root.
pub(super) struct ProcSelf(OwnedFd);

impl ProcSelf {
    pub(super) fn open() -> rustix::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(c"/proc/self", flags, Mode::empty()).map(ProcSelf)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> rustix::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, name, flags, Mode::empty())?;
        let written = rustix::io::write(&file, text.as_bytes())?;
        if written == text.len() { Ok(()) } else { Err(Errno::IO) }
    }

    /// Opens a namespace of this process, for processes that are to join it.
    pub(super) fn open_namespace(&self, name: &str) -> rustix::io::Result<OwnedFd> {
        rustix::fs::openat(&self.0, format!("ns/{name}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    }

    fn namespace(&self, name: &str) -> Option<Vec<u8>> {
        let path = format!("ns/{name}");
        let link = rustix::fs::readlinkat(self.0.as_fd(), path, Vec::new()).ok()?;
        Some(link.into_bytes())
    }
}

/// What the namespaces were before.
pub(super) struct Before {
    user: Option<Vec<u8>>,
    others: [Option<Vec<u8>>; OTHERS.len()],
}

impl Before {
    pub(super) fn read() -> Self {
        let proc = ProcSelf::open().ok();
        let read = |name| proc.as_ref().and_then(|proc| proc.namespace(name));
        Before { user: read("user"), others: OTHERS.map(|(_, _, name)| read(name)) }
    }
}

/// What was obtained, wall by wall, for [`verify`] and the report.
pub(super) struct Taken {
    own_id: Result<String, String>,
    user: Result<String, String>,
    others: [Result<(), String>; OTHERS.len()],
}

impl Taken {
    /// Whether the namespaces are inside a user namespace of this process.
    pub(super) fn has_user_namespace(&self) -> bool {
        self.user.is_ok()
    }

    /// Names the namespaces that were taken, as in `/proc/self/ns`.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        OTHERS.iter().zip(&self.others).filter(|(_, result)| result.is_ok()).map(|((_, _, name), _)| *name)
    }

    /// Whether a new process namespace awaits the next child.
    pub(super) fn has(&self, wall: Wall) -> bool {
        OTHERS.iter().zip(&self.others).any(|((known, _, _), result)| *known == wall && result.is_ok())
    }
}

/// Takes an id of its own (root) and every namespace there is to be had: directly where capabilities allow it,
/// else inside a user namespace. The process namespace begins with the next child. A gateway stays in the host's network.
pub(super) fn take(profile: Profile, config: &JailConfig) -> Taken {
    let stays = |wall| profile == Profile::Gateway && wall == Wall::NetNamespace;
    let own_id = identity::take_own_host_id(config.host_id);
    let wanted = OTHERS.iter().filter(|(wall, ..)| !stays(*wall));
    let all = wanted.fold(UnshareFlags::empty(), |flags, (_, flag, _)| flags | *flag);
    let privileged = identity::has(CapabilitySet::SYS_ADMIN);
    let user = if privileged { Err("/proc/self cannot be opened".to_owned()) } else { new_user_namespace(None) };
    let others = if !privileged && user.is_err() {
        let reason = user.as_ref().err().map_or("", String::as_str);
        OTHERS.map(|_| Err(format!("no capability, and no user namespace: {reason}")))
    } else if sys::unshare(all).is_ok() {
        OTHERS.map(|(wall, ..)| if stays(wall) { Err(HOST_NETWORK.to_owned()) } else { Ok(()) })
    } else {
        // Some kernels lack one kind, some containers forbid some: take what there is.
        OTHERS.map(|(wall, flag, _)| {
            if stays(wall) {
                return Err(HOST_NETWORK.to_owned());
            }
            sys::unshare(flag).map_err(|errno| errno.to_string())
        })
    };
    Taken { own_id, user, others }
}

/// Enters a new user namespace in which this process's ids are the only ones, and stay what they are.
fn new_user_namespace(proc: Option<&ProcSelf>) -> Result<String, String> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    sys::unshare(UnshareFlags::NEWUSER).map_err(|errno| format!("unshare: {errno}"))?;
    let opened;
    let proc = match proc {
        Some(proc) => proc,
        None => {
            opened = ProcSelf::open().map_err(|errno| format!("/proc/self: {errno}"))?;
            &opened
        }
    };
    let (uid, gid) = (uid.as_raw(), gid.as_raw());
    // An ordinary user may map a group only after giving up setgroups for good.
    for (file, text) in
        [("setgroups", "deny".to_owned()), ("uid_map", format!("{uid} {uid} 1")), ("gid_map", format!("{gid} {gid} 1"))]
    {
        proc.write(file, &text).map_err(|errno| format!("{file}: {errno}"))?;
    }
    Ok(format!("user namespace with the single id {uid}"))
}

/// The last step before capabilities go: one more user namespace, which owns none of the others. A process
/// that regained every capability in it could still not mount, configure a network or signal other processes.
pub(super) fn box_in(taken: &mut Taken, proc: &ProcSelf) {
    match new_user_namespace(Some(proc)) {
        Ok(detail) => {
            taken.user = Ok(if taken.user.is_ok() {
                format!("{detail}, inside another that owns the other namespaces")
            } else {
                format!("{detail}; the other namespaces belong to the host")
            });
        }
        Err(reason) => {
            // A half-made namespace (no map) would be worse than none only if it were unreported.
            taken.user = taken.user.clone().map_err(|_| reason);
        }
    }
}

/// Names the host inside, so that the real name is not told.
pub(super) fn name_host(taken: &mut Taken) {
    if !taken.has(Wall::UtsNamespace) {
        return;
    }
    let named = rustix::system::sethostname(HOST_NAME.as_bytes()).and_then(|()| rustix::system::setdomainname(b""));
    if let Err(errno) = named {
        for ((wall, _, _), result) in OTHERS.iter().zip(&mut taken.others) {
            if *wall == Wall::UtsNamespace {
                *result = Err(format!("naming the host: {errno}"));
            }
        }
    }
}

/// Reports the walls; a namespace counts only when its identity differs from the one before.
pub(super) fn verify(taken: Taken, before: &Before, proc: Option<&ProcSelf>, report: &mut Report) {
    let is_new = |name: &str, old: &Option<Vec<u8>>| match (proc.and_then(|p| p.namespace(name)), old) {
        (Some(new), Some(old)) => Some(new != *old),
        _ => None,
    };
    for (((wall, _, name), result), old) in OTHERS.iter().zip(taken.others).zip(&before.others) {
        match (result, is_new(name, old)) {
            (Err(reason), _) => report.missing(*wall, reason),
            (Ok(()), Some(false)) => report.missing(*wall, "the namespace did not change"),
            (Ok(()), Some(true)) => report.active(*wall, "new"),
            (Ok(()), None) => report.active(*wall, "new by the kernel's word; /proc unreadable"),
        }
    }
    let user = match (taken.user, is_new("user", &before.user)) {
        (Ok(_), Some(false)) => Err("the user namespace did not change".to_owned()),
        (user, _) => user,
    };
    match (taken.own_id, user) {
        (Ok(id), Ok(user)) => report.active(Wall::Identity, format!("{id}; {user}")),
        (Ok(id), Err(reason)) => {
            report.active(Wall::Identity, format!("{id}; no user namespace ({reason})"));
        }
        (Err(_), Ok(user)) => report.active(Wall::Identity, user),
        (Err(id), Err(user)) => report.missing(Wall::Identity, format!("{id}; {user}")),
    }
}

/// Opens `/proc/self`, or says why the walls that need it are missing.
pub(super) fn proc_self(report: &mut Report) -> Option<ProcSelf> {
    match ProcSelf::open() {
        Ok(proc) => Some(proc),
        Err(errno) => {
            report.missing(Wall::OomScore, format!("/proc/self: {errno}"));
            None
        }
    }
}

/// Puts this process first in line when memory runs out. Must come before `/proc` goes.
pub(super) fn prefer_oom(proc: &ProcSelf, report: &mut Report) {
    match proc.write("oom_score_adj", "1000") {
        Ok(()) => report.active(Wall::OomScore, "1000"),
        Err(errno) => report.missing(Wall::OomScore, errno.to_string()),
    }
}
