//! Kernels of linear algebra that the guest's BLAS may call: the same loops, with the vectors of the host's processor.
//!
//! `libopenblas.so` imports them weakly, so that it runs anywhere, and its routines hand the inner work over: WebAssembly has vectors of
//! 128 bits and no fused multiplication. One pointer comes in, to a block of arguments in the guest's memory; 1 says that the work is
//! done, 0 that the guest has to do it, because the arguments are not what a kernel takes. Nothing has been written then.
//!
//! The layout of the blocks is `runtime/recipes/lapack/host_blas.h`'s: 32-bit words, matrices by column as BLAS has them.
//!
//! Every number comes from the guest: sizes are bounded, so that a call ends soon, and each matrix and vector is checked against the memory.

mod factor;
mod lanes;
mod leaf;
mod matrix;
mod triangle;
mod vector;

use brumate_abi::errno::Errno;
use brumate_abi::memory::GuestMemory;

/// Arguments of a kernel, as words.
struct Arguments<'a, const WORDS: usize> {
    memory: GuestMemory<'a>,
    words: [u32; WORDS],
}

/// Why a kernel leaves the work to the guest.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused;

impl From<Errno> for Refused {
    fn from(_: Errno) -> Refused {
        Refused
    }
}

impl<'a, const WORDS: usize> Arguments<'a, WORDS> {
    /// Reads the words at `block`.
    fn read(memory: GuestMemory<'a>, block: u32) -> Result<Arguments<'a, WORDS>, Refused> {
        let length = u32::try_from(WORDS * size_of::<u32>()).map_err(|_| Refused)?;
        let bytes = memory.slice(block, length)?;
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(Arguments { memory, words })
    }
}

/// Bytes from the first to behind the last element of `count` columns of `length` elements, `stride` elements apart.
fn extent(length: u32, count: u32, stride: u32, size: usize) -> Result<u32, Refused> {
    if length == 0 || count == 0 {
        return Ok(0);
    }
    let elements = u64::from(count - 1) * u64::from(stride) + u64::from(length);
    elements.checked_mul(size as u64).and_then(|bytes| u32::try_from(bytes).ok()).ok_or(Refused)
}

/// Does what the block of arguments at an address asks for.
pub type Kernel = fn(GuestMemory<'_>, u32) -> Result<(), Refused>;

/// The kernels by the names of their imports.
pub const KERNELS: [(&str, Kernel); 14] = [
    ("brumate_sgemm", matrix::product::<f32>),
    ("brumate_dgemm", matrix::product::<f64>),
    ("brumate_cgemm", matrix::product::<matrix::Complex32>),
    ("brumate_zgemm", matrix::product::<matrix::Complex64>),
    ("brumate_sgemv", vector::product::<f32>),
    ("brumate_dgemv", vector::product::<f64>),
    ("brumate_ssymv", vector::symmetric_product::<f32>),
    ("brumate_dsymv", vector::symmetric_product::<f64>),
    ("brumate_strmm", triangle::product::<f32>),
    ("brumate_dtrmm", triangle::product::<f64>),
    ("brumate_strsm", triangle::solution::<f32>),
    ("brumate_dtrsm", triangle::solution::<f64>),
    ("brumate_sgetrf", factor::triangles::<f32>),
    ("brumate_dgetrf", factor::triangles::<f64>),
];

#[cfg(test)]
mod tests;
