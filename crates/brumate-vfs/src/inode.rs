//! Inodes, kept in one arena and referred to by index.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::chunks::Chunks;
use super::flags::FileType;
use super::host::HostId;
use super::layers::LayerFile;
use super::limits::PAGE;
use super::marks::Marks;
use super::process::ProcessFile;
use super::quota::Quota;
use super::socket::SocketId;
use super::time::Timestamp;
use brumate_abi::errno::Errno;

/// Index of an inode in the arena. Indexes are used again, inode numbers are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InodeId(pub u32);

/// Place of a device in the device table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceId(pub u32);

/// Place of a mount in the mount table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountId(pub u32);

/// One file, directory, link, pipe or device.
#[derive(Debug, Serialize, Deserialize)]
pub struct Inode {
    /// `st_ino`, never used twice.
    pub ino: u64,
    pub mount: MountId,
    /// Permission bits, 07777.
    pub permissions: u32,
    /// Number of names; at most 1 of a directory. A nameless inode lives while it is pinned.
    pub links: u32,
    /// References other than the name: open descriptions, the current directory, removed child directories.
    pub pins: u32,
    /// Whether it counts against the inode quota (what the guest made does).
    pub charged: bool,
    /// The directory above; meaningful for directories only.
    pub parent: InodeId,
    pub atime: Timestamp,
    pub mtime: Timestamp,
    pub ctime: Timestamp,
    pub kind: InodeKind,
}

/// What an inode is.
#[derive(Debug, Serialize, Deserialize)]
pub enum InodeKind {
    Directory(Directory),
    File(Content),
    Symlink(Bytes),
    Device(DeviceId),
    Pipe(Pipe),
    /// Everything below belongs to a granted host directory.
    HostRoot(HostId),
    /// `/proc/self/fd`.
    FdDirectory,
    /// `/proc/self/cwd`.
    CurrentDirectory,
    /// A file of `/proc`.
    Process(ProcessFile),
    /// An open socket.
    Socket(SocketId),
    /// The file of a Unix socket; the socket has its inode number.
    SocketFile,
}

/// A regular file's bytes.
#[derive(Debug, Serialize, Deserialize)]
pub enum Content {
    /// As the layer has them; copied up by the first write.
    Layer(LayerFile),
    /// Written by the guest.
    Own(Chunks),
}

/// An anonymous pipe.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Pipe {
    pub buffer: VecDeque<u8>,
    pub readers: u32,
    pub writers: u32,
}

/// A directory's entries by name, and by cookie, so that listings continue while entries are added and removed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Directory {
    by_name: BTreeMap<Bytes, Entry>,
    by_cookie: BTreeMap<u64, Bytes>,
    next_cookie: u64,
    pub subdirectories: u32,
}

/// The target of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub inode: InodeId,
    cookie: u64,
}

/// Counters of a sound state are far below; above it they could overflow.
const COUNTER_MAX: u64 = i64::MAX as u64 / 2;

/// Cookie of the first entry: 1 and 2 belong to `.` and `..`.
pub const FIRST_COOKIE: u64 = 3;

impl Default for Directory {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), by_cookie: BTreeMap::new(), next_cookie: FIRST_COOKIE, subdirectories: 0 }
    }
}

impl Directory {
    pub fn get(&self, name: &[u8]) -> Option<InodeId> {
        self.by_name.get(name).map(|entry| entry.inode)
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Adds a name. The caller has made sure that it is free.
    pub fn insert(&mut self, name: &[u8], inode: InodeId) {
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        self.by_name.insert(name.into(), Entry { inode, cookie });
        self.by_cookie.insert(cookie, name.into());
    }

    pub fn remove(&mut self, name: &[u8]) -> Option<InodeId> {
        let entry = self.by_name.remove(name)?;
        self.by_cookie.remove(&entry.cookie);
        Some(entry.inode)
    }

    /// Returns the cookie that the next new entry will have.
    pub fn end_cookie(&self) -> u64 {
        self.next_cookie
    }

    /// Entries with a cookie above `after` and below `end`, in that order.
    pub fn entries_between(&self, after: u64, end: u64) -> impl Iterator<Item = (u64, &[u8], InodeId)> {
        let start = after.saturating_add(1).min(end);
        self.by_cookie.range(start..end).filter_map(|(&cookie, name)| Some((cookie, &name[..], self.get(name)?)))
    }

    /// Returns all names in the order of their bytes.
    pub fn names(&self) -> impl Iterator<Item = (&[u8], InodeId)> {
        self.by_name.iter().map(|(name, entry)| (&name[..], entry.inode))
    }

    /// Finds the name of a child (for `getcwd`).
    pub fn name_of(&self, inode: InodeId) -> Option<&[u8]> {
        self.by_name.iter().find(|(_, entry)| entry.inode == inode).map(|(name, _)| &name[..])
    }

    /// Whether both indexes agree (for state read from outside).
    pub fn is_consistent(&self) -> bool {
        self.next_cookie <= COUNTER_MAX
            && self.by_name.len() == self.by_cookie.len()
            && self.by_cookie.iter().all(|(cookie, name)| {
                (FIRST_COOKIE..self.next_cookie).contains(cookie)
                    && self.by_name.get(name).is_some_and(|entry| entry.cookie == *cookie)
            })
    }
}

impl Content {
    pub fn len(&self) -> u64 {
        match self {
            Self::Layer(file) => file.len,
            Self::Own(chunks) => chunks.len(),
        }
    }
}

/// Links up to this length are stored within the inode and not charged, as on tmpfs.
const SHORT_SYMLINK: usize = 128;

/// Pages a link's target is charged.
pub fn symlink_pages(target: &[u8]) -> u64 {
    if target.len() < SHORT_SYMLINK { 0 } else { (target.len() as u64).div_ceil(PAGE) }
}

impl Inode {
    pub fn file_type(&self, device_is_stream: impl FnOnce(DeviceId) -> bool) -> FileType {
        match &self.kind {
            InodeKind::Directory(_) | InodeKind::HostRoot(_) | InodeKind::FdDirectory => FileType::Directory,
            InodeKind::File(_) | InodeKind::Process(_) => FileType::Regular,
            InodeKind::Symlink(_) | InodeKind::CurrentDirectory => FileType::Symlink,
            InodeKind::Device(id) if device_is_stream(*id) => FileType::Fifo,
            InodeKind::Device(_) => FileType::Character,
            InodeKind::Pipe(_) => FileType::Fifo,
            InodeKind::Socket(_) | InodeKind::SocketFile => FileType::Socket,
        }
    }

