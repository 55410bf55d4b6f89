//! Reading, writing, seeking and lengths.

use super::Vfs;
use super::fds::{DescriptionId, Target};
use super::flags::{FileType, OpenFlags};
use super::inode::{Content, InodeId, InodeKind};
use brumate_abi::errno::Errno;

/// At which offset a transfer happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// At the description's position, which moves.
    Position,
    /// At this offset; the position stays.
    Offset(u64),
}

impl Vfs {
    /// Reads at the descriptor's position; 0 is the end.
    ///
    /// # Errors
    /// Those of `read(2)`; `EAGAIN` where Linux would block.
    pub fn read(&mut self, fd: i32, buf: &mut [u8]) -> Result<usize, Errno> {
        let id = self.usable(fd)?;
        self.read_description(id, At::Position, buf)
    }

    /// Reads at an offset without moving the position.
    ///
    /// # Errors
    /// Those of `pread(2)`.
    pub fn pread(&mut self, fd: i32, offset: i64, buf: &mut [u8]) -> Result<usize, Errno> {
        let id = self.usable(fd)?;
        let offset = u64::try_from(offset).map_err(|_| Errno::EINVAL)?;
        self.read_description(id, At::Offset(offset), buf)
    }

    /// Writes at the descriptor's position, or at the end with `O_APPEND`.
    ///
    /// # Errors
    /// Those of `write(2)`; `EAGAIN` where Linux would block.
    pub fn write(&mut self, fd: i32, data: &[u8]) -> Result<usize, Errno> {
        let id = self.usable(fd)?;
        self.write_description(id, At::Position, data)
    }

    /// Writes at an offset without moving the position, also with `O_APPEND` (as in POSIX, not as on Linux).
    ///
    /// # Errors
    /// Those of `pwrite(2)`.
    pub fn pwrite(&mut self, fd: i32, offset: i64, data: &[u8]) -> Result<usize, Errno> {
        let id = self.usable(fd)?;
        let offset = u64::try_from(offset).map_err(|_| Errno::EINVAL)?;
        self.write_description(id, At::Offset(offset), data)
    }

    /// As [`Self::pread`], through a description that may have no descriptor any more (a mapping's).
    pub(super) fn pread_description(&mut self, id: DescriptionId, offset: u64, buf: &mut [u8]) -> Result<usize, Errno> {
        self.read_description(id, At::Offset(offset), buf)
    }

    /// As [`Self::pwrite`], through a description that may have no descriptor any more.
    pub(super) fn pwrite_description(&mut self, id: DescriptionId, offset: u64, data: &[u8]) -> Result<usize, Errno> {
        self.write_description(id, At::Offset(offset), data)
    }

    fn read_description(&mut self, id: DescriptionId, at: At, buf: &mut [u8]) -> Result<usize, Errno> {
        let description = self.descriptions.get_mut(id)?;
        if !description.flags.reads() {
            return Err(Errno::EBADF);
        }
        let offset = match at {
            At::Position => description.position,
            At::Offset(offset) => offset,
        };
        let no_atime = description.flags.has(OpenFlags::NOATIME);
        let count = match &mut description.target {
            Target::Host(target) if target.is_directory => return Err(Errno::EISDIR),
            Target::Host(target) => target.file.as_mut().ok_or(Errno::ESTALE)?.read_at(offset, buf)?,
            Target::Inode(inode) => {
                let inode = *inode;
                let seeks = at != At::Position;
                match self.read_inode(inode, offset, seeks, buf)? {
                    Some(count) => {
                        if count > 0 && !no_atime {
                            self.touch_access(inode)?;
                        }
                        count
                    }
                    // Pipes, devices and sockets have no position.
                    None => return self.read_stream(inode, buf),
                }
            }
        };
        if at == At::Position {
            self.descriptions.get_mut(id)?.position = offset.saturating_add(count as u64);
        }
        Ok(count)
    }

