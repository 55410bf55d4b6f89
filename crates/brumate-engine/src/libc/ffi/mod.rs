//! libffi's port to wasm: calls and closures (used by `ctypes` and `cffi`).
//!
//! The C side passes a call interface (`ffi_cif`); the wasm type of the callee follows from it. Everything in it is
//! guest memory and may be invalid.

mod call;
mod closure;
mod types;

use wasmtime::Linker;

pub(crate) use call::call_leniently;
pub(crate) use closure::{
    ClosureFunctions, Closures, ClosuresRecord, clear as clear_closures, follow as follow_closures,
    restore as restore_closures,
};

use crate::host::Host;
use crate::threads::waiting;

/// Arguments of one call.
const MAX_ARGUMENTS: u32 = 1024;

/// Closures alive at a time.
const MAX_CLOSURES: usize = 1 << 16;

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    waiting!(linker, threads, "env", "ffi_call_js", call::ffi_call, (cif: u32, function: u32, result: u32, values: u32));
    waiting!(linker, threads, "env", "ffi_closure_alloc_js", closure::allocate, (size: u32, code: u32));
    waiting!(linker, threads, "env", "ffi_closure_free_js", closure::free, (closure: u32));
    waiting!(
        linker,
        threads,
        "env",
        "ffi_prep_closure_loc_js",
        closure::prepare,
        (closure: u32, cif: u32, function: u32, user_data: u32, code: u32)
    );
    waiting!(
        linker,
        threads,
        "env",
        "_PyEM_TrampolineCall_JS",
        call::trampoline,
        (function: u32, this: i32, arguments: i32, keywords: i32)
    );
    Ok(())
}

/// A fault in guest-supplied data: ends the guest, as a segmentation fault would natively.
fn fault(text: &str) -> wasmtime::Error {
    wasmtime::Error::msg(format!("invalid foreign function call: {text}"))
}
