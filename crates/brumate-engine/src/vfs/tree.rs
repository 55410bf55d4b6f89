//! Changes to the tree: making, linking, removing and renaming.

use super::Vfs;
use super::bytes::Bytes;
use super::flags::{FileType, at};
use super::inode::{Directory, Inode, InodeId, Kind, MountId, symlink_pages};
use super::limits::{DIRECTORY_DEPTH_MAX, NAME_MAX, PATH_MAX};
use super::resolve::{Follow, Last, Node, Parent, join};
use crate::libc::errno::Errno;

impl Vfs {
    /// A new inode without a name.
    pub(super) fn allocate(
        &mut self,
        mount: MountId,
        kind: Kind,
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
            linked: false,
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
        child.linked = true;
        let is_directory = child.is_directory();
        if is_directory {
            child.parent = directory;
        }
        let entries = self.inodes.directory_mut(directory)?;
        entries.insert(name, inode);
        entries.subdirectories += u32::from(is_directory);
        self.touch_directory(directory)
    }

    /// Takes an inode's name away; the inode goes with its last reference.
    pub(super) fn unlink_inode(&mut self, directory: InodeId, name: &[u8], id: InodeId) -> Result<(), Errno> {
        let is_directory = self.inodes.get(id)?.is_directory();
        let entries = self.inodes.directory_mut(directory)?;
        entries.remove(name);
        entries.subdirectories -= u32::from(is_directory).min(entries.subdirectories);
        self.touch_directory(directory)?;
        let now = self.now();
        let gone = self.inodes.get_mut(id)?;
        gone.linked = false;
        gone.ctime = now;
        if is_directory {
            self.pin(directory)?;
        }
        self.reap(id);
        Ok(())
    }

    /// Import caches look at a directory's modification time, so every change of entries must show in it.
    fn touch_directory(&mut self, directory: InodeId) -> Result<(), Errno> {
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
        kind: Kind,
        permissions: u32,
    ) -> Result<InodeId, Errno> {
        let parent = self.inodes.get(directory)?;
        if !matches!(parent.kind, Kind::Directory(_)) {
            return Err(Errno::EACCES);
        }
        if !parent.linked {
            return Err(Errno::ENOENT);
        }
        self.check_writable(directory)?;
        let mount = self.inodes.get(directory)?.mount;
        let id = self.allocate(mount, kind, permissions, true)?;
        self.link(directory, name, id)?;
        Ok(id)
    }

    /// Where something new is to get its name: `EEXIST` when the name is taken or none can be given.
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
                self.create(parent, &name, Kind::Directory(Directory::default()), permissions | inherited)?;
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
        let made = self.create(parent, &name, Kind::Symlink(Bytes(target.to_vec())), 0o777);
        if made.is_err() {
            self.quota.release_pages(pages);
        }
        made.map(drop)
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

    fn check_removable_directory(&self, id: InodeId) -> Result<(), Errno> {
        if self.is_mount_root(id) {
            return Err(Errno::EBUSY);
        }
        match &self.inodes.get(id)?.kind {
            Kind::Directory(entries) if !entries.is_empty() => Err(Errno::ENOTEMPTY),
            Kind::Directory(_) => Ok(()),
            _ => Err(Errno::EBUSY),
        }
    }

    fn check_node_writable(&mut self, directory: &Node) -> Result<(), Errno> {
        match directory {
            Node::Inode(id) => self.check_writable(*id),
            Node::Host(host, _) => self.writable_host(*host).map(drop),
            Node::Fd(_) => Err(Errno::EROFS),
        }
    }