    /// Reads a regular file; `None` when it is a pipe, a device or a socket.
    pub(super) fn read_inode(
        &mut self,
        id: InodeId,
        offset: u64,
        seeks: bool,
        buf: &mut [u8],
    ) -> Result<Option<usize>, Errno> {
        let is_stream = matches!(self.inode_type(id)?, FileType::Fifo | FileType::Socket);
        match &self.inodes.get(id)?.kind {
            InodeKind::File(Content::Own(chunks)) => Ok(Some(chunks.read_at(offset, buf))),
            InodeKind::File(Content::Layer(file)) => self.layers.read_at(file, offset, buf).map(Some),
            InodeKind::Directory(_) | InodeKind::HostRoot(_) | InodeKind::FdDirectory => Err(Errno::EISDIR),
            InodeKind::Symlink(_) | InodeKind::CurrentDirectory => Err(Errno::EINVAL),
            InodeKind::Process(file) => Ok(Some(self.process.read_at(*file, self.umask, offset, buf))),
            InodeKind::Pipe(_) | InodeKind::Device(_) | InodeKind::Socket(_) if seeks && is_stream => {
                Err(Errno::ESPIPE)
            }
            InodeKind::Pipe(_) | InodeKind::Device(_) | InodeKind::Socket(_) => Ok(None),
            InodeKind::SocketFile => Err(Errno::ENXIO),
        }
    }

    fn read_stream(&mut self, id: InodeId, buf: &mut [u8]) -> Result<usize, Errno> {
        if let InodeKind::Device(device) = self.inodes.get(id)?.kind {
            let count = self.device(device)?.read(buf)?;
            return Ok(count.min(buf.len()));
        }
        match &mut self.inodes.get_mut(id)?.kind {
            InodeKind::Pipe(pipe) => pipe.read(buf),
            InodeKind::Socket(socket) => Ok(self.sockets.receive(*socket, buf, false)?.count),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Access times follow `relatime`: they are moved only when they are not newer than the last change.
    fn touch_access(&mut self, id: InodeId) -> Result<(), Errno> {
        let inode = self.inodes.get(id)?;
        if self.is_read_only(inode) || (inode.atime > inode.mtime && inode.atime > inode.ctime) {
            return Ok(());
        }
        let now = self.now();
        self.inodes.get_mut(id)?.atime = now;
        Ok(())
    }

    fn write_description(&mut self, id: DescriptionId, at: At, data: &[u8]) -> Result<usize, Errno> {
        let description = self.descriptions.get_mut(id)?;
        if !description.flags.writes() {
            return Err(Errno::EBADF);
        }
        if data.is_empty() {
            return Ok(0);
        }
        let appends = at == At::Position && description.flags.has(OpenFlags::APPEND);
        let mut offset = match at {
            At::Position => description.position,
            At::Offset(offset) => offset,
        };
        let count = match &mut description.target {
            Target::Host(target) => {
                let file = target.file.as_mut().ok_or(Errno::EISDIR)?;
                if appends {
                    offset = file.stat()?.size;
                }
                file.write_at(offset, data)?.min(data.len())
            }
            Target::Inode(inode) => {
                let inode = *inode;
                // Its inode stays as it is.
                if let InodeKind::Device(device) = self.inodes.get(inode)?.kind {
                    if at != At::Position && self.is_stream(device) {
                        return Err(Errno::ESPIPE);
                    }
                    return Ok(self.device(device)?.write(data)?.min(data.len()));
                }
                match &mut self.inodes.get_mut(inode)?.kind {
                    InodeKind::File(content) => {
                        if appends {
                            offset = content.len();
                        }
                        self.write_inode(inode, offset, data)?
                    }
                    InodeKind::Pipe(_) if at != At::Position => return Err(Errno::ESPIPE),
                    InodeKind::Pipe(pipe) => return pipe.write(data),
                    InodeKind::Socket(_) if at != At::Position => return Err(Errno::ESPIPE),
                    InodeKind::Socket(socket) => return self.sockets.send(*socket, data),
                    _ => return Err(Errno::EISDIR),
                }
            }
        };
        if at == At::Position {
            self.descriptions.get_mut(id)?.position = offset.saturating_add(count as u64);
        }
        Ok(count)
    }

    pub(super) fn write_inode(&mut self, id: InodeId, offset: u64, data: &[u8]) -> Result<usize, Errno> {
        self.check_writable(id)?;
        self.copy_up(id, u64::MAX)?;
        let now = self.now();
        let inode = self.inodes.get_mut(id)?;
        let InodeKind::File(Content::Own(chunks)) = &mut inode.kind else {
            return Err(Errno::EINVAL);
        };
        let count = chunks.write_at(offset, data, &mut self.quota)?;
        inode.mtime = now;
        inode.ctime = now;
        Ok(count)
    }
}
