//! The pages of its memory that a process does not share.

use std::fs::File;

use rustix::process::Pid;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Opens the page map of `pid` (proc_pid_pagemap(5)), for that process to read. `None` if this process may not open it:
/// it must be root or have `CAP_SYS_PTRACE`.
///
/// The caller makes sure that `pid` was still the same process afterwards.
pub(super) fn open(pid: Pid) -> Option<File> {
    let path = format!("/proc/{}/pagemap", pid.as_raw_nonzero());
    without_physical_addresses(|| File::open(path).ok()).flatten()
}

/// Runs `open` without `CAP_SYS_ADMIN`. The kernel shows physical addresses only if the process that opened the page
/// map has it, and guests must not see them.
fn without_physical_addresses<T>(open: impl FnOnce() -> T) -> Option<T> {
    // Capabilities of this thread, which does nothing else meanwhile.
    let own = capabilities(None).ok()?;
    if !own.effective.contains(CapabilitySet::SYS_ADMIN) {
        return Some(open());
    }
    let mut less = own;
    less.effective.remove(CapabilitySet::SYS_ADMIN);
    set_capabilities(None, less).ok()?;
    let opened = open();
    // It is still permitted, so this cannot fail; nothing here needs it anyway.
    let _ = set_capabilities(None, own);
    Some(opened)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, SeekFrom};

    use super::*;

    #[test]
    fn no_physical_address_is_shown() {
        let mut map = open(rustix::process::getpid()).expect("one's own");
        let value = Box::new([7u8; 8192]);
        map.seek(SeekFrom::Start(value.as_ptr() as u64 / 4096 * 8)).unwrap();
        let mut entry = [0; 8];
        map.read_exact(&mut entry).unwrap();
        let entry = u64::from_le_bytes(entry);
        assert_eq!(entry >> 63, 1, "present");
        assert_eq!(entry & ((1 << 55) - 1), 0, "frame");
        assert!(capabilities(None).is_ok_and(|own| own.effective == own.permitted || !own.permitted.is_empty()));
    }
}
