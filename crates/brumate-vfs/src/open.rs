//! `openat`, in the order of checks that Linux has.

use super::Vfs;
use super::bytes::Bytes;
use super::chunks::Chunks;
use super::device::{Device, DeviceKind};
use super::fds::{HostTarget, Target};
use super::flags::{FileType, OpenFlags};
use super::host::HostId;
use super::inode::{Content, DeviceId, InodeId, InodeKind, MountId};
use super::limits::OPEN_FILES_MAX;
use super::resolve::{Follow, Last, Node, Resolved, join};
use super::{DeviceRecord, at};
use brumate_abi::errno::Errno;

impl Vfs {
    /// Opens a file; returns the lowest free descriptor. `mode` matters for a file that is created.
    ///
    /// # Errors
    /// Those of `open(2)`.
    pub fn openat(&mut self, dirfd: i32, path: &[u8], flags: OpenFlags, mode: u32) -> Result<i32, Errno> {
        let flags = if flags.has(OpenFlags::PATH) {
            let kept = OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW | OpenFlags::PATH | OpenFlags::CLOEXEC;
            OpenFlags(flags.0 & kept)
        } else {
            flags
        };
        if flags.has(OpenFlags::TMPFILE) {
            if flags.has(OpenFlags::CREAT) || !flags.writes() {
                return Err(Errno::EINVAL);
            }
        } else if flags.has(OpenFlags::CREAT | OpenFlags::DIRECTORY) {
            return Err(Errno::EINVAL);
        }
        Self::check_path(path)?;
        let fd = self.fds.lowest_free(0)?;
        if flags.has(OpenFlags::TMPFILE) {
            return self.open_unnamed(fd, dirfd, path, flags, mode);
        }
        let create = flags.has(OpenFlags::CREAT);
        let exclusive = create && flags.has(OpenFlags::EXCL);
        let follow = match (create, exclusive || flags.has(OpenFlags::NOFOLLOW)) {
            (false, false) => Follow::Yes,
            (false, true) => Follow::No,
            (true, false) => Follow::Create,
            (true, true) => Follow::CreateNew,
        };
        let Resolved { parent, node } = self.resolve(dirfd, path, follow)?;
        let Some((node, file_type)) = node else {
            return match parent.last {
                Last::Name(name) if create => self.open_new(fd, &parent.directory, &name, flags, mode),
                _ => Err(Errno::ENOENT),
            };
        };
        if create && exclusive {
            return Err(Errno::EEXIST);
        }
        if create && file_type == FileType::Directory {
            return Err(Errno::EISDIR);
        }
        if flags.has(OpenFlags::DIRECTORY) && file_type != FileType::Directory {
            return Err(Errno::ENOTDIR);
        }
        if flags.has(OpenFlags::PATH) {
            return self.open_reference(fd, node, file_type, flags);
        }
        let writes = flags.0 & OpenFlags::ACCMODE != OpenFlags::RDONLY || flags.has(OpenFlags::TRUNC);
        match file_type {
            FileType::Symlink => return Err(Errno::ELOOP),
            FileType::Socket => return Err(Errno::ENXIO),
            FileType::Directory if writes => return Err(Errno::EISDIR),
            _ => {}
        }
        match node {
            Node::Inode(id) => self.open_inode(fd, id, file_type, flags, writes),
            Node::Host(host, path) => self.open_host(fd, host, path.0, file_type, flags),
            Node::Fd(_) => Err(Errno::ELOOP),
        }
    }

    fn open_inode(
        &mut self,
        fd: usize,
        id: InodeId,
        file_type: FileType,
        flags: OpenFlags,
        writes: bool,
    ) -> Result<i32, Errno> {
        if file_type == FileType::Regular {
            if writes {
                self.check_writable(id)?;
            }
            if flags.has(OpenFlags::TRUNC) {
                self.truncate_inode(id, 0)?;
            }
        }
        if let InodeKind::Device(device) = self.inodes.get(id)?.kind {
            self.device(device)?.open()?;
        }
        self.install(fd, Target::Inode(id), flags)
    }

    fn open_host(
        &mut self,
        fd: usize,
        host: HostId,
        path: Vec<u8>,
        file_type: FileType,
        flags: OpenFlags,
    ) -> Result<i32, Errno> {
        let is_directory = file_type == FileType::Directory;
        let file = match file_type {
            FileType::Directory => None,
            FileType::Regular => {
                let wants_write = flags.writes() || flags.has(OpenFlags::TRUNC);
                let source = if wants_write { self.writable_host(host)? } else { self.host(host)? };
                Some(source.open(&path, OpenFlags(flags.0 & !OpenFlags::APPEND), 0)?)
            }
            _ => return Err(Errno::ENXIO),
        };
        let target = HostTarget { host, path: Bytes(path), file, is_directory, listing: None };
        self.install(fd, Target::Host(target), flags)
    }

