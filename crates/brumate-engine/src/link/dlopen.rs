//! `dlopen` and `dlsym` at run time.

use std::sync::Arc;

use wasmtime::{AsContextMut, Module, Ref, StoreContextMut, Val};

use super::instantiate::{Got, LibraryBase, Linked, instantiate};
use super::needed::{canonical, find_needed};
use super::symbols::{address, index_table, of_new, of_scope, resolve};
use super::{Libraries, Library, LibraryInstance, MAX_LIBRARIES, MAX_SYMBOL};
use crate::bundle;
use crate::code::compile::{self, MAX_MODULE};
use crate::code::{Compiled, ModuleQuery};
use crate::files::layers;
use crate::host::{GuestExit, Host, guest, split_store};
use crate::wire::{ModuleKey, Origin};
use brumate_module::dylink::{self, Dylink};

/// `RTLD_GLOBAL` of Emscripten's `dlfcn.h`.
const RTLD_GLOBAL: u32 = 0x100;

/// Libraries needed by libraries needed by …: how deep.
const MAX_NEEDED_DEPTH: usize = 16;

/// Largest static data of one side module, in bytes.
const MAX_LIBRARY_MEMORY: u32 = 512 << 20;

/// Largest alignment of static data, in bytes.
const MAX_ALIGNMENT: u32 = 1 << 20;

/// Largest function table of one side module, in elements.
const MAX_LIBRARY_TABLE: u32 = 1 << 19;

/// Fields of Emscripten's `struct dso`.
mod dso {
    pub(super) const FLAGS: u32 = 4;
    pub(super) const FILE_DATA: u32 = 28;
    pub(super) const FILE_DATA_SIZE: u32 = 32;
    pub(super) const NAME: u32 = 36;
}

/// Why a library did not load.
pub(super) enum DlError {
    /// Told to the guest through `dlerror`.
    Message(String),
    /// Ends the guest.
    Fatal(wasmtime::Error),
}

impl From<wasmtime::Error> for DlError {
    /// What the guest ended on purpose ends it; all else (a trap in a constructor, a link error) is a message.
    fn from(error: wasmtime::Error) -> DlError {
        if error.downcast_ref::<GuestExit>().is_some() {
            DlError::Fatal(error)
        } else {
            DlError::Message(format!("{error:#}"))
        }
    }
}

impl From<brumate_abi::errno::Errno> for DlError {
    fn from(_: brumate_abi::errno::Errno) -> DlError {
        DlError::Message("bad address".to_owned())
    }
}

pub(super) fn message<T>(text: impl Into<String>) -> Result<T, DlError> {
    Err(DlError::Message(text.into()))
}

/// The import `_dlopen_js`: loads the library that libc has read into guest memory. 1 on success, else 0 with `dlerror` set.
///
/// # Errors
/// When the guest ended while the library's constructors ran.
pub(crate) fn dlopen(store: &mut StoreContextMut<'_, Host>, handle: u32) -> wasmtime::Result<u32> {
    let stack_pointer = guest(store)?.stack_pointer;
    let saved = stack_pointer.get(&mut *store);
    match open_handle(store, handle) {
        Ok(index) => {
            let libraries = &mut store.data_mut().libraries;
            libraries.by_handle.insert(handle, index);
            libraries.opened += 1;
            Ok(1)
        }
        Err(DlError::Message(text)) => {
            // A constructor that trapped left the C stack where it was.
            stack_pointer.set(&mut *store, saved)?;
            set_error(store, &text)?;
            Ok(0)
        }
        Err(DlError::Fatal(error)) => Err(error),
    }
}

