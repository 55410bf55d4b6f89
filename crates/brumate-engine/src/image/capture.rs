//! Captures the state of a guest beside its memory and files.

use std::collections::HashMap;

use wasmtime::{AsContextMut, Extern, Instance, Mutability, Ref, StoreContextMut, Val};

use super::{Driver, ImageError, LibraryRecord, Number, Record};
use crate::files::layers;
use crate::host::{Host, guest};
use crate::link::Function;
use brumate_module::patch::TABLE_EXPORT_PREFIX;

/// Captures the guest at rest: no call into it is running.
///
/// # Errors
/// When the guest holds something that no image can.
pub(crate) fn capture(store: &mut StoreContextMut<'_, Host>, driver: Driver) -> Result<Record, ImageError> {
    let handles = guest(store)?;
    let functions = functions(store)?;
    let mut libraries = Vec::new();
    for index in 0..store.data().libraries.loaded.len() {
        libraries.push(library(store, index)?);
    }
    check_tables(store, handles.instance)?;
    let memory_bytes = handles.memory.data_size(&*store) as u64;
    let table_slots = handles.table.size(&*store) as u32;
    let globals = globals(store, handles.instance);
    let host = store.data();
    let mut by_handle: Vec<(u32, u32)> =
        host.libraries.by_handle.iter().map(|(&handle, &index)| (handle, index as u32)).collect();
    by_handle.sort_unstable();
    Ok(Record {
        memory_bytes,
        globals,
        table_slots,
        libraries,
        handles: by_handle,
        functions,
        closures: host.closures.record(),
        monotonic: host.clock.monotonic(),
        driver,
    })
}

/// Returns the functions in the slots that were appended one by one.
fn functions(store: &mut StoreContextMut<'_, Host>) -> Result<Vec<(u32, Function)>, ImageError> {
    let handles = guest(store)?;
    let sources = sources(store)?;
    let own: Vec<std::ops::Range<u32>> = store
        .data()
        .libraries
        .loaded
        .iter()
        .map(|library| library.base.table_base..library.base.table_base.saturating_add(library.table_slots))
        .collect();
    let initial = handles.table.ty(&*store).minimum() as u32;
    let size = handles.table.size(&*store) as u32;
    let mut found = Vec::new();
    let mut slot = initial;
    while slot < size {
        if let Some(range) = own.iter().find(|range| range.contains(&slot)) {
            slot = range.end;
            continue;
        }
        if let Some(Ref::Func(Some(func))) = handles.table.get(&mut *store, u64::from(slot))
            && !store.data().closures.holds(slot)
        {
            let identity = func.to_raw(&mut *store) as usize;
            let source = sources.get(&identity);
            let source =
                source.ok_or_else(|| ImageError::Unsupported(format!("an unknown function in slot {slot}")))?;
            found.push((slot, source.clone()));
        }
        slot += 1;
    }
    Ok(found)
}

/// Returns every function that can be in a slot, by identity.
fn sources(store: &mut StoreContextMut<'_, Host>) -> Result<HashMap<usize, Function>, ImageError> {
    let mut sources = HashMap::new();
    let main = guest(store)?.instance;
    for (name, func) in exported_functions(store, main) {
        sources.entry(func).or_insert(Function::Main(name));
    }
    for index in 0..store.data().libraries.loaded.len() {
        let instance = store.data().store.libraries[index].instance;
        for (name, func) in exported_functions(store, instance) {
            sources.entry(func).or_insert(Function::Library(index as u32, name));
        }
    }
    let mut host: Vec<_> = store.data().store.functions.iter().map(|(name, func)| (name.clone(), *func)).collect();
    host.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, func) in host {
        sources.entry(func.to_raw(&mut *store) as usize).or_insert(Function::Host(name));
    }
    if let Some(helper) = store.data().store.helper {
        sources.insert(helper.func().to_raw(&mut *store) as usize, Function::Helper);
    }
    Ok(sources)
}

fn exported_functions(store: &mut StoreContextMut<'_, Host>, instance: Instance) -> Vec<(String, usize)> {
    let exports: Vec<(String, Extern)> =
        instance.exports(&mut *store).map(|export| (export.name().to_owned(), export.into_extern())).collect();
    exports
        .into_iter()
        .filter_map(|(name, export)| Some((name, export.into_func()?.to_raw(&mut *store) as usize)))
        .collect()
}

fn library(store: &mut StoreContextMut<'_, Host>, index: usize) -> Result<LibraryRecord, ImageError> {
    let (instance, got) = {
        let library = &store.data().store.libraries[index];
        (library.instance, library.got.clone())
    };
    check_tables(store, instance)?;
    let got = got.iter().map(|global| global.get(&mut *store).i32().unwrap_or(0) as u32).collect();
    let globals = globals(store, instance);
    let host = store.data();
    let library = &host.libraries.loaded[index];
    let mut bytes = library.bytes.as_ref().map(|bytes| bytes.to_vec());
    let mut origin = library.origin.clone();
    if let Some(gone) = origin.take_if(|origin| !layers::present(&host.vfs).contains(&origin.layer)) {
        // A process that resumes the session has no such layer.
        bytes = Some(layers::read(&host.vfs, &gone).map_err(ImageError::Unsupported)?);
    }
    Ok(LibraryRecord {
        path: library.path.clone(),
        key: library.key,
        bytes,
        origin,
        base: library.base,
        table_slots: library.table_slots,
        global_since: library.global_since.map(|since| since as u32),
        needed: library.needed.iter().map(|&index| index as u32).collect(),
        got,
        globals,
    })
}

/// Exported mutable globals; the translator has exported all of them.
fn globals(store: &mut StoreContextMut<'_, Host>, instance: Instance) -> Vec<(String, Number)> {
    let exports: Vec<_> = instance
        .exports(&mut *store)
        .filter_map(|export| Some((export.name().to_owned(), export.into_global()?)))
        .collect();
    let mut values = Vec::new();
    for (name, global) in exports {
        if global.ty(&*store).mutability() != Mutability::Var {
            continue;
        }
        let value = match global.get(&mut *store) {
            Val::I32(value) => Number::I32(value),
            Val::I64(value) => Number::I64(value),
            Val::F32(bits) => Number::F32(bits),
            Val::F64(bits) => Number::F64(bits),
            Val::V128(value) => Number::V128(value.as_u128()),
            _ => continue,
        };
        values.push((name, value));
    }
    values
}

/// Private tables of a module hold references of the JavaScript interface, which does not exist here.
fn check_tables(store: &mut StoreContextMut<'_, Host>, instance: Instance) -> Result<(), ImageError> {
    let tables: Vec<_> = instance
        .exports(&mut *store)
        .filter(|export| export.name().starts_with(TABLE_EXPORT_PREFIX))
        .filter_map(|export| export.into_table())
        .collect();
    for table in tables {
        for slot in 0..table.size(&*store) {
            if table.get(store.as_context_mut(), slot).is_some_and(|entry| !entry.is_null()) {
                return Err(ImageError::Unsupported("a reference in a table of its own".to_owned()));
            }
        }
    }
    Ok(())
}
