//! Linking: the main module's imports, side modules at run time, symbols and function identity.
//!
//! Source for the rules: Emscripten's dynamic linking (tool-conventions, `DynamicLinking.md`) and musl's `dlopen` as
//! Emscripten ships it.

mod dlopen;
mod instantiate;
mod main_module;
mod needed;
mod symbols;
mod trampoline;

use std::collections::HashMap;
use std::sync::Arc;

use wasmtime::{Global, Instance, Module};

pub(crate) use dlopen::{dlopen, dlsym};
pub(crate) use instantiate::{Got, LibraryBase, Linked, instantiate};
pub(crate) use main_module::instantiate_main;
pub(crate) use symbols::{Function, find, function_slot, index_table};
pub(crate) use trampoline::Helper;

use crate::wire::{ModuleKey, Origin};

/// Side modules one machine may load.
pub(crate) const MAX_LIBRARIES: usize = 1500;

/// Longest symbol name looked up, in bytes.
pub(crate) const MAX_SYMBOL: usize = 16 << 10;

/// One loaded side module.
pub(crate) struct Library {
    /// Canonical guest path.
    pub(crate) path: String,
    /// Content of its file.
    pub(crate) key: ModuleKey,
    /// The file, when it is neither the bundle's nor a layer's.
    pub(crate) bytes: Option<Arc<[u8]>>,
    /// The layer's file that it is.
    pub(crate) origin: Option<Origin>,
    /// Its compiled form.
    pub(crate) module: Module,
    /// Where it lies.
    pub(crate) base: LibraryBase,
    /// Slots of the function table that are its own.
    pub(crate) table_slots: u32,
    /// Visible to modules (`RTLD_GLOBAL`) that are loaded when at least so many are; never, if `None`.
    pub(crate) global_since: Option<usize>,
    /// Libraries it needs, as indices.
    pub(crate) needed: Vec<usize>,
    /// Values of its GOT entries, in the order of its imports.
    pub(crate) got: Vec<u32>,
}

/// The instance of a side module in one store.
#[derive(Clone)]
pub(crate) struct LibraryInstance {
    pub(crate) instance: Instance,
    /// Its GOT globals, in the order of its imports.
    pub(crate) got: Vec<Global>,
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
    /// How often the guest has opened one in this process.
    pub(crate) opened: u64,
    /// Functions in slots that no module fills itself, in the order in which they came.
    pub(crate) appended: Vec<(u32, Function)>,
    /// Slots of the main thread's table when it handed over last.
    pub(crate) table_slots: u64,
}
