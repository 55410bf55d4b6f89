//! Sockets: TCP and UDP over loopback, and Unix sockets, between parts of the guest. The file system has them.

mod address;
pub(crate) mod calls;
pub(crate) mod names;
pub(crate) mod private;
mod services;
mod wait;

use wasmtime::{Caller, ExternRef, Linker, Rooted, StoreContextMut};

use self::calls::msg;
use self::wait::{Direction, all, answer, blocking, connecting};
use crate::host::{Host, split, split_store};
use crate::threads::waiting;
use brumate_abi::errno::{Errno, syscall};
use brumate_abi::memory::GuestMemory;
use brumate_vfs::{Kind, Vfs};

/// Defines an import that never waits, as a function of the file system and the memory.
fn at_once(
    linker: &mut Linker<Host>,
    name: &str,
    call: fn(&mut Vfs, &mut GuestMemory<'_>, i32, [i32; 5]) -> Result<i32, Errno>,
) -> wasmtime::Result<()> {
    linker.func_wrap(
        "env",
        name,
        move |mut caller: Caller<'_, Host>, fd: i32, a: i32, b: i32, c: i32, d: i32, e: i32| -> i32 {
            let (mut mem, host) = split(&mut caller);
            syscall(call(&mut host.vfs, &mut mem, fd, [a, b, c, d, e]))
        },
    )?;
    Ok(())
}

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    // Hooks of Pyodide, for sockets of Node: none of these are.
    for name in ["_maybe_connect_async", "_maybe_poll_async", "_maybe_recvfrom_async", "_maybe_sendto_async"] {
        linker.func_wrap("env", name, |_: i32, _: i32, _: i32| -> Option<Rooted<ExternRef>> { None })?;
    }
    linker.func_wrap("env", "_try_fcntl64", |_: i32, _: i32, _: i32, _: i32| -> i32 { 0 })?;
    // The C library has no `shutdown` of its own: this hook always answers.
    linker.func_wrap(
        "env",
        "_try_shutdown",
        |mut caller: Caller<'_, Host>, fd: i32, how: i32, result: u32| -> i32 {
            let (mut mem, host) = split(&mut caller);
            let answer = syscall(calls::shutdown(&mut host.vfs, fd, how));
            i32::from(mem.write_i32(result, answer).is_ok())
        },
    )?;
    at_once(linker, "__syscall_socket", |vfs, _, domain, [kind, protocol, ..]| {
        calls::socket(vfs, domain, kind, protocol)
    })?;
    at_once(linker, "__syscall_bind", |vfs, mem, fd, [ptr, length, ..]| {
        calls::bind(vfs, mem, fd, ptr as u32, length as u32)
    })?;
    at_once(linker, "__syscall_listen", |vfs, _, fd, [backlog, ..]| calls::listen(vfs, fd, backlog))?;
    at_once(linker, "__syscall_getsockname", |vfs, mem, fd, [ptr, length, ..]| {
        calls::name(vfs, mem, fd, ptr as u32, length as u32, false)
    })?;
    at_once(linker, "__syscall_getpeername", |vfs, mem, fd, [ptr, length, ..]| {
        calls::name(vfs, mem, fd, ptr as u32, length as u32, true)
    })?;
    at_once(linker, "__syscall_getsockopt", |vfs, mem, fd, [level, name, ptr, length, _]| {
        calls::get_option(vfs, mem, fd, level, name, ptr as u32, length as u32)
    })?;
    waiting_calls(linker, threads)?;
    names::define(linker, threads)
}

/// Defines an import that waits if the descriptor is blocking. Each import has six arguments, and these use the first four.
macro_rules! first_four {
    ($linker:expr, $threads:expr, $name:expr, $function:expr) => {
        waiting!(
            $linker,
            $threads,
            "env",
            $name,
            |store, fd, a, b, c, _, _| $function(store, fd, a, b, c),
            (fd: i32, a: u32, b: i32, c: i32, d: i32, e: i32)
        );
    };
}

