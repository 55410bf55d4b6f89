//! Waiting for a socket, for calls on sockets that block.

use std::time::{Duration, Instant};

use wasmtime::StoreContextMut;

use super::calls::{self, Range, msg};
use crate::host::{Host, split_store};
use crate::threads::{Wait, Woken, wait};
use brumate_abi::errno::{Errno, syscall};
use brumate_abi::memory::GuestMemory;
use brumate_vfs::{Readiness, Vfs};

/// Reason for which a call fails.
pub(super) enum Failure {
    /// The guest is told.
    Errno(Errno),
    /// The guest ends.
    Guest(wasmtime::Error),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Failure {
        Failure::Errno(errno)
    }
}

impl From<wasmtime::Error> for Failure {
    fn from(error: wasmtime::Error) -> Failure {
        Failure::Guest(error)
    }
}

/// Returns the value that the import returns.
pub(super) fn answer(result: Result<i32, Failure>) -> wasmtime::Result<i32> {
    match result {
        Ok(value) => Ok(value),
        Err(Failure::Errno(errno)) => Ok(syscall(Err(errno))),
        Err(Failure::Guest(error)) => Err(error),
    }
}

/// In which direction a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Receive,
    Send,
}

impl Direction {
    fn events(self) -> i16 {
        match self {
            Self::Receive => Readiness::IN,
            Self::Send => Readiness::OUT,
        }
    }
}

/// Waits until a descriptor is ready.
///
/// # Errors
/// `EAGAIN` when the time is up, `EINTR` when the machine is interrupted.
async fn wait_for(
    store: &mut StoreContextMut<'_, Host>,
    fd: i32,
    direction: Direction,
    deadline: Option<Instant>,
) -> Result<(), Failure> {
    match wait(store, Wait::Descriptor(fd, direction.events()), deadline).await? {
        Woken::Ready => Ok(()),
        Woken::Timeout => Err(Errno::EAGAIN.into()),
        Woken::Interrupted => Err(Errno::EINTR.into()),
    }
}

/// Whether a call on a descriptor waits: it does unless the descriptor or the call says that it must not.
fn blocks(vfs: &Vfs, fd: i32, flags: i32) -> bool {
    flags & msg::DONTWAIT == 0 && vfs.blocks(fd)
}

/// Returns the end of the wait of a call that begins now, by `SO_RCVTIMEO` or `SO_SNDTIMEO`.
fn deadline(vfs: &Vfs, fd: i32, direction: Direction) -> Option<Instant> {
    match vfs.socket_timeout(fd, direction == Direction::Send) {
        Ok(0) | Err(_) => None,
        Ok(micros) => Instant::now().checked_add(Duration::from_micros(micros)),
    }
}

/// Makes a call, and again whenever the descriptor has become ready, until it does not fail with `EAGAIN`. Another thread may close the
/// descriptor meanwhile, and another socket get it: the call takes nothing from that one, and fails with `EBADF`.
pub(super) async fn blocking<T>(
    store: &mut StoreContextMut<'_, Host>,
    fd: i32,
    flags: i32,
    direction: Direction,
    mut call: impl FnMut(&mut Vfs, &mut GuestMemory<'_>) -> Result<T, Errno>,
) -> Result<T, Failure> {
    let mut until = None;
    let socket = store.data().vfs.socket_id(fd).ok();
    loop {
        let (mut mem, host) = split_store(store);
        if host.vfs.socket_id(fd).ok() != socket {
            return Err(Errno::EBADF.into());
        }
        let mut result = call(&mut host.vfs, &mut mem);
        if !host.network.is_idle() {
            // Bytes that were sent go out, and bytes that have come in may be received.
            host.network.copy(&mut host.vfs);
            if matches!(result, Err(Errno::EAGAIN)) {
                result = call(&mut host.vfs, &mut mem);
            }
        }
        match result {
            Err(Errno::EAGAIN) if blocks(&host.vfs, fd, flags) => {}
            result => return Ok(result?),
        }
        let until = *until.get_or_insert_with(|| deadline(&host.vfs, fd, direction));
        wait_for(store, fd, direction, until).await?;
    }
}

/// Makes a call that moves bytes, with the number of bytes moved before, until `length` bytes are moved or it moves none. A failure after some
/// bytes is not reported; the next call finds it again.
pub(super) async fn all(
    store: &mut StoreContextMut<'_, Host>,
    fd: i32,
    flags: i32,
    direction: Direction,
    length: u32,
    mut call: impl FnMut(&mut Vfs, &mut GuestMemory<'_>, u32) -> Result<i32, Errno>,
) -> Result<i32, Failure> {
    let mut done = 0;
    loop {
        match blocking(store, fd, flags, direction, |vfs, mem| call(vfs, mem, done)).await {
            Ok(count) => {
                done += count as u32;
                if count == 0 || done >= length {
                    return Ok(done as i32);
                }
            }
            Err(Failure::Errno(_)) if done > 0 => return Ok(done as i32),
            Err(failure) => return Err(failure),
        }
    }
}

/// Connects a socket to the address at `ptr`; waits for a connection that is in progress.
pub(super) async fn connecting(
    store: &mut StoreContextMut<'_, Host>,
    fd: i32,
    (ptr, length): Range,
) -> Result<i32, Failure> {
    let (mem, host) = split_store(store);
    match calls::connect(&mut host.vfs, &mut host.network, &mem, fd, ptr, length) {
        Err(Errno::EINPROGRESS) if blocks(&host.vfs, fd, 0) => {}
        result => return Ok(result?),
    }
    let until = deadline(&host.vfs, fd, Direction::Send);
    match wait_for(store, fd, Direction::Send, until).await {
        Err(Failure::Errno(Errno::EAGAIN)) => return Err(Errno::EINPROGRESS.into()),
        result => result?,
    }
    store.data_mut().vfs.take_socket_error(fd)?;
    Ok(0)
}
