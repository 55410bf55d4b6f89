//! Memory that was freed goes back to the system: an allocator keeps what a burst of large answers has taken.

#![expect(unsafe_code, reason = "calls malloc_trim")]

/// Growth of resident memory since the last time, in bytes, from which on memory is given back.
const WORTH_BYTES: u64 = 16 << 20;

/// Gives freed memory back to the system when the process has grown.
#[derive(Debug, Default)]
pub struct Trimmer {
    /// Resident bytes after the last time, or the least since then.
    low: Option<u64>,
}

impl Trimmer {
    /// Gives freed memory back if the process has 16 MiB more than when it had least. Takes milliseconds then, in which other
    /// threads may wait for the allocator; otherwise it reads one number. Returns whether it did.
    pub fn trim(&mut self) -> bool {
        let Some(now) = resident_bytes() else { return false };
        let low = self.low.map_or(now, |low| low.min(now));
        self.low = Some(low);
        if now < low.saturating_add(WORTH_BYTES) {
            return false;
        }
        release();
        self.low = resident_bytes();
        true
    }
}

/// Resident memory of this process. `None` where the kernel does not tell.
#[expect(clippy::disallowed_methods, reason = "the kernel's file is short")]
fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(target_env = "gnu")]
fn release() {
    // SAFETY: `malloc_trim` takes no pointer, may be called by any thread at any time, and frees only what the allocator holds.
    unsafe {
        ::libc::malloc_trim(0);
    }
}

#[cfg(not(target_env = "gnu"))]
fn release() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_env = "gnu")]
    fn what_was_freed_goes_back() {
        let mut trimmer = Trimmer::default();
        assert!(!trimmer.trim());
        // Pieces of this size come from the heap, and the last keeps the others there.
        let mut pieces: Vec<Vec<u8>> = (0..4000).map(|number| vec![number as u8; 64 << 10]).collect();
        let last = pieces.pop();
        drop(pieces);
        let before = resident_bytes().expect("the kernel's number");
        assert!(trimmer.trim());
        let after = resident_bytes().expect("the kernel's number");
        assert!(after + (100 << 20) < before, "{before} bytes, then {after}");
        drop(last);
    }
}