/// Defines the imports that wait if the descriptor is blocking.
fn waiting_calls(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    first_four!(linker, threads, "__syscall_connect", connect);
    first_four!(linker, threads, "__syscall_accept4", accept);
    first_four!(linker, threads, "__syscall_sendmsg", send_message);
    first_four!(linker, threads, "__syscall_recvmsg", receive_message);
    waiting!(
        linker,
        threads,
        "env",
        "__syscall_sendto",
        send_to,
        (fd: i32, at: u32, length: u32, flags: i32, to: u32, to_length: u32)
    );
    waiting!(
        linker,
        threads,
        "env",
        "__syscall_recvfrom",
        receive_from,
        (fd: i32, buffer: u32, room: u32, flags: i32, from: u32, from_room: u32)
    );
    Ok(())
}

/// The store of the thread that calls.
type Context<'a> = StoreContextMut<'a, Host>;

async fn connect(store: &mut Context<'_>, fd: i32, at: u32, length: i32, _: i32) -> wasmtime::Result<i32> {
    answer(connecting(store, fd, (at, length as u32)).await)
}

async fn accept(store: &mut Context<'_>, fd: i32, at: u32, length_at: i32, flags: i32) -> wasmtime::Result<i32> {
    let call = |vfs: &mut Vfs, mem: &mut GuestMemory<'_>| calls::accept(vfs, mem, fd, at, length_at as u32, flags);
    answer(blocking(store, fd, 0, Direction::Receive, call).await)
}

async fn send_to(
    store: &mut Context<'_>,
    fd: i32,
    at: u32,
    length: u32,
    flags: i32,
    to: u32,
    to_length: u32,
) -> wasmtime::Result<i32> {
    let to = {
        let (mem, host) = split_store(store);
        calls::destination(&host.vfs, &mem, fd, flags, to, to_length)
    };
    let to = match to {
        Ok(to) => to,
        Err(errno) => return Ok(errno.as_syscall()),
    };
    let call = |vfs: &mut Vfs, mem: &mut GuestMemory<'_>, done: u32| {
        calls::send(vfs, mem, fd, (at.wrapping_add(done), length - done), to.as_ref())
    };
    answer(all(store, fd, flags, Direction::Send, length, call).await)
}

async fn send_message(store: &mut Context<'_>, fd: i32, message: u32, flags: i32, _: i32) -> wasmtime::Result<i32> {
    let out = {
        let (mem, host) = split_store(store);
        calls::gather(&host.vfs, &mem, fd, message, flags)
    };
    let out = match out {
        Ok(out) => out,
        Err(errno) => return Ok(errno.as_syscall()),
    };
    let call = |vfs: &mut Vfs, _: &mut GuestMemory<'_>, done: u32| {
        Ok(vfs.send(fd, &out.data[done as usize..], out.to.as_ref())? as i32)
    };
    answer(all(store, fd, flags, Direction::Send, out.data.len() as u32, call).await)
}

async fn receive_from(
    store: &mut Context<'_>,
    fd: i32,
    buffer: u32,
    room: u32,
    flags: i32,
    from: u32,
    from_room: u32,
) -> wasmtime::Result<i32> {
    let is_stream = match store.data_mut().vfs.socket_kind(fd) {
        Ok((_, kind)) => kind == Kind::Stream,
        Err(errno) => return Ok(errno.as_syscall()),
    };
    let call = |vfs: &mut Vfs, mem: &mut GuestMemory<'_>, done: u32| {
        calls::receive(vfs, mem, fd, (buffer.wrapping_add(done), room - done), flags, (from, from_room))
    };
    if is_stream && flags & (msg::WAITALL | msg::PEEK) == msg::WAITALL {
        return answer(all(store, fd, flags, Direction::Receive, room, call).await);
    }
    answer(blocking(store, fd, flags, Direction::Receive, |vfs, mem| call(vfs, mem, 0)).await)
}

async fn receive_message(store: &mut Context<'_>, fd: i32, message: u32, flags: i32, _: i32) -> wasmtime::Result<i32> {
    let call = |vfs: &mut Vfs, mem: &mut GuestMemory<'_>| calls::receive_message(vfs, mem, fd, message, flags);
    answer(blocking(store, fd, flags, Direction::Receive, call).await)
}
