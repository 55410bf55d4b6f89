//! The current directory, and the paths of inodes.

use super::Vfs;
use super::flags::{FileType, at};
use super::inode::{InodeId, InodeKind};
use super::limits::PATH_MAX;
use super::resolve::{Follow, Node, join};
use brumate_abi::errno::Errno;

/// Marks the path of something without a name.
const DELETED: &[u8] = b" (deleted)";

impl Vfs {
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

    /// Returns the current directory's path.
    ///
    /// # Errors
    /// `ENOENT` when it has been removed, `ENAMETOOLONG` when its path is too long.
    pub fn getcwd(&mut self) -> Result<Vec<u8>, Errno> {
        let cwd = self.cwd.clone();
        match &cwd {
            Node::Inode(id) if !self.inodes.get(*id)?.linked() => return Err(Errno::ENOENT),
            // The host may have removed it.
            Node::Host(..) if self.node_type(&cwd)? != FileType::Directory => return Err(Errno::ENOENT),
            _ => {}
        }
        let path = self.path_of_node(&cwd)?;
        if path.len() < PATH_MAX { Ok(path) } else { Err(Errno::ENAMETOOLONG) }
    }

    /// Returns the path of a node that is no link of `/proc`.
    pub(super) fn path_of_node(&self, node: &Node) -> Result<Vec<u8>, Errno> {
        match node {
            Node::Inode(id) => self.path_of(*id),
            Node::Host(host, path) => {
                let record = self.host_records.get(host.0 as usize).ok_or(Errno::ESTALE)?;
                Ok(join(&self.path_of(record.inode)?, path))
            }
            Node::Fd(_) => Err(Errno::ESTALE),
        }
    }

    /// Returns the path of an inode; for a nameless inode a text that marks it as deleted, as in `/proc`.
    pub(super) fn path_of(&self, id: InodeId) -> Result<Vec<u8>, Errno> {
        let inode = self.inodes.get(id)?;
        if !inode.linked() {
            return Ok([format!("/#{}", inode.ino).as_bytes(), DELETED].concat());
        }
        let mut names = Vec::new();
        let (mut at, mut length) = (id, 0);
        if !inode.is_directory() {
            // Files do not know their directory, so all directories are searched. Only descriptors need this, and
            // rarely.
            let holder = self.inodes.iter().find_map(|(holder, inode)| match &inode.kind {
                InodeKind::Directory(entries) => Some((holder, entries.name_of(id)?)),
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
}
