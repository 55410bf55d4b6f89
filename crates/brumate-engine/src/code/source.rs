//! Where a machine's compiled modules come from.

use wasmtime::{Engine, Module};

use crate::wire::{ModuleKey, Origin};

/// A side module that a guest loads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModuleQuery<'a> {
    /// Content key of `bytes`.
    pub(crate) key: ModuleKey,
    /// The layer's file that the server reads, if the module is a layer's.
    pub(crate) origin: Option<&'a Origin>,
    /// The module.
    pub(crate) bytes: &'a [u8],
    /// Memory that compiling may take when the guest brought the module, in bytes.
    pub(crate) memory: u64,
}

/// Provides compiled modules for wasm bytes.
pub(crate) trait ModuleSource: Send {
    /// Returns the compiled form of a side module.
    ///
    /// # Errors
    /// A text for `dlerror`.
    fn module(&mut self, engine: &Engine, query: ModuleQuery<'_>) -> Result<Compiled, String>;

    /// Returns the compiled form of a module of the bundle.
    ///
    /// # Errors
    /// A text; above all when the bundle does not hold it.
    fn bundled(&mut self, engine: &Engine, key: ModuleKey) -> Result<Module, String>;
}

/// A compiled side module.
pub(crate) struct Compiled {
    pub(crate) module: Module,
    /// Bytes of memory for its code and its instance that no other machine shares. 0 for a module of the bundle or of a
    /// wheel.
    pub(crate) own_bytes: u64,
}

/// Has no modules.
pub(crate) struct NoModules;

impl ModuleSource for NoModules {
    fn module(&mut self, _: &Engine, _: ModuleQuery<'_>) -> Result<Compiled, String> {
        Err("there are no modules".to_owned())
    }

    fn bundled(&mut self, _: &Engine, _: ModuleKey) -> Result<Module, String> {
        Err("there are no modules".to_owned())
    }
}
