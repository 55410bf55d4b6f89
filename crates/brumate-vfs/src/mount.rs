//! What the host side puts into the tree: layers, files, host directories, standard nodes.

use thiserror::Error;

use super::archive::{Archive, LayerBytes};
use super::bytes::Bytes;
use super::device::{Device, NoTerminal, Null, Zero};
use super::host::{HostDir, HostId};
use super::inode::{Content, InodeId, InodeKind, MountId};
use super::layers::{Layer, LayerFile};
use super::process::{EXECUTABLE, PID, ProcessFile};
use super::resolve::{Follow, Node};
use super::{HostRecord, Mount, Vfs, at};
use brumate_abi::errno::Errno;

/// Decides what a mount does with files whose path exists already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conflict {
    /// The mount is refused and nothing is changed.
    #[default]
    Refuse,
    /// The mounted file takes its place, as installers do.
    Replace,
    /// The file that is there stays.
    Keep,
}

/// How an archive is mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountOptions {
    /// Whether the guest may change nothing in the directory afterwards (`EROFS`). The directory becomes a device of
    /// its own for `st_dev` and `rename`.
    pub read_only: bool,
    /// Mount only what is below this directory of the archive, without it. No slash at either end.
    pub strip: Vec<u8>,
    /// What to do about files that are there already.
    pub conflict: Conflict,
    /// Leave the permission bits of files that the archive states; otherwise 0644.
    pub keep_permissions: bool,
}

/// Why a mount was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MountError {
    /// A parent in the path is not a directory, or the target cannot be one.
    #[error("cannot mount on `{path}`: {errno}")]
    Target {
        /// The path, made printable.
        path: String,
        /// What was wrong.
        errno: Errno,
    },
    /// A file of the archive meets one that is there already, or a directory meets a file.
    #[error("`{path}` exists already")]
    Conflict {
        /// The path within the mount, made printable.
        path: String,
    },
    /// An internal limit was met.
    #[error("mount failed: {0}")]
    Failed(#[from] Errno),
}

/// Most mounts and host directories that can be made: the host side makes a handful.
const MOUNTS_MAX: usize = 0x0fff;

impl Vfs {
    /// The tree a new file system starts with.
    pub(super) fn populate(&mut self) -> Result<(), Errno> {
        let tmp = self.make_directories(b"/tmp")?;
        self.inodes.get_mut(tmp)?.permissions = 0o1777;
        self.make_directories(b"/dev")?;
        for (path, rdev, device) in own_devices() {
            self.add_device(path, rdev, device)?;
        }
        let pid = PID.to_string();
        let (proc, own) = (self.make_directories(b"/proc")?, self.make_directories(format!("/proc/{pid}").as_bytes())?);
        self.link_new(proc, b"self", InodeKind::Symlink(Bytes(pid.into_bytes())), 0o777)?;
        self.link_new(own, b"fd", InodeKind::FdDirectory, 0o500)?;
        self.link_new(own, b"cwd", InodeKind::CurrentDirectory, 0o777)?;
        self.link_new(own, b"exe", InodeKind::Symlink(EXECUTABLE.as_bytes().into()), 0o777)?;
        self.link_new(own, b"root", InodeKind::Symlink((&b"/"[..]).into()), 0o777)?;
        for (directory, files) in [(proc, ProcessFile::OF_ALL), (own, ProcessFile::OF_ONE)] {
            for (name, file) in files {
                self.link_new(directory, name, InodeKind::Process(*file), 0o444)?;
            }
        }
        for (name, target) in [
            (&b"fd"[..], &b"/proc/self/fd"[..]),
            (b"stdin", b"/proc/self/fd/0"),
            (b"stdout", b"/proc/self/fd/1"),
            (b"stderr", b"/proc/self/fd/2"),
        ] {
            let dev = self.make_directories(b"/dev")?;
            self.link_new(dev, name, InodeKind::Symlink(target.into()), 0o777)?;
        }
        self.seal(b"/proc")
    }

    /// Makes an inode that is not charged to the quota, with a name that is free.
    fn link_new(&mut self, directory: InodeId, name: &[u8], kind: InodeKind, permissions: u32) -> Result<(), Errno> {
        let inode = self.allocate(MountId(0), kind, permissions, false)?;
        self.link(directory, name, inode)
    }

    /// Makes a symbolic link for the guest, with its missing parents. Not charged to the quota.
    ///
    /// # Errors
    /// `ENOTDIR` if a parent is not a directory; `EEXIST` if the name is taken.
    pub fn create_link(&mut self, path: &[u8], target: &[u8]) -> Result<(), Errno> {
        Self::check_path(target)?;
        let (parents, name) = split_last(path);
        let directory = self.make_directories(parents)?;
        if self.inodes.directory(directory)?.get(name).is_some() {
            return Err(Errno::EEXIST);
        }
        self.link_new(directory, name, InodeKind::Symlink(target.into()), 0o777)
    }

