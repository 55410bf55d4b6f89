//! Imports of the guest that run a kernel of `brumate-kernels`. Each takes an address in the guest's memory and answers 1 when the work is
//! done, 0 when the kernel refused it.

use brumate_kernels::{blas, hashes};
use wasmtime::{Caller, Linker};

use crate::host::{Host, split};

/// Defines the imports.
///
/// # Errors
/// Never: each name is defined once.
pub(crate) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    for (name, kernel) in blas::KERNELS {
        linker.func_wrap("env", name, move |mut caller: Caller<'_, Host>, block: u32| -> u32 {
            u32::from(kernel(split(&mut caller).0, block).is_ok())
        })?;
    }
    linker.func_wrap("env", "brumate_hash", |mut caller: Caller<'_, Host>, request: u32| -> u32 {
        u32::from(hashes::run(split(&mut caller).0, request).is_ok())
    })?;
    Ok(())
}