    /// Whether it has a name.
    pub fn linked(&self) -> bool {
        self.links > 0
    }

    /// Inodes charged to the quota: itself, unless it is of a layer, and each further name, as on tmpfs.
    pub fn charges(&self) -> u64 {
        u64::from(self.charged) + u64::from(self.links.saturating_sub(1))
    }

    pub fn is_directory(&self) -> bool {
        matches!(self.kind, InodeKind::Directory(_) | InodeKind::HostRoot(_) | InodeKind::FdDirectory)
    }

    /// Pages charged to the quota for this inode.
    pub fn pages(&self) -> u64 {
        match &self.kind {
            InodeKind::File(Content::Own(chunks)) => chunks.pages(),
            InodeKind::Symlink(target) => symlink_pages(target),
            _ => 0,
        }
    }
}

/// All inodes. An invalid index returns `ESTALE`: it cannot occur in a consistent file system, and state read from
/// outside must not be able to cause a panic.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Inodes {
    pub(super) slots: Vec<Option<Box<Inode>>>,
    pub(super) free: Vec<u32>,
    pub(super) last_ino: u64,
    /// Slots that may differ from the baseline that [`super::changes`] describes.
    #[serde(skip)]
    pub(super) changed: Marks,
}

impl Inodes {
    pub fn get(&self, id: InodeId) -> Result<&Inode, Errno> {
        self.slots.get(id.0 as usize).and_then(|slot| slot.as_deref()).ok_or(Errno::ESTALE)
    }

    pub fn get_mut(&mut self, id: InodeId) -> Result<&mut Inode, Errno> {
        if (id.0 as usize) < self.slots.len() {
            self.changed.set(id.0);
        }
        self.slots.get_mut(id.0 as usize).and_then(|slot| slot.as_deref_mut()).ok_or(Errno::ESTALE)
    }

    pub fn directory(&self, id: InodeId) -> Result<&Directory, Errno> {
        match &self.get(id)?.kind {
            InodeKind::Directory(directory) => Ok(directory),
            _ => Err(Errno::ENOTDIR),
        }
    }

    pub fn directory_mut(&mut self, id: InodeId) -> Result<&mut Directory, Errno> {
        match &mut self.get_mut(id)?.kind {
            InodeKind::Directory(directory) => Ok(directory),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// Puts an inode into the arena and gives it its number.
    pub fn insert(&mut self, mut inode: Inode) -> Result<InodeId, Errno> {
        self.last_ino += 1;
        inode.ino = self.last_ino;
        let inode = Some(Box::new(inode));
        if let Some(index) = self.free.pop() {
            let slot = self.slots.get_mut(index as usize).ok_or(Errno::ESTALE)?;
            *slot = inode;
            self.changed.set(index);
            return Ok(InodeId(index));
        }
        let index = u32::try_from(self.slots.len()).map_err(|_| Errno::ENOSPC)?;
        self.slots.push(inode);
        self.changed.set(index);
        Ok(InodeId(index))
    }

    /// Removes an inode and returns its pages and its inode to the quota.
    pub fn remove(&mut self, id: InodeId, quota: &mut Quota) -> Option<Box<Inode>> {
        let inode = self.slots.get_mut(id.0 as usize)?.take()?;
        self.changed.set(id.0);
        self.free.push(id.0);
        quota.release_pages(inode.pages());
        if inode.charged {
            quota.release_inode();
        }
        Some(inode)
    }

    pub fn iter(&self) -> impl Iterator<Item = (InodeId, &Inode)> {
        self.slots.iter().zip(0..).filter_map(|(slot, index)| Some((InodeId(index), slot.as_deref()?)))
    }

    /// Whether the free list names exactly the empty places (for state read from outside).
    pub fn is_consistent(&self) -> bool {
        let mut free: Vec<u32> = self.free.clone();
        free.sort_unstable();
        free.dedup();
        let empty = self.slots.iter().filter(|slot| slot.is_none()).count();
        self.last_ino <= COUNTER_MAX
            && free.len() == self.free.len()
            && free.len() == empty
            && free.iter().all(|&index| self.slots.get(index as usize).is_some_and(Option::is_none))
    }
}
