//! Various imports: logging hooks of Emscripten and the few library functions that are JavaScript there.

use wasmtime::{Caller, ExternRef, Linker, Rooted};

use crate::host::Host;

/// `_URC_END_OF_STACK`: there is nothing to unwind.
const URC_END_OF_STACK: i32 = 5;

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap("env", "__hiwire_deduplicate_new", || -> Option<Rooted<ExternRef>> { None })?;
    linker.func_wrap("env", "_emscripten_log_formatted", |_: i32, _: u32| {})?;
    linker.func_wrap("env", "emscripten_log_impl_js", |_: u32| {})?;
    linker.func_wrap("env", "emscripten_debugger", || {})?;
    linker.func_wrap("env", "emscripten_set_up_async_input_device_js", || -> i32 { 0 })?;
    // Imported by side modules only.
    linker.func_wrap("env", "_Unwind_Backtrace", |_: u32, _: u32| -> i32 { URC_END_OF_STACK })?;
    linker.func_wrap("env", "_Unwind_GetIPInfo", |_: u32, _: u32| -> u32 { 0 })?;
    linker.func_wrap("env", "_Unwind_FindEnclosingFunction", |_: u32| -> u32 { 0 })?;
    linker.func_wrap("env", "emscripten_has_asyncify", || -> i32 { 0 })?;
    linker.func_wrap("env", "emscripten_notify_memory_growth", |_: u32| {})?;
    linker.func_wrap("env", "emscripten_random", |_: Caller<'_, Host>| -> f32 {
        let mut bytes = [0; 4];
        // Without randomness from the kernel the result is zero.
        let _ = crate::caps::random(&mut bytes);
        (u32::from_le_bytes(bytes) >> 8) as f32 / (1u32 << 24) as f32
    })?;
    Ok(())
}
