//! Connections to other machines. The other end of each is a socket here, too, which the engine empties and fills.
//!
//! They last as long as the process: what is written to a file, or goes on in a fork, has their ends reset.

use std::net::IpAddr;

use serde::{Serialize, Serializer};

use super::{Kind, Shutdown, Socket, SocketAddress, SocketId, Sockets, State, is_local};
use crate::Vfs;
use crate::limits::PIPE_BUF;
use brumate_abi::errno::Errno;

/// The sandbox's end of a connection, as its other end sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutsideEnd {
    /// The socket is closed.
    pub is_closed: bool,
    /// It sends nothing more.
    pub is_shut: bool,
    /// Bytes that it has sent and that were not taken yet.
    pub pending: usize,
    /// Bytes that it can take.
    pub room: usize,
}

impl Sockets {
    /// Saves the sockets as they are without the outside.
    pub(crate) fn save<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.outside.is_empty() {
            return self.serialize(serializer);
        }
        let mut saved = self.clone();
        saved.forget_outside();
        saved.serialize(serializer)
    }

    /// Makes the other end of a stream that is to be connected to an address outside.
    fn connect_outside(&mut self, id: SocketId, ip: IpAddr, port: u16) -> Result<SocketId, Errno> {
        let socket = self.get(id)?;
        let mut far = Socket::new(socket.family, Kind::Stream);
        far.local = SocketAddress::Ip(ip, port);
        far.state = State::Connected;
        far.peer = Some(id);
        let far = self.insert(far)?;
        self.outside.insert(far);
        let socket = self.get_mut(id)?;
        socket.remote = SocketAddress::Ip(ip, port);
        socket.state = State::Connecting(far);
        Ok(far)
    }

    /// Ends all connections to the outside as a reset does.
    fn forget_outside(&mut self) {
        for far in std::mem::take(&mut self.outside) {
            self.end_outside(far, Errno::ECONNRESET);
        }
    }

    fn end_outside(&mut self, far: SocketId, errno: Errno) {
        self.outside.remove(&far);
        let near = self.get(far).ok().and_then(|socket| socket.peer);
        self.close(far);
        let Some(near) = near.and_then(|near| self.all.get_mut(&near)) else { return };
        if matches!(near.state, State::Connecting(_)) {
            near.state = State::Idle;
            near.error = Some(errno);
        } else {
            near.reset(errno);
        }
    }
}

impl Vfs {
    /// Begins to connect a stream to an address outside; returns the other end. `None` if the address is the sandbox's own, or the socket no stream.
    ///
    /// # Errors
    /// The errors of `connect(2)` about the socket.
    pub fn connect_outside(&mut self, fd: i32, address: &SocketAddress) -> Result<Option<SocketId>, Errno> {
        let id = self.socket_of(fd)?;
        let SocketAddress::Ip(ip, port) = *address else { return Ok(None) };
        if is_local(ip) || self.sockets.get(id)?.kind != Kind::Stream {
            return Ok(None);
        }
        self.sockets.check_remote(id, ip)?;
        self.sockets.connect_outside(id, ip, port).map(Some)
    }

    /// The connection of an end is there. `local` is the address of the sandbox's end.
    pub fn outside_connected(&mut self, far: SocketId, local: (IpAddr, u16)) {
        let Some(near) = self.sockets.get(far).ok().and_then(|socket| socket.peer) else { return };
        if let Ok(socket) = self.sockets.get_mut(near) {
            socket.state = State::Connected;
            socket.peer = Some(far);
            socket.local = SocketAddress::Ip(local.0, local.1);
        }
    }

    /// The connection of an end has failed, or is lost.
    pub fn end_outside(&mut self, far: SocketId, errno: Errno) {
        self.sockets.end_outside(far, errno);
    }

    /// Returns the sandbox's end of a connection.
    pub fn outside_end(&self, far: SocketId) -> Option<OutsideEnd> {
        let socket = self.sockets.get(far).ok()?;
        let pending = socket.stream.len();
        let Some(near) = socket.peer.filter(|near| self.sockets.get(*near).is_ok()) else {
            return Some(OutsideEnd { is_closed: true, is_shut: true, pending, room: 0 });
        };
        let is_shut = self.sockets.get(near).is_ok_and(|near| near.shut_write);
        Some(OutsideEnd { is_closed: false, is_shut, pending, room: self.sockets.room(near) })
    }

    /// Takes bytes that the sandbox's end has sent: `write` is called with pieces of them, and returns how many it took.
    pub fn take_outside(&mut self, far: SocketId, mut write: impl FnMut(&[u8]) -> usize) {
        while let Ok(socket) = self.sockets.get_mut(far) {
            let piece = socket.stream.as_slices().0;
            if piece.is_empty() {
                return;
            }
            let count = write(piece).min(piece.len());
            let whole = count == piece.len();
            socket.stream.drain(..count);
            self.sockets.bytes = self.sockets.bytes.saturating_sub(count);
            if !whole {
                return;
            }
        }
    }

    /// Gives bytes to the sandbox's end; returns how many it took.
    pub fn give_outside(&mut self, far: SocketId, data: &[u8]) -> usize {
        self.sockets.send_stream(far, data).unwrap_or(0)
    }

    /// The host sends nothing more on a connection.
    pub fn shut_outside(&mut self, far: SocketId) {
        let _ = self.sockets.shutdown(far, Shutdown::Write);
    }

    /// Ends all connections to the outside as a reset does.
    pub fn forget_outside(&mut self) {
        self.sockets.forget_outside();
    }
}

/// Bytes that the sandbox's end of a connection must be able to take before more are read for it.
pub const MIN_ROOM: usize = PIPE_BUF;
