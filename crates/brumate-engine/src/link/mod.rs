//! Linking: the main module's imports, side modules at run time, symbols and function identity.
//!
//! Source for the rules: Emscripten's dynamic linking (tool-conventions, `DynamicLinking.md`) and musl's `dlopen` as
//! Emscripten ships it.

mod dlopen;
mod main_module;
mod symbols;
mod trampoline;

use std::collections::HashMap;

use wasmtime::{Global, Instance};

pub(crate) use dlopen::{dlopen, dlsym};
pub(crate) use main_module::instantiate_main;
pub(crate) use symbols::{function_slot, index_table};
pub(crate) use trampoline::{install as install_trampoline, trampoline_module};

/// Instances one machine may hold: the main module, helpers and side modules.
pub(crate) const MAX_INSTANCES: usize = 4096;

/// Side modules one machine may load.
pub(crate) const MAX_LIBRARIES: usize = 1500;

/// Longest symbol name looked up, in bytes.
pub(crate) const MAX_SYMBOL: usize = 16 << 10;

/// One loaded side module.
pub(crate) struct Library {
    /// Canonical guest path.
    #[allow(dead_code, reason = "read when an image is captured")]
    pub(crate) path: String,
    /// Its instance.
    pub(crate) instance: Instance,
    /// Where its data lies.
    pub(crate) memory_base: u32,
    /// Visible to every later module (`RTLD_GLOBAL`).
    pub(crate) global: bool,
    /// Libraries it needs, as indices.
    pub(crate) needed: Vec<usize>,
    /// Its GOT globals, kept for images.
    #[allow(dead_code, reason = "read when an image is captured")]
    pub(crate) got: Vec<(String, Global)>,
}

/// All side modules of one machine.
#[derive(Default)]
pub(crate) struct Libraries {
    /// In load order.
    pub(crate) loaded: Vec<Library>,
    /// Canonical path → index.
    pub(crate) by_path: HashMap<String, usize>,
    /// Guest handle (`struct dso *`) → index.
    pub(crate) by_handle: HashMap<u32, usize>,
}
