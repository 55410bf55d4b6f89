//! Hash functions that the guest's `_hashlib` calls: MD5, SHA-1, SHA-2, SHA-3, RIPEMD-160 and SM3, with the instructions of
//! the host's processor.
//!
//! A hasher's state lies in the guest's memory, so that it is copied, forked and hibernated with it. One pointer comes
//! in, to a request; 1 says that the work is done, 0 that the request makes no sense. Nothing has been written then.
//! `runtime/recipes/platform/_hashlib.c` has the same layout.
//!
//! Every number comes from the guest: lengths and rounds are bounded, so that a call ends soon, and addresses are checked.

mod algorithm;

use brumate_abi::memory::GuestMemory;

pub use algorithm::Refused;
use algorithm::{ALGORITHMS, STATE_BYTES};

/// Bytes that one call hashes at most: about 30 ms of the slowest algorithm.
const MAX_BYTES: u32 = 8 << 20;
/// Rounds of PBKDF2 in one call at most: about 10 ms.
const MAX_ROUNDS: u32 = 10_000;
/// The longest digest of an algorithm without a fixed length in one call.
const MAX_OUTPUT: u32 = 8 << 20;

/// The words of a request, in the order in which they lie in memory.
struct Request {
    operation: u32,
    algorithm: u32,
    /// The address of the state, of [`STATE_BYTES`].
    state: u32,
    /// For `ROUNDS` the address of the state behind HMAC's outer key; else of the data.
    input: u32,
    /// Bytes of data, or rounds.
    count: u32,
    output: u32,
    output_bytes: u32,
}

const WORDS: usize = 7;

const START: u32 = 0;
const UPDATE: u32 = 1;
const FINISH: u32 = 2;
const ROUNDS: u32 = 3;

impl Request {
    fn read(memory: &GuestMemory<'_>, address: u32) -> Result<Request, Refused> {
        let mut words = [0; WORDS];
        let bytes = memory.slice(address, (WORDS * size_of::<u32>()) as u32)?;
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let [operation, algorithm, state, input, count, output, output_bytes] = words;
        Ok(Request { operation, algorithm, state, input, count, output, output_bytes })
    }
}

/// Does what the request at `address` asks for.
///
/// # Errors
/// When an address is outside memory, a number is out of bounds, or a state is none of its algorithm's.
pub fn run(mut memory: GuestMemory<'_>, address: u32) -> Result<(), Refused> {
    let request = Request::read(&memory, address)?;
    let algorithm = ALGORITHMS.get(request.algorithm as usize).ok_or(Refused)?;
    let mut state: [u8; STATE_BYTES] = [0; STATE_BYTES];
    if request.operation != START {
        state.copy_from_slice(memory.slice(request.state, STATE_BYTES as u32)?);
    }
    match request.operation {
        START if request.count <= MAX_BYTES => {
            (algorithm.start)(&mut state, memory.slice(request.input, request.count)?);
            memory.write(request.state, &state)?;
        }
        UPDATE if request.count <= MAX_BYTES => {
            (algorithm.update)(&mut state, memory.slice(request.input, request.count)?)?;
            memory.write(request.state, &state)?;
        }
        FINISH if request.output_bytes <= MAX_OUTPUT => {
            (algorithm.finish)(&state, memory.slice_mut(request.output, request.output_bytes)?)?;
        }
        ROUNDS if request.count <= MAX_ROUNDS => {
            let mut outer = [0; STATE_BYTES];
            outer.copy_from_slice(memory.slice(request.input, STATE_BYTES as u32)?);
            let blocks = memory.slice_mut(request.output, request.output_bytes)?;
            (algorithm.rounds)(&state, &outer, request.count, blocks)?;
        }
        _ => return Err(Refused),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
