//! Attributes: `stat`, access checks, permissions, times, links' targets.

use super::Vfs;
use super::fds::Target;
use super::flags::{FileType, OpenFlags, at};
use super::inode::InodeId;
use super::resolve::{Follow, Node};
use super::stat::{Stat, StatFs, host_stat};
use super::time::{SetTime, Timestamp};
use brumate_abi::errno::Errno;

/// Asked for by `faccessat`: may be executed.
pub const X_OK: u32 = 1;
/// Asked for by `faccessat`: may be written.
pub const W_OK: u32 = 2;
/// Asked for by `faccessat`: may be read.
pub const R_OK: u32 = 4;

impl Vfs {
    /// Attributes of what a path names; `flags` as for `fstatat(2)`.
    ///
    /// # Errors
    /// Those of `fstatat(2)`.
    pub fn fstatat(&mut self, dirfd: i32, path: &[u8], flags: u32) -> Result<Stat, Errno> {
        if flags & !(at::SYMLINK_NOFOLLOW | at::NO_AUTOMOUNT | at::EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
        }
        if path.is_empty() && flags & at::EMPTY_PATH != 0 && dirfd != at::FDCWD {
            return self.fstat(dirfd);
        }
        let (node, _) = self.resolve_at(dirfd, path, flags)?;
        self.stat_node(&node)
    }

