//! `struct sockaddr` in the guest's memory.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use brumate_abi::errno::Errno;
use brumate_abi::memory::GuestMemory;
use brumate_vfs::bytes::Bytes;
use brumate_vfs::{Family, SocketAddress};

/// Longest address in bytes (`sizeof(struct sockaddr_storage)`).
pub(super) const MAX_ADDRESS: u32 = 128;
/// `AF_UNSPEC`: `connect` takes the destination of a datagram socket away.
const AF_UNSPEC: i32 = 0;
const INET_LENGTH: usize = 16;
const INET6_LENGTH: usize = 28;

/// Reads an address for a socket of a family.
pub(super) fn decode(family: Family, bytes: &[u8]) -> Result<SocketAddress, Errno> {
    let (head, rest) = bytes.split_first_chunk::<2>().ok_or(Errno::EINVAL)?;
    let given = i32::from(u16::from_le_bytes(*head));
    if given == AF_UNSPEC && family != Family::Unix {
        return Ok(SocketAddress::Unnamed);
    }
    if given != family.number() {
        return Err(Errno::EAFNOSUPPORT);
    }
    if family == Family::Unix {
        return Ok(match rest {
            [] => SocketAddress::Unnamed,
            [0, name @ ..] => SocketAddress::Abstract(Bytes(name.to_vec())),
            path => {
                let end = path.iter().position(|&byte| byte == 0).unwrap_or(path.len());
                SocketAddress::Path(Bytes(path[..end].to_vec()))
            }
        });
    }
    let port = u16::from_be_bytes(*rest.first_chunk().ok_or(Errno::EINVAL)?);
    let ip: IpAddr = match family {
        Family::Inet6 => {
            let octets: [u8; 16] =
                *bytes.get(8..INET6_LENGTH - 4).and_then(|part| part.first_chunk()).ok_or(Errno::EINVAL)?;
            Ipv6Addr::from(octets).into()
        }
        _ if bytes.len() < INET_LENGTH => return Err(Errno::EINVAL),
        _ => Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]).into(),
    };
    Ok(SocketAddress::ip(ip, port))
}

/// Returns the bytes of an address of a socket of a family.
pub(super) fn encode(family: Family, address: &SocketAddress) -> Vec<u8> {
    let mut bytes = (family.number() as u16).to_le_bytes().to_vec();
    match (family, address) {
        (Family::Unix, SocketAddress::Path(path)) => bytes.extend([&path[..], &[0]].concat()),
        (Family::Unix, SocketAddress::Abstract(name)) => bytes.extend([&[0], &name[..]].concat()),
        (Family::Unix, _) => {}
        (Family::Inet6, SocketAddress::Ip(ip, port)) => {
            let ip = match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => *ip,
            };
            bytes.extend(port.to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
            bytes.extend([0; 4]);
        }
        (_, SocketAddress::Ip(IpAddr::V4(ip), port)) => {
            bytes.extend(port.to_be_bytes());
            bytes.extend(ip.octets());
            bytes.extend([0; 8]);
        }
        // Not bound yet.
        (Family::Inet6, _) => bytes.resize(INET6_LENGTH, 0),
        _ => bytes.resize(INET_LENGTH, 0),
    }
    bytes
}

/// Reads an address out of memory.
pub(super) fn read(mem: &GuestMemory<'_>, family: Family, ptr: u32, length: u32) -> Result<SocketAddress, Errno> {
    if length > MAX_ADDRESS {
        return Err(Errno::EINVAL);
    }
    decode(family, mem.slice(ptr, length)?)
}

/// Checks that an address can be written; see [`write`].
pub(super) fn check(mem: &GuestMemory<'_>, ptr: u32, length_ptr: u32) -> Result<(), Errno> {
    if ptr == 0 {
        return Ok(());
    }
    let room = u32::try_from(mem.read_i32(length_ptr)?).map_err(|_| Errno::EINVAL)?;
    mem.slice(ptr, room.min(MAX_ADDRESS)).map(drop)
}

/// Writes as much of an address as fits into the `*length_ptr` bytes at `ptr`, and its length; nothing if `ptr` is 0.
pub(super) fn write(mem: &mut GuestMemory<'_>, ptr: u32, length_ptr: u32, bytes: &[u8]) -> Result<(), Errno> {
    if ptr == 0 {
        return Ok(());
    }
    let room = usize::try_from(mem.read_i32(length_ptr)?).map_err(|_| Errno::EINVAL)?;
    mem.write(ptr, &bytes[..bytes.len().min(room)])?;
    mem.write_u32(length_ptr, bytes.len() as u32)
}
