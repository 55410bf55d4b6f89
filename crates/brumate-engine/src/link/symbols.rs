//! Symbol resolution and function identity.

use serde::{Deserialize, Serialize};
use wasmtime::{Extern, Func, Ref, StoreContextMut, Val};

use super::Helper;
use crate::host::{Host, guest};

/// Names the origin of a function in a slot of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Function {
    /// An export of the main module.
    Main(String),
    /// An export of a library.
    Library(u32, String),
    /// A host function.
    Host(String),
    /// The call trampoline.
    Helper,
}

/// Returns a function in this store.
pub(crate) fn find(store: &mut StoreContextMut<'_, Host>, function: &Function) -> Option<Func> {
    match function {
        Function::Main(name) => {
            let main = store.data().store.guest.as_ref()?.instance;
            main.get_func(&mut *store, name)
        }
        Function::Library(index, name) => {
            let instance = store.data().store.libraries.get(*index as usize)?.instance;
            instance.get_func(&mut *store, name)
        }
        Function::Host(name) => store.data().store.functions.get(name).copied(),
        Function::Helper => store.data().store.helper.map(Helper::func),
    }
}

/// What a name stands for.
pub(crate) enum Symbol {
    /// A function, and where it comes from.
    Func(Func, Function),
    /// An absolute address in linear memory.
    Address(u32),
}

/// Builds the identity index of the table: C code compares function pointers, so one function must have one slot.
///
/// # Errors
/// Never for a valid instance.
pub(crate) fn index_table(store: &mut StoreContextMut<'_, Host>, from: u64) -> wasmtime::Result<()> {
    let table = guest(store)?.table;
    for index in from..table.size(&mut *store) {
        if let Some(Ref::Func(Some(func))) = table.get(&mut *store, index) {
            let identity = func.to_raw(&mut *store) as usize;
            let slot = u32::try_from(index)?;
            store.data_mut().store.slots.entry(identity).or_insert(slot);
        }
    }
    Ok(())
}

/// Table slot of `func`, appended when it has none.
///
/// # Errors
/// When the table is full.
pub(crate) fn function_slot(
    store: &mut StoreContextMut<'_, Host>,
    func: Func,
    source: &Function,
) -> wasmtime::Result<u32> {
    let identity = func.to_raw(&mut *store) as usize;
    if let Some(slot) = store.data().store.slots.get(&identity) {
        return Ok(*slot);
    }
    let table = guest(store)?.table;
    let slot = u32::try_from(table.grow(&mut *store, 1, Ref::Func(Some(func)))?)?;
    let host = store.data_mut();
    host.store.slots.insert(identity, slot);
    host.libraries.appended.push((slot, source.clone()));
    Ok(slot)
}

/// A symbol of one instance; `base` is added to data addresses.
fn of_instance(
    store: &mut StoreContextMut<'_, Host>,
    instance: wasmtime::Instance,
    base: u32,
    name: &str,
    source: impl FnOnce(String) -> Function,
) -> Option<Symbol> {
    match instance.get_export(&mut *store, name)? {
        Extern::Func(func) => Some(Symbol::Func(func, source(name.to_owned()))),
        Extern::Global(global) => match global.get(&mut *store) {
            Val::I32(value) => Some(Symbol::Address((value as u32).wrapping_add(base))),
            _ => None,
        },
        _ => None,
    }
}

/// A symbol of one library.
pub(crate) fn of_library(store: &mut StoreContextMut<'_, Host>, library: usize, name: &str) -> Option<Symbol> {
    let host = store.data();
    let base = host.libraries.loaded.get(library)?.base;
    let instance = host.store.libraries.get(library)?.instance;
    of_instance(store, instance, base.memory_base, name, |name| Function::Library(library as u32, name))
}

/// A symbol of a side module that is being loaded.
pub(crate) fn of_new(
    store: &mut StoreContextMut<'_, Host>,
    instance: wasmtime::Instance,
    memory_base: u32,
    name: &str,
) -> Option<Symbol> {
    let library = store.data().libraries.loaded.len() as u32;
    of_instance(store, instance, memory_base, name, |name| Function::Library(library, name))
}

/// Resolves `name` for a module that needs `scope`: main module, host, global libraries in load order, then `scope` and
/// what that needs.
pub(crate) fn resolve(store: &mut StoreContextMut<'_, Host>, name: &str, scope: &[usize]) -> Option<Symbol> {
    let main = store.data().store.guest.as_ref()?.instance;
    if let Some(symbol) = of_instance(store, main, 0, name, Function::Main) {
        return Some(symbol);
    }
    if let Some(func) = store.data().store.functions.get(name) {
        return Some(Symbol::Func(*func, Function::Host(name.to_owned())));
    }
    // In the store of a thread, which follows, more are known than have instances.
    let count = store.data().store.libraries.len();
    for index in 0..count {
        if store.data().libraries.loaded[index].global_since.is_some_and(|since| since <= count)
            && let Some(symbol) = of_library(store, index, name)
        {
            return Some(symbol);
        }
    }
    of_scope(store, scope, name)
}

/// `name` in the libraries `scope` and in those that they need: breadth first, as ELF's linkers look.
pub(crate) fn of_scope(store: &mut StoreContextMut<'_, Host>, scope: &[usize], name: &str) -> Option<Symbol> {
    let mut open = scope.to_vec();
    let mut next = 0;
    while let Some(&index) = open.get(next) {
        if let Some(symbol) = of_library(store, index, name) {
            return Some(symbol);
        }
        if let Some(library) = store.data().libraries.loaded.get(index) {
            let new: Vec<usize> = library.needed.iter().copied().filter(|index| !open.contains(index)).collect();
            open.extend(new);
        }
        next += 1;
    }
    None
}

/// The address C code sees for a symbol: a table index or a data address.
///
/// # Errors
/// When the table is full.
pub(crate) fn address(store: &mut StoreContextMut<'_, Host>, symbol: Symbol) -> wasmtime::Result<u32> {
    match symbol {
        Symbol::Address(address) => Ok(address),
        Symbol::Func(func, source) => function_slot(store, func, &source),
    }
}
