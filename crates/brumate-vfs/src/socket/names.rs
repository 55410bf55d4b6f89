//! Names of sockets: `bind`, ports, and the socket that an address means.

use std::net::IpAddr;

use super::address::{is_local, loopback};
use super::{Family, Kind, Socket, SocketAddress, SocketId, Sockets, option};
use crate::bytes::Bytes;
use brumate_abi::errno::Errno;

/// Ports that are given to sockets without one, as on Linux.
const PORTS: std::ops::RangeInclusive<u16> = 32768..=60999;

impl Socket {
    fn flag(&self, level: i32, name: i32) -> bool {
        self.options.get(&(level, name)).is_some_and(|value| value.iter().any(|&byte| byte != 0))
    }

    /// Whether a socket that is bound to `local` receives what is sent to `address`.
    fn covers(&self, address: IpAddr) -> bool {
        let SocketAddress::Ip(local, _) = self.local else { return false };
        match (local, address) {
            _ if local == address => true,
            (IpAddr::V4(local), IpAddr::V4(_)) => local.is_unspecified(),
            (IpAddr::V6(local), IpAddr::V6(_)) => local.is_unspecified(),
            (IpAddr::V6(local), IpAddr::V4(_)) => local.is_unspecified() && !self.is_v6_only(),
            (IpAddr::V4(_), IpAddr::V6(_)) => false,
        }
    }

    fn is_v6_only(&self) -> bool {
        self.flag(option::IPPROTO_IPV6, option::IPV6_V6ONLY)
    }

    /// Whether a port may be shared with `other`, if one of them is (or will be) listening.
    fn shares_with(&self, other: &Socket, listens: bool) -> bool {
        let both = |name| self.flag(option::SOL_SOCKET, name) && other.flag(option::SOL_SOCKET, name);
        both(option::SO_REUSEPORT)
            || (both(option::SO_REUSEADDR) && (self.kind == Kind::Datagram || !(listens || other.is_listening())))
    }
}

impl Sockets {
    /// Checks that `socket` could have the address; `listens` if it is to listen there.
    fn check_free(
        &self,
        id: Option<SocketId>,
        socket: &Socket,
        ip: IpAddr,
        port: u16,
        listens: bool,
    ) -> Result<(), Errno> {
        let taken = self.all.iter().any(|(other_id, other)| {
            let SocketAddress::Ip(other_ip, other_port) = other.local else { return false };
            if Some(*other_id) == id || other_port != port || other.kind != socket.kind {
                return false;
            }
            if listens && !other.is_listening() {
                return false;
            }
            let overlap = ip == other_ip
                || other.covers(ip)
                || (ip.is_unspecified()
                    && (ip.is_ipv6() == other_ip.is_ipv6() || (ip.is_ipv6() && !socket.is_v6_only())));
            overlap && !socket.shares_with(other, listens)
        });
        if taken { Err(Errno::EADDRINUSE) } else { Ok(()) }
    }

    /// Returns a port that no socket has.
    fn free_port(&mut self, kind: Kind) -> Result<u16, Errno> {
        for _ in PORTS {
            let next = self.last_port.wrapping_add(1);
            self.last_port = if PORTS.contains(&next) { next } else { *PORTS.start() };
            let port = self.last_port;
            if !self.all.values().any(|socket| socket.kind == kind && socket.local.port() == port) {
                return Ok(port);
            }
        }
        Err(Errno::EADDRNOTAVAIL)
    }

    /// Gives a socket an address of the Internet protocols.
    pub(super) fn bind_ip(&mut self, id: SocketId, ip: IpAddr, port: u16) -> Result<(), Errno> {
        let socket = self.get(id)?;
        if socket.local != SocketAddress::Unnamed {
            return Err(Errno::EINVAL);
        }
        if socket.family == Family::Inet && ip.is_ipv6() {
            return Err(Errno::EAFNOSUPPORT);
        }
        if socket.family == Family::Inet6 && ip.is_ipv4() && socket.is_v6_only() {
            return Err(Errno::EINVAL);
        }
        if !is_local(ip) {
            return Err(Errno::EADDRNOTAVAIL);
        }
        let kind = socket.kind;
        let port = if port == 0 { self.free_port(kind)? } else { port };
        self.check_free(Some(id), self.get(id)?, ip, port, false)?;
        self.get_mut(id)?.local = SocketAddress::Ip(ip, port);
        Ok(())
    }

