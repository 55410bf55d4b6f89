//! Positions, readiness, and other queries on open files.

use std::os::fd::RawFd;

use super::Vfs;
use super::device::Readiness;
use super::fds::{Description, DescriptionId, Target};
use super::flags::FileType;
use super::inode::{Content, InodeKind};
use super::limits::PIPE_CAPACITY;
use brumate_abi::errno::Errno;

/// Starting point of an offset, for [`Vfs::seek`].
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

impl Vfs {
    /// Moves the position. Returns the new position.
    ///
    /// # Errors
    /// The errors of `lseek(2)`.
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
                    InodeKind::File(content) => content.len(),
                    _ => 0,
                };
                (self.inode_type(inode)?, length)
            }
        };
        match file_type {
            FileType::Fifo | FileType::Socket => return Err(Errno::ESPIPE),
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

    /// Finds the next data or hole, as `SEEK_DATA` and `SEEK_HOLE` do. Files of a layer or of the host have no holes.
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
                InodeKind::File(Content::Own(chunks)) if offset < chunks.len() => match wants_data {
                    true => chunks.next_data(offset).ok_or(Errno::ENXIO),
                    false => Ok(chunks.next_hole(offset)),
                },
                InodeKind::File(Content::Layer(file)) => all_data(file.len),
                _ => Err(Errno::ENXIO),
            },
        }
    }

    /// Brings the data of a host file to storage. Does nothing for other files.
    ///
    /// # Errors
    /// `EBADF`; `EINVAL` for pipes and devices; errors of the host.
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

    /// Returns the present readiness of the descriptor.
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
            InodeKind::Device(device) => {
                let device = *device;
                Ok(self.device(device)?.poll())
            }
            InodeKind::Pipe(pipe) => {
                let mut ready = 0;
                if reads {
                    ready |= if pipe.buffer.is_empty() { 0 } else { Readiness::READABLE.0 };
                    ready |= if pipe.writers == 0 { Readiness::HUP } else { 0 };
                }
                if writes {
                    // As in Linux, a pipe is writable if `PIPE_BUF` bytes fit.
                    let fits = pipe.buffer.len() + super::limits::PIPE_BUF <= PIPE_CAPACITY;
                    ready |= if fits { Readiness::WRITABLE.0 } else { 0 };
                    ready |= if pipe.readers == 0 { Readiness::ERR } else { 0 };
                }
                Ok(Readiness(ready))
            }
            InodeKind::Socket(socket) => self.sockets.poll(*socket),
            _ => Ok(Readiness::ALWAYS),
        }
    }

    /// Returns two descriptors of the host, if there are any. The first becomes readable when `fd` does, the second
    /// becomes writable when `fd` does.
    pub fn host_fds(&mut self, fd: i32) -> (Option<RawFd>, Option<RawFd>) {
        let device = self.device_of(fd);
        device.map_or((None, None), |device| (device.readable_fd(), device.writable_fd()))
    }

    fn device_of(&mut self, fd: i32) -> Option<&mut Box<dyn crate::Device>> {
        let id = self.usable(fd).ok()?;
        let Target::Inode(inode) = self.descriptions.get(id).ok()?.target else { return None };
        let InodeKind::Device(device) = self.inodes.get(inode).ok()?.kind else { return None };
        self.device(device).ok()
    }

    /// Returns the number of bytes that can be read without waiting (`FIONREAD`).
    ///
    /// # Errors
    /// `EBADF`; `ENOTTY` for directories, devices and files of the host.
    pub fn readable_bytes(&mut self, fd: i32) -> Result<u64, Errno> {
        let id = self.usable(fd)?;
        let description = self.descriptions.get(id)?;
        let position = description.position;
        let Target::Inode(inode) = description.target else {
            return Err(Errno::ENOTTY);
        };
        match &self.inodes.get(inode)?.kind {
            InodeKind::Pipe(pipe) => Ok(pipe.buffer.len() as u64),
            InodeKind::Socket(socket) => self.sockets.readable_bytes(*socket),
            InodeKind::File(content) => Ok(content.len().saturating_sub(position)),
            _ => Err(Errno::ENOTTY),
        }
    }
}
