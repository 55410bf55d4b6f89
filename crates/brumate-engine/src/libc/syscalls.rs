//! Binds the file-system calls to their imports.

use wasmtime::{Caller, Linker, StoreContextMut};

use super::zone::{SET_ZONE, Zone};
use super::{dirs, files, sockets};
use crate::files::EVENT_FD;
use crate::host::{Host, split, split_store};
use crate::threads::{Wait, Woken, wait, waiting};
use brumate_abi::errno::{Errno, syscall_unit};
use brumate_vfs::Readiness;

/// A store of the guest, in a host function that may wait.
type Context<'a> = StoreContextMut<'a, Host>;

const ENV: &str = "env";
const WASI: &str = "wasi_snapshot_preview1";

// Requests of the driver that are answered here, each by its own number.
const _: () = assert!(sockets::private::SOCKET != SET_ZONE);

/// Defines one import: `function(vfs[, memory], arguments…) -> i32`.
macro_rules! bind {
    ($linker:ident, $module:ident, $name:literal, $room:ident::$function:ident memory, $($argument:ident: $ty:ty),*) => {
        $linker.func_wrap($module, $name, |mut caller: Caller<'_, Host>, $($argument: $ty),*| -> i32 {
            let (mut memory, host) = split(&mut caller);
            $room::$function(&mut host.vfs, &mut memory, $($argument),*)
        })?;
    };
    ($linker:ident, $module:ident, $name:literal, $room:ident::$function:ident, $($argument:ident: $ty:ty),*) => {
        $linker.func_wrap($module, $name, |mut caller: Caller<'_, Host>, $($argument: $ty),*| -> i32 {
            $room::$function(&mut caller.data_mut().vfs, $($argument),*)
        })?;
    };
}

/// Defines the family's imports.
pub(super) fn define(linker: &mut Linker<Host>, threads: bool) -> wasmtime::Result<()> {
    bind!(linker, ENV, "__syscall_newfstatat", files::newfstatat memory, dirfd: i32, path: u32, buf: u32, flags: i32);
    bind!(linker, ENV, "__syscall_stat64", files::stat64 memory, path: u32, buf: u32);
    bind!(linker, ENV, "__syscall_lstat64", files::lstat64 memory, path: u32, buf: u32);
    bind!(linker, ENV, "__syscall_fstat64", files::fstat64 memory, fd: i32, buf: u32);
    bind!(linker, ENV, "__syscall_faccessat", files::faccessat memory, dirfd: i32, path: u32, mode: i32, flags: i32);
    bind!(linker, ENV, "__syscall_chmod", files::chmod memory, path: u32, mode: i32);
    bind!(linker, ENV, "__syscall_fchmod", files::fchmod, fd: i32, mode: i32);
    bind!(linker, ENV, "__syscall_fchmodat2", files::fchmodat2 memory, dirfd: i32, path: u32, mode: i32, flags: i32);
    bind!(linker, ENV, "__syscall_fchown32", files::fchown32, fd: i32, uid: i32, gid: i32);
    bind!(linker, ENV, "__syscall_fchownat", files::fchownat memory, dirfd: i32, path: u32, uid: i32, gid: i32, flags: i32);
    bind!(linker, ENV, "__syscall_utimensat", files::utimensat memory, dirfd: i32, path: u32, times: u32, flags: i32);
    bind!(linker, ENV, "__syscall_statfs64", files::statfs64 memory, path: u32, size: i32, buf: u32);
    bind!(linker, ENV, "__syscall_fstatfs64", files::fstatfs64 memory, fd: i32, size: i32, buf: u32);
    bind!(linker, ENV, "__syscall_getcwd", dirs::getcwd memory, buf: u32, size: i32);
    bind!(linker, ENV, "__syscall_chdir", dirs::chdir memory, path: u32);
    bind!(linker, ENV, "__syscall_fchdir", dirs::fchdir, fd: i32);
    bind!(linker, ENV, "__syscall_mkdirat", dirs::mkdirat memory, dirfd: i32, path: u32, mode: i32);
    bind!(linker, ENV, "__syscall_rmdir", dirs::rmdir memory, path: u32);
    bind!(linker, ENV, "__syscall_getdents64", dirs::getdents64 memory, fd: i32, buf: u32, size: i32);
    linker.func_wrap(
        ENV,
        "__syscall_openat",
        |mut caller: Caller<'_, Host>, dirfd: i32, path: u32, flags: i32, va: u32| -> i32 {
            let (mut memory, host) = split(&mut caller);
            let fd = files::openat(&mut host.vfs, &mut memory, dirfd, path, flags, va);
            if host.vfs.is_process_file(fd) {
                host.tell_process();
            }
            fd
        },
    )?;
    bind!(linker, ENV, "__syscall_readlinkat", files::readlinkat memory, dirfd: i32, path: u32, buf: u32, size: i32);
    bind!(linker, ENV, "__syscall_symlinkat", files::symlinkat memory, target: u32, dirfd: i32, link: u32);
    bind!(linker, ENV, "__syscall_unlinkat", files::unlinkat memory, dirfd: i32, path: u32, flags: i32);
    bind!(linker, ENV, "__syscall_renameat", files::renameat memory, old_dirfd: i32, old: u32, new_dirfd: i32, new: u32);
    bind!(linker, ENV, "__syscall_mknodat", files::mknodat memory, dirfd: i32, path: u32, mode: u32, dev: u32);
    bind!(linker, ENV, "__syscall_ftruncate64", files::ftruncate64, fd: i32, length: i64);
    bind!(linker, ENV, "__syscall_truncate64", files::truncate64 memory, path: u32, length: i64);
    bind!(linker, ENV, "__syscall_fallocate", files::fallocate, fd: i32, mode: i32, offset: i64, length: i64);
    bind!(linker, ENV, "__syscall_fadvise64", files::fadvise64, fd: i32, offset: i64, length: i64, advice: i32);
    bind!(linker, ENV, "__syscall_fdatasync", files::fdatasync, fd: i32);
    bind!(linker, ENV, "__syscall_dup", files::dup, fd: i32);
    bind!(linker, ENV, "__syscall_dup3", files::dup3, old: i32, new: i32, flags: i32);
    bind!(linker, ENV, "__syscall_pipe", files::pipe memory, fds: u32);
    bind!(linker, ENV, "__syscall_umask_js", files::umask_js, mask: i32);
    bind!(linker, ENV, "__syscall_fcntl64", files::fcntl64 memory, fd: i32, command: i32, va: u32);
    waiting!(linker, threads, ENV, "__syscall_ioctl", ioctl, (fd: i32, request: i32, va: u32));
    waiting!(linker, threads, WASI, "fd_read", fd_read, (fd: i32, iov: u32, count: i32, out: u32));
    waiting!(linker, threads, WASI, "fd_write", fd_write, (fd: i32, iov: u32, count: i32, out: u32));
    bind!(linker, WASI, "fd_pread", files::fd_pread memory, fd: i32, iov: u32, count: i32, offset: i64, out: u32);
    bind!(linker, WASI, "fd_pwrite", files::fd_pwrite memory, fd: i32, iov: u32, count: i32, offset: i64, out: u32);
    bind!(linker, WASI, "fd_seek", files::fd_seek memory, fd: i32, offset: i64, whence: i32, out: u32);
    bind!(linker, WASI, "fd_close", files::fd_close, fd: i32);
    bind!(linker, WASI, "fd_sync", files::fd_sync, fd: i32);
    bind!(linker, WASI, "fd_fdstat_get", files::fd_fdstat_get memory, fd: i32, buf: u32);
    Ok(())
}

