//! Options of sockets. Most have no effect within one machine: they are kept and returned.

use super::{Kind, Socket, SocketId, Sockets};
use crate::bytes::Bytes;
use crate::limits::{MAX_SOCKET_BUFFER, MAX_SOCKET_OPTION, MAX_SOCKET_OPTIONS};
use brumate_abi::errno::Errno;

/// Numbers of levels and options, as Linux has them.
pub mod option {
    #![allow(missing_docs, reason = "the names are the documentation")]

    pub const SOL_SOCKET: i32 = 1;
    pub const IPPROTO_IP: i32 = 0;
    pub const IPPROTO_TCP: i32 = 6;
    pub const IPPROTO_UDP: i32 = 17;
    pub const IPPROTO_IPV6: i32 = 41;

    pub const SO_DEBUG: i32 = 1;
    pub const SO_REUSEADDR: i32 = 2;
    pub const SO_TYPE: i32 = 3;
    pub const SO_ERROR: i32 = 4;
    pub const SO_DONTROUTE: i32 = 5;
    pub const SO_BROADCAST: i32 = 6;
    pub const SO_SNDBUF: i32 = 7;
    pub const SO_RCVBUF: i32 = 8;
    pub const SO_KEEPALIVE: i32 = 9;
    pub const SO_OOBINLINE: i32 = 10;
    pub const SO_PRIORITY: i32 = 12;
    pub const SO_LINGER: i32 = 13;
    pub const SO_REUSEPORT: i32 = 15;
    pub const SO_PASSCRED: i32 = 16;
    pub const SO_PEERCRED: i32 = 17;
    pub const SO_RCVLOWAT: i32 = 18;
    pub const SO_SNDLOWAT: i32 = 19;
    pub const SO_RCVTIMEO: i32 = 20;
    pub const SO_SNDTIMEO: i32 = 21;
    pub const SO_TIMESTAMP: i32 = 29;
    pub const SO_ACCEPTCONN: i32 = 30;
    pub const SO_PROTOCOL: i32 = 38;
    pub const SO_DOMAIN: i32 = 39;

    pub const IP_TTL: i32 = 2;
    pub const IP_MULTICAST_TTL: i32 = 33;
    pub const IP_MULTICAST_LOOP: i32 = 34;
    pub const IP_ADD_MEMBERSHIP: i32 = 35;
    pub const IP_ADD_SOURCE_MEMBERSHIP: i32 = 39;
    pub const IPV6_JOIN_GROUP: i32 = 20;
    pub const IPV6_UNICAST_HOPS: i32 = 16;
    pub const IPV6_V6ONLY: i32 = 26;
    pub const TCP_MAXSEG: i32 = 2;
}

use option::*;

/// Largest size of a buffer that can be set, as on Linux (`net.core.rmem_max`, doubled).
const MAX_BUFFER_SIZE: i32 = 425_984;
/// Smallest size of a buffer that can be set.
const MIN_BUFFER_SIZE: i32 = 4608;
/// Segment size of TCP over loopback.
const SEGMENT_SIZE: i32 = 65_483;
/// Largest number of an option of a protocol.
const MAX_PROTOCOL_OPTION: i32 = 100;

/// The check of the value of an option of `SOL_SOCKET`.
enum Value {
    Flag,
    Number,
    BufferSize,
    /// `struct linger`.
    Linger,
    /// `struct timeval`, with fields of 32 or 64 bits.
    Time,
}

fn settable(name: i32) -> Option<Value> {
    Some(match name {
        SO_DEBUG | SO_REUSEADDR | SO_DONTROUTE | SO_BROADCAST | SO_KEEPALIVE | SO_OOBINLINE | SO_REUSEPORT
        | SO_PASSCRED | SO_TIMESTAMP => Value::Flag,
        SO_SNDBUF | SO_RCVBUF => Value::BufferSize,
        SO_PRIORITY | SO_RCVLOWAT => Value::Number,
        SO_LINGER => Value::Linger,
        SO_RCVTIMEO | SO_SNDTIMEO => Value::Time,
        _ => return None,
    })
}

/// `SO_RCVTIMEO` and `SO_SNDTIMEO` have further numbers for fields of 64 bits.
fn canonical(level: i32, name: i32) -> i32 {
    match (level, name) {
        (SOL_SOCKET, 66) => SO_RCVTIMEO,
        (SOL_SOCKET, 67) => SO_SNDTIMEO,
        _ => name,
    }
}

fn number(value: &[u8]) -> Result<i32, Errno> {
    value.first_chunk().map(|bytes| i32::from_le_bytes(*bytes)).ok_or(Errno::EINVAL)
}

fn encode(number: i32) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

