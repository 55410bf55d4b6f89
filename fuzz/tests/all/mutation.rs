//! Mutations of an input.

use brumate_test_support::Random;

/// The generator for one mutation of an input: it depends on the seed of the run, the input's name and the number (FNV-1a).
pub(crate) fn random(seed: u64, name: &str, round: u64) -> Random {
    let bytes = name.bytes().chain(round.to_le_bytes());
    let part = bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    Random::part(seed, part)
}

/// `bytes` with one to four changes; `other` is an input of which a piece may be taken.
pub(crate) fn mutated(random: &mut Random, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.index(4) {
        let at = random.index(bytes.len() + 1);
        let end = (at + 1 + random.index(8)).min(bytes.len());
        match random.index(10) {
            0..3 if at < bytes.len() => bytes[at] = random.next() as u8,
            3 if at < bytes.len() => bytes[at] ^= 1 << random.index(8),
            4 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add(1),
            5 => bytes[at..end].fill(0xff),
            6 => drop(bytes.drain(at..end)),
            7 => bytes.extend_from_within(at..),
            8 => {
                let from = random.index(other.len() + 1);
                let piece = &other[from..(from + random.index(64)).min(other.len())];
                bytes.splice(at..end, piece.iter().copied());
            }
            9 if random.index(4) == 0 => bytes.truncate(at),
            _ => bytes.insert(at, random.next() as u8),
        }
    }
    bytes
}
