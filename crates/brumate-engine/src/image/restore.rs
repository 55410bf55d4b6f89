//! Restores a guest from a record.

use std::sync::Arc;

use wasmtime::{Instance, Ref, StoreContextMut, Val};

use super::{ImageError, LibraryRecord, Number, Record};
use crate::caps::clock::Clock;
use crate::code::{Compiled, ModuleQuery};
use crate::files;
use crate::host::{Host, guest};
use crate::libc::ffi;
use crate::link::{Got, Library, LibraryInstance, Linked, MAX_LIBRARIES, find, index_table, instantiate};

/// WebAssembly page, bytes.
const PAGE: u64 = 1 << 16;

fn damaged<T>(what: impl Into<String>) -> Result<T, ImageError> {
    Err(ImageError::Damaged(what.into()))
}

/// Restores the guest's recorded state except the content of its memory and its files. The caller restores these
/// afterwards, because instantiating writes to memory.
///
/// The guest must be one whose libraries the record begins with: a fresh instance of the main module, or a machine of
/// the image that the record's machine was forked from.
///
/// # Errors
/// If the record does not fit. The guest is unusable then.
pub(crate) fn apply(store: &mut StoreContextMut<'_, Host>, record: &Record) -> Result<(), ImageError> {
    let handles = guest(store)?;
    let loaded = store.data().libraries.loaded.len();
    if record.libraries.len() > MAX_LIBRARIES || record.libraries.len() < loaded {
        return damaged("libraries");
    }
    for (library, recorded) in store.data().libraries.loaded.iter().zip(&record.libraries) {
        if (&library.path, library.key, library.base) != (&recorded.path, recorded.key, recorded.base) {
            return damaged("it does not continue its base");
        }
    }

    let pages = record.memory_bytes / PAGE;
    let present = handles.memory.data_size(&*store) as u64 / PAGE;
    if !record.memory_bytes.is_multiple_of(PAGE) || pages < present {
        return damaged("memory size");
    }
    handles.memory.grow(&mut *store, pages - present)?;
    ffi::clear_closures(store)?;
    let slots = handles.table.size(&*store);
    if u64::from(record.table_slots) < slots {
        return damaged("table size");
    }
    handles.table.grow(&mut *store, u64::from(record.table_slots) - slots, Ref::Func(None))?;

    for (index, recorded) in record.libraries.iter().enumerate() {
        if index >= loaded {
            load(store, recorded)?;
        }
        let host = store.data_mut();
        host.libraries.loaded[index].global_since = recorded.global_since.map(|since| since as usize);
        let instance = host.store.libraries[index].instance;
        set_globals(store, instance, &recorded.globals)?;
    }
    set_globals(store, handles.instance, &record.globals)?;

    for (slot, function) in &record.functions {
        if *slot >= record.table_slots {
            return damaged("slot");
        }
        let func = find(store, function).map_or_else(|| damaged(format!("function {function:?}")), Ok)?;
        handles.table.set(&mut *store, u64::from(*slot), Ref::Func(Some(func)))?;
    }
    store.data_mut().libraries.appended.clone_from(&record.functions);
    index_table(store, if loaded == 0 { 1 } else { slots })?;
    ffi::restore_closures(store, &record.closures)?;

    let count = record.libraries.len();
    if record.handles.iter().any(|(_, index)| *index as usize >= count) {
        return damaged("library handle");
    }
    let host = store.data_mut();
    host.libraries.by_handle = record.handles.iter().map(|&(handle, index)| (handle, index as usize)).collect();
    host.clock = Clock::resumed(record.monotonic);
    Ok(())
}

/// Instantiates a recorded library.
fn load(store: &mut StoreContextMut<'_, Host>, recorded: &LibraryRecord) -> Result<(), ImageError> {
    let engine = store.engine().clone();
    let of_layer = recorded.origin.as_ref().map(|origin| files::layers::read(&store.data().vfs, origin)).transpose();
    let of_layer = of_layer.map_err(ImageError::Damaged)?;
    let host = store.data_mut();
    // A full session leaves no memory for the short-lived compiler, so the compiler gets the session's whole limit.
    let memory = host.account.max_bytes;
    let Compiled { module, own_bytes } = match of_layer.as_ref().or(recorded.bytes.as_ref()) {
        Some(bytes) => {
            let key = crate::code::compile::key(bytes);
            let query = ModuleQuery { key, origin: recorded.origin.as_ref(), bytes, memory };
            host.modules.module(&engine, query)
        }
        None => host.modules.bundled(&engine, recorded.key).map(|module| Compiled { module, own_bytes: 0 }),
    }
    .map_err(|reason| ImageError::Engine(format!("{}: {reason}", recorded.path)))?;
    let file_bytes = recorded.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
    host.account.hold_anyway(own_bytes.saturating_add(file_bytes));
    let index = store.data().libraries.loaded.len();
    let needed: Vec<usize> = recorded.needed.iter().map(|&index| index as usize).collect();
    if needed.iter().any(|&needed| needed >= index) {
        return damaged("needed library");
    }
    let got = Got::Recorded(&recorded.got);
    let Linked { instance, got, .. } = instantiate(store, &recorded.path, &module, &needed, recorded.base, got)?;
    let host = store.data_mut();
    host.store.libraries.push(LibraryInstance { instance, got });
    let libraries = &mut host.libraries;
    libraries.by_path.insert(recorded.path.clone(), index);
    libraries.loaded.push(Library {
        path: recorded.path.clone(),
        key: recorded.key,
        bytes: recorded.bytes.as_deref().map(Arc::from),
        origin: recorded.origin.clone(),
        module,
        base: recorded.base,
        table_slots: recorded.table_slots,
        global_since: recorded.global_since.map(|since| since as usize),
        needed,
        got: recorded.got.clone(),
    });
    Ok(())
}

fn set_globals(
    store: &mut StoreContextMut<'_, Host>,
    instance: Instance,
    values: &[(String, Number)],
) -> Result<(), ImageError> {
    for (name, value) in values {
        let Some(global) = instance.get_global(&mut *store, name) else {
            return damaged(format!("global {name}"));
        };
        let value = match *value {
            Number::I32(value) => Val::I32(value),
            Number::I64(value) => Val::I64(value),
            Number::F32(bits) => Val::F32(bits),
            Number::F64(bits) => Val::F64(bits),
            Number::V128(value) => Val::V128(value.into()),
        };
        global.set(&mut *store, value)?;
    }
    Ok(())
}
