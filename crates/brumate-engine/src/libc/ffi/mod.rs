//! libffi's port to wasm: calls and closures (used by `ctypes` and `cffi`).
//!
//! The C side passes a call interface (`ffi_cif`); the wasm type of the callee follows from it. Everything in it is
//! guest memory and may be invalid.

mod call;
mod closure;
mod types;

use wasmtime::Linker;

pub(crate) use call::call_leniently;
pub(crate) use closure::{Closures, ClosuresRecord, clear as clear_closures, restore as restore_closures};

use crate::host::Host;

/// Arguments of one call.
const MAX_ARGUMENTS: u32 = 1024;

/// Closures alive at a time.
const MAX_CLOSURES: usize = 1 << 16;

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap("env", "ffi_call_js", call::ffi_call)?;
    linker.func_wrap("env", "ffi_closure_alloc_js", closure::allocate)?;
    linker.func_wrap("env", "ffi_closure_free_js", closure::free)?;
    linker.func_wrap("env", "ffi_prep_closure_loc_js", closure::prepare)?;
    linker.func_wrap("env", "_PyEM_TrampolineCall_JS", call::trampoline)?;
    Ok(())
}

/// A fault in guest-supplied data: ends the guest, as a segmentation fault would natively.
fn fault(text: &str) -> wasmtime::Error {
    wasmtime::Error::msg(format!("invalid foreign function call: {text}"))
}
