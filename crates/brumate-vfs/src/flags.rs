//! Flags of `open`, file types and access modes, in the guest's numbers (the generic Linux ones).

use serde::{Deserialize, Serialize};

/// Flags of `openat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFlags(pub u32);

impl OpenFlags {
    /// Read only.
    pub const RDONLY: u32 = 0;
    /// Write only.
    pub const WRONLY: u32 = 1;
    /// Read and write.
    pub const RDWR: u32 = 2;
    /// Create the file when it is not there.
    pub const CREAT: u32 = 0x40;
    /// With `CREAT`: fail when it is there.
    pub const EXCL: u32 = 0x80;
    /// Cut the file to nothing.
    pub const TRUNC: u32 = 0x200;
    /// Every write goes to the end.
    pub const APPEND: u32 = 0x400;
    /// Never wait.
    pub const NONBLOCK: u32 = 0x800;
    /// Always set by the guest's libc.
    pub const LARGEFILE: u32 = 0x8000;
    /// Fail unless it is a directory.
    pub const DIRECTORY: u32 = 0x1_0000;
    /// Fail when the last component is a symbolic link.
    pub const NOFOLLOW: u32 = 0x2_0000;
    /// Do not update the access time.
    pub const NOATIME: u32 = 0x4_0000;
    /// Close on exec.
    pub const CLOEXEC: u32 = 0x8_0000;
    /// Only a reference to the file, without access to its content.
    pub const PATH: u32 = 0x20_0000;
    /// An unnamed file in the directory; the `DIRECTORY` bit is part of the value.
    pub const TMPFILE: u32 = 0x41_0000;
    /// The two access mode bits.
    pub const ACCMODE: u32 = 3;
    /// What `F_SETFL` may change.
    pub const SETTABLE: u32 = Self::APPEND | Self::NONBLOCK;

    /// Lock of the open file (`flock`): shared. It is kept here and not seen by the guest.
    pub(crate) const LOCKED_SHARED: u32 = 1 << 30;
    /// Lock of the open file: exclusive.
    pub(crate) const LOCKED_EXCLUSIVE: u32 = 1 << 29;
    /// Both locks.
    pub(crate) const LOCKS: u32 = Self::LOCKED_SHARED | Self::LOCKED_EXCLUSIVE;

    const CREATION: u32 = Self::CREAT | Self::EXCL | 0x100 | Self::TRUNC | Self::CLOEXEC;

    /// Whether all bits of `flags` are set.
    pub const fn has(self, flags: u32) -> bool {
        self.0 & flags == flags
    }

    /// Whether the access mode permits reading.
    pub const fn reads(self) -> bool {
        !self.has(Self::PATH) && matches!(self.0 & Self::ACCMODE, Self::RDONLY | Self::RDWR)
    }

    /// Whether the access mode permits writing.
    pub const fn writes(self) -> bool {
        !self.has(Self::PATH) && matches!(self.0 & Self::ACCMODE, Self::WRONLY | Self::RDWR)
    }

    /// Returns what `F_GETFL` returns: the flags of the open file, without those of the opening.
    pub const fn status(self) -> u32 {
        self.0 & !Self::CREATION & !Self::LOCKS
    }
}

/// Type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileType {
    /// A pipe or a stream.
    Fifo,
    /// A character device.
    Character,
    /// A directory.
    Directory,
    /// A regular file.
    Regular,
    /// A symbolic link.
    Symlink,
    /// A socket, or the file of a Unix socket.
    Socket,
}

impl FileType {
    /// Returns the type bits of `st_mode` (`S_IFMT`).
    pub const fn mode(self) -> u32 {
        match self {
            Self::Fifo => 0x1000,
            Self::Character => 0x2000,
            Self::Directory => 0x4000,
            Self::Regular => 0x8000,
            Self::Symlink => 0xA000,
            Self::Socket => 0xC000,
        }
    }

    /// Returns `d_type` of a directory entry.
    pub const fn dirent(self) -> u8 {
        (self.mode() >> 12) as u8
    }

    /// Returns the type of a mode; `None` for block devices and nonsense.
    pub const fn from_mode(mode: u32) -> Option<Self> {
        Some(match mode & 0xF000 {
            0x1000 => Self::Fifo,
            0x2000 => Self::Character,
            0x4000 => Self::Directory,
            0x8000 => Self::Regular,
            0xA000 => Self::Symlink,
            0xC000 => Self::Socket,
            _ => return None,
        })
    }
}

/// Flags of the `*at` calls.
pub mod at {
    /// Instead of a descriptor: the current directory.
    pub const FDCWD: i32 = -100;
    /// Do not follow a symbolic link in the last component.
    pub const SYMLINK_NOFOLLOW: u32 = 0x100;
    /// `linkat`: follow a symbolic link in the last component.
    pub const SYMLINK_FOLLOW: u32 = 0x400;
    /// `unlinkat`: remove a directory.
    pub const REMOVEDIR: u32 = 0x200;
    /// `faccessat`: use the effective ids.
    pub const EACCESS: u32 = 0x200;
    /// Has no effect.
    pub const NO_AUTOMOUNT: u32 = 0x800;
    /// An empty path means the descriptor itself.
    pub const EMPTY_PATH: u32 = 0x1000;
}
