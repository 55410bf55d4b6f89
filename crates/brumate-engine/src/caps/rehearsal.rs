//! A world without chance, for building images: the same bundle gives the same image, byte for byte, everywhere.
//!
//! A hibernated session is kept as what differs from its base image. So that it resumes on another machine, or after the base
//! was lost and built anew, the base must be reproducible: while it is built, clocks count their readings and the
//! generator is a counter under SHA-256. Nothing of a guest runs then; every machine is seeded anew when it is forked.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sha2::{Digest, Sha256};

/// What the wall clock shows while an image is built: 2026-01-01, nanoseconds since 1970.
pub(crate) const EPOCH: u64 = 1_767_225_600_000_000_000;

/// Nanoseconds between two readings of a clock.
const TICK: u64 = 1_000;

static ON: AtomicBool = AtomicBool::new(false);
static TICKS: AtomicU64 = AtomicU64::new(0);
static BLOCKS: AtomicU64 = AtomicU64::new(0);

/// While it lives, chance is off in this process.
#[derive(Debug)]
pub(crate) struct Rehearsal(());

/// Turns chance off.
pub(crate) fn begin() -> Rehearsal {
    TICKS.store(0, Ordering::Relaxed);
    BLOCKS.store(0, Ordering::Relaxed);
    ON.store(true, Ordering::Relaxed);
    Rehearsal(())
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        ON.store(false, Ordering::Relaxed);
    }
}

/// Nanoseconds since the beginning, when chance is off.
pub(super) fn tick() -> Option<u64> {
    ON.load(Ordering::Relaxed).then(|| TICKS.fetch_add(TICK, Ordering::Relaxed))
}

/// Fills `bytes`, when chance is off.
pub(super) fn fill(bytes: &mut [u8]) -> bool {
    if !ON.load(Ordering::Relaxed) {
        return false;
    }
    for chunk in bytes.chunks_mut(32) {
        let block = Sha256::digest(BLOCKS.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
    true
}
