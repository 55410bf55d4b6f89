//! The processes that this one has started, directly or not.

use std::collections::{BTreeMap, BTreeSet};

/// Every process below this one, zombies included.
pub(crate) fn descendants() -> BTreeSet<i32> {
    below(std::process::id() as i32)
}

/// Every process below `root`, zombies included.
pub(crate) fn below(root: i32) -> BTreeSet<i32> {
    let mut parents: BTreeMap<i32, i32> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end while it is looked at.
        if let Some(parent) = parent_of(pid) {
            parents.insert(pid, parent);
        }
    }
    let is_below = |mut pid: i32| {
        while let Some(&parent) = parents.get(&pid) {
            if parent == root {
                return true;
            }
            pid = parent;
        }
        false
    };
    parents.keys().copied().filter(|&pid| is_below(pid)).collect()
}

/// The parent of a process; `None` when that has ended.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The fourth field; the second is the name, in brackets, and may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
