//! Granted host directories: the server's side.
//!
//! Each grant is a directory opened once, by the operator's path. Every name a machine sends is resolved beneath it by
//! `openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS`: neither `..` nor a link leads out.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, ResolveFlags, Timespec, Timestamps, openat2};
use rustix::io::Errno;

use crate::api::{EngineError, Mount};
use crate::wire::{HostStat, MAX_ENTRIES, MountOperation, MountReply, MountRequest};

/// Longest path below a grant, in bytes.
const MAX_PATH: usize = 4096;

/// The grants of one machine.
#[derive(Debug, Clone)]
pub(super) struct Mounts {
    grants: Vec<Arc<Grant>>,
}

#[derive(Debug)]
struct Grant {
    directory: OwnedFd,
    guest: String,
    read_only: bool,
}

impl Mounts {
    /// Opens the granted directories.
    ///
    /// # Errors
    /// When one cannot be opened, or its guest path is not absolute.
    pub(super) fn open(mounts: &[Mount]) -> Result<Mounts, EngineError> {
        let mut grants = Vec::new();
        for mount in mounts {
            let failed = |error: std::io::Error| {
                EngineError::Unavailable(format!("cannot mount {}: {error}", mount.host.display()))
            };
            if !mount.guest.starts_with('/') || mount.guest.split('/').any(|part| part == "..") {
                return Err(failed(std::io::Error::other("the guest path must be absolute")));
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let directory =
                rustix::fs::open(&mount.host, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
            grants.push(Arc::new(Grant { directory, guest: mount.guest.clone(), read_only: mount.read_only }));
        }
        Ok(Mounts { grants })
    }

    /// Returns guest path and read-only flag of each grant, in order.
    pub(super) fn guest_paths(&self) -> Vec<(String, bool)> {
        self.grants.iter().map(|grant| (grant.guest.clone(), grant.read_only)).collect()
    }

    /// Serves a machine's request on a blocking thread.
    pub(super) async fn serve(&self, request: MountRequest) -> (MountReply, Option<OwnedFd>) {
        let Some(grant) = self.grants.get(request.mount as usize).cloned() else {
            return (MountReply::Error("ENOENT".to_owned()), None);
        };
        let served = tokio::task::spawn_blocking(move || grant.serve(request.operation)).await;
        match served {
            Ok(Ok(reply)) => reply,
            Ok(Err(errno)) => (MountReply::Error(name(errno).to_owned()), None),
            Err(_) => (MountReply::Error("EIO".to_owned()), None),
        }
    }
}

impl Grant {
    fn serve(&self, operation: MountOperation) -> Result<(MountReply, Option<OwnedFd>), Errno> {
        use MountOperation as Op;
        let done = |()| (MountReply::Done, None);
        match operation {
            Op::Stat { path } => {
                let fd = self.beneath(&path, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
                Ok((MountReply::Stat(HostStat::from(&rustix::fs::fstat(&fd)?)), None))
            }
            Op::List { path } => {
                let fd = self.beneath(&path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
                Ok((MountReply::List(list(&fd)?), None))
            }
            Op::ReadLink { path } => {
                let fd = self.beneath(&path, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
                let target = rustix::fs::readlinkat(&fd, "", Vec::new())?;
                Ok((MountReply::Link(target.into_bytes()), None))
            }
            Op::Open { path, write: false, .. } => {
                // A named pipe must not block the server; only regular files are handed out.
                let fd = self.beneath(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW, Mode::empty())?;
                regular(&fd)?;
                Ok((MountReply::Done, Some(fd)))
            }
            _ if self.read_only => Err(Errno::ROFS),
            Op::Open { path, create, exclusive, truncate, mode, write: true } => {
                let mut flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW;
                flags.set(OFlags::CREATE, create);
                flags.set(OFlags::EXCL, exclusive);
                let mode = if create { Mode::from_raw_mode(mode & 0o777) } else { Mode::empty() };
                let fd = self.beneath(&path, flags, mode)?;
                regular(&fd)?;
                if truncate {
                    rustix::fs::ftruncate(&fd, 0)?;
                }
                Ok((MountReply::Done, Some(fd)))
            }
            Op::MakeDirectory { path, mode } => {
                let (parent, name) = self.parent(&path)?;
                rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(mode & 0o777)).map(done)
            }
            Op::Unlink { path } => {
                let (parent, name) = self.parent(&path)?;
                rustix::fs::unlinkat(&parent, name, AtFlags::empty()).map(done)
            }
            Op::RemoveDirectory { path } => {
                let (parent, name) = self.parent(&path)?;
                rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR).map(done)
            }
            Op::Rename { from, to } => {
                let (old, old_name) = self.parent(&from)?;
                let (new, new_name) = self.parent(&to)?;
                rustix::fs::renameat(&old, old_name, &new, new_name).map(done)
            }
            Op::SetMode { path, mode } => {
                let fd = self.beneath(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW, Mode::empty())?;
                rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode & 0o777)).map(done)
            }
            Op::SetTimes { path, accessed, modified } => {
                let (parent, name) = self.parent(&path)?;
                let times = Timestamps { last_access: timespec(accessed), last_modification: timespec(modified) };
                rustix::fs::utimensat(&parent, name, &times, AtFlags::SYMLINK_NOFOLLOW).map(done)
            }
        }
    }

    /// Opens a path beneath the grant.
    fn beneath(&self, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        if path.len() > MAX_PATH || path.contains(&0) {
            return Err(Errno::NAMETOOLONG);
        }
        let path = if path.is_empty() { b"." } else { path };
        // With these flags a link in the last place is opened itself; RESOLVE_NO_SYMLINKS would refuse it.
        let last_may_be_link = flags.contains(OFlags::PATH | OFlags::NOFOLLOW);
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.directory, path, flags | OFlags::CLOEXEC, mode, resolve) {
            Err(Errno::LOOP) if last_may_be_link => {
                let (parent, name) = self.parent(path)?;
                rustix::fs::openat(&parent, name, flags | OFlags::CLOEXEC, mode)
            }
            result => result,
        }
    }

