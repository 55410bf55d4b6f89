//! Growing the heap, and file mappings.

use wasmtime::{AsContextMut, Caller, Linker, StoreContextMut};

use super::mmap;
use crate::host::{Host, guest, split, split_store};
use crate::threads::{self, waiting};
use brumate_abi::errno::Errno;

/// WebAssembly page, bytes.
const PAGE: u64 = 1 << 16;

/// The heap grows by at least this many bytes, so that small requests do not grow it one by one.
const MIN_GROWTH: u64 = 1 << 20;

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    linker.func_wrap("env", "emscripten_get_heap_max", |caller: Caller<'_, Host>| -> u32 {
        u32::try_from(caller.data().account.memory_limit()).unwrap_or(0xFFFF_0000)
    })?;
    linker.func_wrap("env", "emscripten_resize_heap", |mut caller: Caller<'_, Host>, bytes: u32| -> u32 {
        u32::from(grow(&mut caller, u64::from(bytes)))
    })?;
    waiting!(
        linker,
        threads,
        "env",
        "_mmap_js",
        map,
        (length: u32, protection: i32, flags: i32, fd: i32, offset: i64, out_allocated: u32, out_address: u32)
    );
    linker.func_wrap(
        "env",
        "_munmap_js",
        |mut caller: Caller<'_, Host>, address: u32, length: u32, _: i32, _: i32, _: i32, _: i64| {
            let (mut memory, host) = split(&mut caller);
            mmap::munmap(&mut host.vfs, &mut memory, address, length)
        },
    )?;
    linker.func_wrap(
        "env",
        "_msync_js",
        |mut caller: Caller<'_, Host>, address: u32, length: u32, _: i32, _: i32, _: i32, _: i64| {
            let (mut memory, host) = split(&mut caller);
            mmap::msync(&mut host.vfs, &mut memory, address, length)
        },
    )?;
    Ok(())
}

/// Grows the memory to at least `bytes`. Returns `false` if the limit forbids it (Python then raises `MemoryError`).
fn grow(caller: &mut Caller<'_, Host>, bytes: u64) -> bool {
    let Ok(handles) = guest(&caller.as_context_mut()) else { return false };
    let limit = caller.data().account.memory_limit();
    let current = handles.memory.data_size(&*caller) as u64;
    if bytes <= current {
        return true;
    }
    if bytes > limit {
        caller.data_mut().account.refused = true;
        return false;
    }
    let wanted = bytes.max(current + MIN_GROWTH).min(limit).max(bytes);
    let pages = wanted.div_ceil(PAGE) - current / PAGE;
    if handles.memory.grow(&mut *caller, pages).is_ok() {
        return true;
    }
    let pages = bytes.div_ceil(PAGE) - current / PAGE;
    handles.memory.grow(&mut *caller, pages).is_ok()
}

/// `_mmap_js`: file mappings are copies, written back by `msync` and `munmap`.
#[allow(clippy::too_many_arguments, reason = "the import's signature")]
async fn map(
    store: &mut StoreContextMut<'_, Host>,
    length: u32,
    protection: i32,
    flags: i32,
    fd: i32,
    offset: i64,
    out_allocated: u32,
    out_address: u32,
) -> wasmtime::Result<i32> {
    let prepared = match mmap::mmap_prepare(&mut store.data_mut().vfs, length, protection, flags, fd, offset) {
        Ok(prepared) => prepared,
        Err(errno) => return Ok(errno.as_syscall()),
    };
    let allocated = threads::on_main(store, move |store| {
        let memalign = guest(store)?.memalign;
        memalign.call(store, (PAGE as u32, length))
    });
    let address = allocated.await?;
    let (mut memory, host) = split_store(store);
    if address == 0 {
        mmap::mmap_cancel(&mut host.vfs, prepared);
        return Ok(Errno::ENOMEM.as_syscall());
    }
    match mmap::mmap_fill(&mut host.vfs, &mut memory, prepared, address, out_allocated, out_address) {
        Ok(()) => Ok(0),
        Err(errno) => {
            let freed = threads::on_main(store, move |store| {
                let free = guest(store)?.free;
                free.call(store, address).map(|()| 0)
            });
            freed.await?;
            Ok(errno.as_syscall())
        }
    }
}
