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

/// The processes below this one that compile, and those that watch over them.
pub(crate) fn compilers() -> BTreeSet<i32> {
    let compiles = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|word| word == b"compile")
    };
    descendants().into_iter().filter(compiles).collect()
}

/// The zygotes below `root`: the first child of each jail's first process, which is the child of a supervisor.
pub(crate) fn zygotes(root: i32) -> Vec<i32> {
    let below = below(root);
    let children = |of: i32| below.iter().copied().filter(move |&pid| parent_of(pid) == Some(of));
    let first = children(root).flat_map(|supervisor| children(supervisor)).filter_map(first_child);
    // Where the zygote has ended that is a machine.
    first.filter(|&pid| inner_number(pid).is_none_or(|number| number == 2)).collect()
}

/// The number of a process in its own process namespace, if that is not ours.
fn inner_number(pid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().nth(1)?;
    numbers.split_whitespace().next_back()?.parse().ok()
}

/// The oldest child of a process.
pub(crate) fn first_child(of: i32) -> Option<i32> {
    let children = below(of).into_iter().filter(|&pid| parent_of(pid) == Some(of));
    children.filter_map(|pid| Some((field(pid, START_TIME)?, pid))).min().map(|(_, pid)| pid)
}

/// The parent of a process; `None` when that has ended.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    field(pid, PARENT)?.try_into().ok()
}

/// Fields of `/proc/PID/stat`, counted from the first behind the name, which may hold anything (proc_pid_stat(5)).
const PARENT: usize = 1;
const START_TIME: usize = 19;

fn field(pid: i32, number: usize) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(number)?.parse().ok()
}
