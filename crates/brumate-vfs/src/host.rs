//! Host directories granted to the guest.
//!
//! The file system resolves `..` and symbolic links itself, one component at a time, so an implementation only gets
//! clean relative paths: components joined by `/`, none empty, `.` or `..`, the empty path for the directory itself. It
//! must refuse (with `ELOOP`) to follow a symbolic link, because the host may replace a component by one after it was
//! checked.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::flags::{FileType, OpenFlags};
use super::time::{SetTime, Timestamp};
use brumate_abi::errno::Errno;

/// Attributes of a host file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStat {
    /// Inode number, unique within the granted directory.
    pub ino: u64,
    /// File type.
    pub file_type: FileType,
    /// Permission bits, 07777.
    pub permissions: u32,
    /// Number of names.
    pub nlink: u32,
    /// Length in bytes.
    pub size: u64,
    /// Units of 512 bytes stored.
    pub blocks: u64,
    /// Last access.
    pub atime: Timestamp,
    /// Last change of content.
    pub mtime: Timestamp,
    /// Last change of attributes.
    pub ctime: Timestamp,
}

/// An entry of a host directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEntry {
    /// Name, neither `.` nor `..`.
    pub name: Bytes,
    /// Inode number.
    pub ino: u64,
    /// File type.
    pub file_type: FileType,
}

/// An open host file.
pub trait HostFile: Send {
    /// Reads at an offset; 0 at the end of the file.
    ///
    /// # Errors
    /// Any that `pread` has.
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize, Errno>;

    /// Writes at an offset.
    ///
    /// # Errors
    /// Any that `pwrite` has; `EROFS` when the grant is for reading.
    fn write_at(&mut self, offset: u64, data: &[u8]) -> Result<usize, Errno>;

    /// Present attributes; must keep working when the file has lost its name.
    ///
    /// # Errors
    /// Any that `fstat` has.
    fn stat(&mut self) -> Result<HostStat, Errno>;

    /// Sets the length.
    ///
    /// # Errors
    /// Any that `ftruncate` has.
    fn set_len(&mut self, len: u64) -> Result<(), Errno>;

    /// Sets access and modification time.
    ///
    /// # Errors
    /// Any that `futimens` has.
    fn set_times(&mut self, atime: SetTime, mtime: SetTime) -> Result<(), Errno>;

    /// Sets the permission bits.
    ///
    /// # Errors
    /// Any that `fchmod` has.
    fn set_permissions(&mut self, permissions: u32) -> Result<(), Errno>;

    /// Brings written data to storage.
    ///
    /// # Errors
    /// Any that `fsync` has.
    fn sync(&mut self) -> Result<(), Errno>;
}

/// A granted host directory. Every `path` is clean and relative, see the module's documentation.
pub trait HostDir: Send {
    /// Opens or creates a regular file. `flags` carries access mode, `CREAT`, `EXCL` and `TRUNC`; the final component
    /// is never followed when it is a link.
    ///
    /// # Errors
    /// Any that `openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS` has.
    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Result<Box<dyn HostFile>, Errno>;

    /// Attributes, of a link itself.
    ///
    /// # Errors
    /// Any that `lstat` has.
    fn lstat(&mut self, path: &[u8]) -> Result<HostStat, Errno>;

    /// Entries, at most [`HOST_LISTING_MAX`](super::limits::HOST_LISTING_MAX).
    ///
    /// # Errors
    /// Any that `getdents` has.
    fn read_dir(&mut self, path: &[u8]) -> Result<Vec<HostEntry>, Errno>;

    /// Target of a symbolic link. It is interpreted in the guest's tree, never in the host's.
    ///
    /// # Errors
    /// Any that `readlink` has.
    fn read_link(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno>;

    /// Makes a directory.
    ///
    /// # Errors
    /// Any that `mkdir` has.
    fn create_dir(&mut self, path: &[u8], permissions: u32) -> Result<(), Errno>;

    /// Removes a file or link.
    ///
    /// # Errors
    /// Any that `unlink` has.
    fn remove_file(&mut self, path: &[u8]) -> Result<(), Errno>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// Any that `rmdir` has.
    fn remove_dir(&mut self, path: &[u8]) -> Result<(), Errno>;

    /// Renames within this directory, replacing as `rename` does.
    ///
    /// # Errors
    /// Any that `rename` has.
    fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<(), Errno>;

    /// Sets times; of a link itself when `follow` would meet one (it never follows).
    ///
    /// # Errors
    /// Any that `utimensat` has.
    fn set_times(&mut self, path: &[u8], atime: SetTime, mtime: SetTime) -> Result<(), Errno>;

    /// Sets permission bits of a file or directory.
    ///
    /// # Errors
    /// Any that `chmod` has.
    fn set_permissions(&mut self, path: &[u8], permissions: u32) -> Result<(), Errno>;

    /// Whether nothing may be changed; the file system then answers `EROFS` without asking.
    fn is_read_only(&self) -> bool;
}

impl fmt::Debug for dyn HostDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostDir")
    }
}

impl fmt::Debug for dyn HostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostFile")
    }
}

/// A granted directory's place among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HostId(pub u32);
