//! `poll`: the only place where a guest waits for descriptors. `select`, `selectors` and asyncio all use it.

use std::time::{Duration, Instant};

use wasmtime::{Caller, Linker};

use super::poll::{host_fds, poll_ready};
use crate::caps::clock;
use crate::host::{Host, split};
use brumate_abi::errno::Errno;

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap(
        "env",
        "__syscall_poll",
        |mut caller: Caller<'_, Host>, fds: u32, count: u32, timeout: i32| -> i32 {
            let deadline = u64::try_from(timeout).ok().map(|timeout| Instant::now() + Duration::from_millis(timeout));
            loop {
                let (mut memory, host) = split(&mut caller);
                let ready = poll_ready(&mut host.vfs, &mut memory, fds, count);
                if ready != 0 || timeout == 0 {
                    return ready;
                }
                let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                if rest.is_some_and(|rest| rest.is_zero()) {
                    return 0;
                }
                let mut host_fds = host_fds(&mut host.vfs, &mut memory, fds, count);
                if clock::wait(&mut host_fds, rest) {
                    return Errno::EINTR.as_syscall();
                }
            }
        },
    )?;
    Ok(())
}
