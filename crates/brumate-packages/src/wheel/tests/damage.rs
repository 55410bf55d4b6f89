//! Any byte changed, any part cut off: refused or understood, never a panic, and never different content.

use brumate_test_support::{Random, count, seed};

use super::builder::{Entry, Wheel};
use super::{accept, name};
use crate::wheel::verify;

fn sample() -> Wheel {
    Wheel::new(vec![
        Entry::deflated("demo/__init__.py", b"x = 1\n".repeat(50).as_slice()),
        Entry::stored("demo/data.bin", &[7; 100]),
        Entry::directory("demo/sub"),
    ])
}

#[test]
fn no_single_changed_byte_changes_content() {
    let (bytes, contents) = (sample().build(), accept(&sample()));
    let mut accepted = 0;
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            if let Ok(found) = verify(&damaged[..], &name()) {
                // Times, versions and attributes do not matter; what is in the files does.
                assert_eq!(found.files, contents.files, "byte {at}");
                accepted += 1;
            }
        }
    }
    assert!(accepted > 0, "times and attributes are not covered by a checksum");
}

#[test]
fn no_prefix_is_a_wheel() {
    let bytes = sample().build();
    for end in 0..bytes.len() {
        assert!(verify(&bytes[..end], &name()).is_err(), "{end}");
    }
}

#[test]
fn random_changes_never_panic() {
    let mut random = Random::new(seed());
    let samples = [sample().build(), sample().with(|wheel| wheel.end.zip64 = true).build()];
    for round in 0..count(2_500, 10_000) as usize {
        let mut bytes = samples[round % 2].clone();
        for _ in 0..=random.index(6) {
            let at = random.index(bytes.len());
            match random.index(5) {
                0 => bytes[at] = random.next() as u8,
                1 => bytes[at] = [0, 0xff, 0x7f, 0x80, b'/'][random.index(5)],
                2 => drop(bytes.drain(at..(at + 1 + random.index(40)).min(bytes.len()))),
                3 => {
                    let end = (at + 1 + random.index(60)).min(bytes.len());
                    let copy = bytes[at..end].to_vec();
                    let to = random.index(bytes.len());
                    bytes.splice(to..to, copy);
                }
                _ => {
                    let number = [0, 1, u32::MAX, 0x7fff_ffff, random.next() as u32][random.index(5)];
                    let end = (at + 4).min(bytes.len());
                    bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        let _ = verify(&bytes[..], &name());
    }
}
