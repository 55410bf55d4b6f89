//! Listing directories.

use super::Vfs;
use super::fds::Target;
use super::flags::FileType;
use super::host::{HostEntry, HostId};
use super::inode::{FIRST_COOKIE, InodeId, InodeKind};
use super::limits::{HOST_LISTING_MAX, HOST_LISTINGS_MAX, NAME_MAX};
use super::stat::fd_ino;
use brumate_abi::errno::Errno;

/// One entry of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryEntry<'a> {
    /// Inode number.
    pub ino: u64,
    /// Seeking here continues after this entry. It stays valid while entries are added and removed.
    pub cookie: u64,
    /// Type of the file.
    pub file_type: FileType,
    /// Name; `.` and `..` are listed too.
    pub name: &'a [u8],
}

/// Takes an entry; returns `false` if there is no space for it, and the listing stops before it.
pub type EntrySink<'a> = dyn FnMut(DirectoryEntry<'_>) -> bool + 'a;

impl Vfs {
    /// Lists a directory from the descriptor's position on, and moves the position past what `sink` has taken.
    ///
    /// # Errors
    /// Those of `getdents64(2)`.
    pub fn read_directory(&mut self, fd: i32, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        let id = self.usable(fd)?;
        let description = self.descriptions.get(id)?;
        let position = description.position;
        let position = match &description.target {
            Target::Inode(inode) => {
                let inode = *inode;
                let open = self.inodes.get(inode)?;
                if open.is_directory() && !open.linked() {
                    return Err(Errno::ENOENT);
                }
                match &open.kind {
                    InodeKind::Directory(directory) => {
                        let mut end = description.listing_end;
                        if position == 0 || end == 0 {
                            end = directory.end_cookie();
                            self.descriptions.get_mut(id)?.listing_end = end;
                        }
                        self.list_inode(inode, position, end, sink)?
                    }
                    InodeKind::FdDirectory => self.list_fds(inode, position, sink)?,
                    _ => return Err(Errno::ENOTDIR),
                }
            }
            Target::Host(target) if target.is_directory => {
                let host = target.host;
                if position == 0 || target.listing.is_none() {
                    let path = target.path.clone();
                    let listing = self.host_listing(host, &path)?;
                    let kept: usize = self.descriptions.iter().map(|(_, description)| description.listing_len()).sum();
                    if kept + listing.len() > HOST_LISTINGS_MAX {
                        return Err(Errno::ENOMEM);
                    }
                    if let Target::Host(target) = &mut self.descriptions.get_mut(id)?.target {
                        target.listing = Some(listing);
                    }
                }
                let Target::Host(target) = &self.descriptions.get(id)?.target else {
                    return Err(Errno::ESTALE);
                };
                list_host(target.listing.as_deref().unwrap_or(&[]), position, sink)
            }
            Target::Host(_) => return Err(Errno::ENOTDIR),
        };
        self.descriptions.get_mut(id)?.position = position;
        Ok(())
    }

    fn list_inode(&self, id: InodeId, position: u64, end: u64, sink: &mut EntrySink<'_>) -> Result<u64, Errno> {
        let inode = self.inodes.get(id)?;
        let above = self.inodes.get(inode.parent)?.ino;
        let (mut at, more) = list_dots(inode.ino, above, position, sink);
        if !more {
            return Ok(at);
        }
        for (cookie, name, child) in self.inodes.directory(id)?.entries_between(at, end) {
            let entry =
                DirectoryEntry { ino: self.inodes.get(child)?.ino, cookie, file_type: self.inode_type(child)?, name };
            if !sink(entry) {
                break;
            }
            at = cookie;
        }
        Ok(at)
    }

    fn list_fds(&self, id: InodeId, position: u64, sink: &mut EntrySink<'_>) -> Result<u64, Errno> {
        let inode = self.inodes.get(id)?;
        let above = self.inodes.get(inode.parent)?.ino;
        let (mut at, more) = list_dots(inode.ino, above, position, sink);
        if !more {
            return Ok(at);
        }
        let first = (at + 1).saturating_sub(FIRST_COOKIE);
        for fd in self.fds.open_from(u32::try_from(first).unwrap_or(u32::MAX)) {
            let cookie = FIRST_COOKIE + u64::from(fd);
            let ino = fd_ino(fd);
            let name = fd.to_string();
            if !sink(DirectoryEntry { ino, cookie, file_type: FileType::Symlink, name: name.as_bytes() }) {
                break;
            }
            at = cookie;
        }
        Ok(at)
    }

    /// Returns a host directory's entries. Their names are checked, because the host is not trusted.
    pub(super) fn host_listing(&mut self, host: HostId, path: &[u8]) -> Result<Vec<HostEntry>, Errno> {
        let mut listing = self.host(host)?.read_dir(path)?;
        if listing.len() > HOST_LISTING_MAX {
            return Err(Errno::EOVERFLOW);
        }
        listing.retain(|entry| {
            let name = &entry.name[..];
            !matches!(name, b"" | b"." | b"..") && name.len() <= NAME_MAX && !name.iter().any(|&b| b == b'/' || b == 0)
        });
        Ok(listing)
    }
}

/// Passes `.` and `..` to the sink if they are still to be listed; returns the position and whether the sink takes
/// more.
fn list_dots(own: u64, above: u64, position: u64, sink: &mut EntrySink<'_>) -> (u64, bool) {
    let mut at = position;
    for (cookie, ino, name) in [(1, own, &b"."[..]), (2, above, b"..")] {
        if at < cookie {
            if !sink(DirectoryEntry { ino, cookie, file_type: FileType::Directory, name }) {
                return (at, false);
            }
            at = cookie;
        }
    }
    (at, true)
}

fn list_host(listing: &[HostEntry], position: u64, sink: &mut EntrySink<'_>) -> u64 {
    // The inode numbers of "." and ".." are not used, and each would cost a request to the host.
    let (mut at, more) = list_dots(1, 1, position, sink);
    if !more {
        return at;
    }
    let skipped = usize::try_from((at + 1).saturating_sub(FIRST_COOKIE)).unwrap_or(usize::MAX);
    for (index, entry) in listing.iter().enumerate().skip(skipped) {
        let cookie = FIRST_COOKIE + index as u64;
        if !sink(DirectoryEntry { ino: entry.ino, cookie, file_type: entry.file_type, name: &entry.name }) {
            break;
        }
        at = cookie;
    }
    at
}
