//! Chance that can be had again, and how much of it.

/// The variable with the seed of a run; everything random in it follows from it.
const SEED: &str = "BRUMATE_TEST_SEED";

/// The variable that, when set, makes long runs of the tests that have one.
const LONG: &str = "BRUMATE_TEST_LONG";

/// The seed of this run. Printed, so that a failure shows it.
pub(crate) fn seed() -> u64 {
    let seed = std::env::var(SEED).map_or(1, |seed| seed.parse().expect("a number"));
    eprintln!("{SEED}={seed}");
    seed
}

/// `ordinary`, or `long` in a long run.
pub(crate) fn count(ordinary: u64, long: u64) -> u64 {
    if std::env::var_os(LONG).is_some() { long } else { ordinary }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of one part of a run: they do not depend on what other parts draw.
    pub(crate) fn new(seed: u64, part: u64) -> Random {
        let mut random = Random(seed);
        Random(random.next() ^ part.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// One of `choices`.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}
