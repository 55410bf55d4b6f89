//! Changes to the tree: making, linking, removing and renaming.

use super::Vfs;
use super::bytes::Bytes;
use super::flags::{FileType, at};
use super::inode::{Content, Directory, Inode, InodeId, InodeKind, MountId, symlink_pages};
use super::limits::{DIRECTORY_DEPTH_MAX, LINKS_MAX, NAME_MAX};
use super::resolve::{Follow, Last, Node, Parent, join};
use brumate_abi::errno::Errno;

impl Vfs {
    /// A new inode without a name.
    pub(super) fn allocate(
        &mut self,
        mount: MountId,
        kind: InodeKind,
        permissions: u32,
        charged: bool,
    ) -> Result<InodeId, Errno> {
        if charged {
            self.quota.charge_inode()?;
        }
        let now = self.now();
        self.inodes.insert(Inode {
            ino: 0,
            mount,
            permissions,
            links: 0,
            pins: 0,
            charged,
            parent: self.root,
            atime: now,
            mtime: now,
            ctime: now,
            kind,
        })
    }

    /// Gives an inode a name that the caller has found free.
    pub(super) fn link(&mut self, directory: InodeId, name: &[u8], inode: InodeId) -> Result<(), Errno> {
        let child = self.inodes.get_mut(inode)?;
        child.links = child.links.checked_add(1).ok_or(Errno::EMLINK)?;
        let is_directory = child.is_directory();
        if is_directory {
            child.parent = directory;
        }
        let entries = self.inodes.directory_mut(directory)?;
        entries.insert(name, inode);
        entries.subdirectories += u32::from(is_directory);
        self.touch_directory(directory)
    }

    /// Removes an inode's name. The inode is freed with its last reference.
    pub(super) fn unlink_inode(&mut self, directory: InodeId, name: &[u8], id: InodeId) -> Result<(), Errno> {
        let is_directory = self.inodes.get(id)?.is_directory();
        let entries = self.inodes.directory_mut(directory)?;
        entries.remove(name);
        entries.subdirectories -= u32::from(is_directory).min(entries.subdirectories);
        self.touch_directory(directory)?;
        let now = self.now();
        let gone = self.inodes.get_mut(id)?;
        let was_one_of_several = gone.links > 1;
        gone.links = gone.links.saturating_sub(1);
        gone.ctime = now;
        if was_one_of_several {
            self.quota.release_inode();
        }
        if is_directory {
            self.pin(directory)?;
        }
        self.reap(id);
        Ok(())
    }

    /// Updates the modification time of a directory. Import caches read it, so every change of entries must update it.
    pub(super) fn touch_directory(&mut self, directory: InodeId) -> Result<(), Errno> {
        let now = self.now();
        let inode = self.inodes.get_mut(directory)?;
        inode.mtime = now;
        inode.ctime = now;
        Ok(())
    }

    /// Makes an inode with a name that the caller has found free.
    pub(super) fn create(
        &mut self,
        directory: InodeId,
        name: &[u8],
        kind: InodeKind,
        permissions: u32,
    ) -> Result<InodeId, Errno> {
        let parent = self.inodes.get(directory)?;
        if !matches!(parent.kind, InodeKind::Directory(_)) {
            return Err(Errno::EACCES);
        }
        if !parent.linked() {
            return Err(Errno::ENOENT);
        }
        self.check_writable(directory)?;
        let mount = self.inodes.get(directory)?.mount;
        let id = self.allocate(mount, kind, permissions, true)?;
        self.link(directory, name, id)?;
        Ok(id)
    }

