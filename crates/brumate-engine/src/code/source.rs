//! Where a machine's compiled modules come from.

use wasmtime::{Engine, Module};

use crate::wire::{ModuleKey, Origin};

/// Hands out compiled modules for wasm bytes.
pub(crate) trait ModuleSource {
    /// The compiled form of a side module, by its content; `origin` is where the server finds it, if it does. Compiling what the guest
    /// brought may take `memory` bytes.
    ///
    /// # Errors
    /// A text for `dlerror`.
    fn module(
        &mut self,
        engine: &Engine,
        key: ModuleKey,
        origin: Option<&Origin>,
        bytes: &[u8],
        memory: u64,
    ) -> Result<Compiled, String>;

    /// The compiled form of a module of the bundle.
    ///
    /// # Errors
    /// A text; above all when the bundle does not hold it.
    fn bundled(&mut self, engine: &Engine, key: ModuleKey) -> Result<Module, String>;
}

/// A compiled side module.
pub(crate) struct Compiled {
    pub(crate) module: Module,
    /// Bytes of memory that its code and its instance take and nobody shares. 0 for a module of the bundle or of a wheel.
    pub(crate) own_bytes: u64,
}
