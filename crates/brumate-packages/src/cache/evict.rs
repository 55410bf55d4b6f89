//! Eviction: removes leftovers of killed processes, and the least recently used entries.

use std::fs::{DirEntry, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Cache;
use super::blob::{discard, record_path};
use super::lock::{EntryLock, is_at, no_follow};

/// Most wheels, and most derived files, of any size.
const MAX_ENTRIES: usize = 16_384;

impl Cache {
    /// Removes the least recently used entries until the bounds are met, except those in use. Errors are ignored: the
    /// next call tries again.
    pub fn trim(&self) {
        // One process at a time; others return at once.
        let Ok(Some(_lock)) = EntryLock::try_acquire(&self.root.join("trim.lock")) else { return };
        self.trim_tree("wheels", self.settings.max_bytes);
        self.trim_tree("derived", self.settings.max_derived_bytes);
    }

    /// Removes temporary files and claims that killed processes have left.
    pub(super) fn sweep(&self) {
        for entry in list(&self.temporary()) {
            remove_unlocked(&entry.path());
        }
        for entry in list(&self.root.join("locks")) {
            // Taking and dropping a claim removes its file.
            let _ = EntryLock::try_acquire(&entry.path());
        }
    }

    /// Returns the bytes of wheels and of derived files on disk, without their records.
    pub fn usage(&self) -> (u64, u64) {
        let total = |tree| self.entries(tree).iter().map(|entry| entry.size).sum();
        (total("wheels"), total("derived"))
    }

    fn trim_tree(&self, tree: &str, limit: u64) {
        let mut entries = self.entries(tree);
        let mut total: u64 = entries.iter().map(|entry| entry.size).sum();
        let mut count = entries.len();
        if total <= limit && count <= MAX_ENTRIES {
            return;
        }
        entries.sort_by_key(|entry| entry.used);
        for entry in entries {
            if total <= limit && count <= MAX_ENTRIES {
                return;
            }
            if remove_unlocked(&entry.path) {
                count -= 1;
                total -= entry.size;
            }
        }
    }

    fn entries(&self, tree: &str) -> Vec<EvictionEntry> {
        let root = self.root.join(tree);
        let directories = list(&root).into_iter().flat_map(|directory| list(&directory.path()));
        directories.filter_map(|entry| EvictionEntry::of(&entry)).collect()
    }
}

/// Entry that may be removed.
struct EvictionEntry {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

impl EvictionEntry {
    fn of(entry: &DirEntry) -> Option<Self> {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension == "record") {
            return None;
        }
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        // The record's time is that of the last use. An entry without a record was never used.
        let used = std::fs::symlink_metadata(record_path(&path)).and_then(|record| record.modified());
        Some(Self { path, size: metadata.len(), used: used.unwrap_or(SystemTime::UNIX_EPOCH) })
    }
}

fn list(directory: &Path) -> Vec<DirEntry> {
    std::fs::read_dir(directory).map(|entries| entries.flatten().collect()).unwrap_or_default()
}

/// Removes a file that no process has locked, after its record. Returns whether it was removed.
fn remove_unlocked(path: &Path) -> bool {
    let Ok(file) = OpenOptions::new().read(true).custom_flags(no_follow()).open(path) else { return false };
    // The lock is held until the file is removed.
    file.try_lock().is_ok() && is_at(&file, path) && discard(&file, path).is_ok()
}