    /// Returns where a new name is to be added: `EEXIST` if the name is taken or none can be given.
    fn free_name(&mut self, dirfd: i32, path: &[u8], is_directory: bool) -> Result<(Node, Vec<u8>), Errno> {
        let Parent { directory, last, trailing_slash } = self.resolve_parent(dirfd, path)?;
        let Last::Name(name) = last else {
            return Err(Errno::EEXIST);
        };
        if self.lookup(&directory, &name)?.is_some() {
            return Err(Errno::EEXIST);
        }
        if trailing_slash && !is_directory {
            return Err(Errno::ENOENT);
        }
        Ok((directory, name))
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// Those of `mkdirat(2)`.
    pub fn mkdirat(&mut self, dirfd: i32, path: &[u8], mode: u32) -> Result<(), Errno> {
        let (directory, name) = self.free_name(dirfd, path, true)?;
        let permissions = mode & 0o1777 & !self.umask;
        match directory {
            Node::Inode(parent) => {
                if self.depth(parent)? >= DIRECTORY_DEPTH_MAX {
                    return Err(Errno::ENAMETOOLONG);
                }
                let inherited = self.inodes.get(parent)?.permissions & 0o2000;
                self.create(parent, &name, InodeKind::Directory(Directory::default()), permissions | inherited)?;
                Ok(())
            }
            Node::Host(host, path) => self.writable_host(host)?.create_dir(&join(&path, &name), permissions),
            Node::Fd(_) => Err(Errno::ENOENT),
        }
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// Those of `symlinkat(2)`; `EPERM` in a host directory, where a link could mislead others.
    pub fn symlinkat(&mut self, target: &[u8], dirfd: i32, path: &[u8]) -> Result<(), Errno> {
        Self::check_path(target)?;
        let (directory, name) = self.free_name(dirfd, path, false)?;
        let Node::Inode(parent) = directory else {
            return Err(Errno::EPERM);
        };
        self.check_writable(parent)?;
        let pages = symlink_pages(target);
        self.quota.charge_pages(pages)?;
        let made = self.create(parent, &name, InodeKind::Symlink(Bytes(target.to_vec())), 0o777);
        if made.is_err() {
            self.quota.release_pages(pages);
        }
        made.map(drop)
    }

    /// Gives a file another name (a hard link).
    ///
    /// # Errors
    /// Fails as `linkat(2)` does; also `EXDEV` between mounts and for files of layers, `EPERM` in a host directory.
    pub fn linkat(
        &mut self,
        old_dirfd: i32,
        old_path: &[u8],
        new_dirfd: i32,
        new_path: &[u8],
        flags: u32,
    ) -> Result<(), Errno> {
        if flags & !at::SYMLINK_FOLLOW != 0 {
            return Err(Errno::EINVAL);
        }
        let follow = if flags & at::SYMLINK_FOLLOW != 0 { Follow::Yes } else { Follow::No };
        let (source, _) = self.resolve_existing(old_dirfd, old_path, follow)?;
        let (directory, name) = self.free_name(new_dirfd, new_path, false)?;
        self.check_node_writable(&directory)?;
        match (&directory, &source) {
            (Node::Inode(parent), Node::Inode(id)) => self.link_again(*parent, &name, *id),
            (Node::Host(host, _), Node::Host(other, _)) if host == other => Err(Errno::EPERM),
            _ => Err(Errno::EXDEV),
        }
    }

    fn link_again(&mut self, directory: InodeId, name: &[u8], id: InodeId) -> Result<(), Errno> {
        let (holder, inode) = (self.inodes.get(directory)?, self.inodes.get(id)?);
        if !holder.linked() {
            return Err(Errno::ENOENT);
        }
        if holder.mount != inode.mount {
            return Err(Errno::EXDEV);
        }
        match inode.kind {
            InodeKind::File(Content::Own(_)) | InodeKind::Symlink(_) | InodeKind::SocketFile => {}
            // The file goes when its layer is unmounted.
            InodeKind::File(Content::Layer(_)) => return Err(Errno::EXDEV),
            _ => return Err(Errno::EPERM),
        }
        if !inode.linked() {
            return Err(Errno::ENOENT);
        }
        if inode.links >= LINKS_MAX {
            return Err(Errno::EMLINK);
        }
        // Names take memory as well: without this, one file could have any number.
        self.quota.charge_inode()?;
        self.link(directory, name, id)?;
        let now = self.now();
        self.inodes.get_mut(id)?.ctime = now;
        Ok(())
    }

    /// Removes a file (`flags` 0) or an empty directory (`AT_REMOVEDIR`).
    ///
    /// # Errors
    /// Those of `unlinkat(2)`.
    pub fn unlinkat(&mut self, dirfd: i32, path: &[u8], flags: u32) -> Result<(), Errno> {
        if flags & !at::REMOVEDIR != 0 {
            return Err(Errno::EINVAL);
        }
        let removes_directory = flags & at::REMOVEDIR != 0;
        let Parent { directory, last, trailing_slash } = self.resolve_parent(dirfd, path)?;
        let name = match last {
            Last::Name(name) => name,
            _ if !removes_directory => return Err(Errno::EISDIR),
            Last::Dot => return Err(Errno::EINVAL),
            Last::DotDot => return Err(Errno::ENOTEMPTY),
            Last::Root => return Err(Errno::EBUSY),
        };
        self.check_node_writable(&directory)?;
        let (node, file_type) = self.lookup(&directory, &name)?.ok_or(Errno::ENOENT)?;
        let is_directory = file_type == FileType::Directory;
        if !removes_directory && is_directory {
            return Err(Errno::EISDIR);
        }
        if (removes_directory || trailing_slash) && !is_directory {
            return Err(Errno::ENOTDIR);
        }
        match (&directory, &node) {
            (Node::Inode(parent), Node::Inode(id)) => {
                if is_directory {
                    self.check_removable_directory(*id)?;
                }
                self.unlink_inode(*parent, &name, *id)
            }
            (Node::Host(host, _), Node::Host(_, path)) if is_directory => self.writable_host(*host)?.remove_dir(path),
            (Node::Host(host, _), Node::Host(_, path)) => self.writable_host(*host)?.remove_file(path),
            (Node::Inode(_), Node::Host(..)) => Err(Errno::EBUSY),
            _ => Err(Errno::EPERM),
        }
    }

    pub(super) fn check_removable_directory(&self, id: InodeId) -> Result<(), Errno> {
        if self.is_mount_root(id) {
            return Err(Errno::EBUSY);
        }
        match &self.inodes.get(id)?.kind {
            InodeKind::Directory(entries) if !entries.is_empty() => Err(Errno::ENOTEMPTY),
            InodeKind::Directory(_) => Ok(()),
            _ => Err(Errno::EBUSY),
        }
    }

    pub(super) fn check_node_writable(&mut self, directory: &Node) -> Result<(), Errno> {
        match directory {
            Node::Inode(id) => self.check_writable(*id),
            Node::Host(host, _) => self.writable_host(*host).map(drop),
            Node::Fd(_) => Err(Errno::EROFS),
        }
    }

    /// Makes a directory and its missing parents, for the host side: quota and read-only mounts do not apply.
    pub(super) fn make_directories(&mut self, path: &[u8]) -> Result<InodeId, Errno> {
        self.make_directories_from(self.root, path)
    }

    /// As [`Self::make_directories`], from a directory on.
    pub(super) fn make_directories_from(&mut self, start: InodeId, path: &[u8]) -> Result<InodeId, Errno> {
        let mut here = start;
        for name in path.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
            if name == b"." || name == b".." || name.len() > NAME_MAX {
                return Err(Errno::EINVAL);
            }
            here = match self.inodes.directory(here)?.get(name) {
                Some(child) if self.inodes.directory(child).is_ok() => child,
                Some(_) => return Err(Errno::ENOTDIR),
                None => {
                    let mount = self.inodes.get(here)?.mount;
                    let child = self.allocate(mount, InodeKind::Directory(Directory::default()), 0o755, false)?;
                    self.link(here, name, child)?;
                    child
                }
            };
        }
        Ok(here)
    }
}
