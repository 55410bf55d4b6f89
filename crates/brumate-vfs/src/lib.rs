//! The guest's file system: a layered tree in this process's own memory.
//!
//! A machine is one process, forked from one that has booted. So the tree has no copy-on-write of its own:
//! read-only layers (the standard library, wheels, uploads) are merged, when they are mounted, into one mutable tree
//! whose files refer to a layer until they are written to. What the guest writes is private memory under a quota;
//! fork, checkpoint and hibernation include it without code for files. Host directories are reached through
//! [`HostDir`] handles only: no path of the host is used here.
//!
//! Behaviour follows Linux on a tmpfs, seen by root, so that Python's own tests and libraries find what they expect;
//! a differential test compares the two. Errors are the guest's [`Errno`] numbers. Everything a guest can make grow is
//! bounded by a constant of [`limits`] or by a field of [`VfsConfig`].
//!
//! ```text
//! resolve  paths to nodes           open      openat and /proc/self/fd    io       read, write, seek
//! tree     mkdir, unlink, rename    attr      stat, chmod, times, access  fds      descriptors, dup, fcntl
//! listing  getdents                 mount     layers, host directories    inspect  reads and writes of the host side
//! lock     flock                    process   files of /proc             socket   sockets, loopback only
//! wheels   mounting and unmounting     installed INSTALLER and RECORD of wheels
//! exchange files to and from the server   changes  what differs from the base
//! check    checks the structure after reading it                          restore  attaches what it refers to
//! ```

#![allow(unreachable_pub, reason = "the crate's public items are its interface to the other crates")]

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub mod archive;
mod attr;
pub mod bytes;
mod changes;
mod check;
mod chunks;
mod cwd;
pub mod device;
mod exchange;
mod fds;
pub mod flags;
pub mod host;
mod inode;
pub mod inspect;
mod installed;
mod io;
mod layers;
mod length;
pub mod limits;
mod listing;
pub mod lock;
mod mapping;
mod marks;
pub mod mount;
mod open;
mod pipe;
mod process;
mod quota;
mod recover;
mod rename;
mod resolve;
pub mod restore;
mod seek;
mod socket;
mod stat;
mod time;
mod tree;
mod wheels;

#[cfg(test)]
mod tests;

pub use archive::{Archive, ArchiveError, ArchiveLimits, EntryProblem, LayerBytes};
pub use attr::{R_OK, W_OK, X_OK};
pub use changes::FileSystemState;
pub use device::{Device, DeviceKind, Readiness};
pub use exchange::ListedFile;
pub use fds::DescriptionId;
pub use flags::{FileType, OpenFlags, at};
pub use host::{HostDir, HostEntry, HostFile, HostStat};
pub use installed::{INSTALLER, INSTALLER_LAYER};
pub use limits::VfsConfig;
pub use listing::{DirectoryEntry, EntrySink};
pub use mapping::Mapping;
pub use mount::{Conflict, MountError, MountOptions};
pub use process::{EXECUTABLE, MAX_COMMAND_LINE, PID, Process};
pub use quota::Usage;
pub use recover::{Piece, recover};
pub use seek::Whence;
pub use socket::outside;
pub use socket::{Family, Kind, Received, Shutdown, SocketAddress, SocketId, option};
pub use stat::{Stat, StatFs};
pub use time::{ClockFn, SetTime, Timestamp};
pub use wheels::Wheel;

use brumate_abi::errno::Errno;
use bytes::Bytes;
use fds::{Descriptions, FdTable};
use host::HostId;
use inode::{Directory, Inode, InodeId, InodeKind, Inodes, MountId};
use layers::Layers;
use mapping::Mappings;
use quota::Quota;
use resolve::Node;
use socket::Sockets;
use time::Clock;

/// A mounted subtree: what `st_dev` tells apart.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Mount {
    root: InodeId,
    read_only: bool,
}

/// A device in saved state.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct DeviceRecord {
    name: Bytes,
    rdev: u64,
    stream: bool,
}

/// A granted host directory in saved state.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct HostRecord {
    name: Bytes,
    /// The directory it is mounted on.
    inode: InodeId,
}

/// The file system and the file descriptors of one guest.
///
/// Serialisable as a whole; devices, host directories, layers and the clock are not part of the serialised form and
/// are attached again by name, see [`restore`].
#[derive(Serialize, Deserialize)]
pub struct Vfs {
    inodes: Inodes,
    root: InodeId,
    cwd: Node,
    umask: u32,
    last_time: u64,
    quota: Quota,
    layers: Layers,
    mounts: Vec<Mount>,
    fds: FdTable,
    descriptions: Descriptions,
    mappings: Mappings,
    #[serde(serialize_with = "Sockets::save")]
    sockets: Sockets,
    device_records: Vec<DeviceRecord>,
    host_records: Vec<HostRecord>,
    #[serde(skip)]
    devices: Vec<Option<Box<dyn Device>>>,
    #[serde(skip)]
    hosts: Vec<Option<Box<dyn HostDir>>>,
    #[serde(skip)]
    clock: Clock,
    #[serde(skip)]
    process: Process,
    /// Baseline of the file system that this one continues from.
    #[serde(skip)]
    baseline: Option<Arc<check::Baseline>>,
}

