//! The store of a thread.

use std::sync::Arc;

use brumate_module::patch::threads::{ATTACHED_STATE, STACK_BASE, STACK_END};
use wasmtime::{
    AsContextMut, Engine, Extern, Func, Instance, Linker, Module, Ref, Store, StoreContextMut, TypedFunc, Val,
};

use super::schedule::pause;
use super::{C_STACK, MAX_THREADS, Thread, Threads, Work, ready};
use crate::engine::shared_memory::joined;
use crate::host::{Host, guest};
use crate::link::{self, Got, Helper, LibraryInstance};
use crate::signals::slice;

/// Store of a thread, which is used again by later threads.
pub(super) struct ThreadStore {
    store: Store<Host>,
    instance: Instance,
}

/// Makes an instance in the store of any thread.
///
/// # Errors
/// The errors of `Instance::new`.
pub(crate) fn create(
    store: impl AsContextMut<Data = Host>,
    module: &Module,
    imports: &[Extern],
) -> wasmtime::Result<Instance> {
    if store.as_context().data().store.thread.is_none() {
        return Instance::new(store, module, imports);
    }
    ready(Instance::new_async(store, module, imports))
}

/// Calls a function of the guest from a host function that any thread may have called.
///
/// # Errors
/// The callee's.
pub(crate) async fn call(
    store: &mut StoreContextMut<'_, Host>,
    func: Func,
    arguments: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    match store.data().store.thread {
        None => func.call(&mut *store, arguments, results),
        Some(_) => func.call_async(&mut *store, arguments, results).await,
    }
}

