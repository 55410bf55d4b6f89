//! Bytes and datagrams: `send`, `recv`, `shutdown`.

use super::{Family, Kind, Message, Received, Shutdown, SocketAddress, SocketId, Sockets, State};
use crate::bytes::Bytes;
use crate::limits::{MAX_DATAGRAM, MAX_DATAGRAMS, MAX_SOCKET_BUFFER, MAX_SOCKETS_BYTES};
use brumate_abi::errno::Errno;

impl Sockets {
    /// Returns the number of bytes that a socket's buffer can take now.
    pub(super) fn room(&self, id: SocketId) -> usize {
        let all = MAX_SOCKETS_BYTES.saturating_sub(self.bytes);
        self.get(id).map_or(0, |socket| MAX_SOCKET_BUFFER.saturating_sub(socket.held())).min(all)
    }

    /// Sends bytes of a stream; returns how many fitted.
    pub(super) fn send_stream(&mut self, id: SocketId, data: &[u8]) -> Result<usize, Errno> {
        let socket = self.get_mut(id)?;
        socket.take_error()?;
        if socket.shut_write {
            return Err(Errno::EPIPE);
        }
        match socket.state {
            State::Connected => {}
            State::Connecting(_) => return Err(Errno::EAGAIN),
            _ if socket.family == Family::Unix => return Err(Errno::ENOTCONN),
            _ => return Err(Errno::EPIPE),
        }
        let family = socket.family;
        let Some(peer) = socket.peer else {
            if family == Family::Unix {
                return Err(Errno::EPIPE);
            }
            // The first bytes to an end that is closed are answered by a reset, as TCP does it.
            socket.reset(Errno::EPIPE);
            return Ok(data.len());
        };
        if family == Family::Unix && self.get(peer)?.shut_read {
            return Err(Errno::EPIPE);
        }
        if data.is_empty() {
            return Ok(0);
        }
        let count = data.len().min(self.room(peer));
        if count == 0 {
            return Err(Errno::EAGAIN);
        }
        self.get_mut(peer)?.stream.extend(&data[..count]);
        self.bytes += count;
        Ok(count)
    }

    /// Sends a datagram of UDP. One that nobody can take is lost.
    pub(super) fn send_udp(&mut self, id: SocketId, data: &[u8], to: Option<&SocketAddress>) -> Result<usize, Errno> {
        let socket = self.get_mut(id)?;
        socket.take_error()?;
        if socket.shut_write {
            return Err(Errno::EPIPE);
        }
        let is_connected = socket.remote != SocketAddress::Unnamed;
        let (ip, port) = match to.unwrap_or(&socket.remote) {
            SocketAddress::Ip(ip, port) => (*ip, *port),
            _ => return Err(Errno::EDESTADDRREQ),
        };
        if socket.family == Family::Inet && ip.is_ipv6() {
            return Err(Errno::EAFNOSUPPORT);
        }
        if data.len() > MAX_DATAGRAM {
            return Err(Errno::EMSGSIZE);
        }
        if !super::is_local(ip) {
            return Err(Errno::EACCES);
        }
        if port == 0 {
            return Err(Errno::EINVAL);
        }
        let ip = super::address::destination(ip);
        self.bind_any(id)?;
        let source = match self.get(id)?.local {
            SocketAddress::Ip(local, port) if local.is_unspecified() => {
                SocketAddress::Ip(super::address::loopback(ip), port)
            }
            ref local => local.clone(),
        };
        match self.receiver(ip, port, &source) {
            Some(receiver) => {
                // UDP says nothing of what is lost.
                let _full = self.deliver(receiver, source, data);
            }
            None if is_connected && to.is_none() => self.get_mut(id)?.error = Some(Errno::ECONNREFUSED),
            None => {}
        }
        Ok(data.len())
    }

    /// Sends a datagram of a Unix socket, to `to` or to the socket that it is connected to.
    pub(super) fn send_unix(&mut self, id: SocketId, data: &[u8], to: Option<SocketId>) -> Result<usize, Errno> {
        let socket = self.get_mut(id)?;
        socket.take_error()?;
        if socket.shut_write {
            return Err(Errno::EPIPE);
        }
        let connected = matches!(socket.state, State::Connected);
        let target = match to.or(socket.peer) {
            Some(target) => target,
            None if connected => return Err(Errno::ECONNREFUSED),
            None => return Err(Errno::ENOTCONN),
        };
        let source = socket.local.clone();
        let receiver = self.get(target).map_err(|_| Errno::ECONNREFUSED)?;
        if receiver.kind != Kind::Datagram {
            return Err(Errno::EPROTOTYPE);
        }
        if receiver.shut_read {
            return Err(Errno::EPIPE);
        }
        if receiver.peer.is_some_and(|peer| peer != id) {
            return Err(Errno::EPERM);
        }
        if data.len() > MAX_SOCKET_BUFFER {
            return Err(Errno::EMSGSIZE);
        }
        self.deliver(target, source, data)?;
        Ok(data.len())
    }

