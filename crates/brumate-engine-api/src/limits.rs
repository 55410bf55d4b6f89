//! Limits of a machine.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Amounts that one machine may use. Every field is enforced; `Default` holds the documented defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time of one [`Execute`](crate::Execute); then KeyboardInterrupt, then SIGKILL after [`Limits::grace`].
    pub wall: Duration,
    /// CPU time of one [`Execute`](crate::Execute); enforced by the kernel's process clock, same two steps.
    pub cpu: Duration,
    /// How long a guest may take to react to KeyboardInterrupt before it is killed.
    pub grace: Duration,
    /// Linear memory, in bytes. At the limit Python raises `MemoryError`.
    pub memory_bytes: u64,
    /// Bytes the guest may keep in its writable file layer, which lives in memory. Granted host directories do not count. At the limit:
    /// `ENOSPC`.
    pub file_bytes: u64,
    /// Bytes the guest may write to granted host directories over its life, files that it makes counted as 4 KiB each. At the limit:
    /// `EDQUOT`.
    pub mount_bytes: u64,
    /// Files, directories and links the guest may create. At the limit: `ENOSPC`.
    pub inodes: u64,
    /// Bytes of stdout and stderr kept per [`Execute`](crate::Execute); the rest is counted and dropped.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            wall: Duration::from_secs(60),
            cpu: Duration::from_secs(60),
            grace: Duration::from_secs(2),
            memory_bytes: 1 << 30,
            file_bytes: 256 << 20,
            mount_bytes: 1 << 30,
            inodes: 65_536,
            output_bytes: 1 << 20,
        }
    }
}