    /// Renames, replacing what had the new name.
    ///
    /// # Errors
    /// Those of `renameat(2)`; `EXDEV` between mounts and between host directories.
    pub fn renameat(&mut self, old_dirfd: i32, old_path: &[u8], new_dirfd: i32, new_path: &[u8]) -> Result<(), Errno> {
        Self::check_path(old_path)?;
        Self::check_path(new_path)?;
        let old = self.resolve_parent(old_dirfd, old_path)?;
        let new = self.resolve_parent(new_dirfd, new_path)?;
        if self.mount_key(&old.directory)? != self.mount_key(&new.directory)? {
            return Err(Errno::EXDEV);
        }
        let (Last::Name(old_name), Last::Name(new_name)) = (&old.last, &new.last) else {
            return Err(Errno::EBUSY);
        };
        self.check_node_writable(&old.directory)?;
        let (source, source_type) = self.lookup(&old.directory, old_name)?.ok_or(Errno::ENOENT)?;
        let target = self.lookup(&new.directory, new_name)?;
        if source_type != FileType::Directory && (old.trailing_slash || new.trailing_slash) {
            return Err(Errno::ENOTDIR);
        }
        match (&old.directory, &new.directory) {
            (Node::Inode(from), Node::Inode(to)) => {
                let (Node::Inode(source), Ok(target)) = (source, tree_inode(target)) else {
                    return Err(Errno::EBUSY);
                };
                self.rename_inode((*from, old_name), (*to, new_name), source, target)
            }
            (Node::Host(host, from), Node::Host(_, to)) => {
                let (from, to) = (join(from, old_name), join(to, new_name));
                if to.starts_with(&from) && to.get(from.len()) == Some(&b'/') {
                    return Err(Errno::EINVAL);
                }
                self.writable_host(*host)?.rename(&from, &to)
            }
            _ => Err(Errno::EXDEV),
        }
    }

    /// What renaming must not leave: a mount of the tree or a host directory.
    fn mount_key(&self, directory: &Node) -> Result<(bool, u32), Errno> {
        Ok(match directory {
            Node::Inode(id) => (false, self.inodes.get(*id)?.mount.0),
            Node::Host(host, _) => (true, host.0),
            Node::Fd(_) => (false, u32::MAX),
        })
    }

    fn rename_inode(
        &mut self,
        (from, old_name): (InodeId, &[u8]),
        (to, new_name): (InodeId, &[u8]),
        source: InodeId,
        target: Option<InodeId>,
    ) -> Result<(), Errno> {
        if self.is_same_or_above(source, to)? {
            return Err(Errno::EINVAL);
        }
        if let Some(target) = target
            && self.is_same_or_above(target, from)?
        {
            return Err(Errno::ENOTEMPTY);
        }
        if target == Some(source) {
            return Ok(());
        }
        let moves_directory = self.inodes.get(source)?.is_directory();
        if let Some(target) = target {
            let replaces_directory = self.inodes.get(target)?.is_directory();
            match (moves_directory, replaces_directory) {
                (true, false) => return Err(Errno::ENOTDIR),
                (false, true) => return Err(Errno::EISDIR),
                (true, true) => {
                    self.check_mounts(source, Some(target))?;
                    self.check_removable_directory(target)?;
                }
                (false, false) => {}
            }
        }
        self.check_mounts(source, target)?;
        if !self.inodes.get(to)?.linked {
            return Err(Errno::ENOENT);
        }
        if !matches!(
            self.inodes.get(source)?.kind,
            Kind::Directory(_) | Kind::File(_) | Kind::Symlink(_) | Kind::Device(_)
        ) {
            return Err(Errno::EPERM);
        }
        if moves_directory && from != to && self.depth(to)? + self.height(source)? > DIRECTORY_DEPTH_MAX {
            return Err(Errno::ENAMETOOLONG);
        }
        if let Some(target) = target {
            self.unlink_inode(to, new_name, target)?;
        }
        let entries = self.inodes.directory_mut(from)?;
        entries.remove(old_name);
        entries.subdirectories -= u32::from(moves_directory).min(entries.subdirectories);
        self.touch_directory(from)?;
        self.link(to, new_name, source)?;
        let now = self.now();
        self.inodes.get_mut(source)?.ctime = now;
        Ok(())
    }

    fn check_mounts(&self, source: InodeId, target: Option<InodeId>) -> Result<(), Errno> {
        let busy = self.is_mount_root(source) || target.is_some_and(|target| self.is_mount_root(target));
        if busy { Err(Errno::EBUSY) } else { Ok(()) }
    }

    /// Whether `id` is `directory` or one above it.
    fn is_same_or_above(&self, id: InodeId, directory: InodeId) -> Result<bool, Errno> {
        let mut at = directory;
        loop {
            if at == id {
                return Ok(true);
            }
            let parent = self.inodes.get(at)?.parent;
            if parent == at || at == self.root {
                return Ok(false);
            }
            at = parent;
        }
    }

    /// How many directories are above this one.
    fn depth(&self, directory: InodeId) -> Result<u32, Errno> {
        let (mut at, mut depth) = (directory, 0);
        while at != self.root {
            at = self.inodes.get(at)?.parent;
            depth += 1;
        }
        Ok(depth)
    }

