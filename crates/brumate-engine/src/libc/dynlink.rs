//! Dynamic linking: the two imports behind `dlopen` and `dlsym`.

use wasmtime::{Linker, StoreContextMut};

use crate::host::Host;
use crate::link;
use crate::threads::{on_main, waiting};

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    waiting!(linker, threads, "env", "_dlopen_js", dlopen, (handle: u32));
    waiting!(linker, threads, "env", "_dlsym_js", dlsym, (handle: u32, name: u32, index: u32));
    Ok(())
}

async fn dlopen(store: &mut StoreContextMut<'_, Host>, handle: u32) -> wasmtime::Result<u32> {
    on_main(store, move |store| link::dlopen(store, handle)).await
}

async fn dlsym(store: &mut StoreContextMut<'_, Host>, handle: u32, name: u32, _index: u32) -> wasmtime::Result<u32> {
    on_main(store, move |store| link::dlsym(store, handle, name)).await
}
