//! A new identity after a fork, so that no two machines share a random number.

use serde::Deserialize;

use super::{Interpreter, InterpreterError, fault};
use crate::image::{IdentityAddresses, Twister};

/// Bytes of fresh entropy for the guest's own code.
const ENTROPY: usize = 64;

/// Words of a Mersenne Twister's state.
const WORDS: usize = 624;

/// Bits of a digit of a Python integer, and the digits of a time in nanoseconds from 2006 to 2500.
const DIGIT_BITS: u32 = 30;
const TIME_DIGITS: usize = 3;

/// Offset of the digits in an integer object: reference count, type, sign and length.
const DIGITS: usize = 12;

/// Answer of the driver's `seed_addresses`.
#[derive(Deserialize)]
struct SeedAddresses {
    twisters: Vec<TwisterReply>,
    start: Option<StartReply>,
    /// Whether some generators cannot be seeded by writing to memory.
    others: bool,
}

#[derive(Deserialize)]
struct TwisterReply {
    object: u32,
    size: u32,
    /// The first ones.
    words: Vec<u32>,
    index: u32,
}

#[derive(Deserialize)]
struct StartReply {
    object: u32,
    value: u64,
}

impl Interpreter {
    /// Gives a new identity to a machine that may have run any code.
    ///
    /// # Errors
    /// When the kernel has no randomness, or the guest traps.
    pub(crate) fn refresh(&mut self) -> Result<(), InterpreterError> {
        let mut entropy = [0; ENTROPY];
        fill(&mut entropy)?;
        self.seed_c(&entropy)?;
        // Length 0 resets sqlite's generator, which then seeds itself from /dev/urandom.
        self.call_export("sqlite3_randomness", &[0, 0])?;
        self.call_driver_bytes("reseed", &entropy)
    }

    /// Gives a new identity to a fork of a base image whose guest has not run since. Does the same as
    /// [`Interpreter::refresh`], but writes to the memory where that is possible.
    ///
    /// # Errors
    /// As [`Interpreter::refresh`].
    pub(crate) fn refresh_fork(&mut self) -> Result<(), InterpreterError> {
        let Some(seeds_at) = self.python.seeds_at.take() else { return self.refresh() };
        let mut entropy = [0; ENTROPY];
        fill(&mut entropy)?;
        self.seed_c(&entropy)?;
        let mut state = [0; WORDS * 4];
        for twister in &seeds_at.twisters {
            fill(&mut state)?;
            self.write(twister.words as usize, &state)?;
            // Marks all words as used: the next number mixes them first.
            self.write(twister.index as usize, &(WORDS as u32).to_le_bytes())?;
        }
        if let Some(start) = seeds_at.start {
            let now = crate::caps::clock::realtime();
            self.write(start as usize, &digits(now))?;
        }
        Ok(())
    }

    /// Looks up where [`Interpreter::refresh_fork`] writes. Must be called when an image is complete and not yet written;
    /// the machine gets an identity of its own then.
    ///
    /// # Errors
    /// When the driver fails.
    pub(super) fn find_places(&mut self) -> Result<(), InterpreterError> {
        self.refresh()?;
        let reply = self.call_driver("seed_addresses", "")?;
        let reply: SeedAddresses =
            serde_json::from_str(&reply).map_err(|error| InterpreterError::Driver(error.to_string()))?;
        self.python.seeds_at = seeds_at(self.memory(), &reply);
        Ok(())
    }

    /// Whether forks get their identity by writing to their memory.
    #[cfg(test)]
    pub(super) fn knows_places(&self) -> bool {
        self.python.seeds_at.is_some()
    }

    fn write(&mut self, address: usize, bytes: &[u8]) -> Result<(), InterpreterError> {
        self.memory.write(&mut self.store, address, bytes).map_err(|_| fault())
    }

    /// Seeds the generators of C code. Generators that read from the host need no seed.
    fn seed_c(&mut self, entropy: &[u8; ENTROPY]) -> Result<(), InterpreterError> {
        let (words, _) = entropy.as_chunks::<4>();
        for (seed, word) in self.python.seeds.iter().zip(words) {
            seed.call(&mut self.store, u32::from_le_bytes(*word))?;
        }
        Ok(())
    }
}

fn fill(bytes: &mut [u8]) -> Result<(), InterpreterError> {
    crate::caps::random(bytes).map_err(|errno| InterpreterError::Trap(format!("no randomness: {errno}")))
}

fn word(memory: &[u8], address: usize) -> Option<u32> {
    memory.get(address..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Returns the addresses to write; `None` if writing to them is not enough.
fn seeds_at(memory: &[u8], reply: &SeedAddresses) -> Option<IdentityAddresses> {
    let twisters = reply.twisters.iter().map(|reply| find(memory, reply)).collect::<Option<_>>()?;
    let start = match &reply.start {
        Some(reply) => Some(find_digits(memory, reply)?),
        None => None,
    };
    (!reply.others).then_some(IdentityAddresses { twisters, start })
}

/// Returns the state of a generator in the object that holds it. CPython keeps the index before the words, numpy after
/// them.
fn find(memory: &[u8], reply: &TwisterReply) -> Option<Twister> {
    let object = reply.object as usize;
    let last = (reply.size as usize).checked_sub(WORDS * 4)?;
    let begins = |&address: &usize| {
        !reply.words.is_empty()
            && reply.words.iter().enumerate().all(|(number, &known)| word(memory, address + number * 4) == Some(known))
    };
    let words = (object..=object + last).step_by(4).find(begins)?;
    let index = [words.wrapping_sub(4), words + WORDS * 4];
    let index = index.into_iter().find(|&address| word(memory, address) == Some(reply.index))?;
    Some(Twister { words: u32::try_from(words).ok()?, index: u32::try_from(index).ok()? })
}

/// Returns the address of an integer's digits.
fn find_digits(memory: &[u8], reply: &StartReply) -> Option<u32> {
    let address = reply.object as usize + DIGITS;
    let known = digits(reply.value);
    (memory.get(address..address + known.len())? == known).then_some(u32::try_from(address).ok()?)
}

/// Returns the digits of a time, the lowest first.
fn digits(value: u64) -> [u8; 4 * TIME_DIGITS] {
    let mut bytes = [0; 4 * TIME_DIGITS];
    for (number, digit) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let shifted = value.checked_shr(DIGIT_BITS * number as u32).unwrap_or(0);
        *digit = (shifted as u32 & ((1 << DIGIT_BITS) - 1)).to_le_bytes();
    }
    bytes
}