    /// Joins the devices that [`Vfs::new`] makes with their objects, after deserialising.
    pub fn attach_own_devices(&mut self) {
        for (path, _, device) in own_devices() {
            self.attach_device(path, device);
        }
    }

    /// Makes a directory for the guest, with its missing parents. Not charged to the quota.
    ///
    /// # Errors
    /// `ENOTDIR` if a parent or the path is not a directory; `EINVAL` for a path with `.` or `..`.
    pub fn create_directories(&mut self, path: &[u8], permissions: u32) -> Result<(), Errno> {
        let directory = self.make_directories(path)?;
        self.inodes.get_mut(directory)?.permissions = permissions & 0o7777;
        Ok(())
    }

    /// Merges an archive into the directory at `path`, which is made if it is missing. `name` identifies the layer when
    /// saved state is restored. No file data is inflated.
    ///
    /// # Errors
    /// [`MountError`]; the tree is as before then, except for directories made in `path`.
    pub fn mount_archive(
        &mut self,
        path: &[u8],
        name: &[u8],
        archive: &Archive,
        options: &MountOptions,
    ) -> Result<(), MountError> {
        let target = |errno| MountError::Target { path: path.escape_ascii().to_string(), errno };
        let root = self.make_directories(path).map_err(target)?;
        self.check_conflicts(root, archive, options)?;
        let layer = self.layers.add(name, Layer::Archive(archive.clone()))?;
        for directory in archive.directories.iter().filter_map(|path| below(path, &options.strip)) {
            self.make_directories_from(root, directory)?;
        }
        for (index, entry) in archive.entries.iter().enumerate() {
            let Some(relative) = below(archive.path(entry), &options.strip).filter(|relative| !relative.is_empty())
            else {
                continue;
            };
            let (parents, file) = split_last(relative);
            let directory = self.make_directories_from(root, parents)?;
            if self.inodes.directory(directory)?.get(file).is_some() {
                if options.conflict == Conflict::Keep {
                    continue;
                }
                self.drop_entry(directory, file)?;
            }
            let content = LayerFile { layer, entry: index as u32, len: entry.size };
            let permissions = if options.keep_permissions { entry.mode } else { 0o644 };
            let inode = self.layer_inode(directory, content, permissions)?;
            let placed = self.inodes.get_mut(inode)?;
            placed.mtime = entry.modified;
            placed.atime = entry.modified;
            self.link(directory, file, inode)?;
        }
        if options.read_only {
            self.seal_inode(root)?;
        }
        Ok(())
    }

    /// Adds one file to the tree whose bytes stay where they are until the guest writes to it (uploads). Missing parent
    /// directories are made; an existing file is replaced. The file is not charged before it is written to.
    ///
    /// # Errors
    /// [`MountError::Target`] if there cannot be a file at the path.
    pub fn mount_file(
        &mut self,
        path: &[u8],
        name: &[u8],
        bytes: LayerBytes,
        permissions: u32,
    ) -> Result<(), MountError> {
        let target = |errno| MountError::Target { path: path.escape_ascii().to_string(), errno };
        let (parents, file) = split_last(path);
        if matches!(file, b"" | b"." | b"..") {
            return Err(target(Errno::EINVAL));
        }
        let directory = self.make_directories(parents).map_err(target)?;
        if let Some(existing) = self.inodes.directory(directory)?.get(file) {
            if self.inodes.get(existing)?.is_directory() {
                return Err(target(Errno::EISDIR));
            }
            self.drop_entry(directory, file)?;
        }
        let len = (*bytes).as_ref().len() as u64;
        let layer = self.layers.add(name, Layer::File(bytes))?;
        let inode = self.layer_inode(directory, LayerFile { layer, entry: 0, len }, permissions & 0o7777)?;
        self.link(directory, file, inode)?;
        Ok(())
    }