    fn deliver(&mut self, id: SocketId, source: SocketAddress, data: &[u8]) -> Result<(), Errno> {
        let room = self.room(id);
        let receiver = self.get_mut(id)?;
        if receiver.messages.len() >= MAX_DATAGRAMS || data.len() > room {
            return Err(Errno::EAGAIN);
        }
        receiver.messages.push_back(Message { source, data: Bytes(data.to_vec()) });
        self.bytes += data.len();
        Ok(())
    }

    /// Receives bytes or a datagram; leaves them in the buffer with `peek`.
    pub(crate) fn receive(&mut self, id: SocketId, buf: &mut [u8], peek: bool) -> Result<Received, Errno> {
        let socket = self.get_mut(id)?;
        if socket.kind == Kind::Datagram {
            return self.receive_message(id, buf, peek);
        }
        let received = |count| Received { count, length: count, source: SocketAddress::Unnamed };
        if !socket.stream.is_empty() {
            let count = buf.len().min(socket.stream.len());
            let (front, back) = socket.stream.as_slices();
            let (first, second) = buf[..count].split_at_mut(count.min(front.len()));
            first.copy_from_slice(&front[..first.len()]);
            second.copy_from_slice(&back[..second.len()]);
            if !peek {
                socket.stream.drain(..count);
                self.bytes = self.bytes.saturating_sub(count);
            }
            return Ok(received(count));
        }
        // The end of the stream came before a failure to send.
        if socket.error.is_some_and(|errno| errno != Errno::EPIPE) {
            socket.take_error()?;
        }
        match socket.state {
            State::Connected if socket.ended || socket.shut_read || buf.is_empty() => Ok(received(0)),
            State::Connected | State::Connecting(_) => Err(Errno::EAGAIN),
            State::Idle | State::Listening { .. } if socket.family == Family::Unix => Err(Errno::EINVAL),
            State::Idle | State::Listening { .. } => Err(Errno::ENOTCONN),
        }
    }

    fn receive_message(&mut self, id: SocketId, buf: &mut [u8], peek: bool) -> Result<Received, Errno> {
        let socket = self.get_mut(id)?;
        socket.take_error()?;
        let Some(message) = socket.messages.front() else {
            let shut = socket.shut_read || (socket.ended && socket.family == Family::Unix);
            return if shut {
                Ok(Received { count: 0, length: 0, source: SocketAddress::Unnamed })
            } else {
                Err(Errno::EAGAIN)
            };
        };
        let (count, length) = (buf.len().min(message.data.len()), message.data.len());
        buf[..count].copy_from_slice(&message.data[..count]);
        let source = message.source.clone();
        if !peek {
            socket.messages.pop_front();
            self.bytes = self.bytes.saturating_sub(length);
        }
        Ok(Received { count, length, source })
    }

    /// Returns the bytes that can be read without waiting: all of a stream, or the next datagram.
    pub(crate) fn readable_bytes(&self, id: SocketId) -> Result<u64, Errno> {
        let socket = self.get(id)?;
        if socket.is_listening() {
            return Err(Errno::EINVAL);
        }
        let message = socket.messages.front().map_or(0, |message| message.data.len());
        Ok((socket.stream.len() + message) as u64)
    }

    /// Closes directions of a connection.
    pub(super) fn shutdown(&mut self, id: SocketId, how: Shutdown) -> Result<(), Errno> {
        let socket = self.get_mut(id)?;
        match &mut socket.state {
            State::Connected => {}
            State::Listening { ready, waiting, .. } if how.reads() => {
                let (ready, waiting) = (std::mem::take(ready), std::mem::take(waiting));
                socket.state = State::Idle;
                socket.shut_read = true;
                self.refuse(ready, waiting);
                return Ok(());
            }
            _ => return Err(Errno::ENOTCONN),
        }
        socket.shut_read |= how.reads();
        socket.shut_write |= how.writes();
        if how.writes()
            && let Some(peer) = socket.peer
            && let Ok(peer) = self.get_mut(peer)
            && peer.peer == Some(id)
        {
            peer.ended = true;
        }
        Ok(())
    }
}
