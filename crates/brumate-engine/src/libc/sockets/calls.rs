//! The calls on sockets, without waiting: `EAGAIN` is returned where a blocking call would wait.

use super::address;
use brumate_abi::errno::Errno;
use brumate_abi::memory::GuestMemory;
use brumate_vfs::limits::MAX_SOCKET_BUFFER;
use brumate_vfs::{Family, Kind, OpenFlags, Received, Shutdown, SocketAddress, Vfs};

use crate::caps::network::Network;
use crate::libc::files::{IOV_MAX, TRANSFER_MAX};

/// Address and length of bytes in memory.
pub(crate) type Range = (u32, u32);

/// Flags of `send` and `recv` that change what is done here.
pub(super) mod msg {
    pub(crate) const OOB: i32 = 0x1;
    pub(crate) const PEEK: i32 = 0x2;
    pub(crate) const TRUNC: i32 = 0x20;
    pub(crate) const DONTWAIT: i32 = 0x40;
    pub(crate) const WAITALL: i32 = 0x100;
}

pub(super) const SOCK_RAW: i32 = 3;
/// Flags among the bits of a socket's type. They are the flags of `open`.
const TYPE_FLAGS: i32 = (OpenFlags::NONBLOCK | OpenFlags::CLOEXEC) as i32;

pub(super) const IPPROTO_TCP: i32 = 6;
pub(super) const IPPROTO_UDP: i32 = 17;

/// `struct msghdr`: offsets of its fields.
mod header {
    pub(super) const NAME: u32 = 0;
    pub(super) const NAME_LENGTH: u32 = 4;
    pub(super) const VECTORS: u32 = 8;
    pub(super) const VECTOR_COUNT: u32 = 12;
    pub(super) const CONTROL_LENGTH: u32 = 20;
    pub(super) const FLAGS: u32 = 24;
    pub(super) const SIZE: u32 = 28;
}

/// Decodes the arguments of `socket`.
fn kind(domain: i32, kind: i32, protocol: i32) -> Result<(Family, Kind, OpenFlags), Errno> {
    let family = Family::from_number(domain).ok_or(Errno::EAFNOSUPPORT)?;
    let flags = OpenFlags((kind & TYPE_FLAGS) as u32);
    let kind = match kind & !TYPE_FLAGS {
        1 => Kind::Stream,
        2 => Kind::Datagram,
        // Raw packets need a right that nobody has here.
        SOCK_RAW if family != Family::Unix => return Err(Errno::EPERM),
        0..=0xf => return Err(Errno::EPROTONOSUPPORT),
        _ => return Err(Errno::EINVAL),
    };
    let expected = match (family, kind) {
        (Family::Unix, _) => 1,
        (_, Kind::Stream) => IPPROTO_TCP,
        (_, Kind::Datagram) => IPPROTO_UDP,
    };
    if protocol != 0 && protocol != expected {
        return Err(Errno::EPROTONOSUPPORT);
    }
    Ok((family, kind, flags))
}

/// `__syscall_socket`.
pub(crate) fn socket(vfs: &mut Vfs, domain: i32, type_: i32, protocol: i32) -> Result<i32, Errno> {
    let (family, kind, flags) = kind(domain, type_, protocol)?;
    vfs.socket(family, kind, flags)
}

/// `socketpair`.
pub(crate) fn pair(vfs: &mut Vfs, domain: i32, type_: i32, protocol: i32) -> Result<(i32, i32), Errno> {
    let (family, kind, flags) = kind(domain, type_, protocol)?;
    vfs.socket_pair(family, kind, flags)
}

/// `__syscall_bind`.
pub(crate) fn bind(vfs: &mut Vfs, mem: &GuestMemory<'_>, fd: i32, ptr: u32, length: u32) -> Result<i32, Errno> {
    let (family, _) = vfs.socket_kind(fd)?;
    vfs.bind(fd, &address::read(mem, family, ptr, length)?)?;
    Ok(0)
}

/// `__syscall_connect`.
pub(crate) fn connect(
    vfs: &mut Vfs,
    network: &mut Network,
    mem: &GuestMemory<'_>,
    fd: i32,
    ptr: u32,
    length: u32,
) -> Result<i32, Errno> {
    let (family, _) = vfs.socket_kind(fd)?;
    let address = address::read(mem, family, ptr, length)?;
    if !network.connect(vfs, fd, &address)? {
        vfs.connect(fd, &address)?;
    }
    Ok(0)
}

