//! Lengths of files, and copying layers' files up.

use super::Vfs;
use super::chunks::Chunks;
use super::fds::Target;
use super::flags::{FileType, OpenFlags};
use super::inode::{Content, InodeId, InodeKind};
use super::limits::FILE_SIZE_MAX;
use super::resolve::{Follow, Node};
use brumate_abi::errno::Errno;

/// Bytes moved at a time when a layer's file is copied up.
const COPY_BLOCK: usize = 64 * 1024;

impl Vfs {
    /// Makes a layer's file the guest's own, keeping at most `keep` bytes of it.
    ///
    /// # Errors
    /// `ENOSPC` when it does not fit into the quota, `EIO` when the layer cannot be read; nothing is changed then.
    pub(super) fn copy_up(&mut self, id: InodeId, keep: u64) -> Result<(), Errno> {
        let InodeKind::File(Content::Layer(file)) = &self.inodes.get(id)?.kind else {
            return Ok(());
        };
        let file = file.clone();
        let length = file.len.min(keep);
        let mut copy = Chunks::default();
        let mut block = vec![0; COPY_BLOCK.min(length as usize)];
        let mut done = 0;
        while done < length {
            let want = (length - done).min(block.len() as u64) as usize;
            let result = self.layers.read_at(&file, done, &mut block[..want]).and_then(|count| match count {
                0 => Err(Errno::EIO),
                count => copy.write_at(done, &block[..count], &mut self.quota),
            });
            match result {
                Ok(count) => done += count as u64,
                Err(errno) => {
                    copy.release(&mut self.quota);
                    return Err(errno);
                }
            }
        }
        self.inodes.get_mut(id)?.kind = InodeKind::File(Content::Own(copy));
        Ok(())
    }

    pub(super) fn truncate_inode(&mut self, id: InodeId, length: u64) -> Result<(), Errno> {
        if length > FILE_SIZE_MAX {
            return Err(Errno::EFBIG);
        }
        match self.inode_type(id)? {
            FileType::Regular => {}
            FileType::Directory => return Err(Errno::EISDIR),
            _ => return Err(Errno::EINVAL),
        }
        self.check_writable(id)?;
        self.copy_up(id, length)?;
        let now = self.now();
        let inode = self.inodes.get_mut(id)?;
        let InodeKind::File(Content::Own(chunks)) = &mut inode.kind else {
            return Err(Errno::EINVAL);
        };
        chunks.set_len(length, &mut self.quota)?;
        inode.mtime = now;
        inode.ctime = now;
        Ok(())
    }

    /// Sets a file's length by path.
    ///
    /// # Errors
    /// Those of `truncate(2)`.
    pub fn truncate(&mut self, path: &[u8], length: i64) -> Result<(), Errno> {
        let length = u64::try_from(length).map_err(|_| Errno::EINVAL)?;
        let (node, file_type) = self.resolve_existing(super::at::FDCWD, path, Follow::Yes)?;
        match (node, file_type) {
            (_, FileType::Directory) => Err(Errno::EISDIR),
            (Node::Inode(id), _) => self.truncate_inode(id, length),
            (Node::Host(host, path), FileType::Regular) => {
                let mut file = self.writable_host(host)?.open(&path, OpenFlags(OpenFlags::WRONLY), 0)?;
                file.set_len(length)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// Sets an open file's length.
    ///
    /// # Errors
    /// Those of `ftruncate(2)`.
    pub fn ftruncate(&mut self, fd: i32, length: i64) -> Result<(), Errno> {
        let length = u64::try_from(length).map_err(|_| Errno::EINVAL)?;
        let id = self.usable(fd)?;
        let description = self.descriptions.get_mut(id)?;
        if !description.flags.writes() {
            return Err(Errno::EINVAL);
        }
        match &mut description.target {
            Target::Inode(inode) => {
                let inode = *inode;
                self.truncate_inode(inode, length)
            }
            Target::Host(target) => target.file.as_mut().ok_or(Errno::EINVAL)?.set_len(length),
        }
    }

    /// Reserves space and extends the file (`fallocate` with mode 0).
    ///
    /// # Errors
    /// Those of `fallocate(2)`; `EOPNOTSUPP` for other modes and for host files.
    pub fn fallocate(&mut self, fd: i32, mode: i32, offset: i64, length: i64) -> Result<(), Errno> {
        let id = self.usable(fd)?;
        let (Ok(offset), Ok(length)) = (u64::try_from(offset), u64::try_from(length)) else {
            return Err(Errno::EINVAL);
        };
        if length == 0 {
            return Err(Errno::EINVAL);
        }
        if mode != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        let description = self.descriptions.get(id)?;
        if !description.flags.writes() {
            return Err(Errno::EBADF);
        }
        let Target::Inode(inode) = description.target else {
            return Err(Errno::EOPNOTSUPP);
        };
        match self.inode_type(inode)? {
            FileType::Regular => {}
            FileType::Fifo | FileType::Socket => return Err(Errno::ESPIPE),
            FileType::Directory => return Err(Errno::EISDIR),
            _ => return Err(Errno::ENODEV),
        }
        if offset + length > FILE_SIZE_MAX {
            return Err(Errno::EFBIG);
        }
        self.check_writable(inode)?;
        self.copy_up(inode, u64::MAX)?;
        let now = self.now();
        let file = self.inodes.get_mut(inode)?;
        let InodeKind::File(Content::Own(chunks)) = &mut file.kind else {
            return Err(Errno::EINVAL);
        };
        chunks.allocate(offset, length, &mut self.quota)?;
        file.mtime = now;
        file.ctime = now;
        Ok(())
    }
}
