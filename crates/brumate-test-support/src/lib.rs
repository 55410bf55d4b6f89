//! Shared parts of all crates' tests: reproducible random numbers, the number of cases, and the shared cache.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | [`SEED`] | the seed of everything random; `cargo xtask test` derives it from the commit | 1 |
//! | [`CACHE`] | the directory of compiled code and images that all tests share | `tmp/cache` in the target directory |
//! | [`LONG`] | when set, random tests try their full number of cases (`cargo xtask test --long` sets it) | not set |
//! | [`WRITE_REFERENCE`] | when set, tests of generated documents write them instead of comparing | not set |
//!
//! ```
//! use brumate_test_support::{Random, count};
//!
//! let mut random = Random::new(7);
//! let rolls: Vec<u64> = (0..count(3, 100)).map(|_| 1 + random.below(6)).collect();
//! assert!(rolls.iter().all(|roll| (1..=6).contains(roll)));
//! ```

#![allow(clippy::disallowed_methods, reason = "tests read files that they wrote")]

use std::path::{Path, PathBuf};

/// Variable with the seed of a run: a decimal number.
pub const SEED: &str = "BRUMATE_TEST_SEED";

/// Variable that enables the full number of cases.
pub const LONG: &str = "BRUMATE_TEST_LONG";

/// Returns the seed of this run and prints it, so that the output of a failed test shows it. Default: 1.
///
/// # Panics
/// [`SEED`] is set and not a number.
pub fn seed() -> u64 {
    let seed = match std::env::var(SEED) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{SEED} is `{text}`: set it to a number, or unset it")),
        Err(_) => 1,
    };
    eprintln!("{SEED}={seed}");
    seed
}

/// Variable with the directory of compiled code and images that all tests share.
pub const CACHE: &str = "BRUMATE_TEST_CACHE";

/// Returns the cache that all tests of a build share. Default: `tmp/cache` in the build's target directory.
///
/// `cargo xtask test` fills it before the first test. Its files are named by their content. Tests may add files, but never change one.
///
/// # Panics
/// [`CACHE`] is not set, and this program is not below a target directory.
pub fn cache_directory() -> PathBuf {
    if let Some(directory) = std::env::var_os(CACHE) {
        return directory.into();
    }
    let program = std::env::current_exe().expect("a test program has a path");
    // `target/debug/deps/program`
    let target =
        program.ancestors().nth(3).unwrap_or_else(|| panic!("{} is not below a target directory", program.display()));
    target.join("tmp/cache")
}

/// Returns `long` in a long run, otherwise `ordinary`.
pub fn count(ordinary: u64, long: u64) -> u64 {
    if std::env::var_os(LONG).is_some() { long } else { ordinary }
}

/// Names the variable that has tests of generated documents write them.
pub const WRITE_REFERENCE: &str = "BRUMATE_WRITE_REFERENCE";

/// Compares a generated document with the file `path`, relative to the repository's root. With [`WRITE_REFERENCE`] set, writes the file.
///
/// # Panics
/// When they differ, with the first line that does, or when the file cannot be written.
pub fn check_reference(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os(WRITE_REFERENCE).is_some() {
        std::fs::write(&file, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
        return;
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    if found == text {
        return;
    }
    let same = found.lines().zip(text.lines()).take_while(|(found, text)| found == text).count();
    let (found, text) = (found.lines().nth(same), text.lines().nth(same));
    panic!(
        "{path}:{}: is out of date; run this test with {WRITE_REFERENCE}=1 and commit the file\n  there: {}\n  now:   {}",
        same + 1,
        found.unwrap_or("(the end)"),
        text.unwrap_or("(the end)")
    );
}

/// Generates the same numbers for the same seed on every host (SplitMix64: Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Returns the generator of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns the generator for one part of a run. What one part draws does not depend on the others.
    pub fn part(seed: u64, part: u64) -> Random {
        Random(Random(seed).next() ^ part.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// Returns a generator of its own, seeded with the next number.
    pub fn fork(&mut self) -> Random {
        Random(self.next())
    }

    /// Returns the next number.
    #[expect(
        clippy::should_implement_trait,
        reason = "the sequence has no end: an iterator's `Option` would say nothing"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Returns a number from 0 to `end - 1`; `end` is at least 1.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns an index into something with `length` elements; `length` is at least 1.
    pub fn index(&mut self, length: usize) -> usize {
        (self.next() % length as u64) as usize
    }

    /// Returns true in `percent` of all calls.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns `length` random bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// Returns one of `choices`, of which there is at least one.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }
}

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_publication() {
        // The first outputs for the seed 1234567 in the authors' reference implementation.
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn parts_and_forks_differ() {
        let mut random = Random::new(7);
        let (one, other, forked) = (Random::part(7, 1).next(), Random::part(7, 2).next(), random.fork().next());
        assert!(one != other && other != forked && one != forked);
    }
}
