//! Reading, writing, seeking and lengths.

use super::Vfs;
use super::chunks::Chunks;
use super::device::Readiness;
use super::fds::{Description, DescriptionId, Target};
use super::flags::{FileType, OpenFlags};
use super::inode::{Content, InodeId, Kind};
use super::limits::{FILE_SIZE_MAX, PIPE_CAPACITY};
use super::resolve::{Follow, Node};
use crate::libc::errno::Errno;

/// Where `seek` counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whence {
    /// The start of the file.
    Set,
    /// The present position.
    Current,
    /// The end of the file.
    End,
    /// The next stored byte at or after the offset.
    Data,
    /// The next hole at or after the offset.
    Hole,
}

/// At which offset a transfer happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// At the description's position, which moves.
    Position,
    /// At this offset; the position stays.
    Offset(u64),
}

/// Bytes moved at a time when a layer's file is copied up.
const COPY_BLOCK: usize = 64 * 1024;

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

    /// Writes at an offset without moving the position, also with `O_APPEND` (as POSIX says and Linux does not).
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
                    // Pipes and devices have no position.
                    None => return self.read_stream(inode, buf),
                }
            }
        };
        if at == At::Position {
            self.descriptions.get_mut(id)?.position = offset.saturating_add(count as u64);
        }
        Ok(count)
    }

    /// Reads a regular file; `None` when it is a pipe or device.
    fn read_inode(&mut self, id: InodeId, offset: u64, seeks: bool, buf: &mut [u8]) -> Result<Option<usize>, Errno> {
        let is_stream = self.inode_type(id)? == FileType::Fifo;
        match &self.inodes.get(id)?.kind {
            Kind::File(Content::Own(chunks)) => Ok(Some(chunks.read_at(offset, buf))),
            Kind::File(Content::Layer(file)) => self.layers.read_at(file, offset, buf).map(Some),
            Kind::Directory(_) | Kind::HostRoot(_) | Kind::FdDirectory => Err(Errno::EISDIR),
            Kind::Symlink(_) => Err(Errno::EINVAL),
            Kind::Pipe(_) | Kind::Device(_) if seeks && is_stream => Err(Errno::ESPIPE),
            Kind::Pipe(_) | Kind::Device(_) => Ok(None),
        }
    }

    fn read_stream(&mut self, id: InodeId, buf: &mut [u8]) -> Result<usize, Errno> {
        match &mut self.inodes.get_mut(id)?.kind {
            Kind::Pipe(pipe) => pipe.read(buf),
            Kind::Device(device) => {
                let device = *device;
                let count = self.device(device)?.read(buf)?;
                Ok(count.min(buf.len()))
            }
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
                match &mut self.inodes.get_mut(inode)?.kind {
                    Kind::File(content) => {
                        if appends {
                            offset = content.len();
                        }
                        self.write_inode(inode, offset, data)?
                    }
                    Kind::Pipe(_) if at != At::Position => return Err(Errno::ESPIPE),
                    Kind::Pipe(pipe) => return pipe.write(data),
                    Kind::Device(device) => {
                        let device = *device;
                        if at != At::Position && self.is_stream(device) {
                            return Err(Errno::ESPIPE);
                        }
                        return Ok(self.device(device)?.write(data)?.min(data.len()));
                    }
                    _ => return Err(Errno::EISDIR),
                }
            }
        };
        if at == At::Position {
            self.descriptions.get_mut(id)?.position = offset.saturating_add(count as u64);
        }
        Ok(count)
    }

    fn write_inode(&mut self, id: InodeId, offset: u64, data: &[u8]) -> Result<usize, Errno> {
        if data.is_empty() {
            return Ok(0);
        }
        self.check_writable(id)?;
        self.copy_up(id, u64::MAX)?;
        let now = self.now();
        let inode = self.inodes.get_mut(id)?;
        let Kind::File(Content::Own(chunks)) = &mut inode.kind else {
            return Err(Errno::EINVAL);
        };
        let count = chunks.write_at(offset, data, &mut self.quota)?;
        inode.mtime = now;
        inode.ctime = now;
        Ok(count)
    }

    /// Makes a layer's file the guest's own, keeping at most `keep` bytes of it.
    ///
    /// # Errors
    /// `ENOSPC` when it does not fit into the quota, `EIO` when the layer cannot be read; nothing is changed then.
    fn copy_up(&mut self, id: InodeId, keep: u64) -> Result<(), Errno> {
        let Kind::File(Content::Layer(file)) = &self.inodes.get(id)?.kind else {
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
        self.inodes.get_mut(id)?.kind = Kind::File(Content::Own(copy));
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
        let Kind::File(Content::Own(chunks)) = &mut inode.kind else {
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
            FileType::Fifo => return Err(Errno::ESPIPE),
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
        let Kind::File(Content::Own(chunks)) = &mut file.kind else {
            return Err(Errno::EINVAL);
        };
        chunks.allocate(offset, length, &mut self.quota)?;
        file.mtime = now;
        file.ctime = now;
        Ok(())
    }

    /// Moves the position; returns the new one.
    ///
    /// # Errors
    /// Those of `lseek(2)`.
    pub fn seek(&mut self, fd: i32, offset: i64, whence: Whence) -> Result<u64, Errno> {
        let id = self.usable(fd)?;
        let description = self.descriptions.get_mut(id)?;
        let (file_type, length) = match &mut description.target {
            Target::Host(target) => match &mut target.file {
                Some(file) if whence == Whence::End => (FileType::Regular, file.stat()?.size),
                Some(_) => (FileType::Regular, 0),
                None => (FileType::Directory, 0),
            },
            Target::Inode(inode) => {
                let inode = *inode;
                let length = match &self.inodes.get(inode)?.kind {
                    Kind::File(content) => content.len(),
                    _ => 0,
                };
                (self.inode_type(inode)?, length)
            }
        };
        match file_type {
            FileType::Fifo => return Err(Errno::ESPIPE),
            FileType::Character => return Ok(0),
            FileType::Directory if !matches!(whence, Whence::Set | Whence::Current) => {
                return Err(Errno::EINVAL);
            }
            _ => {}
        }
        let base = match whence {
            Whence::Set => 0,
            Whence::Current => self.descriptions.get(id)?.position as i64,
            Whence::End => length as i64,
            Whence::Data | Whence::Hole => {
                let found = self.seek_extent(id, offset, whence)?;
                self.descriptions.get_mut(id)?.position = found;
                return Ok(found);
            }
        };
        let position = base.checked_add(offset).and_then(|sum| u64::try_from(sum).ok()).ok_or(Errno::EINVAL)?;
        let description = self.descriptions.get_mut(id)?;
        description.position = position;
        if file_type == FileType::Directory && position == 0 {
            description.listing_end = 0;
            if let Target::Host(target) = &mut description.target {
                target.listing = None;
            }
        }
        Ok(position)
    }

    /// `SEEK_DATA` and `SEEK_HOLE`. A file of a layer or of the host is all data.
    fn seek_extent(&mut self, id: DescriptionId, offset: i64, whence: Whence) -> Result<u64, Errno> {
        let offset = u64::try_from(offset).map_err(|_| Errno::ENXIO)?;
        let wants_data = whence == Whence::Data;
        let all_data = |length: u64| match offset < length {
            true if wants_data => Ok(offset),
            true => Ok(length),
            false => Err(Errno::ENXIO),
        };
        match &mut self.descriptions.get_mut(id)?.target {
            Target::Host(target) => all_data(target.file.as_mut().ok_or(Errno::EINVAL)?.stat()?.size),
            Target::Inode(inode) => match &self.inodes.get(*inode)?.kind {
                Kind::File(Content::Own(chunks)) if offset < chunks.len() => match wants_data {
                    true => chunks.next_data(offset).ok_or(Errno::ENXIO),
                    false => Ok(chunks.next_hole(offset)),
                },
                Kind::File(Content::Layer(file)) => all_data(file.len),
                _ => Err(Errno::ENXIO),
            },
        }
    }

    /// Brings a host file's data to storage; nothing to do for others.
    ///
    /// # Errors
    /// `EBADF`, `EINVAL` for pipes and devices, the host's own.
    pub fn fsync(&mut self, fd: i32) -> Result<(), Errno> {
        let id = self.usable(fd)?;
        match &mut self.descriptions.get_mut(id)?.target {
            Target::Host(target) => target.file.as_mut().map_or(Ok(()), |file| file.sync()),
            Target::Inode(inode) => {
                let inode = *inode;
                match self.inode_type(inode)? {
                    FileType::Regular | FileType::Directory => Ok(()),
                    _ => Err(Errno::EINVAL),
                }
            }
        }
    }

    /// What the descriptor is ready for now.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn poll(&mut self, fd: i32) -> Result<Readiness, Errno> {
        let id = self.usable(fd)?;
        let description: &Description = self.descriptions.get(id)?;
        let Target::Inode(inode) = description.target else {
            return Ok(Readiness::ALWAYS);
        };
        let (reads, writes) = (description.flags.reads(), description.flags.writes());
        match &self.inodes.get(inode)?.kind {
            Kind::Device(device) => {
                let device = *device;
                Ok(self.device(device)?.poll())
            }
            Kind::Pipe(pipe) => {
                let mut ready = 0;
                if reads {
                    ready |= if pipe.buffer.is_empty() { 0 } else { Readiness::READABLE.0 };
                    ready |= if pipe.writers == 0 { Readiness::HUP } else { 0 };
                }
                if writes {
                    // As Linux: writable means that a whole PIPE_BUF fits.
                    let fits = pipe.buffer.len() + super::limits::PIPE_BUF <= PIPE_CAPACITY;
                    ready |= if fits { Readiness::WRITABLE.0 } else { 0 };
                    ready |= if pipe.readers == 0 { Readiness::ERR } else { 0 };
                }
                Ok(Readiness(ready))
            }
            _ => Ok(Readiness::ALWAYS),
        }
    }

    /// Bytes that can be read without waiting (`FIONREAD`).
    ///
    /// # Errors
    /// `EBADF`; `ENOTTY` for what has no such number.
    pub fn readable_bytes(&mut self, fd: i32) -> Result<u64, Errno> {
        let id = self.usable(fd)?;
        let description = self.descriptions.get(id)?;
        let position = description.position;
        let Target::Inode(inode) = description.target else {
            return Err(Errno::ENOTTY);
        };
        match &self.inodes.get(inode)?.kind {
            Kind::Pipe(pipe) => Ok(pipe.buffer.len() as u64),
            Kind::File(content) => Ok(content.len().saturating_sub(position)),
            _ => Err(Errno::ENOTTY),
        }
    }
}
