//! Everything of a machine except its linear memory, in a form that is compared fast.
//!
//! Most cells change nothing but memory. A fork from before such a cell equals the machine after it once the changed
//! pages are copied.

use wasmtime::{AsContextMut, Global, Mutability, Val};

use super::Interpreter;
use crate::host::guest;

/// State of a machine except its linear memory. If two values of one process, or of a process and its fork, are equal,
/// none of this state has changed between them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NonMemoryState {
    /// Bytes of the memory and slots of the table.
    sizes: (u64, u64),
    globals: Vec<u128>,
    /// Number of loaded libraries, number of library paths, and number of opens.
    libraries: (usize, usize, u64),
    /// Number of functions that got a slot.
    slots: usize,
    closures: u64,
    zone_changes: u64,
    files: brumate_vfs::FileSystemState,
}

/// Mutable globals of a machine's modules. They are cached, because searching the many exports takes milliseconds.
#[derive(Debug, Default)]
pub(super) struct Globals {
    known: Vec<Global>,
    /// Number of instances that were searched: the main module's, then the libraries'.
    instances: usize,
}

impl Interpreter {
    /// Finds the globals of modules that have been loaded since the last call. Later forks inherit them.
    pub(crate) fn find_globals(&mut self) -> wasmtime::Result<()> {
        let main = guest(&self.store.as_context_mut())?.instance;
        let libraries = self.store.data().store.libraries.iter().map(|library| library.instance);
        let new: Vec<_> = std::iter::once(main).chain(libraries).skip(self.globals.instances).collect();
        for instance in new {
            let globals: Vec<_> = instance.exports(&mut self.store).filter_map(|export| export.into_global()).collect();
            let mutable = |global: &Global| global.ty(&self.store).mutability() == Mutability::Var;
            self.globals.known.extend(globals.into_iter().filter(mutable));
            self.globals.instances += 1;
        }
        Ok(())
    }

    /// Returns the current state except the linear memory. `None` if it is not known: a module that the guest brought
    /// may change the function table by itself, and threads have stacks.
    pub(crate) fn non_memory_state(&mut self) -> Option<NonMemoryState> {
        if self.store.data().threads.count() > 0 {
            return None;
        }
        let loaded = &self.store.data().libraries.loaded;
        if loaded.iter().any(|library| library.bytes.is_some()) {
            return None;
        }
        self.find_globals().ok()?;
        let table = guest(&self.store.as_context_mut()).ok()?.table.size(&self.store);
        let globals = self.globals.known.iter().map(|global| number(&global.get(&mut self.store)));
        let globals = globals.collect::<Option<_>>()?;
        let sizes = (self.memory_bytes(), table);
        let host = self.store.data_mut();
        let libraries = &host.libraries;
        let libraries = (libraries.loaded.len(), libraries.by_path.len(), libraries.opened);
        let (slots, closures, zone_changes) = (host.store.slots.len(), host.closures.changes(), host.zone_changes);
        Some(NonMemoryState { sizes, globals, libraries, slots, closures, zone_changes, files: host.vfs.state().ok()? })
    }
}

fn number(value: &Val) -> Option<u128> {
    Some(match value {
        Val::I32(value) => *value as u32 as u128,
        Val::I64(value) => *value as u64 as u128,
        Val::F32(bits) => *bits as u128,
        Val::F64(bits) => *bits as u128,
        Val::V128(value) => value.as_u128(),
        _ => return None,
    })
}