impl fmt::Debug for Vfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vfs").field("usage", &self.usage()).field("layers", &self.layers).finish_non_exhaustive()
    }
}

impl Vfs {
    /// Makes an empty file system: a root directory, `/tmp`, `/dev` with `null`, `zero`, `full` and `tty`, `/proc` and the
    /// links to `/proc/self/fd` (`/dev/fd`, `/dev/stdin`, ...). No descriptor is open.
    ///
    /// # Errors
    /// None in practice; `ENOSPC` should the arena be exhausted.
    pub fn new(config: &VfsConfig, clock: ClockFn) -> Result<Self, Errno> {
        let clock = Clock::new(clock);
        let mut last_time = 0;
        let now = clock.next(&mut last_time);
        let mut inodes = Inodes::default();
        let root = inodes.insert(Inode {
            ino: 0,
            mount: MountId(0),
            permissions: 0o755,
            links: 1,
            // One of the tree itself and one of the current directory.
            pins: 2,
            charged: false,
            parent: InodeId(0),
            atime: now,
            mtime: now,
            ctime: now,
            kind: InodeKind::Directory(Directory::default()),
        })?;
        let mut layers = Layers::default();
        layers.set_cache_budget(config.inflate_cache_bytes);
        let mut vfs = Self {
            inodes,
            root,
            cwd: Node::Inode(root),
            umask: 0o022,
            last_time,
            quota: Quota::new(config),
            layers,
            mounts: vec![Mount { root, read_only: false }],
            fds: FdTable::default(),
            descriptions: Descriptions::default(),
            mappings: Mappings::default(),
            sockets: Sockets::default(),
            device_records: Vec::new(),
            host_records: Vec::new(),
            devices: Vec::new(),
            hosts: Vec::new(),
            clock,
            process: Process::default(),
            baseline: None,
        };
        vfs.populate()?;
        Ok(vfs)
    }

    /// Sets the guest's file creation mask; returns the previous one.
    pub fn umask(&mut self, mask: u32) -> u32 {
        std::mem::replace(&mut self.umask, mask & 0o777)
    }

    /// Returns the present use of the quota.
    pub fn usage(&self) -> Usage {
        self.quota.usage()
    }

    /// Changes the quota. What is stored stays, even beyond a lowered limit.
    pub fn set_quota(&mut self, bytes: u64, inodes: u64) {
        self.quota.set_limits(bytes, inodes);
    }

    fn now(&mut self) -> Timestamp {
        self.clock.next(&mut self.last_time)
    }

    fn is_read_only(&self, inode: &Inode) -> bool {
        self.mounts.get(inode.mount.0 as usize).is_none_or(|mount| mount.read_only)
    }

    /// Returns `EROFS` if nothing may be changed at this inode.
    fn check_writable(&self, id: InodeId) -> Result<(), Errno> {
        if self.is_read_only(self.inodes.get(id)?) { Err(Errno::EROFS) } else { Ok(()) }
    }

    /// Whether something is mounted there: removing or renaming it is forbidden then.
    fn is_mount_root(&self, id: InodeId) -> bool {
        self.mounts.iter().any(|mount| mount.root == id) || self.host_records.iter().any(|host| host.inode == id)
    }

    fn host(&mut self, id: HostId) -> Result<&mut Box<dyn HostDir>, Errno> {
        self.hosts.get_mut(id.0 as usize).and_then(Option::as_mut).ok_or(Errno::ESTALE)
    }

    /// Returns a host directory in which something is to be changed.
    fn writable_host(&mut self, id: HostId) -> Result<&mut Box<dyn HostDir>, Errno> {
        let host = self.host(id)?;
        if host.is_read_only() { Err(Errno::EROFS) } else { Ok(host) }
    }

    fn is_stream(&self, device: inode::DeviceId) -> bool {
        self.device_records.get(device.0 as usize).is_some_and(|record| record.stream)
    }

    fn pin(&mut self, id: InodeId) -> Result<(), Errno> {
        let inode = self.inodes.get_mut(id)?;
        inode.pins = inode.pins.checked_add(1).ok_or(Errno::ENFILE)?;
        Ok(())
    }

    /// Drops a reference, and the inode with the last one when it has no name either.
    fn unpin(&mut self, id: InodeId) {
        let Ok(inode) = self.inodes.get_mut(id) else {
            return;
        };
        inode.pins = inode.pins.saturating_sub(1);
        self.reap(id);
    }

    /// Frees an inode that has neither name nor reference. A removed directory holds a reference to its parent (for
    /// `..`), which may have to be freed as well.
    fn reap(&mut self, id: InodeId) {
        let mut next = Some(id);
        while let Some(id) = next.take() {
            let Ok(inode) = self.inodes.get(id) else {
                return;
            };
            if inode.linked() || inode.pins > 0 {
                return;
            }
            let Some(gone) = self.inodes.remove(id, &mut self.quota) else {
                return;
            };
            if gone.is_directory()
                && let Ok(parent) = self.inodes.get_mut(gone.parent)
            {
                parent.pins = parent.pins.saturating_sub(1);
                next = Some(gone.parent);
            }
        }
    }
}

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
