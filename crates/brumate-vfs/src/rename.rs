//! Renaming.

use super::Vfs;
use super::flags::FileType;
use super::inode::{Inode, InodeId, InodeKind};
use super::limits::DIRECTORY_DEPTH_MAX;
use super::resolve::{Last, Node, join};
use brumate_abi::errno::Errno;

impl Vfs {
    /// Renames, replacing what had the new name.
    ///
    /// # Errors
    /// Those of `renameat(2)`; `EXDEV` between mounts and between host directories.
    pub fn renameat(&mut self, old_dirfd: i32, old_path: &[u8], new_dirfd: i32, new_path: &[u8]) -> Result<(), Errno> {
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

    /// Returns the mount or the host directory, which renaming must not leave.
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
        if !self.inodes.get(to)?.linked() {
            return Err(Errno::ENOENT);
        }
        if !matches!(
            self.inodes.get(source)?.kind,
            InodeKind::Directory(_)
                | InodeKind::File(_)
                | InodeKind::Symlink(_)
                | InodeKind::Device(_)
                | InodeKind::SocketFile
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
        let moved = self.inodes.get_mut(source)?;
        moved.links = moved.links.saturating_sub(1);
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
    pub(super) fn depth(&self, directory: InodeId) -> Result<u32, Errno> {
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
                let InodeKind::Directory(entries) = &self.inodes.get(id)?.kind else {
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
}

/// The tree inode of a looked-up target; an error for one that lies in a host directory.
fn tree_inode(target: Option<(Node, FileType)>) -> Result<Option<InodeId>, Errno> {
    match target {
        None => Ok(None),
        Some((Node::Inode(id), _)) => Ok(Some(id)),
        Some(_) => Err(Errno::EBUSY),
    }
}
