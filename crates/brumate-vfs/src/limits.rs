//! Every bound of the file system, by name.

use serde::{Deserialize, Serialize};

pub use brumate_abi::memory::PATH_MAX;
/// Longest name of one directory entry, in bytes (`NAME_MAX` on Linux).
pub const NAME_MAX: usize = 255;
/// Symbolic links followed in one resolution before `ELOOP` (`MAXSYMLINKS` on Linux).
pub const SYMLINKS_MAX: u32 = 40;
/// Nesting of directories below the root; deeper is `ENAMETOOLONG`.
pub const DIRECTORY_DEPTH_MAX: u32 = 4096;
/// Names of one file; `EMLINK` beyond, as on ext4.
pub const LINKS_MAX: u32 = 65_000;
/// File descriptors open at a time (`RLIMIT_NOFILE`); `EMFILE` beyond.
pub const OPEN_FILES_MAX: usize = 1024;
/// Mapped files at a time; `ENOMEM` beyond.
pub const MAPPINGS_MAX: usize = 4096;
/// Bytes a pipe holds.
pub const PIPE_CAPACITY: usize = 64 * 1024;
/// Writes to a pipe up to this length happen whole or not at all (`PIPE_BUF` on Linux).
pub const PIPE_BUF: usize = 4096;
/// Sockets at a time, with the connections that wait for `accept`; `ENOBUFS` beyond.
pub const MAX_SOCKETS: usize = 4096;
/// Bytes that the buffer of a socket holds, in each direction of a connection; the default of `SO_RCVBUF`.
pub const MAX_SOCKET_BUFFER: usize = 208 * 1024;
/// Bytes in the buffers of all sockets; a socket that sends more waits, as if the buffer were full.
pub const MAX_SOCKETS_BYTES: usize = 32 * 1024 * 1024;
/// Longest datagram of UDP in bytes, as on Linux; `EMSGSIZE` beyond.
pub const MAX_DATAGRAM: usize = 65_507;
/// Datagrams that wait in a socket. Further ones are lost (UDP) or wait at the sender (Unix sockets).
pub const MAX_DATAGRAMS: usize = 256;
/// Connections that wait at a listener for `accept`, besides one; a larger backlog is lowered to it.
pub const MAX_BACKLOG: u32 = 1024;
/// Longest path or abstract name of a Unix socket in bytes, as on Linux.
pub const MAX_SOCKET_NAME: usize = 108;
/// Options kept of a socket; `ENOBUFS` beyond.
pub const MAX_SOCKET_OPTIONS: usize = 64;
/// Longest value of a socket option in bytes; `EINVAL` beyond.
pub const MAX_SOCKET_OPTION: usize = 64;
/// Largest file offset, as on Linux.
pub const FILE_SIZE_MAX: u64 = i64::MAX as u64;
/// Entries read from one host directory; the rest of a larger one is `EOVERFLOW`.
pub const HOST_LISTING_MAX: usize = 65_536;
/// Entries of host directories kept for listings in progress, over all descriptors; `ENOMEM` beyond.
pub const HOST_LISTINGS_MAX: usize = 4 * HOST_LISTING_MAX;
/// Directory entries visited for one listing or removal that the server requests; more are `EOVERFLOW`.
pub const ENTRIES_VISITED_MAX: usize = 262_144;
/// Unit in which storage is charged and `st_blocks` is rounded, in bytes.
pub const PAGE: u64 = 4096;

/// Sizes a file system is made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VfsConfig {
    /// Bytes guest-written files may store, counted in pages of 4 KiB; `ENOSPC` beyond.
    /// Holes and unmodified files of layers are free.
    pub quota_bytes: u64,
    /// Files, directories and symbolic links the guest may have; `ENOSPC` beyond.
    pub quota_inodes: u64,
    /// Bytes of inflated archive entries kept for re-reading. The entry read last is kept whatever its size.
    pub inflate_cache_bytes: u64,
}

impl Default for VfsConfig {
    fn default() -> Self {
        Self { quota_bytes: 512 * 1024 * 1024, quota_inodes: 65_536, inflate_cache_bytes: 32 * 1024 * 1024 }
    }
}
