//! Instantiating the main module: every import gets a host function or a stub that traps with its name.

use wasmtime::{
    AsContextMut, Extern, ExternType, Func, FuncType, Global, GlobalType, Instance, Linker, Module, Mutability, Store,
    Val, ValType,
};

use crate::host::{Guest, Host};

/// A function of type `ty` that fails with `name` when it is called.
pub(crate) fn trap_stub(store: impl AsContextMut<Data = Host>, ty: FuncType, name: String) -> Func {
    Func::new(store, ty, move |_, _, _| {
        Err(wasmtime::Error::msg(format!("the function `{name}` does not exist in this sandbox")))
    })
}

/// A GOT entry: a mutable i32 global.
///
/// # Errors
/// Never for a fresh store.
pub(crate) fn got_global(store: impl AsContextMut<Data = Host>, value: u32) -> wasmtime::Result<Global> {
    Global::new(store, GlobalType::new(ValType::I32, Mutability::Var), Val::I32(value as i32))
}

/// Instantiates Pyodide's main module and records its handles in the store.
///
/// # Errors
/// When `module` is not the expected one.
pub(crate) fn instantiate_main(
    store: &mut Store<Host>,
    linker: &Linker<Host>,
    module: &Module,
) -> wasmtime::Result<Instance> {
    let mut imports = Vec::with_capacity(module.imports().len());
    for import in module.imports() {
        let external = match import.ty() {
            ExternType::Func(ty) => match linker.get(&mut *store, import.module(), import.name()) {
                Ok(Extern::Func(func)) => {
                    store.data_mut().store.functions.entry(import.name().to_owned()).or_insert(func);
                    Extern::Func(func)
                }
                _ => Extern::Func(trap_stub(&mut *store, ty, import.name().to_owned())),
            },
            // The 280 GOT.func imports name functions of JavaScript libraries: null.
            ExternType::Global(_) => Extern::Global(got_global(&mut *store, 0)?),
            _ => return Err(wasmtime::Error::msg(format!("unexpected import `{}`", import.name()))),
        };
        imports.push(external);
    }
    // Names that only side modules ask for.
    let others: Vec<_> = linker.iter(&mut *store).map(|(_, name, external)| (name.to_owned(), external)).collect();
    for (name, external) in others {
        if let Extern::Func(func) = external {
            store.data_mut().store.functions.entry(name).or_insert(func);
        }
    }
    let instance = crate::threads::create(&mut *store, module, &imports)?;
    let guest = Guest::new(&mut *store, instance)?;
    store.data_mut().store.guest = Some(guest);
    Ok(instance)
}
