//! Process: exit, environment, randomness, signals inside the guest.

use std::time::Duration;

use wasmtime::{Caller, Linker, Ref, StoreContextMut, Val};

use crate::host::{GuestExit, Host, guest, split};
use crate::threads::waiting;
use brumate_abi::errno::Errno;

/// Largest request of `random_get`, in bytes (`getentropy` requests 256 at most).
const MAX_RANDOM: u32 = 1 << 20;

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    waiting!(linker, threads, "env", "exit", exit, (status: i32));
    linker.func_wrap("wasi_snapshot_preview1", "proc_exit", |status: i32| -> wasmtime::Result<()> {
        Err(GuestExit::Exit(status).into())
    })?;
    linker.func_wrap("env", "_abort_js", || -> wasmtime::Result<()> { Err(GuestExit::Abort.into()) })?;
    linker.func_wrap("env", "__assert_fail", |_: u32, _: u32, _: u32, _: u32| -> wasmtime::Result<()> {
        Err(GuestExit::Abort.into())
    })?;
    waiting!(linker, threads, "env", "__call_sighandler", call_signal_handler, (handler: u32, signal: i32));
    linker.func_wrap("env", "brumate_set_timer", set_timer)?;
    linker.func_wrap("env", "_Py_CheckEmscriptenSignals_Helper", || -> i32 { 0 })?;
    linker.func_wrap("env", "_Py_emscripten_runtime", || -> u32 { 0 })?;
    linker.func_wrap("env", "__syscall_getuid32_js", || -> i32 { 0 })?;
    linker.func_wrap("env", "_emscripten_system", |command: u32| -> i32 {
        if command == 0 { 0 } else { Errno::ENOSYS.as_syscall() }
    })?;
    linker.func_wrap("env", "_emscripten_get_progname", |mut caller: Caller<'_, Host>, buffer: u32, size: i32| {
        if size >= 7 {
            let _ = split(&mut caller).0.write(buffer, b"python\0");
        }
    })?;
    for name in
        ["_emscripten_runtime_keepalive_clear", "emscripten_runtime_keepalive_pop", "emscripten_runtime_keepalive_push"]
    {
        linker.func_wrap("env", name, || {})?;
    }
    linker.func_wrap(
        "wasi_snapshot_preview1",
        "environ_sizes_get",
        |mut caller: Caller<'_, Host>, count: u32, size: u32| -> i32 {
            let (mut memory, host) = split(&mut caller);
            let bytes: usize = host.environment.iter().map(|entry| entry.len() + 1).sum();
            memory
                .write_u32(count, host.environment.len() as u32)
                .and_then(|()| memory.write_u32(size, bytes as u32))
                .map_or_else(Errno::as_wasi, |()| 0)
        },
    )?;
    linker.func_wrap(
        "wasi_snapshot_preview1",
        "environ_get",
        |mut caller: Caller<'_, Host>, mut pointers: u32, mut buffer: u32| -> i32 {
            let (mut memory, host) = split(&mut caller);
            for entry in &host.environment {
                let written = memory
                    .write_u32(pointers, buffer)
                    .and_then(|()| memory.write(buffer, entry.as_bytes()))
                    .and_then(|()| memory.write_u8(buffer.wrapping_add(entry.len() as u32), 0));
                if let Err(errno) = written {
                    return errno.as_wasi();
                }
                pointers = pointers.wrapping_add(4);
                buffer = buffer.wrapping_add(entry.len() as u32 + 1);
            }
            0
        },
    )?;
    linker.func_wrap(
        "wasi_snapshot_preview1",
        "random_get",
        |mut caller: Caller<'_, Host>, buffer: u32, length: u32| -> i32 {
            if length > MAX_RANDOM {
                return Errno::EINVAL.as_wasi();
            }
            match split(&mut caller).0.slice_mut(buffer, length) {
                Ok(bytes) => crate::caps::random(bytes).map_or(Errno::EIO.as_wasi(), |()| 0),
                Err(errno) => errno.as_wasi(),
            }
        },
    )?;
    Ok(())
}

/// Sets the timer of `SIGALRM` (seconds; a negative delay changes nothing), and writes the previous setting to `old`,
/// two doubles.
fn set_timer(mut caller: Caller<'_, Host>, delay: f64, interval: f64, old: u32) -> i32 {
    use crate::signals::timer;
    let (mut memory, _) = split(&mut caller);
    if memory.slice(old, 16).is_err() {
        return Errno::EFAULT.as_syscall();
    }
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
    let (left, every) = if delay < 0.0 { timer::get() } else { timer::set(seconds(delay), seconds(interval)) };
    let written = memory.write(old, &left.as_secs_f64().to_le_bytes());
    match written.and_then(|()| memory.write(old + 8, &every.as_secs_f64().to_le_bytes())) {
        Ok(()) => 0,
        Err(error) => error.as_syscall(),
    }
}

/// Runs the handlers of C's `exit`, flushes the buffers, and ends the guest.
async fn exit(store: &mut StoreContextMut<'_, Host>, status: i32) -> wasmtime::Result<()> {
    let instance = guest(store)?.instance;
    for (name, arguments) in [("__funcs_on_exit", &[][..]), ("__stdio_exit", &[]), ("fflush", &[Val::I32(0)])] {
        if let Some(func) = instance.get_func(&mut *store, name) {
            super::ffi::call_leniently(store, func, arguments).await?;
        }
    }
    Err(GuestExit::Exit(status).into())
}

/// Calls the handler of `raise()` through the table, whatever its arity.
async fn call_signal_handler(store: &mut StoreContextMut<'_, Host>, handler: u32, signal: i32) -> wasmtime::Result<()> {
    let table = guest(store)?.table;
    let Some(Ref::Func(Some(func))) = table.get(&mut *store, u64::from(handler)) else {
        return Err(wasmtime::Error::msg("a signal handler is not a function"));
    };
    super::ffi::call_leniently(store, func, &[Val::I32(signal)]).await?;
    Ok(())
}
