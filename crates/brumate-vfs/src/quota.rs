//! The guest's use of storage and inodes, and its limits.

use serde::{Deserialize, Serialize};

use super::limits::{PAGE, VfsConfig};
use brumate_abi::errno::Errno;

/// Use and limit of storage and of inodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    pages: u64,
    pages_max: u64,
    inodes: u64,
    inodes_max: u64,
}

/// A reading of the quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes stored, in whole pages.
    pub bytes: u64,
    /// Bytes that may be stored.
    pub bytes_max: u64,
    /// Files, directories and links made by the guest.
    pub inodes: u64,
    /// How many of these may exist.
    pub inodes_max: u64,
}

impl Quota {
    pub fn new(config: &VfsConfig) -> Self {
        Self { pages: 0, pages_max: config.quota_bytes / PAGE, inodes: 0, inodes_max: config.quota_inodes }
    }

    pub fn usage(&self) -> Usage {
        Usage {
            bytes: self.pages * PAGE,
            bytes_max: self.pages_max * PAGE,
            inodes: self.inodes,
            inodes_max: self.inodes_max,
        }
    }

    /// Lowering a limit below present use is allowed: what exists stays, nothing more fits.
    pub fn set_limits(&mut self, bytes: u64, inodes: u64) {
        self.pages_max = bytes / PAGE;
        self.inodes_max = inodes;
    }

    pub fn free_pages(&self) -> u64 {
        self.pages_max.saturating_sub(self.pages)
    }

    pub fn charge_pages(&mut self, pages: u64) -> Result<(), Errno> {
        if pages > self.free_pages() {
            return Err(Errno::ENOSPC);
        }
        self.pages += pages;
        Ok(())
    }

    pub fn release_pages(&mut self, pages: u64) {
        self.pages = self.pages.saturating_sub(pages);
    }

    pub fn charge_inode(&mut self) -> Result<(), Errno> {
        if self.inodes >= self.inodes_max {
            return Err(Errno::ENOSPC);
        }
        self.inodes += 1;
        Ok(())
    }

    pub fn release_inode(&mut self) {
        self.inodes = self.inodes.saturating_sub(1);
    }
}