    /// Mounts a host directory. Everything below `path` is read from it after this.
    ///
    /// # Errors
    /// [`MountError::Target`] when `path` is the root, not a directory or not empty.
    pub fn mount_host(&mut self, path: &[u8], directory: Box<dyn HostDir>) -> Result<(), MountError> {
        let target = |errno| MountError::Target { path: path.escape_ascii().to_string(), errno };
        if self.host_records.len() >= MOUNTS_MAX {
            return Err(target(Errno::ENFILE));
        }
        let inode = self.make_directories(path).map_err(target)?;
        if inode == self.root || !self.inodes.directory(inode)?.is_empty() || self.is_mount_root(inode) {
            return Err(target(Errno::EBUSY));
        }
        let id = HostId(self.host_records.len() as u32);
        self.inodes.get_mut(inode)?.kind = InodeKind::HostRoot(id);
        let components = path.split(|&b| b == b'/').filter(|name| !name.is_empty());
        let name = components.fold(Vec::new(), |path, name| [&path[..], b"/", name].concat());
        self.host_records.push(HostRecord { name: Bytes(name), inode });
        self.hosts.resize_with(id.0 as usize, || None);
        self.hosts.push(Some(directory));
        Ok(())
    }

    /// Makes a directory and everything in it read-only for the guest.
    ///
    /// # Errors
    /// Those of path resolution; `ENFILE` when there are too many mounts.
    pub fn seal(&mut self, path: &[u8]) -> Result<(), Errno> {
        match self.resolve_existing(at::FDCWD, path, Follow::Yes)? {
            (Node::Inode(id), _) => self.seal_inode(id),
            _ => Err(Errno::EXDEV),
        }
    }

    fn seal_inode(&mut self, root: InodeId) -> Result<(), Errno> {
        let present = self.inodes.get(root)?.mount;
        let mount = if self.mounts.get(present.0 as usize).is_some_and(|mount| mount.read_only) {
            present
        } else {
            if self.mounts.len() >= MOUNTS_MAX {
                return Err(Errno::ENFILE);
            }
            self.mounts.push(Mount { root, read_only: true });
            MountId(self.mounts.len() as u32 - 1)
        };
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            let inode = self.inodes.get_mut(id)?;
            // What is mounted within keeps its own mount.
            if inode.mount == present || inode.mount == mount {
                inode.mount = mount;
                if let InodeKind::Directory(entries) = &inode.kind {
                    open.extend(entries.names().map(|(_, child)| child));
                }
            }
        }
        Ok(())
    }

    fn check_conflicts(&self, root: InodeId, archive: &Archive, options: &MountOptions) -> Result<(), MountError> {
        let conflict = |path: &[u8]| MountError::Conflict { path: path.escape_ascii().to_string() };
        let files = archive.entries.iter().map(|entry| (archive.path(entry), false));
        let directories = archive.directories.iter().map(|path| (&path[..], true));
        for (path, is_directory) in files.chain(directories) {
            let Some(relative) = below(path, &options.strip) else {
                continue;
            };
            let mut here = root;
            let mut components = relative.split(|&b| b == b'/').filter(|name| !name.is_empty()).peekable();
            while let Some(name) = components.next() {
                let Some(existing) = self.inodes.directory(here)?.get(name) else {
                    break;
                };
                let last = components.peek().is_none();
                let is_plain_directory = self.inodes.directory(existing).is_ok();
                let fits = if last && !is_directory {
                    !is_plain_directory
                        && !self.inodes.get(existing)?.is_directory()
                        && options.conflict != Conflict::Refuse
                } else {
                    is_plain_directory
                };
                if !fits {
                    return Err(conflict(relative));
                }
                here = existing;
            }
        }
        Ok(())
    }

    pub(super) fn layer_inode(
        &mut self,
        directory: InodeId,
        content: LayerFile,
        permissions: u32,
    ) -> Result<InodeId, Errno> {
        let mount = self.inodes.get(directory)?.mount;
        self.allocate(mount, InodeKind::File(Content::Layer(content)), permissions, false)
    }

    /// Removes a file's name without the checks for the guest.
    pub(super) fn drop_entry(&mut self, directory: InodeId, name: &[u8]) -> Result<(), Errno> {
        let id = self.inodes.directory(directory)?.get(name).ok_or(Errno::ENOENT)?;
        self.unlink_inode(directory, name, id)
    }
}

/// The part of `path` below `prefix`, `None` when it is not below.
fn below<'a>(path: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    if prefix.is_empty() {
        return Some(path);
    }
    match path.strip_prefix(prefix)? {
        [] => Some(&[]),
        [b'/', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Directory part and last component.
pub(super) fn split_last(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&b| b == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

/// Path, number and object of the devices every file system has.
fn own_devices() -> [(&'static [u8], u64, Box<dyn Device>); 4] {
    [
        (b"/dev/null", 0x103, Box::new(Null)),
        (b"/dev/zero", 0x105, Box::new(Zero { full: false })),
        (b"/dev/full", 0x107, Box::new(Zero { full: true })),
        (b"/dev/tty", 0x500, Box::new(NoTerminal)),
    ]
}