/// Has the main thread do something that changes its store, while the thread that runs stands still.
///
/// # Errors
/// The errors of `work`.
pub(crate) async fn on_main(
    store: &mut StoreContextMut<'_, Host>,
    work: impl FnOnce(&mut StoreContextMut<'_, Host>) -> wasmtime::Result<u32> + Send + 'static,
) -> wasmtime::Result<u32> {
    if store.data().store.thread.is_none() {
        return work(store);
    }
    let work: Work = Box::new(work);
    store.data_mut().threads.work = Some(work);
    pause(store).await?;
    let done = store.data_mut().threads.done.take();
    done.unwrap_or_else(|| Err(wasmtime::Error::msg("the main thread has not done its work")))
}

/// Has the store see how large the memory is.
pub(super) fn refresh(store: &mut StoreContextMut<'_, Host>) -> wasmtime::Result<()> {
    if let Some(memory) = store.data().store.guest.as_ref().map(|guest| guest.memory) {
        memory.grow(&mut *store, 0)?;
    }
    Ok(())
}

impl Threads {
    /// Makes the host functions for the stores of threads. The forks of this process have them.
    ///
    /// # Errors
    /// Never: each name is defined once.
    pub(crate) fn prepare(&mut self, engine: &Engine) -> wasmtime::Result<Arc<Linker<Host>>> {
        if let Some(linker) = &self.linker {
            return Ok(linker.clone());
        }
        let linker = Arc::new(crate::libc::linker(engine, true)?);
        self.linker = Some(linker.clone());
        Ok(linker)
    }
}

/// Starts a thread that calls `function` with `argument`. Returns its identity, or 0 when there is no room for it. In the main thread.
///
/// # Errors
/// When the guest's modules do not fit.
pub(super) fn start(store: &mut StoreContextMut<'_, Host>, function: u32, argument: u32) -> wasmtime::Result<u32> {
    if store.data().threads.alive.len() >= MAX_THREADS {
        return Ok(0);
    }
    let spare = match store.data_mut().threads.spare.pop() {
        Some(spare) => spare,
        None => make(store)?,
    };
    let stack = guest(store)?.malloc.call(&mut *store, C_STACK)?;
    let threads = &mut store.data_mut().threads;
    if stack == 0 {
        threads.spare.push(spare);
        return Ok(0);
    }
    let handover = threads.handover.clone();
    let future = Box::pin(async move {
        let mut thread = spare;
        handover.exchange(thread.store.data_mut());
        let result = run(&mut thread, stack, function, argument).await;
        handover.give(thread.store.data_mut());
        (thread, result)
    });
    threads.alive.push(Thread::new(stack, future));
    let memory = guest(store)?.memory;
    slice::set_memory(memory.data_ptr(&*store), memory.data_size(&*store), ATTACHED_STATE);
    slice::start();
    Ok(stack)
}

/// Makes a store that joins the guest's memory.
fn make(store: &mut StoreContextMut<'_, Host>) -> wasmtime::Result<ThreadStore> {
    let engine = store.engine().clone();
    let threads = &mut store.data_mut().threads;
    let (main, trampoline) = threads.modules.clone().ok_or_else(no_threads)?;
    let region = threads.region.clone().ok_or_else(no_threads)?;
    let linker = threads.prepare(&engine)?;
    let handover = threads.handover.clone();
    if handover.host.lock().is_none() {
        *handover.host.lock() = Some(Box::new(Host::placeholder(None)?));
    }
    let mut new = Store::new(&engine, Host::placeholder(Some(0))?);
    new.limiter(|host| &mut host.account);
    let memory = |store: &Store<Host>| store.data().store.guest.as_ref().map(|guest| guest.memory);
    let instance = joined(&mut new, &region, memory, |store| link::instantiate_main(store, &linker, &main))?;
    let helper = Helper::new(&mut new.as_context_mut(), &trampoline)?;
    new.data_mut().store.helper = Some(helper);
    Ok(ThreadStore { store: new, instance })
}

/// Runs a thread's function.
async fn run(thread: &mut ThreadStore, stack: u32, function: u32, argument: u32) -> wasmtime::Result<()> {
    let ThreadStore { store, instance } = thread;
    store.data_mut().store.thread = Some(stack);
    refresh(&mut store.as_context_mut())?;
    follow(&mut store.as_context_mut())?;
    let handles = guest(&store.as_context_mut())?;
    let top = (stack + C_STACK) & !15;
    handles.stack_pointer.set(&mut *store, Val::I32(top as i32))?;
    for (name, value) in [(STACK_BASE, top), (STACK_END, stack)] {
        let global = instance.get_global(&mut *store, name);
        let global = global.ok_or_else(|| wasmtime::Error::msg(format!("the main module has no export `{name}`")))?;
        global.set(&mut *store, Val::I32(value as i32))?;
    }
    let Some(Ref::Func(Some(entry))) = handles.table.get(&mut *store, u64::from(function)) else {
        return Err(wasmtime::Error::msg("a thread's function is not one"));
    };
    let entry: TypedFunc<u32, ()> = entry.typed(&*store)?;
    entry.call_async(&mut *store, argument).await
}

/// Follows what the main thread has linked since the store has run last.
pub(super) fn follow(store: &mut StoreContextMut<'_, Host>) -> wasmtime::Result<()> {
    let handles = guest(store)?;
    let slots = handles.table.size(&*store);
    let wanted = store.data().libraries.table_slots;
    if wanted > slots {
        handles.table.grow(&mut *store, wanted - slots, Ref::Func(None))?;
    }
    if store.data().store.libraries.len() < store.data().libraries.loaded.len() {
        let region = store.data().threads.region.clone().ok_or_else(no_threads)?;
        let memory = |store: &StoreContextMut<'_, Host>| store.data().store.guest.as_ref().map(|guest| guest.memory);
        joined(&mut *store, &region, memory, |store| load_libraries(store))?;
    }
    while let Some((slot, function)) = {
        let host = store.data();
        host.libraries.appended.get(host.store.appended).cloned()
    } {
        let func = link::find(store, &function);
        let func = func.ok_or_else(|| wasmtime::Error::msg(format!("there is no function {function:?}")))?;
        handles.table.set(&mut *store, u64::from(slot), Ref::Func(Some(func)))?;
        store.data_mut().store.appended += 1;
    }
    crate::libc::ffi::follow_closures(store)
}

/// Makes instances of the libraries that the main thread has loaded.
fn load_libraries(store: &mut StoreContextMut<'_, Host>) -> wasmtime::Result<()> {
    while let Some(library) = {
        let host = store.data();
        host.libraries.loaded.get(host.store.libraries.len())
    } {
        let (path, module, base) = (library.path.clone(), library.module.clone(), library.base);
        let (needed, got) = (library.needed.clone(), library.got.clone());
        let linked = link::instantiate(store, &path, &module, &needed, base, Got::Recorded(&got))?;
        store.data_mut().store.libraries.push(LibraryInstance { instance: linked.instance, got: linked.got });
    }
    Ok(())
}

fn no_threads() -> wasmtime::Error {
    wasmtime::Error::msg("this interpreter cannot start threads")
}
