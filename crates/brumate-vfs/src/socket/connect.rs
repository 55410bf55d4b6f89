//! Connections: `listen`, `connect`, `accept`, `socketpair`.

use std::collections::VecDeque;
use std::net::IpAddr;

use super::address::destination;
use super::{Family, Kind, Socket, SocketAddress, SocketId, Sockets, State, is_local};
use crate::limits::MAX_BACKLOG;
use brumate_abi::errno::Errno;

impl Sockets {
    /// Makes a socket.
    pub(super) fn open(&mut self, family: Family, kind: Kind) -> Result<SocketId, Errno> {
        self.insert(Socket::new(family, kind))
    }

    /// Makes two sockets that are connected with each other.
    pub(super) fn pair(&mut self, family: Family, kind: Kind) -> Result<(SocketId, SocketId), Errno> {
        let first = self.open(family, kind)?;
        let second = self.open(family, kind).inspect_err(|_| self.close(first))?;
        for (id, peer) in [(first, second), (second, first)] {
            let socket = self.get_mut(id)?;
            socket.state = State::Connected;
            socket.peer = Some(peer);
        }
        Ok((first, second))
    }

    /// Makes a socket accept connections.
    pub(super) fn listen(&mut self, id: SocketId, backlog: i32) -> Result<(), Errno> {
        let socket = self.get_mut(id)?;
        if socket.kind != Kind::Stream {
            return Err(Errno::EOPNOTSUPP);
        }
        let most = u32::try_from(backlog).unwrap_or(MAX_BACKLOG).min(MAX_BACKLOG);
        match &mut socket.state {
            State::Listening { backlog, .. } => {
                *backlog = most.max(*backlog);
                return Ok(());
            }
            State::Idle => {}
            State::Connecting(_) | State::Connected => return Err(Errno::EINVAL),
        }
        match (socket.family, &socket.local) {
            (Family::Unix, SocketAddress::Unnamed) => return Err(Errno::EINVAL),
            (Family::Unix, _) => {}
            _ => self.bind_any(id)?,
        }
        self.check_listen(id)?;
        self.get_mut(id)?.state = State::Listening { backlog: most, ready: VecDeque::new(), waiting: VecDeque::new() };
        Ok(())
    }

    /// Connects a stream, or sets the destination of a datagram socket, to an address of the Internet protocols. A
    /// refusal is an error of the call if it blocks, and a pending one otherwise.
    pub(super) fn connect_ip(&mut self, id: SocketId, ip: IpAddr, port: u16, blocks: bool) -> Result<(), Errno> {
        self.check_remote(id, ip)?;
        if !is_local(ip) {
            return Err(Errno::EACCES);
        }
        let ip = destination(ip);
        if self.get(id)?.kind == Kind::Datagram {
            self.bind_for(id, ip)?;
            let socket = self.get_mut(id)?;
            socket.remote = SocketAddress::Ip(ip, port);
            socket.state = State::Connected;
            return Ok(());
        }
        let Some(listener) = self.listener(ip, port) else {
            if blocks {
                return Err(Errno::ECONNREFUSED);
            }
            self.get_mut(id)?.error = Some(Errno::ECONNREFUSED);
            return Err(Errno::EINPROGRESS);
        };
        self.bind_for(id, ip)?;
        self.connect_stream(id, listener, SocketAddress::Ip(ip, port))
    }

    /// Checks that a socket may be connected to an address of the Internet protocols.
    pub(super) fn check_remote(&mut self, id: SocketId, ip: IpAddr) -> Result<(), Errno> {
        let socket = self.get(id)?;
        if socket.family == Family::Inet && ip.is_ipv6() {
            return Err(Errno::EAFNOSUPPORT);
        }
        // A socket that is bound to an address of one protocol cannot reach the other.
        if let SocketAddress::Ip(local, _) = socket.local
            && local.is_ipv4() != ip.is_ipv4()
            && !(local.is_ipv6() && local.is_unspecified())
        {
            return Err(Errno::ENETUNREACH);
        }
        if socket.kind == Kind::Stream { self.check_connects(id) } else { Ok(()) }
    }