impl Sockets {
    /// Returns the value of an option.
    pub(super) fn option(&mut self, id: SocketId, level: i32, name: i32) -> Result<Vec<u8>, Errno> {
        let socket = self.get_mut(id)?;
        let name = canonical(level, name);
        if (level, name) == (SOL_SOCKET, SO_ERROR) {
            return Ok(encode(socket.error.take().map_or(0, |errno| i32::from(errno.raw()))));
        }
        if let Some(value) = socket.options.get(&(level, name)) {
            return Ok(value.to_vec());
        }
        let value = match (level, name) {
            (SOL_SOCKET, SO_TYPE) => socket.kind.number(),
            (SOL_SOCKET, SO_DOMAIN) => socket.family.number(),
            (SOL_SOCKET, SO_PROTOCOL) => match (socket.family, socket.kind) {
                (super::Family::Unix, _) => 0,
                (_, Kind::Stream) => IPPROTO_TCP,
                (_, Kind::Datagram) => IPPROTO_UDP,
            },
            (SOL_SOCKET, SO_ACCEPTCONN) => i32::from(socket.is_listening()),
            (SOL_SOCKET, SO_SNDBUF | SO_RCVBUF) => MAX_SOCKET_BUFFER as i32,
            (SOL_SOCKET, SO_RCVLOWAT | SO_SNDLOWAT) => 1,
            (SOL_SOCKET, SO_LINGER) => return Ok(vec![0; 8]),
            (SOL_SOCKET, SO_RCVTIMEO | SO_SNDTIMEO) => return Ok(vec![0; 16]),
            // The process, its user and its group.
            (SOL_SOCKET, SO_PEERCRED) => return Ok([encode(crate::PID as i32), vec![0; 8]].concat()),
            (SOL_SOCKET, name) => settable(name).map(|_| 0).ok_or(Errno::ENOPROTOOPT)?,
            _ => socket.protocol_option(level, name)?,
        };
        Ok(encode(value))
    }

    /// Sets an option.
    pub(super) fn set_option(&mut self, id: SocketId, level: i32, name: i32, value: &[u8]) -> Result<(), Errno> {
        let socket = self.get_mut(id)?;
        if value.len() > MAX_SOCKET_OPTION {
            return Err(Errno::EINVAL);
        }
        let name = canonical(level, name);
        let kept = if level == SOL_SOCKET {
            match settable(name).ok_or(Errno::ENOPROTOOPT)? {
                Value::Flag => encode(i32::from(number(value)? != 0)),
                Value::Number => encode(number(value)?),
                Value::BufferSize => {
                    encode(number(value)?.clamp(0, MAX_BUFFER_SIZE / 2).saturating_mul(2).max(MIN_BUFFER_SIZE))
                }
                Value::Linger if value.len() >= 8 => value[..8].to_vec(),
                Value::Time if matches!(value.len(), 8 | 16) => value.to_vec(),
                Value::Linger | Value::Time => return Err(Errno::EINVAL),
            }
        } else {
            socket.protocol_option(level, name)?;
            match (level, name) {
                (IPPROTO_IP, IP_ADD_MEMBERSHIP | IP_ADD_SOURCE_MEMBERSHIP) | (IPPROTO_IPV6, IPV6_JOIN_GROUP) => {
                    return Err(Errno::ENODEV);
                }
                (IPPROTO_IPV6, IPV6_V6ONLY) if socket.local != super::SocketAddress::Unnamed => {
                    return Err(Errno::EINVAL);
                }
                _ if value.is_empty() => return Err(Errno::EINVAL),
                _ => value.to_vec(),
            }
        };
        if socket.options.len() >= MAX_SOCKET_OPTIONS && !socket.options.contains_key(&(level, name)) {
            return Err(Errno::ENOBUFS);
        }
        socket.options.insert((level, name), Bytes(kept));
        Ok(())
    }

    /// Returns the longest time to wait for a socket to become readable (or writable) in microseconds; 0 is for ever.
    pub(super) fn timeout(&self, id: SocketId, name: i32) -> Result<u64, Errno> {
        let Some(value) = self.get(id)?.options.get(&(SOL_SOCKET, name)) else { return Ok(0) };
        let part = |at: usize, size: usize| {
            let mut word = [0; 8];
            let bytes = value.get(at..at + size).unwrap_or(&[]);
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let half = value.len() / 2;
        Ok(part(0, half.min(8)).saturating_mul(1_000_000).saturating_add(part(half, half.min(8))))
    }
}

impl Socket {
    /// The default of a protocol's option.
    fn protocol_option(&self, level: i32, name: i32) -> Result<i32, Errno> {
        let has_level = match level {
            IPPROTO_TCP => self.family != super::Family::Unix && self.kind == Kind::Stream,
            IPPROTO_UDP => self.family != super::Family::Unix && self.kind == Kind::Datagram,
            IPPROTO_IP => self.family != super::Family::Unix,
            IPPROTO_IPV6 => self.family == super::Family::Inet6,
            _ => false,
        };
        if !has_level && self.family == super::Family::Unix {
            return Err(Errno::EOPNOTSUPP);
        }
        if !has_level || !(1..=MAX_PROTOCOL_OPTION).contains(&name) {
            return Err(Errno::ENOPROTOOPT);
        }
        Ok(match (level, name) {
            (IPPROTO_IP, IP_TTL) | (IPPROTO_IPV6, IPV6_UNICAST_HOPS) => 64,
            (IPPROTO_IP, IP_MULTICAST_TTL | IP_MULTICAST_LOOP) => 1,
            (IPPROTO_TCP, TCP_MAXSEG) => SEGMENT_SIZE,
            _ => 0,
        })
    }

    /// Whether `close` resets the connection: `SO_LINGER` is on, with no time.
    pub(super) fn resets_at_close(&self) -> bool {
        let linger = self.options.get(&(SOL_SOCKET, SO_LINGER));
        linger.is_some_and(|value| value.len() == 8 && value[..4] != [0; 4] && value[4..] == [0; 4])
    }
}