    /// Opens the directory that holds `path`; also returns the last component.
    fn parent<'a>(&self, path: &'a [u8]) -> Result<(OwnedFd, &'a [u8]), Errno> {
        let (directory, name) = match path.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        if matches!(name, b"" | b"." | b"..") || name.contains(&0) || name.len() > 255 {
            return Err(Errno::INVAL);
        }
        Ok((self.beneath(directory, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?, name))
    }
}

fn timespec(nanoseconds: Option<i64>) -> Timespec {
    match nanoseconds {
        None => Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
        Some(value) => Timespec { tv_sec: value.div_euclid(1_000_000_000), tv_nsec: value.rem_euclid(1_000_000_000) },
    }
}

fn regular(fd: &OwnedFd) -> Result<(), Errno> {
    match rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) {
        rustix::fs::FileType::RegularFile => Ok(()),
        rustix::fs::FileType::Directory => Err(Errno::ISDIR),
        _ => Err(Errno::ACCESS),
    }
}

fn list(fd: &OwnedFd) -> Result<Vec<(Vec<u8>, u32, u64)>, Errno> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(fd)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if entries.len() >= MAX_ENTRIES {
            return Err(Errno::OVERFLOW);
        }
        let mode = match entry.file_type() {
            rustix::fs::FileType::Unknown => {
                rustix::fs::statat(fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?.st_mode
            }
            known => known.as_raw_mode(),
        };
        entries.push((name.to_vec(), mode, entry.ino()));
    }
    Ok(entries)
}

/// The symbolic name of an error, where the guest has one of the same name.
fn name(errno: Errno) -> &'static str {
    match errno {
        Errno::NOENT => "ENOENT",
        Errno::EXIST => "EEXIST",
        Errno::NOTDIR => "ENOTDIR",
        Errno::ISDIR => "EISDIR",
        Errno::NOTEMPTY => "ENOTEMPTY",
        Errno::ACCESS => "EACCES",
        Errno::PERM => "EPERM",
        Errno::ROFS => "EROFS",
        Errno::LOOP => "ELOOP",
        Errno::XDEV => "EXDEV",
        Errno::NOSPC => "ENOSPC",
        Errno::DQUOT => "EDQUOT",
        Errno::NAMETOOLONG => "ENAMETOOLONG",
        Errno::INVAL => "EINVAL",
        Errno::MFILE | Errno::NFILE => "EMFILE",
        Errno::OVERFLOW => "EOVERFLOW",
        Errno::NXIO => "ENXIO",
        Errno::BUSY => "EBUSY",
        Errno::TXTBSY => "ETXTBSY",
        _ => "EIO",
    }
}