    /// Connects a Unix socket to the one with a name; `None` if no socket has it.
    pub(super) fn connect_unix(&mut self, id: SocketId, target: Option<SocketId>) -> Result<(), Errno> {
        let kind = self.get(id)?.kind;
        if kind == Kind::Stream {
            self.check_connects(id)?;
        }
        let target = target.ok_or(Errno::ECONNREFUSED)?;
        let found = self.get(target)?;
        if found.kind != kind {
            return Err(Errno::EPROTOTYPE);
        }
        let remote = found.local.clone();
        match kind {
            Kind::Datagram => {
                let socket = self.get_mut(id)?;
                socket.state = State::Connected;
                socket.peer = Some(target);
                socket.remote = remote;
                Ok(())
            }
            Kind::Stream if !found.is_listening() => Err(Errno::ECONNREFUSED),
            Kind::Stream => self.connect_stream(id, target, remote),
        }
    }

    /// Takes the destination of a datagram socket away.
    pub(super) fn disconnect(&mut self, id: SocketId) -> Result<(), Errno> {
        let socket = self.get_mut(id)?;
        if socket.kind != Kind::Datagram {
            return Err(Errno::EAFNOSUPPORT);
        }
        socket.state = State::Idle;
        socket.peer = None;
        socket.remote = SocketAddress::Unnamed;
        Ok(())
    }

    fn check_connects(&mut self, id: SocketId) -> Result<(), Errno> {
        let socket = self.get_mut(id)?;
        match socket.state {
            // An attempt that failed meanwhile is reported once.
            State::Idle => socket.take_error(),
            State::Connecting(_) => Err(Errno::EALREADY),
            State::Connected => Err(Errno::EISCONN),
            State::Listening { .. } if socket.family == Family::Unix => Err(Errno::EINVAL),
            State::Listening { .. } => Err(Errno::EISCONN),
        }
    }

    fn connect_stream(&mut self, id: SocketId, listener: SocketId, remote: SocketAddress) -> Result<(), Errno> {
        self.get_mut(id)?.remote = remote;
        let State::Listening { backlog, ready, waiting } = &mut self.get_mut(listener)?.state else {
            return Err(Errno::ECONNREFUSED);
        };
        if ready.len() > *backlog as usize {
            waiting.push_back(id);
            self.get_mut(id)?.state = State::Connecting(listener);
            return Err(Errno::EINPROGRESS);
        }
        self.join(id, listener)
    }

    /// Makes the listener's end of a connection, which waits for `accept`.
    fn join(&mut self, id: SocketId, listener: SocketId) -> Result<(), Errno> {
        let (client, server) = (self.get(id)?, self.get(listener)?);
        let mut end = Socket::new(server.family, server.kind);
        end.local = client.remote.clone();
        end.remote = client.local.clone();
        end.options = server.options.clone();
        end.state = State::Connected;
        end.peer = Some(id);
        let end = self.insert(end)?;
        let client = self.get_mut(id)?;
        client.state = State::Connected;
        client.peer = Some(end);
        if let State::Listening { ready, .. } = &mut self.get_mut(listener)?.state {
            ready.push_back(end);
        }
        Ok(())
    }

    /// Takes the first connection that waits at a listener.
    pub(super) fn accept(&mut self, id: SocketId) -> Result<SocketId, Errno> {
        let socket = self.get_mut(id)?;
        if socket.kind != Kind::Stream {
            return Err(Errno::EOPNOTSUPP);
        }
        let State::Listening { ready, waiting, .. } = &mut socket.state else { return Err(Errno::EINVAL) };
        let end = ready.pop_front().ok_or(Errno::EAGAIN)?;
        if let Some(next) = waiting.pop_front()
            && self.get(next).is_ok()
            && let Err(errno) = self.join(next, id)
        {
            let socket = self.get_mut(next)?;
            socket.state = State::Idle;
            socket.error = Some(errno);
        }
        Ok(end)
    }
}
