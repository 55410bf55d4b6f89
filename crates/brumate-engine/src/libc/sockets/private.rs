//! Calls on sockets that the interpreter was built without: Unix and IPv6 addresses, `setsockopt`, `socketpair`. The
//! driver makes them with `ioctl`, by a number that no system uses (`guest/driver/_brumate/sockets.py`).

use wasmtime::StoreContextMut;

use super::calls::{self, Range};
use super::wait::{self, Direction};
use crate::host::{Host, split_store};
use brumate_abi::errno::{Errno, syscall};
use brumate_abi::memory::GuestMemory;
use brumate_vfs::Vfs;

/// Request of `ioctl` on any open file. The argument is a block: the call's number, three arguments, a length, each with
/// four bytes, and data.
pub(crate) const SOCKET: i32 = 0x4272_0004;

/// Bytes of the block before the data.
const HEAD: u32 = 20;
/// Offset of the length in a block.
const LENGTH: u32 = 16;

mod call {
    pub(super) const PAIR: u32 = 0;
    pub(super) const SET_OPTION: u32 = 1;
    pub(super) const BIND: u32 = 2;
    pub(super) const CONNECT: u32 = 3;
    pub(super) const ACCEPT: u32 = 4;
    pub(super) const LOCAL_ADDRESS: u32 = 5;
    pub(super) const REMOTE_ADDRESS: u32 = 6;
    pub(super) const SEND_TO: u32 = 7;
    pub(super) const RECEIVE_FROM: u32 = 8;
    /// Returns the length of the text of the last refusal of the gateway, and writes as much of it as there is room for.
    pub(super) const REFUSAL: u32 = 9;
}

/// A block in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    at: u32,
    call: u32,
    arguments: [i32; 3],
    length: u32,
}

impl Block {
    /// Reads the head of a block, and checks that its data is within memory.
    pub(crate) fn read(mem: &GuestMemory<'_>, at: u32) -> Result<Self, Errno> {
        let word = |index: u32| mem.read_i32(at.wrapping_add(index * 4));
        let (call, arguments) = (word(0)? as u32, [word(1)?, word(2)?, word(3)?]);
        let length = word(4)? as u32;
        let data = at.checked_add(HEAD).ok_or(Errno::EFAULT)?;
        mem.slice(data, length)?;
        Ok(Self { at, call, arguments, length })
    }

    fn data(&self) -> u32 {
        self.at + HEAD
    }

    /// Splits the data after the first `first` bytes.
    fn split(&self, first: i32) -> Result<(Range, Range), Errno> {
        let first = u32::try_from(first).ok().filter(|&first| first <= self.length).ok_or(Errno::EINVAL)?;
        Ok(((self.data(), first), (self.data() + first, self.length - first)))
    }

    /// Answers [`call::REFUSAL`].
    fn write_refusal(&self, mem: &mut GuestMemory<'_>, text: Option<String>) -> Result<i32, Errno> {
        let text = text.unwrap_or_default();
        mem.write(self.data(), &text.as_bytes()[..text.len().min(self.length as usize)])?;
        Ok(text.len() as i32)
    }

    /// Makes a call that does not wait: returns `EAGAIN` where it would.
    pub(crate) fn try_call(&self, vfs: &mut Vfs, mem: &mut GuestMemory<'_>, fd: i32) -> Result<i32, Errno> {
        let [first, second, third] = self.arguments;
        let (data, length) = (self.data(), self.at + LENGTH);
        match self.call {
            call::PAIR => {
                mem.slice_mut(data, 8.min(self.length))?;
                if self.length < 8 {
                    return Err(Errno::EINVAL);
                }
                let (one, other) = calls::pair(vfs, first, second, third)?;
                mem.write_i32(data, one)?;
                mem.write_i32(data + 4, other)?;
                Ok(0)
            }
            call::SET_OPTION => vfs.set_socket_option(fd, first, second, mem.slice(data, self.length)?).map(|()| 0),
            call::BIND => calls::bind(vfs, mem, fd, data, self.length),
            call::ACCEPT => calls::accept(vfs, mem, fd, data, length, first),
            call::LOCAL_ADDRESS => calls::name(vfs, mem, fd, data, length, false),
            call::REMOTE_ADDRESS => calls::name(vfs, mem, fd, data, length, true),
            // Arguments: flags, length of the address.
            call::SEND_TO => {
                let ((address, address_length), bytes) = self.split(second)?;
                let address = if address_length == 0 { 0 } else { address };
                let to = calls::destination(vfs, mem, fd, first, address, address_length)?;
                calls::send(vfs, mem, fd, bytes, to.as_ref())
            }
            // Arguments: flags, room for the address. The length becomes that of the address.
            call::RECEIVE_FROM => {
                let ((address, room), bytes) = self.split(second)?;
                mem.write_u32(length, room)?;
                let result = calls::receive(vfs, mem, fd, bytes, first, (address, length));
                if result.is_err() {
                    mem.write_u32(length, self.length)?;
                }
                result
            }
            _ => Err(Errno::EINVAL),
        }
    }
}

/// Answers [`SOCKET`]; waits if the descriptor is blocking.
///
/// # Errors
/// The error that ends the guest.
pub(crate) async fn answer(store: &mut StoreContextMut<'_, Host>, fd: i32, va: u32) -> wasmtime::Result<i32> {
    let block = {
        let (mem, _) = split_store(store);
        mem.vararg(va).and_then(|at| Block::read(&mem, at))
    };
    let block = match block {
        Ok(block) => block,
        Err(errno) => return Ok(errno.as_syscall()),
    };
    let call = move |vfs: &mut Vfs, mem: &mut GuestMemory<'_>| block.try_call(vfs, mem, fd);
    let direction = match block.call {
        call::CONNECT => return wait::answer(wait::connecting(store, fd, (block.data(), block.length)).await),
        call::REFUSAL => {
            let (mut mem, host) = split_store(store);
            return Ok(syscall(block.write_refusal(&mut mem, host.network.take_refusal())));
        }
        call::ACCEPT | call::RECEIVE_FROM => Direction::Receive,
        call::SEND_TO => Direction::Send,
        _ => {
            let (mut mem, host) = split_store(store);
            return Ok(syscall(call(&mut host.vfs, &mut mem)));
        }
    };
    let flags = if block.call == call::ACCEPT { 0 } else { block.arguments[0] };
    wait::answer(wait::blocking(store, fd, flags, direction, call).await)
}