/// `__syscall_listen`.
pub(crate) fn listen(vfs: &mut Vfs, fd: i32, backlog: i32) -> Result<i32, Errno> {
    vfs.listen(fd, backlog).map(|()| 0)
}

/// `__syscall_accept4`.
pub(crate) fn accept(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    fd: i32,
    ptr: u32,
    length_ptr: u32,
    flags: i32,
) -> Result<i32, Errno> {
    if flags & !TYPE_FLAGS != 0 {
        return Err(Errno::EINVAL);
    }
    // Before a connection is taken, so that a bad address loses none.
    let (family, _) = vfs.socket_kind(fd)?;
    address::check(mem, ptr, length_ptr)?;
    let end = vfs.accept(fd, OpenFlags(flags as u32))?;
    let remote = vfs.remote_address(end).unwrap_or_default();
    address::write(mem, ptr, length_ptr, &address::encode(family, &remote))?;
    Ok(end)
}

/// `__syscall_getsockname`, and with `remote` `__syscall_getpeername`.
pub(crate) fn name(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    fd: i32,
    ptr: u32,
    length_ptr: u32,
    remote: bool,
) -> Result<i32, Errno> {
    let (family, _) = vfs.socket_kind(fd)?;
    let found = if remote { vfs.remote_address(fd)? } else { vfs.local_address(fd)? };
    if ptr == 0 {
        return Err(Errno::EFAULT);
    }
    address::write(mem, ptr, length_ptr, &address::encode(family, &found))?;
    Ok(0)
}

/// `__syscall_getsockopt`.
pub(crate) fn get_option(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    fd: i32,
    level: i32,
    name: i32,
    ptr: u32,
    length_ptr: u32,
) -> Result<i32, Errno> {
    vfs.socket_kind(fd)?;
    let room = u32::try_from(mem.read_i32(length_ptr)?).map_err(|_| Errno::EINVAL)?;
    mem.slice_mut(ptr, room)?;
    let value = vfs.socket_option(fd, level, name)?;
    let count = value.len().min(room as usize);
    mem.write(ptr, &value[..count])?;
    mem.write_u32(length_ptr, count as u32)?;
    Ok(0)
}

/// `shutdown`.
pub(crate) fn shutdown(vfs: &mut Vfs, fd: i32, how: i32) -> Result<i32, Errno> {
    vfs.socket_kind(fd)?;
    vfs.shutdown(fd, Shutdown::from_number(how).ok_or(Errno::EINVAL)?)?;
    Ok(0)
}

/// Reads the destination of a `sendto`; `None` if there is none.
pub(crate) fn destination(
    vfs: &Vfs,
    mem: &GuestMemory<'_>,
    fd: i32,
    flags: i32,
    ptr: u32,
    length: u32,
) -> Result<Option<SocketAddress>, Errno> {
    let (family, _) = vfs.socket_kind(fd)?;
    if flags & msg::OOB != 0 {
        return Err(Errno::EOPNOTSUPP);
    }
    if ptr == 0 { Ok(None) } else { address::read(mem, family, ptr, length).map(Some) }
}

/// `__syscall_sendto`: sends the `length` bytes at `ptr`.
pub(crate) fn send(
    vfs: &mut Vfs,
    mem: &GuestMemory<'_>,
    fd: i32,
    (ptr, length): Range,
    to: Option<&SocketAddress>,
) -> Result<i32, Errno> {
    let data = mem.slice(ptr, length.min(TRANSFER_MAX))?;
    Ok(vfs.send(fd, data, to)? as i32)
}

/// `__syscall_recvfrom`: the number of bytes written, or with `MSG_TRUNC` the length of the datagram.
pub(crate) fn receive(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    fd: i32,
    (ptr, length): Range,
    flags: i32,
    (source, source_length): Range,
) -> Result<i32, Errno> {
    let (family, kind) = vfs.socket_kind(fd)?;
    check_flags(flags)?;
    address::check(mem, source, source_length)?;
    let buf = mem.slice_mut(ptr, length.min(TRANSFER_MAX))?;
    let received = vfs.receive(fd, buf, flags & msg::PEEK != 0)?;
    write_source(mem, (family, kind), (source, source_length), &received)?;
    let reported = if flags & msg::TRUNC != 0 && kind == Kind::Datagram { received.length } else { received.count };
    Ok(reported as i32)
}

