//! Operations of a machine on granted host directories.

use serde::{Deserialize, Serialize};

use super::MAX_ENTRIES;
use crate::api::bounded;

/// An operation on a granted host directory, named by its index; `path` is relative, without `..`.
#[derive(Debug, Serialize, Deserialize)]
pub struct MountRequest {
    /// Which of the mounts.
    pub mount: u32,
    /// What.
    pub operation: MountOperation,
}

/// See [`MountRequest`].
#[derive(Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields are POSIX's")]
pub enum MountOperation {
    /// Opens a regular file; its descriptor follows the answer.
    Open { path: Vec<u8>, write: bool, create: bool, exclusive: bool, truncate: bool, mode: u32 },
    /// `lstat`.
    Stat { path: Vec<u8> },
    /// Lists a directory.
    List { path: Vec<u8> },
    /// `mkdir`.
    MakeDirectory { path: Vec<u8>, mode: u32 },
    /// `unlink`.
    Unlink { path: Vec<u8> },
    /// `rmdir`.
    RemoveDirectory { path: Vec<u8> },
    /// `rename` inside one mount.
    Rename { from: Vec<u8>, to: Vec<u8> },
    /// `readlink`.
    ReadLink { path: Vec<u8> },
    /// `chmod`.
    SetMode { path: Vec<u8>, mode: u32 },
    /// `utimensat`, nanoseconds since 1970; `None` leaves the time.
    SetTimes { path: Vec<u8>, accessed: Option<i64>, modified: Option<i64> },
}

/// What `lstat` says of a host file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct HostStat {
    /// Inode number on the host.
    pub inode: u64,
    /// Type and permissions.
    pub mode: u32,
    /// Number of links.
    pub links: u32,
    /// Bytes.
    pub size: u64,
    /// Last access, nanoseconds since 1970.
    pub accessed: i64,
    /// Last modification.
    pub modified: i64,
    /// Last status change.
    pub changed: i64,
}

impl From<&rustix::fs::Stat> for HostStat {
    fn from(stat: &rustix::fs::Stat) -> HostStat {
        let time = |seconds: i64, nanoseconds: u64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(i64::try_from(nanoseconds).unwrap_or(0))
        };
        HostStat {
            inode: stat.st_ino,
            mode: stat.st_mode,
            links: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            accessed: time(stat.st_atime, stat.st_atime_nsec),
            modified: time(stat.st_mtime, stat.st_mtime_nsec),
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// Answer to a [`MountRequest`].
#[derive(Debug, Serialize, Deserialize)]
pub enum MountReply {
    /// Done; for `Open` a descriptor follows.
    Done,
    /// For `Stat`.
    Stat(HostStat),
    /// For `List`: name, type and permissions, inode.
    List(#[serde(deserialize_with = "bounded::list::<_, _, MAX_ENTRIES>")] Vec<(Vec<u8>, u32, u64)>),
    /// For `ReadLink`.
    Link(Vec<u8>),
    /// Linux's symbolic error name, for example `ENOENT`.
    Error(String),
}
