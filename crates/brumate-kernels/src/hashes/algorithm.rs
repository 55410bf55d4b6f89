//! The algorithms, each as functions over a state that is a block of bytes.

use digest::common::hazmat::{SerializableState, SerializedState};
use digest::{ExtendableOutput, FixedOutput, Update, XofReader};
use md5::Md5;
use ripemd::Ripemd160;
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512, Shake128, Shake256};
use sm3::Sm3;

use brumate_abi::errno::Errno;

/// Bytes of a state: as many as the largest one takes, SHAKE128's, and some more.
pub(super) const STATE_BYTES: usize = 384;

/// Why a request is not carried out.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused;

impl From<Errno> for Refused {
    fn from(_: Errno) -> Refused {
        Refused
    }
}

pub(super) type Bytes = [u8; STATE_BYTES];

/// What can be done with one algorithm.
pub(super) struct Algorithm {
    /// Writes the state after some first bytes.
    pub(super) start: fn(&mut Bytes, &[u8]),
    pub(super) update: fn(&mut Bytes, &[u8]) -> Result<(), Refused>,
    /// Writes the digest of what the state has taken; the state stays as it is.
    pub(super) finish: fn(&Bytes, &mut [u8]) -> Result<(), Refused>,
    /// Some rounds of PBKDF2 (RFC 8018, section 5.2), from the states behind HMAC's inner and outer key. The last argument
    /// has the last round's result and the sum of all results, and gets those after these rounds.
    pub(super) rounds: fn(&Bytes, &Bytes, u32, &mut [u8]) -> Result<(), Refused>,
}

/// The algorithms by the numbers that the guest uses for them.
pub(super) const ALGORITHMS: [Algorithm; 16] = [
    fixed::<Md5>(),
    fixed::<Sha1>(),
    fixed::<Sha224>(),
    fixed::<Sha256>(),
    fixed::<Sha384>(),
    fixed::<Sha512>(),
    fixed::<Sha512_224>(),
    fixed::<Sha512_256>(),
    fixed::<Sha3_224>(),
    fixed::<Sha3_256>(),
    fixed::<Sha3_384>(),
    fixed::<Sha3_512>(),
    extendable::<Shake128>(),
    extendable::<Shake256>(),
    fixed::<Ripemd160>(),
    fixed::<Sm3>(),
];

/// A hasher that can be written down.
trait Hasher: SerializableState + Default + Clone + Update {
    const STATE: usize = <Self::SerializedStateSize as digest::typenum::Unsigned>::USIZE;
}

impl<T: SerializableState + Default + Clone + Update> Hasher for T {}

const fn fixed<T: Hasher + FixedOutput>() -> Algorithm {
    Algorithm {
        start: start::<T>,
        update: update::<T>,
        finish: |state, output| {
            let digest = load::<T>(state)?.finalize_fixed();
            if output.len() != digest.len() {
                return Err(Refused);
            }
            output.copy_from_slice(&digest);
            Ok(())
        },
        rounds: |inner, outer, rounds, blocks| {
            let (inner, outer) = (load::<T>(inner)?, load::<T>(outer)?);
            let size = <T as digest::OutputSizeUser>::output_size();
            if blocks.len() != 2 * size {
                return Err(Refused);
            }
            let (last, sum) = blocks.split_at_mut(size);
            for _ in 0..rounds {
                let message = inner.clone().chain(&*last).finalize_fixed();
                last.copy_from_slice(&outer.clone().chain(message).finalize_fixed());
                sum.iter_mut().zip(&*last).for_each(|(sum, byte)| *sum ^= byte);
            }
            Ok(())
        },
    }
}

const fn extendable<T: Hasher + ExtendableOutput>() -> Algorithm {
    Algorithm {
        start: start::<T>,
        update: update::<T>,
        finish: |state, output| {
            load::<T>(state)?.finalize_xof().read(output);
            Ok(())
        },
        rounds: |_, _, _, _| Err(Refused),
    }
}

fn start<T: Hasher>(state: &mut Bytes, data: &[u8]) {
    let mut hasher = T::default();
    hasher.update(data);
    store(&hasher, state);
}

fn update<T: Hasher>(state: &mut Bytes, data: &[u8]) -> Result<(), Refused> {
    let mut hasher = load::<T>(state)?;
    hasher.update(data);
    store(&hasher, state);
    Ok(())
}

fn load<T: Hasher>(state: &Bytes) -> Result<T, Refused> {
    let bytes = SerializedState::<T>::try_from(&state[..T::STATE]).map_err(|_| Refused)?;
    T::deserialize(&bytes).map_err(|_| Refused)
}

fn store<T: Hasher>(hasher: &T, state: &mut Bytes) {
    let bytes = hasher.serialize();
    state[..bytes.len()].copy_from_slice(&bytes);
}
