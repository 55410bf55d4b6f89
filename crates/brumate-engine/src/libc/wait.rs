//! `poll`: the only place where a guest waits for descriptors. `select`, `selectors` and asyncio all use it.

use std::time::{Duration, Instant};

use wasmtime::{Linker, StoreContextMut};

use super::poll::poll_ready;
use crate::host::{Host, split_store};
use crate::threads::{Wait, Woken, wait, waiting};
use brumate_abi::errno::Errno;
use brumate_module::patch::threads::ERRNO;

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    waiting!(linker, threads, "env", "__syscall_poll", poll, (fds: u32, count: u32, timeout: i32));
    Ok(())
}

async fn poll(store: &mut StoreContextMut<'_, Host>, fds: u32, count: u32, timeout: i32) -> wasmtime::Result<i32> {
    let (mut memory, host) = split_store(store);
    let ready = poll_ready(&mut host.vfs, &mut memory, fds, count);
    if ready != 0 || timeout == 0 {
        return Ok(ready);
    }
    let deadline = u64::try_from(timeout).ok().map(|timeout| Instant::now() + Duration::from_millis(timeout));
    Ok(match wait(store, Wait::Descriptors(fds, count), deadline).await? {
        Woken::Ready => {
            let (mut memory, host) = split_store(store);
            poll_ready(&mut host.vfs, &mut memory, fds, count)
        }
        Woken::Timeout => 0,
        Woken::Interrupted => {
            // `select` of the interpreter's C library hands the result on without this, and Python looks for `EINTR` there.
            split_store(store).0.write_i32(ERRNO, i32::from(Errno::EINTR.raw()))?;
            Errno::EINTR.as_syscall()
        }
    })
}