    /// How many levels of directories a subtree has, itself included.
    fn height(&self, directory: InodeId) -> Result<u32, Errno> {
        let (mut level, mut height) = (vec![directory], 0);
        while !level.is_empty() {
            height += 1;
            let mut below = Vec::new();
            for id in level {
                let Kind::Directory(entries) = &self.inodes.get(id)?.kind else {
                    continue;
                };
                if entries.subdirectories > 0 {
                    let children = entries.names().map(|(_, child)| child);
                    below.extend(children.filter(|&child| self.inodes.get(child).is_ok_and(Inode::is_directory)));
                }
            }
            level = below;
        }
        Ok(height)
    }

    /// Changes the current directory.
    ///
    /// # Errors
    /// Those of `chdir(2)`.
    pub fn chdir(&mut self, path: &[u8]) -> Result<(), Errno> {
        let (node, file_type) = self.resolve_existing(at::FDCWD, path, Follow::Yes)?;
        self.enter(node, file_type)
    }

    /// Changes the current directory to an open one.
    ///
    /// # Errors
    /// Those of `fchdir(2)`.
    pub fn fchdir(&mut self, fd: i32) -> Result<(), Errno> {
        let node = self.description_at(fd)?.node();
        let file_type = self.node_type(&node)?;
        self.enter(node, file_type)
    }

    fn enter(&mut self, node: Node, file_type: FileType) -> Result<(), Errno> {
        if file_type != FileType::Directory {
            return Err(Errno::ENOTDIR);
        }
        if let Node::Inode(id) = node {
            self.pin(id)?;
        }
        if let Node::Inode(left) = std::mem::replace(&mut self.cwd, node) {
            self.unpin(left);
        }
        Ok(())
    }

    /// The current directory's path.
    ///
    /// # Errors
    /// `ENOENT` when it has been removed, `ENAMETOOLONG` when its path is too long.
    pub fn getcwd(&self) -> Result<Vec<u8>, Errno> {
        match &self.cwd {
            Node::Inode(id) => {
                let path = self.path_of(*id)?;
                if path.ends_with(DELETED) { Err(Errno::ENOENT) } else { Ok(path) }
            }
            Node::Host(host, path) => {
                let record = self.host_records.get(host.0 as usize).ok_or(Errno::ESTALE)?;
                Ok(join(&self.path_of(record.inode)?, path))
            }
            Node::Fd(_) => Err(Errno::ENOENT),
        }
    }

    /// The path of an inode; for one without a name a text that says so, as `/proc` does.
    pub(super) fn path_of(&self, id: InodeId) -> Result<Vec<u8>, Errno> {
        let inode = self.inodes.get(id)?;
        if !inode.linked {
            return Ok([format!("/#{}", inode.ino).as_bytes(), DELETED].concat());
        }
        let mut names = Vec::new();
        let (mut at, mut length) = (id, 0);
        if !inode.is_directory() {
            // Files do not know their directory; only descriptors ask, and seldom.
            let holder = self.inodes.iter().find_map(|(holder, inode)| match &inode.kind {
                Kind::Directory(entries) => Some((holder, entries.name_of(id)?)),
                _ => None,
            });
            let (holder, name) = holder.ok_or(Errno::ENOENT)?;
            length += name.len() + 1;
            names.push(name);
            at = holder;
        }
        while at != self.root {
            let parent = self.inodes.get(at)?.parent;
            let name = self.inodes.directory(parent)?.name_of(at).ok_or(Errno::ENOENT)?;
            length += name.len() + 1;
            if length >= PATH_MAX {
                return Err(Errno::ENAMETOOLONG);
            }
            names.push(name);
            at = parent;
        }
        let mut path = Vec::with_capacity(length.max(1));
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        if path.is_empty() {
            path.push(b'/');
        }
        Ok(path)
    }

    /// Makes a directory and those above it that are missing, for the host side: neither quota nor read-only mounts
    /// stand in the way.
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
                    let child = self.allocate(mount, Kind::Directory(Directory::default()), 0o755, false)?;
                    self.link(here, name, child)?;
                    child
                }
            };
        }
        Ok(here)
    }
}

/// Marks the path of something without a name.
const DELETED: &[u8] = b" (deleted)";

/// The tree inode of a looked-up target; an error for one that lies in a host directory.
fn tree_inode(target: Option<(Node, FileType)>) -> Result<Option<InodeId>, Errno> {
    match target {
        None => Ok(None),
        Some((Node::Inode(id), _)) => Ok(Some(id)),
        Some(_) => Err(Errno::EBUSY),
    }
}
