//! Instantiating a side module: what each of its imports becomes.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use wasmtime::{
    AsContextMut, Extern, ExternType, Func, FuncType, Global, GlobalType, Instance, Module, Mutability,
    StoreContextMut, Val, ValType,
};

use super::main_module::{got_global, trap_stub};
use super::symbols::{Symbol, address, resolve};
use crate::host::{Host, guest};

/// Where a side module lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LibraryBase {
    /// Address of its static data.
    pub(crate) memory_base: u32,
    /// First slot of its functions.
    pub(crate) table_base: u32,
}

/// What the entries of the global offset table hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Got<'a> {
    /// What their names resolve to now.
    Resolve,
    /// What they held when an image was captured, in the order of the imports.
    Recorded(&'a [u32]),
}

/// A side module's instance.
pub(crate) struct Linked {
    pub(crate) instance: Instance,
    /// The GOT globals, in the order of the imports.
    pub(crate) got: Vec<Global>,
    /// Entries that only the module itself can define: position in `got`, name.
    pub(crate) own: Vec<(usize, String)>,
}

/// Instantiates `module` at `base`. Runs its start function and nothing else of it.
///
/// # Errors
/// When it imports what no side module may, or does not fit the record.
pub(crate) fn instantiate(
    store: &mut StoreContextMut<'_, Host>,
    path: &str,
    module: &Module,
    needed: &[usize],
    base: LibraryBase,
    recorded: Got<'_>,
) -> wasmtime::Result<Linked> {
    let handles = guest(store)?;
    let mut imports = Vec::with_capacity(module.imports().len());
    let mut got: Vec<Global> = Vec::new();
    let mut own = Vec::new();
    let mut own_functions: Vec<(String, Arc<OnceLock<Func>>)> = Vec::new();
    for import in module.imports() {
        let name = import.name();
        let external = match (import.module(), import.ty()) {
            ("env", ExternType::Memory(_)) => Extern::Memory(handles.memory),
            ("env", ExternType::Table(_)) => Extern::Table(handles.table),
            ("env", ExternType::Tag(_)) if name == "__cpp_exception" => Extern::Tag(handles.cpp_exception),
            ("env", ExternType::Tag(_)) if name == "__c_longjmp" => Extern::Tag(handles.c_longjmp),
            ("env", ExternType::Global(_)) if name == "__stack_pointer" => Extern::Global(handles.stack_pointer),
            ("env", ExternType::Global(_)) if name == "__memory_base" => constant(store, base.memory_base)?,
            ("env", ExternType::Global(_)) if name == "__table_base" => constant(store, base.table_base)?,
            ("GOT.mem" | "GOT.func", ExternType::Global(_)) => {
                let value = match recorded {
                    Got::Recorded(values) => *values.get(got.len()).ok_or_else(|| misfit(path))?,
                    Got::Resolve => match resolve(store, name, needed) {
                        Some(symbol) => address(store, symbol)?,
                        None => {
                            own.push((got.len(), name.to_owned()));
                            0
                        }
                    },
                };
                got.push(got_global(&mut *store, value)?);
                Extern::Global(got[got.len() - 1])
            }
            (_, ExternType::Func(ty)) => match resolve(store, name, needed) {
                Some(Symbol::Func(func, _)) => Extern::Func(func),
                _ if module.get_export(name).is_some() => {
                    let target = Arc::new(OnceLock::new());
                    own_functions.push((name.to_owned(), target.clone()));
                    Extern::Func(forward(store, ty, target))
                }
                _ => Extern::Func(trap_stub(store.as_context_mut(), ty, name.to_owned())),
            },
            (from, _) => return Err(wasmtime::Error::msg(format!("{path}: unknown import `{from}.{name}`"))),
        };
        imports.push(external);
    }
    if let Got::Recorded(values) = recorded
        && values.len() != got.len()
    {
        return Err(misfit(path));
    }
    let instance = crate::threads::create(&mut *store, module, &imports)?;
    for (name, target) in own_functions {
        if let Some(func) = instance.get_func(&mut *store, &name) {
            let _ = target.set(func);
        }
    }
    Ok(Linked { instance, got, own })
}

fn misfit(path: &str) -> wasmtime::Error {
    wasmtime::Error::msg(format!("{path}: the image does not fit its module"))
}

fn constant(store: &mut StoreContextMut<'_, Host>, value: u32) -> wasmtime::Result<Extern> {
    let ty = GlobalType::new(ValType::I32, Mutability::Const);
    Ok(Extern::Global(Global::new(&mut *store, ty, Val::I32(value as i32))?))
}

/// A function that calls `target`, which is known only after instantiation (C++ functions a module both imports and exports).
fn forward(store: &mut StoreContextMut<'_, Host>, ty: FuncType, target: Arc<OnceLock<Func>>) -> Func {
    let linked = move || {
        target.get().copied().ok_or_else(|| wasmtime::Error::msg("a function was called before its module was linked"))
    };
    if store.data().store.thread.is_some() {
        return Func::new_async(store.as_context_mut(), ty, move |mut caller, arguments, results| {
            let func = linked();
            Box::new(async move { func?.call_async(&mut caller, arguments, results).await })
        });
    }
    Func::new(store.as_context_mut(), ty, move |mut caller, arguments, results| {
        linked()?.call(&mut caller, arguments, results)
    })
}