    /// Attributes of an open file, also of one that has lost its name.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn fstat(&mut self, fd: i32) -> Result<Stat, Errno> {
        let id = self.description_of(fd)?;
        let description = self.descriptions.get_mut(id)?;
        if let Target::Host(target) = &mut description.target
            && let Some(file) = &mut target.file
        {
            let stat = file.stat()?;
            return Ok(host_stat(target.host, &stat));
        }
        let node = description.node();
        self.stat_node(&node)
    }

    /// Returns the type of an open file.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn file_type(&mut self, fd: i32) -> Result<FileType, Errno> {
        match &self.description_at(fd)?.target {
            Target::Inode(id) => self.inode_type(*id),
            Target::Host(target) if target.is_directory => Ok(FileType::Directory),
            Target::Host(_) => Ok(FileType::Regular),
        }
    }

    /// Checks access as root: everything is allowed but writing where nothing can be written and executing a file
    /// without any execute bit. `mode` is made of [`R_OK`], [`W_OK`] and [`X_OK`].
    ///
    /// # Errors
    /// Those of `faccessat2(2)`.
    pub fn faccessat(&mut self, dirfd: i32, path: &[u8], mode: u32, flags: u32) -> Result<(), Errno> {
        if mode & !(R_OK | W_OK | X_OK) != 0 || flags & !(at::EACCESS | at::SYMLINK_NOFOLLOW | at::EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
        }
        let (node, file_type) = self.resolve_at(dirfd, path, flags)?;
        let stored = matches!(file_type, FileType::Regular | FileType::Directory | FileType::Symlink);
        if mode & W_OK != 0 && stored {
            match &node {
                Node::Inode(id) => self.check_writable(*id)?,
                Node::Host(host, _) => drop(self.writable_host(*host)?),
                Node::Fd(_) => {}
            }
        }
        if mode & X_OK != 0 && file_type != FileType::Directory && self.stat_node(&node)?.mode & 0o111 == 0 {
            return Err(Errno::EACCES);
        }
        Ok(())
    }

    /// Returns the target of a symbolic link. An empty path means the link that `dirfd` refers to (`O_PATH | O_NOFOLLOW`).
    ///
    /// # Errors
    /// Those of `readlinkat(2)`.
    pub fn readlinkat(&mut self, dirfd: i32, path: &[u8]) -> Result<Vec<u8>, Errno> {
        if path.is_empty() {
            if dirfd == at::FDCWD {
                return Err(Errno::ENOENT);
            }
            let node = self.description_at(dirfd)?.node();
            return match self.node_type(&node)? {
                FileType::Symlink => self.link_target(&node),
                _ => Err(Errno::ENOENT),
            };
        }
        match self.resolve_existing(dirfd, path, Follow::No)? {
            (node, FileType::Symlink) => self.link_target(&node),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Sets permission bits; `flags` as for `fchmodat2(2)`.
    ///
    /// # Errors
    /// Those of `fchmodat2(2)`.
    pub fn fchmodat(&mut self, dirfd: i32, path: &[u8], mode: u32, flags: u32) -> Result<(), Errno> {
        if flags & !(at::SYMLINK_NOFOLLOW | at::EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
        }
        let (node, _) = self.resolve_at(dirfd, path, flags)?;
        self.chmod_node(&node, mode)
    }

    /// Sets permission bits of an open file.
    ///
    /// # Errors
    /// Those of `fchmod(2)`.
    pub fn fchmod(&mut self, fd: i32, mode: u32) -> Result<(), Errno> {
        let id = self.usable(fd)?;
        let description = self.descriptions.get_mut(id)?;
        if let Target::Host(target) = &mut description.target
            && let Some(file) = &mut target.file
        {
            return file.set_permissions(mode & 0o7777);
        }
        let node = description.node();
        self.chmod_node(&node, mode)
    }

    fn chmod_node(&mut self, node: &Node, mode: u32) -> Result<(), Errno> {
        match node {
            Node::Inode(id) => {
                self.check_writable(*id)?;
                if self.inode_type(*id)? == FileType::Symlink {
                    return Err(Errno::EOPNOTSUPP);
                }
                let now = self.now();
                let inode = self.inodes.get_mut(*id)?;
                inode.permissions = mode & 0o7777;
                inode.ctime = now;
                Ok(())
            }
            Node::Host(host, path) => {
                let host = self.writable_host(*host)?;
                match host.lstat(path)?.file_type {
                    FileType::Symlink => Err(Errno::EOPNOTSUPP),
                    _ => host.set_permissions(path, mode & 0o7777),
                }
            }
            Node::Fd(_) => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Checks that the file exists. The guest is one user, so the owner does not change.
    ///
    /// # Errors
    /// Those of path resolution.
    pub fn fchownat(&mut self, dirfd: i32, path: &[u8], flags: u32) -> Result<(), Errno> {
        if flags & !(at::SYMLINK_NOFOLLOW | at::EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
        }
        self.resolve_at(dirfd, path, flags).map(drop)
    }

    /// Sets access and modification time; `flags` as for `utimensat(2)`.
    ///
    /// # Errors
    /// Those of `utimensat(2)`.
    pub fn utimensat(
        &mut self,
        dirfd: i32,
        path: &[u8],
        atime: SetTime,
        mtime: SetTime,
        flags: u32,
    ) -> Result<(), Errno> {
        if (atime, mtime) == (SetTime::Omit, SetTime::Omit) {
            return Ok(());
        }
        if flags & !(at::SYMLINK_NOFOLLOW | at::EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
        }
        let (node, _) = self.resolve_at(dirfd, path, flags)?;
        self.set_node_times(&node, atime, mtime)
    }

    /// Sets access and modification time of an open file.
    ///
    /// # Errors
    /// Those of `futimens(3)`.
    pub fn futimens(&mut self, fd: i32, atime: SetTime, mtime: SetTime) -> Result<(), Errno> {
        let id = self.usable(fd)?;
        let description = self.descriptions.get_mut(id)?;
        if let Target::Host(target) = &mut description.target
            && let Some(file) = &mut target.file
        {
            return file.set_times(atime, mtime);
        }
        let node = description.node();
        self.set_node_times(&node, atime, mtime)
    }

    fn set_node_times(&mut self, node: &Node, atime: SetTime, mtime: SetTime) -> Result<(), Errno> {
        match node {
            Node::Inode(id) => self.set_inode_times(*id, atime, mtime),
            Node::Host(host, path) => self.writable_host(*host)?.set_times(path, atime, mtime),
            Node::Fd(_) => Err(Errno::EPERM),
        }
    }

    fn set_inode_times(&mut self, id: InodeId, atime: SetTime, mtime: SetTime) -> Result<(), Errno> {
        self.check_writable(id)?;
        let now = self.now();
        let inode = self.inodes.get_mut(id)?;
        let chosen = |set: SetTime, present: Timestamp| match set {
            SetTime::Now => now,
            SetTime::Omit => present,
            SetTime::To(time) => time,
        };
        inode.atime = chosen(atime, inode.atime);
        inode.mtime = chosen(mtime, inode.mtime);
        inode.ctime = now;
        Ok(())
    }

    /// Returns the attributes of the file system that a path is on.
    ///
    /// # Errors
    /// Those of path resolution.
    pub fn statfs(&mut self, path: &[u8]) -> Result<StatFs, Errno> {
        let (node, _) = self.resolve_existing(at::FDCWD, path, Follow::Yes)?;
        self.statfs_node(&node)
    }

    /// Returns the attributes of the file system that an open file is on.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn fstatfs(&mut self, fd: i32) -> Result<StatFs, Errno> {
        let node = self.description_at(fd)?.node();
        self.statfs_node(&node)
    }

    /// Whether a descriptor is open with access to its content.
    ///
    /// # Errors
    /// `EBADF` when it is not open or only a reference (`O_PATH`).
    pub fn check_open(&self, fd: i32) -> Result<OpenFlags, Errno> {
        let id = self.usable(fd)?;
        Ok(self.descriptions.get(id)?.flags)
    }
}