/// Writes the address of the sender, if it is asked for. A stream has none.
fn write_source(
    mem: &mut GuestMemory<'_>,
    (family, kind): (Family, Kind),
    (source, length): Range,
    received: &Received,
) -> Result<(), Errno> {
    if source == 0 {
        return Ok(());
    }
    let bytes = if kind == Kind::Stream { Vec::new() } else { address::encode(family, &received.source) };
    address::write(mem, source, length, &bytes)
}

fn check_flags(flags: i32) -> Result<(), Errno> {
    // Nothing is sent out of band.
    if flags & msg::OOB != 0 { Err(Errno::EINVAL) } else { Ok(()) }
}

/// The buffers of a `struct msghdr`: address and length.
fn vectors(mem: &GuestMemory<'_>, message: u32) -> Result<Vec<Range>, Errno> {
    mem.slice(message, header::SIZE)?;
    let first = mem.read_u32(message + header::VECTORS)?;
    let count = mem.read_i32(message + header::VECTOR_COUNT)?;
    if !(0..=IOV_MAX).contains(&count) {
        return Err(Errno::EMSGSIZE);
    }
    mem.slice(first, count as u32 * 8)?;
    (0..count as u32)
        .map(|index| Ok((mem.read_u32(first + index * 8)?, mem.read_u32(first + index * 8 + 4)?)))
        .collect()
}

/// A message to send.
pub(crate) struct Outgoing {
    pub(crate) data: Vec<u8>,
    pub(crate) to: Option<SocketAddress>,
}

/// Reads a `struct msghdr` to send. Of a stream, no more than one buffer holds is read.
pub(crate) fn gather(vfs: &Vfs, mem: &GuestMemory<'_>, fd: i32, message: u32, flags: i32) -> Result<Outgoing, Errno> {
    let (_, kind) = vfs.socket_kind(fd)?;
    let mut data = Vec::new();
    for (ptr, length) in vectors(mem, message)? {
        let room = MAX_SOCKET_BUFFER.saturating_sub(data.len());
        if length as usize > room && kind == Kind::Datagram {
            return Err(Errno::EMSGSIZE);
        }
        data.extend(mem.slice(ptr, length.min(room as u32))?);
    }
    // Neither descriptors nor credentials are passed.
    if mem.read_u32(message + header::CONTROL_LENGTH)? != 0 {
        return Err(Errno::EOPNOTSUPP);
    }
    let (ptr, length) = (mem.read_u32(message + header::NAME)?, mem.read_u32(message + header::NAME_LENGTH)?);
    let ptr = if length == 0 { 0 } else { ptr };
    Ok(Outgoing { data, to: destination(vfs, mem, fd, flags, ptr, length)? })
}

/// `__syscall_recvmsg`.
pub(crate) fn receive_message(
    vfs: &mut Vfs,
    mem: &mut GuestMemory<'_>,
    fd: i32,
    message: u32,
    flags: i32,
) -> Result<i32, Errno> {
    let (family, kind) = vfs.socket_kind(fd)?;
    check_flags(flags)?;
    let vectors = vectors(mem, message)?;
    let source = mem.read_u32(message + header::NAME)?;
    address::check(mem, source, message + header::NAME_LENGTH)?;
    let mut room = 0;
    for &(ptr, length) in &vectors {
        mem.slice(ptr, length)?;
        room = (room + length as usize).min(MAX_SOCKET_BUFFER);
    }
    let mut buf = vec![0; room];
    let received = vfs.receive(fd, &mut buf, flags & msg::PEEK != 0)?;
    let mut rest = &buf[..received.count];
    for (ptr, length) in vectors {
        let (part, after) = rest.split_at(rest.len().min(length as usize));
        mem.write(ptr, part)?;
        rest = after;
    }
    write_source(mem, (family, kind), (source, message + header::NAME_LENGTH), &received)?;
    mem.write_u32(message + header::CONTROL_LENGTH, 0)?;
    let is_cut = received.length > received.count;
    mem.write_i32(message + header::FLAGS, if is_cut { msg::TRUNC } else { 0 })?;
    Ok(if is_cut && flags & msg::TRUNC != 0 { received.length } else { received.count } as i32)
}