    /// Gives a socket that has no address one from which it can reach `destination`.
    pub(super) fn bind_for(&mut self, id: SocketId, destination: IpAddr) -> Result<(), Errno> {
        let kind = self.get(id)?.kind;
        match self.get(id)?.local {
            SocketAddress::Unnamed => {
                let port = self.free_port(kind)?;
                self.get_mut(id)?.local = SocketAddress::Ip(loopback(destination), port);
            }
            SocketAddress::Ip(ip, port) if ip.is_unspecified() => {
                self.get_mut(id)?.local = SocketAddress::Ip(loopback(destination), port);
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives a socket the address "any" and a port, if it has none.
    pub(super) fn bind_any(&mut self, id: SocketId) -> Result<(), Errno> {
        let socket = self.get(id)?;
        if socket.local != SocketAddress::Unnamed {
            return Ok(());
        }
        let any: IpAddr = match socket.family {
            Family::Inet6 => std::net::Ipv6Addr::UNSPECIFIED.into(),
            _ => std::net::Ipv4Addr::UNSPECIFIED.into(),
        };
        self.bind_ip(id, any, 0)
    }

    /// Gives a Unix socket a name of the abstract name space; one that no socket has if `name` is `None`.
    pub(super) fn bind_abstract(&mut self, id: SocketId, name: Option<&[u8]>) -> Result<(), Errno> {
        if self.get(id)?.local != SocketAddress::Unnamed {
            return Err(Errno::EINVAL);
        }
        let address = match name {
            Some(name) => SocketAddress::Abstract(Bytes(name.to_vec())),
            None => loop {
                // Five hexadecimal digits, as on Linux.
                self.last_name = (self.last_name + 1) & 0xf_ffff;
                let address = SocketAddress::Abstract(Bytes(format!("{:05x}", self.last_name).into_bytes()));
                if self.named(&address).is_none() {
                    break address;
                }
            },
        };
        if self.named(&address).is_some() {
            return Err(Errno::EADDRINUSE);
        }
        self.get_mut(id)?.local = address;
        Ok(())
    }

    /// Checks that a socket can be bound to a file.
    pub(super) fn check_unbound(&self, id: SocketId) -> Result<(), Errno> {
        if self.get(id)?.local == SocketAddress::Unnamed { Ok(()) } else { Err(Errno::EINVAL) }
    }

    /// Gives a Unix socket the path of the socket file with an inode number.
    pub(super) fn bind_file(&mut self, id: SocketId, path: &[u8], ino: u64) -> Result<(), Errno> {
        let socket = self.get_mut(id)?;
        socket.local = SocketAddress::Path(Bytes(path.to_vec()));
        socket.file = Some(ino);
        Ok(())
    }

    /// Returns the socket with an abstract name. Ends of connections have their listener's name, and are not meant.
    pub(super) fn named(&self, address: &SocketAddress) -> Option<SocketId> {
        self.all.iter().find(|(_, socket)| socket.local == *address && !socket.is_end()).map(|(id, _)| *id)
    }

    /// Returns the socket that is bound to the socket file with an inode number.
    pub(super) fn at_file(&self, ino: u64) -> Option<SocketId> {
        self.all.iter().find(|(_, socket)| socket.file == Some(ino)).map(|(id, _)| *id)
    }

    /// Returns the TCP socket that listens at an address.
    pub(super) fn listener(&self, ip: IpAddr, port: u16) -> Option<SocketId> {
        let listening = |socket: &Socket| socket.is_listening() && socket.local.port() == port && socket.covers(ip);
        let mut found = self.all.iter().filter(|(_, socket)| listening(socket)).map(|(id, socket)| (id, &socket.local));
        let exact = |(_, local): &(&SocketId, &SocketAddress)| **local == SocketAddress::Ip(ip, port);
        found.clone().find(exact).or_else(|| found.next()).map(|(id, _)| *id)
    }

    /// Returns the UDP socket that receives what `source` sends to an address.
    pub(super) fn receiver(&self, ip: IpAddr, port: u16, source: &SocketAddress) -> Option<SocketId> {
        let receives = |socket: &Socket| {
            socket.kind == Kind::Datagram
                && socket.local.port() == port
                && socket.covers(ip)
                && (socket.remote == SocketAddress::Unnamed || socket.remote == *source)
        };
        let rank =
            |socket: &Socket| (socket.remote != SocketAddress::Unnamed, socket.local == SocketAddress::Ip(ip, port));
        let found = self.all.iter().filter(|(_, socket)| receives(socket));
        found.max_by_key(|(id, socket)| (rank(socket), **id)).map(|(id, _)| *id)
    }

    /// Checks that no other socket listens at the address of a socket that is to listen.
    pub(super) fn check_listen(&self, id: SocketId) -> Result<(), Errno> {
        let socket = self.get(id)?;
        match socket.local {
            SocketAddress::Ip(ip, port) => self.check_free(Some(id), socket, ip, port, true),
            _ => Ok(()),
        }
    }
}

impl Socket {
    /// Whether it is an end of a connection that a listener made.
    fn is_end(&self) -> bool {
        self.kind == Kind::Stream && matches!(self.state, super::State::Connected) && self.file.is_none()
    }
}
