//! The instance of the call trampoline ([`trampoline_module`](crate::code::trampoline::trampoline_module)).

use wasmtime::{AsContextMut, Extern, Func, StoreContextMut};

use super::{Function, function_slot};
use crate::code::trampoline::EXPORT;
use crate::host::{Host, guest};

/// The instantiated helper.
#[derive(Clone, Copy)]
pub(crate) struct Helper {
    func: Func,
}

impl Helper {
    /// Instantiates the helper.
    ///
    /// # Errors
    /// When `module` is not the helper.
    pub(crate) fn new(store: &mut StoreContextMut<'_, Host>, module: &wasmtime::Module) -> wasmtime::Result<Helper> {
        let handles = guest(store)?;
        let imports: Vec<Extern> = module
            .imports()
            .map(|import| match import.name() {
                "memory" => Extern::Memory(handles.memory),
                _ => Extern::Table(handles.table),
            })
            .collect();
        let helper = crate::threads::create(&mut *store, module, &imports)?;
        let func = helper.get_func(&mut *store, EXPORT);
        Ok(Helper { func: func.ok_or_else(|| wasmtime::Error::msg("the trampoline helper exports nothing"))? })
    }

    /// Its function.
    pub(crate) fn func(self) -> Func {
        self.func
    }

    /// Gives it a slot of the table and tells CPython which.
    ///
    /// # Errors
    /// When the main module lacks the trampoline's exports.
    pub(crate) fn install(self, store: &mut StoreContextMut<'_, Host>) -> wasmtime::Result<()> {
        let handles = guest(store)?;
        let slot = function_slot(store, self.func, &Function::Helper)?;
        let mut constant = |name: &str| {
            handles
                .instance
                .get_global(&mut *store, name)
                .and_then(|global| global.get(&mut *store).i32())
                .map(|value| value as u32)
                .ok_or_else(|| wasmtime::Error::msg(format!("the main module has no export `{name}`")))
        };
        let runtime = constant("_PyRuntime")?;
        let offset_address = constant("_PyEM_EMSCRIPTEN_TRAMPOLINE_OFFSET")?;
        let mut word = [0; 4];
        handles.memory.read(&*store, offset_address as usize, &mut word)?;
        let address = runtime.wrapping_add(u32::from_le_bytes(word));
        handles.memory.write(store.as_context_mut(), address as usize, &slot.to_le_bytes())?;
        Ok(())
    }
}
