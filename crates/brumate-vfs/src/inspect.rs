//! Access of the host side to the guest's files without descriptors.

use super::Vfs;
use super::fds::Description;
use super::flags::{FileType, OpenFlags, at};
use super::inode::InodeKind;
use super::resolve::Node;
use super::stat::Stat;
use super::time::Timestamp;
use brumate_abi::errno::Errno;

impl Vfs {
    /// Reads a whole file. A guest can make a file look much larger than what it stores, hence the bound.
    ///
    /// # Errors
    /// Those of opening and reading; `EFBIG` when it has more than `max` bytes.
    pub fn read_file_up_to(&mut self, path: impl AsRef<[u8]>, max: u64) -> Result<Vec<u8>, Errno> {
        self.with_file(path.as_ref(), OpenFlags(OpenFlags::RDONLY), |vfs, fd| {
            let stat = vfs.fstat(fd)?;
            if stat.file_type() == FileType::Regular && stat.size > max {
                return Err(Errno::EFBIG);
            }
            const BLOCK: usize = 64 * 1024;
            let mut content = Vec::with_capacity(stat.size.min(max) as usize);
            let mut block = vec![0; BLOCK];
            loop {
                let count = vfs.read(fd, &mut block)?;
                if count == 0 {
                    return Ok(content);
                }
                if (content.len() + count) as u64 > max {
                    return Err(Errno::EFBIG);
                }
                content.extend_from_slice(&block[..count]);
            }
        })
    }

    /// Writes a whole file, making or replacing it, under the guest's quota. Missing parent directories are made.
    ///
    /// # Errors
    /// Those of opening and writing; a file that does not fit (`ENOSPC`) is left cut short.
    pub fn write_file(&mut self, path: &[u8], content: &[u8]) -> Result<(), Errno> {
        if let Some(slash) = path.iter().rposition(|&b| b == b'/') {
            self.make_directories(&path[..slash])?;
        }
        let flags = OpenFlags(OpenFlags::WRONLY | OpenFlags::CREAT | OpenFlags::TRUNC);
        self.with_file(path, flags, |vfs, fd| {
            let mut done = 0;
            while done < content.len() {
                match vfs.write(fd, &content[done..])? {
                    0 => return Err(Errno::EIO),
                    count => done += count,
                }
            }
            Ok(())
        })
    }

    /// Attributes of what a path names, following links.
    ///
    /// # Errors
    /// Those of `stat(2)`.
    pub fn stat(&mut self, path: &[u8]) -> Result<Stat, Errno> {
        self.fstatat(at::FDCWD, path, 0)
    }

    /// Returns the time of the last change: every later one has a later time. This changes nothing, so the state of an
    /// unchanged file system stays equal ([`Vfs::state`]).
    pub fn last_change(&self) -> Timestamp {
        Timestamp::from_nanos(self.last_time)
    }

    /// Returns whether a descriptor is of a file of `/proc`.
    pub fn is_process_file(&self, fd: i32) -> bool {
        let Ok(Node::Inode(id)) = self.description_at(fd).map(Description::node) else { return false };
        self.inodes.get(id).is_ok_and(|inode| matches!(inode.kind, InodeKind::Process(_)))
    }

    fn with_file<T>(
        &mut self,
        path: &[u8],
        flags: OpenFlags,
        work: impl FnOnce(&mut Self, i32) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let fd = self.openat(at::FDCWD, path, flags, 0o666)?;
        let result = work(self, fd);
        let closed = self.close(fd);
        result.and_then(|value| closed.map(|()| value))
    }
}