    /// `O_PATH`: opens nothing and records the node.
    fn open_reference(&mut self, fd: usize, node: Node, file_type: FileType, flags: OpenFlags) -> Result<i32, Errno> {
        let target = match node {
            Node::Inode(id) => Target::Inode(id),
            Node::Host(host, path) => {
                let is_directory = file_type == FileType::Directory;
                Target::Host(HostTarget { host, path, file: None, is_directory, listing: None })
            }
            Node::Fd(_) => return Err(Errno::ELOOP),
        };
        self.install(fd, target, flags)
    }

    fn open_new(
        &mut self,
        fd: usize,
        directory: &Node,
        name: &[u8],
        flags: OpenFlags,
        mode: u32,
    ) -> Result<i32, Errno> {
        let permissions = mode & 0o7777 & !self.umask;
        match directory {
            Node::Inode(id) => {
                let file = self.create(*id, name, InodeKind::File(Content::Own(Chunks::default())), permissions)?;
                self.install(fd, Target::Inode(file), flags)
            }
            Node::Host(host, path) => {
                let path = join(path, name);
                let flags_for_host = OpenFlags(flags.0 & !OpenFlags::APPEND);
                let file = Some(self.writable_host(*host)?.open(&path, flags_for_host, permissions)?);
                let target = HostTarget { host: *host, path: Bytes(path), file, is_directory: false, listing: None };
                self.install(fd, Target::Host(target), flags)
            }
            Node::Fd(_) => Err(Errno::ENOENT),
        }
    }

    /// `O_TMPFILE`: a file without a name, gone when it is closed.
    fn open_unnamed(&mut self, fd: usize, dirfd: i32, path: &[u8], flags: OpenFlags, mode: u32) -> Result<i32, Errno> {
        let follow = if flags.has(OpenFlags::NOFOLLOW) { Follow::No } else { Follow::Yes };
        let directory = match self.resolve_existing(dirfd, path, follow)? {
            (_, file_type) if file_type != FileType::Directory => return Err(Errno::ENOTDIR),
            (Node::Inode(id), _) => id,
            // Callers such as Python's tempfile take EISDIR as "not supported here" and use a named file.
            _ => return Err(Errno::EISDIR),
        };
        self.check_writable(directory)?;
        if !matches!(self.inodes.get(directory)?.kind, InodeKind::Directory(_)) {
            return Err(Errno::EOPNOTSUPP);
        }
        let permissions = mode & 0o7777 & !self.umask;
        let mount = self.inodes.get(directory)?.mount;
        let file = self.allocate(mount, InodeKind::File(Content::Own(Chunks::default())), permissions, true)?;
        self.install(fd, Target::Inode(file), flags)
    }

    /// Installs a device directly as a descriptor, for standard input, output and error. A descriptor that is open is
    /// closed first. `name` identifies the device when saved state is restored; an existing device of that name gets
    /// the new object, also where its descriptor was duplicated.
    ///
    /// # Errors
    /// `EBADF` when `fd` is not a possible descriptor.
    pub fn install_device(
        &mut self,
        fd: i32,
        name: &[u8],
        flags: OpenFlags,
        device: Box<dyn Device>,
    ) -> Result<(), Errno> {
        let slot = usize::try_from(fd).ok().filter(|&fd| fd < OPEN_FILES_MAX).ok_or(Errno::EBADF)?;
        let id = self.register_device(name, 0, device)?;
        let inode = self.allocate(MountId(0), InodeKind::Device(id), 0o600, false)?;
        if self.fds.is_open(slot as u32) {
            self.close(fd)?;
        }
        self.install(slot, Target::Inode(inode), flags)?;
        Ok(())
    }

    /// Makes a device file. Missing directories are made as well.
    ///
    /// # Errors
    /// `EEXIST` when the name is taken, those of path resolution.
    pub fn add_device(&mut self, path: &[u8], rdev: u64, device: Box<dyn Device>) -> Result<(), Errno> {
        let parent = self.resolve_parent(at::FDCWD, path)?;
        let (Node::Inode(directory), Last::Name(name)) = (&parent.directory, &parent.last) else {
            return Err(Errno::EINVAL);
        };
        if self.lookup(&parent.directory, name)?.is_some() {
            return Err(Errno::EEXIST);
        }
        let id = self.register_device(path, rdev, device)?;
        let inode = self.allocate(self.inodes.get(*directory)?.mount, InodeKind::Device(id), 0o666, false)?;
        self.link(*directory, name, inode)
    }

    fn register_device(&mut self, name: &[u8], rdev: u64, device: Box<dyn Device>) -> Result<DeviceId, Errno> {
        if let Some(index) = self.device_records.iter().position(|record| &record.name[..] == name) {
            self.attach_device(name, device);
            return Ok(DeviceId(index as u32));
        }
        let id = u32::try_from(self.device_records.len()).map_err(|_| Errno::ENFILE)?;
        let stream = device.kind() == DeviceKind::Stream;
        self.device_records.push(DeviceRecord { name: name.into(), rdev, stream });
        self.devices.resize_with(id as usize, || None);
        self.devices.push(Some(device));
        Ok(DeviceId(id))
    }

    pub(super) fn device(&mut self, id: DeviceId) -> Result<&mut Box<dyn Device>, Errno> {
        self.devices.get_mut(id.0 as usize).and_then(Option::as_mut).ok_or(Errno::ENXIO)
    }
}
