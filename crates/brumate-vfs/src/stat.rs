//! Attributes that `stat` and `statfs` return.

use super::Vfs;
use super::flags::FileType;
use super::host::{HostId, HostStat};
use super::inode::{Inode, InodeId, InodeKind};
use super::limits::{NAME_MAX, PAGE};
use super::resolve::Node;
use super::time::Timestamp;
use brumate_abi::errno::Errno;

/// Attributes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Device: which mount the file is on.
    pub dev: u64,
    /// Inode number, unique on the device.
    pub ino: u64,
    /// Type and permission bits.
    pub mode: u32,
    /// Number of names; for a directory 2 and one for each directory in it.
    pub nlink: u32,
    /// For a device file: which device.
    pub rdev: u64,
    /// Length in bytes.
    pub size: u64,
    /// Preferred transfer size in bytes.
    pub block_size: u32,
    /// Units of 512 bytes stored.
    pub blocks: u64,
    /// Last access.
    pub atime: Timestamp,
    /// Last change of content.
    pub mtime: Timestamp,
    /// Last change of attributes.
    pub ctime: Timestamp,
}

impl Stat {
    /// Returns the type of the file.
    pub fn file_type(&self) -> FileType {
        FileType::from_mode(self.mode).unwrap_or(FileType::Regular)
    }
}

/// State of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatFs {
    /// Magic number of the type: tmpfs.
    pub magic: u32,
    /// Size of a block in bytes.
    pub block_size: u32,
    /// Blocks in all.
    pub blocks: u64,
    /// Blocks free.
    pub blocks_free: u64,
    /// Inodes in all.
    pub files: u64,
    /// Inodes free.
    pub files_free: u64,
    /// Device number.
    pub id: u64,
    /// Longest name in bytes.
    pub name_max: u32,
    /// Whether nothing can be changed.
    pub read_only: bool,
}

const TMPFS_MAGIC: u32 = 0x0102_1994;
const PROC_INO_BASE: u64 = 1 << 32;
/// Devices of host directories start here; those of mounts in the tree at 1.
const HOST_DEV_BASE: u64 = 0x1000;
/// What tmpfs counts per directory entry.
const DIRENT_SIZE: u64 = 20;

impl Vfs {
    pub(super) fn stat_node(&mut self, node: &Node) -> Result<Stat, Errno> {
        match node {
            Node::Inode(id) => self.stat_inode(*id),
            Node::Host(host, path) => {
                let stat = self.host(*host)?.lstat(path)?;
                Ok(host_stat(*host, &stat))
            }
            Node::Fd(fd) => {
                let now = Timestamp::from_nanos(self.last_time);
                let flags = self.status_flags(*fd as i32)?;
                let permissions =
                    0o100 | if flags.reads() { 0o400 } else { 0 } | if flags.writes() { 0o200 } else { 0 };
                Ok(Stat {
                    dev: 1,
                    ino: fd_ino(*fd),
                    mode: FileType::Symlink.mode() | permissions,
                    nlink: 1,
                    rdev: 0,
                    size: 64,
                    block_size: PAGE as u32,
                    blocks: 0,
                    atime: now,
                    mtime: now,
                    ctime: now,
                })
            }
        }
    }

    pub(super) fn stat_inode(&self, id: InodeId) -> Result<Stat, Errno> {
        let inode = self.inodes.get(id)?;
        let (size, blocks, links) = self.extent(inode);
        let rdev = match inode.kind {
            InodeKind::Device(device) => self.device_records.get(device.0 as usize).map_or(0, |record| record.rdev),
            _ => 0,
        };
        Ok(Stat {
            dev: u64::from(inode.mount.0) + 1,
            ino: inode.ino,
            mode: self.inode_type(id)?.mode() | inode.permissions,
            nlink: if inode.linked() { links } else { 0 },
            rdev,
            size,
            block_size: PAGE as u32,
            blocks,
            atime: inode.atime,
            mtime: inode.mtime,
            ctime: inode.ctime,
        })
    }

    /// Size, stored units of 512 bytes and number of names.
    fn extent(&self, inode: &Inode) -> (u64, u64, u32) {
        use super::inode::Content;
        match &inode.kind {
            InodeKind::Directory(directory) => (directory.len() as u64 * DIRENT_SIZE, 0, 2 + directory.subdirectories),
            InodeKind::HostRoot(_) | InodeKind::FdDirectory => (0, 0, 2),
            InodeKind::File(Content::Layer(file)) => (file.len, file.len.div_ceil(PAGE) * (PAGE / 512), inode.links),
            InodeKind::File(Content::Own(chunks)) => (chunks.len(), chunks.pages() * (PAGE / 512), inode.links),
            InodeKind::Symlink(target) => (target.len() as u64, inode.pages() * (PAGE / 512), inode.links),
            InodeKind::SocketFile => (0, 0, inode.links),
            InodeKind::Device(_)
            | InodeKind::Pipe(_)
            | InodeKind::Socket(_)
            | InodeKind::CurrentDirectory
            | InodeKind::Process(_) => (0, 0, 1),
        }
    }

    pub(super) fn statfs_node(&mut self, node: &Node) -> Result<StatFs, Errno> {
        let usage = self.usage();
        let (id, read_only) = match node {
            Node::Inode(id) => {
                let inode = self.inodes.get(*id)?;
                (u64::from(inode.mount.0) + 1, self.is_read_only(inode))
            }
            Node::Host(host, _) => (HOST_DEV_BASE + u64::from(host.0), self.host(*host)?.is_read_only()),
            Node::Fd(_) => (1, true),
        };
        Ok(StatFs {
            magic: TMPFS_MAGIC,
            block_size: PAGE as u32,
            blocks: usage.bytes_max / PAGE,
            blocks_free: self.quota.free_pages(),
            files: usage.inodes_max,
            files_free: usage.inodes_max.saturating_sub(usage.inodes),
            id,
            name_max: NAME_MAX as u32,
            read_only,
        })
    }
}

/// Inode number of `/proc/self/fd/N`.
pub(super) fn fd_ino(fd: u32) -> u64 {
    PROC_INO_BASE + u64::from(fd)
}

/// A host file's attributes as the guest sees them.
pub(super) fn host_stat(host: HostId, stat: &HostStat) -> Stat {
    Stat {
        dev: HOST_DEV_BASE + u64::from(host.0),
        ino: stat.ino,
        mode: stat.file_type.mode() | (stat.permissions & 0o7777),
        nlink: stat.nlink,
        rdev: 0,
        size: stat.size,
        block_size: PAGE as u32,
        blocks: stat.blocks,
        atime: stat.atime,
        mtime: stat.mtime,
        ctime: stat.ctime,
    }
}
