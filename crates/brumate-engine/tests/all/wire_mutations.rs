//! Damaged messages: whatever bytes change, decoding does not panic, takes memory in proportion to what has arrived, and
//! what decodes can be encoded again.

#![expect(unsafe_code, reason = "an allocator that counts wraps the system's")]

mod samples;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use brumate_engine::wire::{
    self, FromInit, FromZygote, HEADER, MAX_FDS, MAX_FRAME, MachineMessage, MachineRequest, ToZygote, WireError,
};
use brumate_test_support::{Random, count, seed};
use serde::{Serialize, de::DeserializeOwned};

/// Mutations of each sample.
fn mutations() -> usize {
    count(5_000, 20_000) as usize
}

/// Memory for a message whatever its size, in bytes: the bounded lists, and what serde reserves ahead for one (1 MiB).
const FIXED: usize = 3 << 20;

/// Memory for a byte from a zygote or a machine: its copy, and the copy before when a list of bytes grows.
const FROM_JAIL: usize = 3;

/// Memory for a byte from the server: a pair of texts takes two bytes in a message.
const FROM_SERVER: usize = 72;

/// Counts the bytes that each thread has allocated.
struct Counting;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn account(allocated: usize, freed: usize) {
    // Another thread may free what this one allocated: the count is right for code that stays on one.
    let live = (LIVE.get() + allocated).saturating_sub(freed);
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

// SAFETY: hands every request on to the system's allocator as it is; counting allocates nothing (the cells are constant
// and have no destructor).
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        account(layout.size(), 0);
        // SAFETY: the caller's own promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        account(0, layout.size());
        // SAFETY: the caller's own promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // While it moves, both may exist.
        account(size, 0);
        account(0, layout.size());
        // SAFETY: the caller's own promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that `work` had taken at a time, in bytes.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let done = work();
    (done, PEAK.get() - before)
}

/// Decodes a payload as its receiver does and judges what came of it. True when it was a message.
fn judge<T: Serialize + DeserializeOwned>(payload: &[u8], per_byte: usize) -> bool {
    let (decoded, taken) = peak(|| wire::decode::<T>(payload));
    let allowed = FIXED + per_byte * payload.len();
    assert!(taken <= allowed, "{taken} bytes for a payload of {}: {:02x?}", payload.len(), prefix(payload));
    let Ok(message) = decoded else { return false };
    let encoded = wire::encode(&message, 0).expect("what was received can be sent");
    let again: T = wire::decode(&encoded[HEADER..]).expect("what was encoded decodes");
    assert_eq!(wire::encode(&again, 0).unwrap(), encoded, "{:02x?}", prefix(payload));
    true
}

fn prefix(payload: &[u8]) -> &[u8] {
    &payload[..payload.len().min(200)]
}

/// Judges a payload in every direction; true when it was a message in one.
fn judge_all(payload: &[u8]) -> bool {
    [
        judge::<MachineMessage>(payload, FROM_JAIL),
        judge::<FromZygote>(payload, FROM_JAIL),
        judge::<FromInit>(payload, FROM_JAIL),
        judge::<MachineRequest>(payload, FROM_SERVER),
        judge::<ToZygote>(payload, FROM_SERVER),
    ]
    .contains(&true)
}

/// Changes a few bytes, mostly where the lengths are; now and then cuts, doubles or fills.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.index(4) {
        if bytes.is_empty() {
            bytes.push(random.next() as u8);
        }
        let near = if random.chance(80) { bytes.len().min(24) } else { bytes.len() };
        let position = random.index(near);
        match random.index(12) {
            0..3 => bytes[position] = random.next() as u8,
            3..5 => bytes[position] ^= 1 << random.index(8),
            5 => bytes[position] = bytes[position].wrapping_add(1),
            // A length of many bytes.
            6..8 => {
                let end = (position + 1 + random.index(6)).min(bytes.len());
                bytes[position..end].fill(0xff);
                if let Some(next) = bytes.get_mut(end) {
                    *next &= 0x7f;
                }
            }
            8 => bytes.truncate(position),
            9 => bytes.insert(position, random.next() as u8),
            10 => drop(bytes.remove(position)),
            _ => bytes.extend_from_within(position..(position + random.index(64)).min(bytes.len())),
        }
    }
}

#[test]
fn damaged_messages_are_refused_in_bounded_memory() {
    let mut random = Random::new(seed());
    let (mut whole, mut refused) = (0, 0);
    for sample in samples::all() {
        assert!(judge_all(&sample), "a sample is a message: {:02x?}", prefix(&sample));
        for _ in 0..mutations().min(200_000_000 / (sample.len() + 1)) {
            let mut bytes = sample.clone();
            mutate(&mut random, &mut bytes);
            if judge_all(&bytes) { whole += 1 } else { refused += 1 }
        }
    }
    assert!(whole > 1000 && refused > 1000, "{whole} messages, {refused} refused");
}

#[test]
fn long_lists_are_refused() {
    for (list, too_long) in samples::too_long() {
        let (decoded, taken) = peak(|| too_long.decodes());
        assert!(!decoded, "{list}");
        assert!(taken <= FIXED + FROM_SERVER * wire::MAX_LIST.max(too_long.len()), "{list}: {taken} bytes");
    }
}

#[test]
fn headers_are_bounded() {
    let mut random = Random::new(seed());
    let (mut good, mut bad) = (0, 0);
    for _ in 0..count(25_000, 100_000) {
        // Numbers of all magnitudes.
        let mut number = || (random.next() as u32) >> random.index(32);
        let (length, fds) = (number(), number());
        let header = [length.to_le_bytes(), fds.to_le_bytes()].concat().try_into().unwrap();
        match wire::decode_header(header) {
            Ok(decoded) => {
                assert_eq!(decoded, (length as usize, fds as usize));
                assert!(decoded.0 <= MAX_FRAME && decoded.1 <= MAX_FDS);
                good += 1;
            }
            Err(WireError::TooLarge(size)) => {
                assert!(size > MAX_FDS);
                bad += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(good > 1000 && bad > 1000, "{good} good, {bad} bad");
}
