//! Sockets: none exist. Every call returns an error number that Python turns into an `OSError`.

use wasmtime::{Caller, ExternRef, Linker, Rooted};

use crate::host::{Host, split};
use brumate_abi::errno::Errno;

/// `EAI_NONAME` of `netdb.h`.
const EAI_NONAME: i32 = -2;
/// `EAI_FAIL`.
const EAI_FAIL: i32 = -4;

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    for name in ["_maybe_connect_async", "_maybe_poll_async", "_maybe_recvfrom_async", "_maybe_sendto_async"] {
        linker.func_wrap("env", name, |_: i32, _: i32, _: i32| -> Option<Rooted<ExternRef>> { None })?;
    }
    linker.func_wrap("env", "_try_fcntl64", |_: i32, _: i32, _: i32, _: i32| -> i32 { 0 })?;
    linker.func_wrap("env", "_try_shutdown", |_: i32, _: i32, _: i32| -> i32 { 0 })?;
    linker.func_wrap("env", "__syscall_socket", |_: i32, _: i32, _: i32, _: i32, _: i32, _: i32| -> i32 {
        Errno::EACCES.as_syscall()
    })?;
    for name in [
        "__syscall_accept4",
        "__syscall_bind",
        "__syscall_connect",
        "__syscall_getpeername",
        "__syscall_getsockname",
        "__syscall_getsockopt",
        "__syscall_listen",
        "__syscall_recvfrom",
        "__syscall_recvmsg",
        "__syscall_sendmsg",
        "__syscall_sendto",
    ] {
        linker.func_wrap(
            "env",
            name,
            |mut caller: Caller<'_, Host>, fd: i32, _: i32, _: i32, _: i32, _: i32, _: i32| -> i32 {
                let (_, host) = split(&mut caller);
                if host.vfs.check_open(fd).is_ok() { Errno::ENOTSOCK.as_syscall() } else { Errno::EBADF.as_syscall() }
            },
        )?;
    }
    linker.func_wrap("env", "getaddrinfo", |_: i32, _: i32, _: i32, _: i32| -> i32 { EAI_NONAME })?;
    linker.func_wrap("env", "getnameinfo", |_: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32| -> i32 {
        EAI_FAIL
    })?;
    linker.func_wrap("env", "getprotobyname", |_: u32| -> u32 { 0 })?;
    linker.func_wrap("env", "_emscripten_lookup_name", |_: u32| -> u32 { 0 })?;
    Ok(())
}
