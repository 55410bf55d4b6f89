//! Readiness of sockets, as `poll` reports it.

use super::{Family, Kind, Socket, SocketId, Sockets, State};
use crate::device::Readiness;
use crate::limits::{MAX_DATAGRAMS, PIPE_BUF};
use brumate_abi::errno::Errno;

/// The other end sends nothing more, in the bits of `poll` (`POLLRDHUP`).
const RDHUP: i16 = 0x2000;

impl Sockets {
    pub(crate) fn poll(&self, id: SocketId) -> Result<Readiness, Errno> {
        let socket = self.get(id)?;
        let error = if socket.error.is_some() { Readiness::ERR | Readiness::READABLE.0 } else { 0 };
        let state = match (&socket.state, socket.kind) {
            (State::Listening { ready, .. }, _) if ready.is_empty() => 0,
            (State::Listening { .. }, _) => Readiness::READABLE.0,
            (State::Connecting(_), _) => 0,
            (_, Kind::Datagram) => self.poll_datagram(socket),
            (State::Idle, Kind::Stream) => Readiness::WRITABLE.0 | Readiness::HUP,
            (State::Connected, Kind::Stream) => self.poll_stream(socket),
        };
        Ok(Readiness(state | error))
    }

    fn poll_stream(&self, socket: &Socket) -> i16 {
        let reads_no_more = socket.ended || socket.shut_read;
        let gone = socket.family == Family::Unix && socket.peer.is_none();
        let mut ready = 0;
        if !socket.stream.is_empty() || reads_no_more {
            ready |= Readiness::READABLE.0;
        }
        if reads_no_more {
            ready |= RDHUP;
        }
        if gone || (reads_no_more && socket.shut_write) {
            ready |= Readiness::HUP;
        }
        // As with pipes, so that a program does not send byte by byte.
        if socket.shut_write || socket.peer.is_none_or(|peer| self.room(peer) >= PIPE_BUF) {
            ready |= Readiness::WRITABLE.0;
        }
        ready
    }

    fn poll_datagram(&self, socket: &Socket) -> i16 {
        let mut ready = 0;
        if !socket.messages.is_empty() || socket.shut_read {
            ready |= Readiness::READABLE.0;
        }
        if socket.shut_read {
            ready |= RDHUP;
        }
        if socket.shut_read && socket.shut_write {
            ready |= Readiness::HUP;
        }
        let full = |peer| {
            let crowded = |socket: &Socket| socket.messages.len() >= MAX_DATAGRAMS || self.room(peer) < PIPE_BUF;
            self.get(peer).is_ok_and(crowded)
        };
        if socket.family != Family::Unix || !socket.peer.is_some_and(full) {
            ready |= Readiness::WRITABLE.0;
        }
        ready
    }
}
