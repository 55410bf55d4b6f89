//! The imports of CPython's threads, see [`brumate_module::patch::threads`].

use std::time::{Duration, Instant};

use brumate_module::patch::threads::{MODULE, SEMAPHORE_WAIT, THREAD_START, THREAD_YIELD};
use wasmtime::{Linker, StoreContextMut};

use super::store::start;
use super::{Wait, Woken, on_main, wait};
use crate::host::{Host, split_store};
use crate::signals::slice;

/// Defines a host function that may wait or call the guest. `$function` is asynchronous and takes the store's context first. In the main thread's
/// store it never returns `Pending`.
macro_rules! waiting {
    ($linker:expr, $threads:expr, $module:expr, $name:expr, $function:expr, ($($argument:ident: $type:ty),*)) => {
        if $threads {
            $linker.func_wrap_async(
                $module,
                $name,
                |mut caller: wasmtime::Caller<'_, crate::host::Host>, ($($argument,)*): ($($type,)*)| {
                    Box::new(async move {
                        let mut store = wasmtime::AsContextMut::as_context_mut(&mut caller);
                        ($function)(&mut store, $($argument),*).await
                    })
                },
            )?;
        } else {
            $linker.func_wrap(
                $module,
                $name,
                |mut caller: wasmtime::Caller<'_, crate::host::Host>, $($argument: $type),*| {
                    let mut store = wasmtime::AsContextMut::as_context_mut(&mut caller);
                    crate::threads::ready(($function)(&mut store, $($argument),*))
                },
            )?;
        }
    };
}
pub(crate) use waiting;

/// Defines the imports, for the main thread's store or for those of other threads.
///
/// # Errors
/// Never: each name is defined once.
pub(crate) fn define(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    waiting!(linker, threads, MODULE, SEMAPHORE_WAIT, semaphore_wait, (address: u32, low: u32, high: i32));
    waiting!(linker, threads, MODULE, THREAD_START, thread_start, (function: u32, argument: u32, result: u32));
    waiting!(linker, threads, MODULE, THREAD_YIELD, thread_yield, (zero: i32));
    Ok(())
}

/// Waits for a semaphore or a lock.
async fn semaphore_wait(
    store: &mut StoreContextMut<'_, Host>,
    address: u32,
    low: u32,
    high: i32,
) -> wasmtime::Result<i32> {
    let nanoseconds = (i64::from(high) << 32) | i64::from(low);
    let time = u64::try_from(nanoseconds).ok().map(Duration::from_nanos);
    let deadline = time.and_then(|time| Instant::now().checked_add(time));
    Ok(match wait(store, Wait::Word(address), deadline).await? {
        Woken::Ready => 0,
        Woken::Timeout => -2,
        Woken::Interrupted => -3,
    })
}

/// Starts a thread.
async fn thread_start(
    store: &mut StoreContextMut<'_, Host>,
    function: u32,
    argument: u32,
    result: u32,
) -> wasmtime::Result<()> {
    let ident = on_main(store, move |store| start(store, function, argument));
    let ident = ident.await?;
    let _ = split_store(store).0.write_u32(result, ident);
    Ok(())
}

/// Lets other threads run if the slice is over, and waits until no other thread has the lock of the interpreter.
async fn thread_yield(store: &mut StoreContextMut<'_, Host>, _: i32) -> wasmtime::Result<()> {
    if store.data().threads.count() == 0 {
        return Ok(());
    }
    if slice::take_over() {
        wait(store, Wait::Turn, None).await?;
    }
    wait(store, Wait::Interpreter, None).await?;
    Ok(())
}
