//! Dynamic linking: the two imports behind `dlopen` and `dlsym`.

use wasmtime::{AsContextMut, Caller, Linker};

use crate::host::Host;
use crate::link;

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap("env", "_dlopen_js", |mut caller: Caller<'_, Host>, handle: u32| {
        link::dlopen(&mut caller.as_context_mut(), handle)
    })?;
    linker.func_wrap("env", "_dlsym_js", |mut caller: Caller<'_, Host>, handle: u32, name: u32, _index: u32| {
        link::dlsym(&mut caller.as_context_mut(), handle, name)
    })?;
    Ok(())
}
