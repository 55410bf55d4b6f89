//! The account of a store: everything that its guest may hold, against one limit.
//!
//! | what | how it is counted |
//! |---|---|
//! | linear memory | its size |
//! | function table | [`SLOT_BYTES`] for each slot that is added |
//! | heap of exception objects | its size, beyond [`FREE_HEAP`] |
//! | modules that the guest brought | file, machine code, and what their instances take ([`Account::hold`]) |
//!
//! Modules of the bundle and of wheels are files of the server's cache that all machines share: their pages count for no machine. A store has the
//! memory and the tables of the interpreter: a module that defines others is refused.

use wasmtime::ResourceLimiter;

/// Instances of a store: the main module, helpers and side modules.
const MAX_INSTANCES: usize = 4096;

/// Tables of a store: the interpreter's.
const MAX_TABLES: usize = 3;

/// Slots of the function table that a guest may use. The bundle needs about 60,000. Beyond it a library does not load, and `ctypes` makes no
/// callback.
const MAX_TABLE_ELEMENTS: usize = 1 << 20;

/// Bytes that count for a slot of the function table: its element, and the entry that finds it by the function.
const SLOT_BYTES: u64 = 64;

/// Largest heap of exception objects, in bytes. Beyond it throwing an exception traps. Smaller than any linear memory: the two are
/// distinguished by size.
const MAX_HEAP: usize = 16 << 20;

/// Bytes of the heap of exception objects that do not count: throwing must work in a guest whose memory is full.
const FREE_HEAP: u64 = 1 << 20;

/// The limit of a guest's memory of all kinds, and what is counted against it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    /// The limit of all together, in bytes.
    pub(crate) max_bytes: u64,
    /// Present size of the linear memory, in bytes.
    memory_bytes: u64,
    /// Present size of the heap of exception objects, in bytes.
    heap_bytes: u64,
    /// Table slots and modules that the guest brought, in bytes.
    held_bytes: u64,
    /// A request was refused since the last reset.
    pub(crate) refused: bool,
}

impl Account {
    /// Returns the account of a new store. Its limit is 4 GiB, which 32-bit addresses reach, until [`Account::begin`] sets one.
    pub(crate) fn new() -> Account {
        Account { max_bytes: 4 << 30, memory_bytes: 0, heap_bytes: 0, held_bytes: 0, refused: false }
    }

    /// Sets a guest's limit and counts from now on. What the store holds already belongs to the image and is not counted, except its linear
    /// memory: a limit below its size is raised to it.
    pub(crate) fn begin(&mut self, limit: u64, memory_bytes: u64) {
        let heap_bytes = self.heap_bytes;
        *self = Account { max_bytes: limit.max(memory_bytes), memory_bytes, heap_bytes, ..Account::new() };
    }

    /// Returns the size to which the linear memory may grow, in bytes.
    pub(crate) fn memory_limit(&self) -> u64 {
        self.max_bytes.saturating_sub(self.beside_memory())
    }

    /// Returns the present size of the linear memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Returns how many more bytes the guest may hold.
    pub(crate) fn left(&self) -> u64 {
        self.memory_limit().saturating_sub(self.memory_bytes)
    }

    fn beside_memory(&self) -> u64 {
        self.held_bytes.saturating_add(self.heap_bytes.saturating_sub(FREE_HEAP))
    }

    /// Counts `bytes` that are held for the guest; false, and nothing is counted, when that is too much.
    pub(crate) fn hold(&mut self, bytes: u64) -> bool {
        let fits = bytes <= self.left();
        if fits {
            self.held_bytes = self.held_bytes.saturating_add(bytes);
        } else {
            self.refused = true;
        }
        fits
    }

    /// Counts `bytes` that are held in any case: a session that resumes held them when it hibernated.
    pub(crate) fn hold_anyway(&mut self, bytes: u64) {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
    }

    /// Gives back what [`Account::hold`] has counted.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
    }
}

impl ResourceLimiter for Account {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let (current, desired_bytes) = (current as u64, desired as u64);
        // There are two: the linear memory is made larger than the other may become.
        let is_heap = if current == 0 { desired <= MAX_HEAP } else { current != self.memory_bytes };
        if is_heap {
            let more = desired_bytes.saturating_sub(FREE_HEAP.max(self.heap_bytes));
            let allowed = desired <= MAX_HEAP && more <= self.left();
            if allowed {
                self.heap_bytes = desired_bytes;
            }
            return Ok(allowed);
        }
        let allowed = desired_bytes <= self.memory_limit();
        if allowed {
            self.memory_bytes = desired_bytes;
        } else {
            self.refused = true;
        }
        Ok(allowed)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current) as u64 * SLOT_BYTES;
        Ok(desired <= MAX_TABLE_ELEMENTS && (current == 0 || self.hold(more)))
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES
    }

    fn memories(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn account() -> Account {
        let mut account = Account::new();
        account.begin(64 * MIB, 30 * MIB);
        account
    }

    fn grow(account: &mut Account, from: u64, to: u64) -> bool {
        account.memory_growing(from as usize, to as usize, Some(4 << 30)).unwrap()
    }

    #[test]
    fn memory_and_what_is_held_beside_it_have_one_limit() {
        let mut account = account();
        assert_eq!(account.left(), 34 * MIB);
        assert!(account.hold(10 * MIB));
        assert!(!account.refused);
        assert!(!grow(&mut account, 30 * MIB, 55 * MIB) && account.refused);
        assert!(grow(&mut account, 30 * MIB, 54 * MIB));
        assert_eq!((account.left(), account.memory_limit()), (0, 54 * MIB));
        assert!(!account.hold(1));
        account.release(4 * MIB);
        assert!(account.hold(4 * MIB) && !account.hold(1));
    }

    #[test]
    fn table_slots_count() {
        let mut account = account();
        assert!(account.table_growing(60_000, 60_000 + (1 << 19), None).unwrap());
        assert_eq!(account.left(), 2 * MIB);
        assert!(!account.table_growing(600_000, 700_000, None).unwrap());
        assert!(!account.table_growing(0, MAX_TABLE_ELEMENTS + 1, None).unwrap());
    }

    #[test]
    fn exceptions_can_be_thrown_when_memory_is_full_and_their_heap_counts_beyond_that() {
        let mut account = account();
        assert!(grow(&mut account, 30 * MIB, 64 * MIB));
        assert!(account.memory_growing(0, 1 << 20, None).unwrap());
        assert!(!account.memory_growing(1 << 20, 2 << 20, None).unwrap());
        let mut account = self::account();
        assert!(account.memory_growing(0, 11 << 20, None).unwrap());
        assert_eq!(account.left(), 24 * MIB);
        assert!(account.memory_growing(11 << 20, 12 << 20, None).unwrap());
        assert_eq!(account.left(), 23 * MIB);
        assert!(!account.memory_growing(12 << 20, 17 << 20, None).unwrap());
        assert!(grow(&mut account, 30 * MIB, 53 * MIB) && !grow(&mut account, 53 * MIB, 54 * MIB));
    }

    #[test]
    fn a_limit_below_the_image_leaves_it_what_it_has() {
        let mut account = Account::new();
        account.begin(MIB, 30 * MIB);
        assert_eq!((account.max_bytes, account.left()), (30 * MIB, 0));
    }
}