async fn ioctl(store: &mut Context<'_>, fd: i32, request: i32, va: u32) -> wasmtime::Result<i32> {
    if request == sockets::private::SOCKET {
        return sockets::private::answer(store, fd, va).await;
    }
    let (mut memory, host) = split_store(store);
    if request == SET_ZONE {
        return Ok(syscall_unit((|| {
            host.zone = Zone::read(&memory, memory.vararg(va)?)?;
            host.zone_changes += 1;
            Ok(())
        })()));
    }
    Ok(files::ioctl(&mut host.vfs, &mut memory, fd, request, va))
}

/// Waits until a descriptor in blocking mode is ready, if another thread may make it so. With one thread a read or write that cannot be done now
/// is `EAGAIN`, except of standard input.
async fn wait_for(store: &mut Context<'_>, fd: i32, events: i16) -> wasmtime::Result<Result<(), Errno>> {
    let host = store.data_mut();
    host.network.copy(&mut host.vfs);
    if (host.threads.count() == 0 && host.network.is_idle())
        || host.vfs.poll(fd).is_ok_and(|ready| ready.0 & (events | Readiness::ERR | Readiness::HUP) != 0)
        || !host.vfs.blocks(fd)
    {
        return Ok(Ok(()));
    }
    Ok(match wait(store, Wait::Descriptor(fd, events), None).await? {
        Woken::Interrupted => Err(Errno::EINTR),
        Woken::Ready | Woken::Timeout => Ok(()),
    })
}

async fn fd_read(store: &mut Context<'_>, fd: i32, iov: u32, count: i32, out: u32) -> wasmtime::Result<i32> {
    if fd == EVENT_FD
        && let Err(errno) = store.data_mut().finish_install()
    {
        return Ok(errno.as_wasi());
    }
    Ok(match wait_for(store, fd, Readiness::IN).await? {
        Ok(()) => {
            let (mut memory, host) = split_store(store);
            files::fd_read(&mut host.vfs, &mut memory, fd, iov, count, out)
        }
        Err(errno) => errno.as_wasi(),
    })
}

/// Writes. In blocking mode the descriptor takes everything, as on Linux, if another thread may make room for it.
async fn fd_write(store: &mut Context<'_>, fd: i32, iov: u32, count: i32, out: u32) -> wasmtime::Result<i32> {
    if let Err(errno) = wait_for(store, fd, Readiness::OUT).await? {
        return Ok(errno.as_wasi());
    }
    let (mut memory, host) = split_store(store);
    let status = files::fd_write(&mut host.vfs, &mut memory, fd, iov, count, out);
    if status != 0 || host.threads.count() == 0 {
        return Ok(status);
    }
    let Ok(mut done) = memory.read_u32(out) else { return Ok(status) };
    loop {
        let (memory, host) = split_store(store);
        let Some((base, length)) = files::buffer_at(&memory, iov, count, done) else { break };
        if !host.vfs.blocks(fd) || wait_for(store, fd, Readiness::OUT).await?.is_err() {
            break;
        }
        let (memory, host) = split_store(store);
        let Ok(bytes) = memory.slice(base, length) else { break };
        match host.vfs.write(fd, bytes) {
            Ok(written) if written > 0 => done += written as u32,
            _ => break,
        }
    }
    let _ = split_store(store).0.write_u32(out, done);
    Ok(0)
}
