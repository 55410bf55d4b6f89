//! Where a machine's compiled modules come from.

use wasmtime::{Engine, Module};

/// Hands out compiled modules for wasm bytes.
pub(crate) trait ModuleSource {
    /// The compiled form of a side module.
    ///
    /// # Errors
    /// A text for `dlerror`.
    fn module(&mut self, engine: &Engine, bytes: &[u8]) -> Result<Module, String>;
}
