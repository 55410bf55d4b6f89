//! Where a machine's compiled modules come from.

use wasmtime::{Engine, Module};

use crate::wire::{ModuleKey, Origin};

/// Hands out compiled modules for wasm bytes.
pub(crate) trait ModuleSource {
    /// The compiled form of a side module, by its content; `origin` is where the server finds it, if it does.
    ///
    /// # Errors
    /// A text for `dlerror`.
    fn module(
        &mut self,
        engine: &Engine,
        key: ModuleKey,
        origin: Option<&Origin>,
        bytes: &[u8],
    ) -> Result<Module, String>;

    /// The compiled form of a module of the bundle.
    ///
    /// # Errors
    /// A text; above all when the bundle does not hold it.
    fn bundled(&mut self, engine: &Engine, key: ModuleKey) -> Result<Module, String>;
}