/// The import `_dlsym_js`: the address of `name` in the library of `handle` (0: the main module and global libraries).
///
/// # Errors
/// When the function table cannot grow.
pub(crate) fn dlsym(store: &mut StoreContextMut<'_, Host>, handle: u32, name: u32) -> wasmtime::Result<u32> {
    let name = {
        let (memory, _) = split_store(store);
        match memory.c_str(name, MAX_SYMBOL) {
            Ok(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Err(_) => String::new(),
        }
    };
    let library = store.data().libraries.by_handle.get(&handle).copied();
    let found = match library {
        Some(index) => of_scope(store, &[index], &name),
        None => resolve(store, &name, &[]),
    };
    match found {
        Some(symbol) => address(store, symbol),
        None => {
            set_error(store, &format!("undefined symbol: {name}"))?;
            Ok(0)
        }
    }
}

/// Sets what `dlerror` returns. `__dl_seterr` takes a printf format.
fn set_error(store: &mut StoreContextMut<'_, Host>, text: &str) -> wasmtime::Result<()> {
    const MAX_ERROR: usize = 1000;
    let mut format: String = text.chars().take(MAX_ERROR).collect::<String>().replace('%', "%%").replace('\0', "");
    format.push('\0');
    let handles = guest(store)?;
    let buffer = handles.malloc.call(&mut *store, format.len() as u32)?;
    if buffer != 0 {
        handles.memory.write(store.as_context_mut(), buffer as usize, format.as_bytes())?;
        handles.dl_seterr.call(&mut *store, (buffer, 0))?;
        handles.free.call(&mut *store, buffer)?;
    }
    Ok(())
}

fn open_handle(store: &mut StoreContextMut<'_, Host>, handle: u32) -> Result<usize, DlError> {
    let (path, bytes, flags, file_data) = {
        let (mut memory, host) = split_store(store);
        let flags = memory.read_u32(handle.wrapping_add(dso::FLAGS))?;
        let file_data = memory.read_u32(handle.wrapping_add(dso::FILE_DATA))?;
        let size = memory.read_u32(handle.wrapping_add(dso::FILE_DATA_SIZE))?;
        let name = memory.c_str(handle.wrapping_add(dso::NAME), MAX_SYMBOL)?.to_vec();
        let cwd = host.vfs.getcwd()?;
        let path = canonical(&String::from_utf8_lossy(&cwd), &String::from_utf8_lossy(&name));
        if size as usize > MAX_MODULE {
            return message(format!("it has {size} bytes; a module may have {MAX_MODULE}"));
        }
        let bytes = if file_data == 0 { Vec::new() } else { memory.slice(file_data, size)?.to_vec() };
        // libc asks also when it could not read the file.
        let is_known = host.libraries.by_path.contains_key(&path);
        if bytes.is_empty() && !is_known && host.vfs.stat(path.as_bytes()).is_err() {
            let name = String::from_utf8_lossy(&name);
            return message(format!("{name}: cannot open shared object file: No such file or directory"));
        }
        memory.write_u32(handle.wrapping_add(dso::FILE_DATA), 0)?;
        memory.write_u32(handle.wrapping_add(dso::FILE_DATA_SIZE), 0)?;
        (path, bytes, flags, file_data)
    };
    if file_data != 0 {
        // libc keeps the file for its own threads for ever; the host's follow without it.
        guest(store)?.free.call(&mut *store, file_data)?;
    }
    load(store, &path, &bytes, flags & RTLD_GLOBAL != 0, 0)
}

/// Loads the library `path`, whose content is `bytes`; a library that is loaded already is returned as it is.
fn load(
    store: &mut StoreContextMut<'_, Host>,
    path: &str,
    bytes: &[u8],
    global: bool,
    depth: usize,
) -> Result<usize, DlError> {
    if let Some(&index) = store.data().libraries.by_path.get(path) {
        if global {
            share(&mut store.data_mut().libraries, index);
        }
        return Ok(index);
    }
    if store.data().libraries.loaded.len() >= MAX_LIBRARIES {
        return message(format!("{path}: too many libraries (limit {MAX_LIBRARIES})"));
    }
    if depth > MAX_NEEDED_DEPTH {
        return message(format!("{path}: libraries need each other too deeply"));
    }
    let info = dylink::parse(bytes).or_else(|error| message(format!("{path}: {error}")))?;
    let mut needed = Vec::new();
    for name in &info.needed {
        let (library, content) = find_needed(store, path, name, &info)?;
        needed.push(load(store, &library, &content, global, depth + 1)?);
    }
    let length = bytes.len() as u64;
    if !store.data_mut().account.hold(length) {
        return message(format!("{path}: out of memory"));
    }
    let mut kept = false;
    let loaded = compiled(store, path, bytes).and_then(|content| {
        kept = content.bytes.is_some();
        link(store, path, content, &info, needed, global)
    });
    if loaded.is_err() || !kept {
        store.data_mut().account.release(length);
    }
    loaded
}

/// A library's machine code. Where it is the guest's own it counts from now on: a store keeps what was instantiated in it, also when loading
/// fails afterwards.
fn compiled(store: &mut StoreContextMut<'_, Host>, path: &str, bytes: &[u8]) -> Result<Content, DlError> {
    let engine = store.engine().clone();
    let key = compile::key(bytes);
    let origin = layers::origin(&store.data().vfs, path);
    let host = store.data_mut();
    let memory = host.account.left();
    let query = ModuleQuery { key, origin: origin.as_ref(), bytes, memory };
    let compiled = host.modules.module(&engine, query);
    let Compiled { module, own_bytes } = compiled.or_else(|error| message(format!("{path}: {error}")))?;
    if !host.account.hold(own_bytes) {
        return message(format!("{path}: out of memory: its machine code takes {own_bytes} bytes"));
    }
    // The file is the layer's, unless libc has read another one of that name.
    let origin = origin.filter(|origin| layers::read(&host.vfs, origin).is_ok_and(|content| content == bytes));
    // What the guest brought is nowhere else once its file is gone.
    let bytes = (origin.is_none() && bundle::native_module(&key).is_none()).then(|| Arc::from(bytes));
    Ok(Content { module, key, bytes, origin })
}

/// Makes a library that is loaded, and what it needs, visible to all that are loaded from now on.
fn share(libraries: &mut Libraries, index: usize) {
    let count = libraries.loaded.len();
    let mut open = vec![index];
    while let Some(index) = open.pop() {
        let Some(library) = libraries.loaded.get_mut(index) else { continue };
        if library.global_since.is_none() {
            library.global_since = Some(count);
            open.extend(&library.needed);
        }
    }
}

/// A compiled side module, and where its bytes are to be had again.
struct Content {
    module: Module,
    key: ModuleKey,
    bytes: Option<Arc<[u8]>>,
    origin: Option<Origin>,
}

/// Gives a compiled side module its base, instantiates it, and makes it known.
fn link(
    store: &mut StoreContextMut<'_, Host>,
    path: &str,
    content: Content,
    info: &Dylink,
    needed: Vec<usize>,
    global: bool,
) -> Result<usize, DlError> {
    let Content { module, key, bytes, origin } = content;
    let weak = info.weak_imports();
    let memory_base = allocate(store, path, info)?;
    let table_slots = info.memory.table_slots;
    let table_base = if table_slots == 0 {
        0
    } else if table_slots > MAX_LIBRARY_TABLE {
        return message(format!("{path}: its function table is too large"));
    } else {
        guest(store)?.table.grow(&mut *store, u64::from(table_slots), Ref::Func(None))? as u32
    };
    let base = LibraryBase { memory_base, table_base };
    let Linked { instance, got, own } = instantiate(store, path, &module, &needed, base, Got::Resolve)?;
    // The module's own functions get their identity from its table range before anything asks for a slot.
    if table_slots > 0 {
        index_table(store, u64::from(table_base))?;
    }
    for (position, name) in own {
        let value = match of_new(store, instance, memory_base, &name) {
            Some(symbol) => address(store, symbol)?,
            None if weak.contains(name.as_str()) => continue,
            None => return message(format!("{path}: undefined symbol: {name}")),
        };
        got[position].set(&mut *store, Val::I32(value as i32))?;
    }
    for export in ["__wasm_apply_data_relocs", "__wasm_call_ctors"] {
        if let Some(func) = instance.get_func(&mut *store, export) {
            func.typed::<(), ()>(&*store)?.call(&mut *store, ())?;
        }
    }
    let values = got.iter().map(|global| global.get(&mut *store).i32().unwrap_or(0) as u32).collect();
    let host = store.data_mut();
    host.store.libraries.push(LibraryInstance { instance, got });
    let libraries = &mut host.libraries;
    let index = libraries.loaded.len();
    libraries.by_path.insert(path.to_owned(), index);
    let global_since = global.then_some(index + 1);
    let path = path.to_owned();
    libraries.loaded.push(Library {
        path,
        key,
        bytes,
        origin,
        module,
        base,
        table_slots,
        global_since,
        needed,
        got: values,
    });
    Ok(index)
}

/// Static data of a side module: zeroed and aligned.
fn allocate(store: &mut StoreContextMut<'_, Host>, path: &str, info: &Dylink) -> Result<u32, DlError> {
    if info.memory.memory_bytes == 0 {
        return Ok(0);
    }
    if info.memory.memory_bytes > MAX_LIBRARY_MEMORY || info.memory.memory_align > MAX_ALIGNMENT {
        return message(format!("{path}: its static data are too large"));
    }
    let align = info.memory.memory_align;
    let size = info.memory.memory_bytes + align;
    let handles = guest(store)?;
    let block = handles.malloc.call(&mut *store, size)?;
    if block == 0 {
        return message(format!("{path}: out of memory"));
    }
    split_store(store).0.slice_mut(block, size)?.fill(0);
    Ok((block + align - 1) & !(align - 1))
}
