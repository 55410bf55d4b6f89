//! Granted host directories, reached through the server.
//!
//! The machine has no file system. Each operation is a request to the server, which holds the directory open and
//! resolves names beneath it without following links; opening a regular file gives a descriptor, and reading and writing
//! go straight to it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::channel::Channel;
use crate::wire::{self, MachineMessage, MachineRequest, MountOperation, MountReply, MountRequest};
use brumate_abi::errno::Errno;
use brumate_vfs::bytes::Bytes;
use brumate_vfs::{FileType, HostDir, HostEntry, HostFile, HostStat, OpenFlags, SetTime, Timestamp, Vfs};

/// Mounts what the server granted: guest path and read-only flag, by index.
pub(crate) fn mount_host_directories(
    vfs: &mut Vfs,
    mounts: &[(String, bool)],
    channel: &Arc<Channel>,
    quota: &Arc<Quota>,
) {
    for (index, (path, read_only)) in mounts.iter().enumerate() {
        let directory = Granted::new(index, *read_only, channel, quota);
        // The server has checked the paths; one that cannot be mounted is missing in the guest.
        let _ = vfs.mount_host(path.as_bytes(), Box::new(directory));
    }
}

/// Joins the host directories of a file system that was hibernated with the current grants, and mounts the new ones.
/// Returns the paths that are no longer granted; they return `ESTALE`.
pub(crate) fn join_host_directories(
    vfs: &mut Vfs,
    mounts: &[(String, bool)],
    channel: &Arc<Channel>,
    quota: &Arc<Quota>,
) -> Vec<String> {
    for (index, (path, read_only)) in mounts.iter().enumerate() {
        let granted = || Box::new(Granted::new(index, *read_only, channel, quota));
        if !vfs.attach_host(path.as_bytes(), granted()) {
            let _ = vfs.mount_host(path.as_bytes(), granted());
        }
    }
    let revoked = vfs.unattached_hosts();
    for path in &revoked {
        vfs.attach_host(path, Box::new(Revoked));
    }
    revoked.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

/// A host directory that was granted once.
struct Revoked;

impl HostDir for Revoked {
    fn open(&mut self, _: &[u8], _: OpenFlags, _: u32) -> Result<Box<dyn HostFile>, Errno> {
        Err(Errno::ESTALE)
    }
    fn lstat(&mut self, _: &[u8]) -> Result<HostStat, Errno> {
        Err(Errno::ESTALE)
    }
    fn read_dir(&mut self, _: &[u8]) -> Result<Vec<HostEntry>, Errno> {
        Err(Errno::ESTALE)
    }
    fn read_link(&mut self, _: &[u8]) -> Result<Vec<u8>, Errno> {
        Err(Errno::ESTALE)
    }
    fn create_dir(&mut self, _: &[u8], _: u32) -> Result<(), Errno> {
        Err(Errno::ESTALE)
    }
    fn remove_file(&mut self, _: &[u8]) -> Result<(), Errno> {
        Err(Errno::ESTALE)
    }
    fn remove_dir(&mut self, _: &[u8]) -> Result<(), Errno> {
        Err(Errno::ESTALE)
    }
    fn rename(&mut self, _: &[u8], _: &[u8]) -> Result<(), Errno> {
        Err(Errno::ESTALE)
    }
    fn set_times(&mut self, _: &[u8], _: SetTime, _: SetTime) -> Result<(), Errno> {
        Err(Errno::ESTALE)
    }
    fn set_permissions(&mut self, _: &[u8], _: u32) -> Result<(), Errno> {
        Err(Errno::ESTALE)
    }
    fn is_read_only(&self) -> bool {
        true
    }
}

/// Bytes that are charged for a new file or directory.
const FILE_COST: u64 = 4096;

/// Bytes that a guest may still write to granted directories. Removing files does not give bytes back.
#[derive(Debug, Default)]
pub(crate) struct Quota(AtomicU64);

impl Quota {
    /// Resets the quota to `bytes`.
    pub(crate) fn set(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    /// Takes at most `bytes`, at least one; returns how many.
    fn take_some(&self, bytes: u64) -> Result<u64, Errno> {
        let left = self.0.load(Ordering::Relaxed);
        if left == 0 && bytes > 0 {
            return Err(Errno::EDQUOT);
        }
        let taken = bytes.min(left);
        self.set(left - taken);
        Ok(taken)
    }

    /// Takes all of `bytes`, or nothing.
    fn take(&self, bytes: u64) -> Result<(), Errno> {
        let left = self.0.load(Ordering::Relaxed).checked_sub(bytes).ok_or(Errno::EDQUOT)?;
        self.set(left);
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        self.set(self.0.load(Ordering::Relaxed).saturating_add(bytes));
    }
}

#[derive(Clone)]
struct Granted {
    index: u32,
    read_only: bool,
    channel: Arc<Channel>,
    /// Shared by all granted directories.
    quota: Arc<Quota>,
}

impl Granted {
    fn new(index: usize, read_only: bool, channel: &Arc<Channel>, quota: &Arc<Quota>) -> Granted {
        Granted { index: index as u32, read_only, channel: channel.clone(), quota: quota.clone() }
    }

    fn ask(&self, operation: MountOperation) -> Result<(MountReply, Option<OwnedFd>), Errno> {
        let request = MachineMessage::Mount(MountRequest { mount: self.index, operation });
        self.channel.send(&request).map_err(|_| Errno::EIO)?;
        match self.channel.receive_request() {
            Ok((MachineRequest::Mount(MountReply::Error(name)), _)) => {
                Err(Errno::from_name(&name).unwrap_or(Errno::EIO))
            }
            Ok((MachineRequest::Mount(reply), fds)) => Ok((reply, fds.into_iter().next())),
            _ => Err(Errno::EIO),
        }
    }

    fn tell(&self, operation: MountOperation) -> Result<(), Errno> {
        self.ask(operation).map(drop)
    }
}

/// Nanoseconds since 1970 as a file time.
fn timestamp(nanoseconds: i64) -> Timestamp {
    Timestamp { secs: nanoseconds.div_euclid(1_000_000_000), nanos: nanoseconds.rem_euclid(1_000_000_000) as u32 }
}

/// Returns the time that the server is to set; `None` keeps the old one.
fn nanoseconds(time: SetTime) -> Option<i64> {
    match time {
        SetTime::Omit => None,
        SetTime::Now => {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
            Some(now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec))
        }
        SetTime::To(time) => Some(time.secs.saturating_mul(1_000_000_000).saturating_add(i64::from(time.nanos))),
    }
}

fn stat(stat: &wire::HostStat) -> Result<HostStat, Errno> {
    Ok(HostStat {
        ino: stat.inode,
        file_type: FileType::from_mode(stat.mode).ok_or(Errno::EIO)?,
        permissions: stat.mode & 0o7777,
        nlink: stat.links,
        size: stat.size,
        blocks: stat.size.div_ceil(512),
        atime: timestamp(stat.accessed),
        mtime: timestamp(stat.modified),
        ctime: timestamp(stat.changed),
    })
}

impl HostDir for Granted {
    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Result<Box<dyn HostFile>, Errno> {
        let makes = flags.writes() && flags.has(OpenFlags::CREAT) && !self.read_only;
        if makes {
            self.quota.take(FILE_COST)?;
        }
        let operation = MountOperation::Open {
            path: path.to_vec(),
            write: flags.writes(),
            create: flags.has(OpenFlags::CREAT),
            exclusive: flags.has(OpenFlags::EXCL),
            truncate: flags.has(OpenFlags::TRUNC),
            mode: permissions,
        };
        match self.ask(operation)? {
            (MountReply::Done, Some(fd)) => Ok(Box::new(OpenFile { fd, directory: self.clone(), path: path.to_vec() })),
            _ => Err(Errno::EIO),
        }
    }

    fn lstat(&mut self, path: &[u8]) -> Result<HostStat, Errno> {
        match self.ask(MountOperation::Stat { path: path.to_vec() })? {
            (MountReply::Stat(found), _) => stat(&found),
            _ => Err(Errno::EIO),
        }
    }

    fn read_dir(&mut self, path: &[u8]) -> Result<Vec<HostEntry>, Errno> {
        match self.ask(MountOperation::List { path: path.to_vec() })? {
            (MountReply::List(entries), _) => Ok(entries
                .into_iter()
                .filter_map(|(name, mode, ino)| {
                    Some(HostEntry { name: Bytes::from(name.as_slice()), ino, file_type: FileType::from_mode(mode)? })
                })
                .collect()),
            _ => Err(Errno::EIO),
        }
    }

    fn read_link(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        match self.ask(MountOperation::ReadLink { path: path.to_vec() })? {
            (MountReply::Link(target), _) => Ok(target),
            _ => Err(Errno::EIO),
        }
    }

    fn create_dir(&mut self, path: &[u8], permissions: u32) -> Result<(), Errno> {
        if !self.read_only {
            self.quota.take(FILE_COST)?;
        }
        self.tell(MountOperation::MakeDirectory { path: path.to_vec(), mode: permissions })
    }

    fn remove_file(&mut self, path: &[u8]) -> Result<(), Errno> {
        self.tell(MountOperation::Unlink { path: path.to_vec() })
    }

    fn remove_dir(&mut self, path: &[u8]) -> Result<(), Errno> {
        self.tell(MountOperation::RemoveDirectory { path: path.to_vec() })
    }

    fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<(), Errno> {
        self.tell(MountOperation::Rename { from: from.to_vec(), to: to.to_vec() })
    }

    fn set_times(&mut self, path: &[u8], atime: SetTime, mtime: SetTime) -> Result<(), Errno> {
        let (accessed, modified) = (nanoseconds(atime), nanoseconds(mtime));
        self.tell(MountOperation::SetTimes { path: path.to_vec(), accessed, modified })
    }

    fn set_permissions(&mut self, path: &[u8], permissions: u32) -> Result<(), Errno> {
        self.tell(MountOperation::SetMode { path: path.to_vec(), mode: permissions })
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }
}

/// Largest file of the host that a guest makes by setting its length, in bytes: what the jail lets it write (`RLIMIT_FSIZE`). `EFBIG` beyond.
const LONGEST_FILE: u64 = 8 << 30;

/// A regular file of the host, by descriptor.
struct OpenFile {
    fd: OwnedFd,
    directory: Granted,
    /// Its name when it was opened.
    path: Vec<u8>,
}

/// The guest's number of a host error.
fn errno(error: rustix::io::Errno) -> Errno {
    use rustix::io::Errno as Host;
    match error {
        Host::NOSPC => Errno::ENOSPC,
        Host::DQUOT => Errno::EDQUOT,
        Host::FBIG => Errno::EFBIG,
        Host::BADF => Errno::EBADF,
        Host::ROFS => Errno::EROFS,
        Host::PERM => Errno::EPERM,
        Host::ACCESS => Errno::EACCES,
        Host::INVAL => Errno::EINVAL,
        _ => Errno::EIO,
    }
}

impl HostFile for OpenFile {
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize, Errno> {
        rustix::io::pread(&self.fd, buf, offset).map_err(errno)
    }

    fn write_at(&mut self, offset: u64, data: &[u8]) -> Result<usize, Errno> {
        let quota = &self.directory.quota;
        let taken = quota.take_some(data.len() as u64)?;
        let written = rustix::io::pwrite(&self.fd, &data[..taken as usize], offset).map_err(errno);
        quota.give_back(taken - written.unwrap_or(0) as u64);
        written
    }

    fn stat(&mut self) -> Result<HostStat, Errno> {
        let found = rustix::fs::fstat(&self.fd).map_err(errno)?;
        stat(&(&found).into())
    }

    fn set_len(&mut self, len: u64) -> Result<(), Errno> {
        let more = len.saturating_sub(self.stat()?.size);
        if more > 0 && len > LONGEST_FILE {
            return Err(Errno::EFBIG);
        }
        let quota = &self.directory.quota;
        quota.take(more)?;
        let set = rustix::fs::ftruncate(&self.fd, len).map_err(errno);
        if set.is_err() {
            quota.give_back(more);
        }
        set
    }

    /// The jail cannot set times; the server can, by name. A file that has lost its name, or has got another, is left as
    /// it is: `EPERM`.
    fn set_times(&mut self, atime: SetTime, mtime: SetTime) -> Result<(), Errno> {
        let named = self.directory.lstat(&self.path);
        if named.is_ok_and(|named| self.stat().is_ok_and(|open| open.ino == named.ino)) {
            self.directory.set_times(&self.path, atime, mtime)
        } else {
            Err(Errno::EPERM)
        }
    }

    fn set_permissions(&mut self, permissions: u32) -> Result<(), Errno> {
        rustix::fs::fchmod(&self.fd, rustix::fs::Mode::from_raw_mode(permissions & 0o777)).map_err(errno)
    }

    fn sync(&mut self) -> Result<(), Errno> {
        rustix::fs::fsync(&self.fd).map_err(errno)
    }
}
