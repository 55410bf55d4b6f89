//! Sockets between parts of one guest: TCP and UDP over loopback, and Unix sockets. The host makes no call for them.
//! Connections to other machines have an end here that the engine serves.
//!
//! `send` puts bytes straight into the buffer of the other socket. No call waits: it returns `EAGAIN` if Linux would block,
//! and the engine waits for [`Vfs::poll`]. Sockets and their buffers are saved with the file system, like pipes.
//!
//! ```text
//! address  addresses, loopback            names     bind, ports, who listens
//! connect  listen, connect, accept        transfer  send, receive, shutdown
//! options  getsockopt, setsockopt         ready     poll
//! calls    the methods of `Vfs`         outside  connections to other machines
//! ```
//!
//! [`Vfs::poll`]: crate::Vfs::poll

mod address;
mod calls;
mod connect;
mod names;
mod options;
pub mod outside;
mod ready;
mod transfer;

pub use address::SocketAddress;
pub use calls::Received;
pub use options::option;

pub(crate) use address::is_local;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::limits::{
    MAX_BACKLOG, MAX_DATAGRAMS, MAX_SOCKET_BUFFER, MAX_SOCKET_NAME, MAX_SOCKET_OPTION, MAX_SOCKET_OPTIONS, MAX_SOCKETS,
    MAX_SOCKETS_BYTES,
};
use brumate_abi::errno::Errno;

/// Number of a socket. None is used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SocketId(u64);

/// Address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Family {
    /// `AF_UNIX`.
    Unix,
    /// `AF_INET`.
    Inet,
    /// `AF_INET6`.
    Inet6,
}

impl Family {
    /// Returns the family's number.
    pub const fn number(self) -> i32 {
        match self {
            Self::Unix => 1,
            Self::Inet => 2,
            Self::Inet6 => 10,
        }
    }

    /// Returns the family with a number.
    pub const fn from_number(number: i32) -> Option<Self> {
        match number {
            1 => Some(Self::Unix),
            2 => Some(Self::Inet),
            10 => Some(Self::Inet6),
            _ => None,
        }
    }
}

/// Type of a socket: its unit of transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// `SOCK_STREAM`.
    Stream,
    /// `SOCK_DGRAM`.
    Datagram,
}

impl Kind {
    /// Returns the type's number.
    pub const fn number(self) -> i32 {
        match self {
            Self::Stream => 1,
            Self::Datagram => 2,
        }
    }
}

/// Directions that [`Vfs::shutdown`](crate::Vfs::shutdown) closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// `SHUT_RD`.
    Read,
    /// `SHUT_WR`.
    Write,
    /// `SHUT_RDWR`.
    Both,
}

impl Shutdown {
    /// Returns the directions with a number.
    pub const fn from_number(number: i32) -> Option<Self> {
        match number {
            0 => Some(Self::Read),
            1 => Some(Self::Write),
            2 => Some(Self::Both),
            _ => None,
        }
    }

    const fn reads(self) -> bool {
        !matches!(self, Self::Write)
    }

    const fn writes(self) -> bool {
        !matches!(self, Self::Read)
    }
}

/// A datagram that has arrived.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Message {
    source: SocketAddress,
    data: Bytes,
}

/// Step in the life of a socket.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
enum State {
    /// Neither connected nor listening.
    #[default]
    Idle,
    /// A stream that waits for room in the backlog of a listener.
    Connecting(SocketId),
    /// A stream with another end, which may be closed since; a datagram socket with a destination.
    Connected,
    /// Accepts connections.
    Listening {
        /// Connections that may wait for `accept`.
        backlog: u32,
        /// The ends of this side that were not accepted yet.
        ready: VecDeque<SocketId>,
        /// Sockets that wait for room.
        waiting: VecDeque<SocketId>,
    },
}

/// One socket.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Socket {
    family: Family,
    kind: Kind,
    local: SocketAddress,
    /// Inode number of the socket file that `bind` made.
    file: Option<u64>,
    remote: SocketAddress,
    state: State,
    /// The other end of a stream or of a pair, the destination of a connected Unix datagram socket.
    peer: Option<SocketId>,
    shut_read: bool,
    shut_write: bool,
    /// The other end sends nothing more.
    ended: bool,
    /// Error of the next call (`SO_ERROR`).
    error: Option<Errno>,
    stream: VecDeque<u8>,
    messages: VecDeque<Message>,
    options: BTreeMap<(i32, i32), Bytes>,
}

impl Socket {
    fn new(family: Family, kind: Kind) -> Self {
        Self {
            family,
            kind,
            local: SocketAddress::Unnamed,
            file: None,
            remote: SocketAddress::Unnamed,
            state: State::Idle,
            peer: None,
            shut_read: false,
            shut_write: false,
            ended: false,
            error: None,
            stream: VecDeque::new(),
            messages: VecDeque::new(),
            options: BTreeMap::new(),
        }
    }

    fn is_listening(&self) -> bool {
        matches!(self.state, State::Listening { .. })
    }

    /// Bytes in its buffers.
    fn held(&self) -> usize {
        self.stream.len() + self.messages.iter().map(|message| message.data.len()).sum::<usize>()
    }

    fn take_error(&mut self) -> Result<(), Errno> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Ends the connection as a reset of TCP does.
    fn reset(&mut self, error: Errno) {
        self.error = Some(error);
        self.ended = true;
        self.shut_write = true;
    }
}

/// All sockets of a guest.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Sockets {
    all: BTreeMap<SocketId, Socket>,
    last_id: u64,
    /// Bytes in all buffers.
    bytes: usize,
    /// Ports that were given to sockets without one.
    last_port: u16,
    /// Abstract names that were given to sockets without one.
    last_name: u32,
    /// Other ends of connections to other machines.
    #[serde(skip)]
    outside: BTreeSet<SocketId>,
}

impl Sockets {
    fn get(&self, id: SocketId) -> Result<&Socket, Errno> {
        self.all.get(&id).ok_or(Errno::EBADF)
    }

    fn get_mut(&mut self, id: SocketId) -> Result<&mut Socket, Errno> {
        self.all.get_mut(&id).ok_or(Errno::EBADF)
    }

    fn insert(&mut self, socket: Socket) -> Result<SocketId, Errno> {
        if self.all.len() >= MAX_SOCKETS {
            return Err(Errno::ENOBUFS);
        }
        self.last_id += 1;
        let id = SocketId(self.last_id);
        self.all.insert(id, socket);
        Ok(id)
    }

    /// Closes a socket: its other end, and those that wait for it, learn of it.
    pub(super) fn close(&mut self, id: SocketId) {
        let Some(gone) = self.all.remove(&id) else { return };
        self.bytes = self.bytes.saturating_sub(gone.held());
        let unread = !gone.stream.is_empty() || gone.resets_at_close();
        match gone.state {
            State::Listening { ready, waiting, .. } => self.refuse(ready, waiting),
            State::Connecting(listener) => {
                match self.get_mut(listener) {
                    Ok(Socket { state: State::Listening { waiting, .. }, .. }) => {
                        waiting.retain(|&waiter| waiter != id)
                    }
                    // The other end of a connection to another machine.
                    Ok(far) => far.peer = None,
                    Err(_) => {}
                }
            }
            State::Idle | State::Connected => {}
        }
        if let Some(peer) = gone.peer.and_then(|peer| self.all.get_mut(&peer))
            && peer.peer == Some(id)
        {
            peer.peer = None;
            if gone.kind == Kind::Stream {
                peer.ended = true;
                if unread {
                    peer.reset(Errno::ECONNRESET);
                }
            }
        }
    }

    /// Ends what a listener has not accepted.
    fn refuse(&mut self, ready: VecDeque<SocketId>, waiting: VecDeque<SocketId>) {
        for end in ready {
            let peer = self.all.get(&end).and_then(|socket| socket.peer);
            self.close(end);
            if let Some(peer) = peer.and_then(|peer| self.all.get_mut(&peer)) {
                peer.reset(Errno::ECONNRESET);
            }
        }
        for waiter in waiting {
            if let Some(socket) = self.all.get_mut(&waiter) {
                socket.state = State::Idle;
                socket.error = Some(Errno::ECONNREFUSED);
            }
        }
    }

    /// Whether saved sockets keep the bounds and agree with each other; `open` has the sockets that descriptors refer
    /// to.
    pub(super) fn is_consistent(&self, open: &BTreeSet<SocketId>) -> bool {
        let mut held = open.clone();
        let mut bytes = 0;
        for (id, socket) in &self.all {
            bytes += socket.held();
            let names_fit = [&socket.local, &socket.remote].into_iter().all(|address| match address {
                SocketAddress::Path(name) | SocketAddress::Abstract(name) => name.len() <= MAX_SOCKET_NAME,
                SocketAddress::Ip(..) | SocketAddress::Unnamed => true,
            });
            let bounded = id.0 <= self.last_id
                && socket.stream.len() <= MAX_SOCKET_BUFFER
                && socket.messages.len() <= MAX_DATAGRAMS
                && socket.options.len() <= MAX_SOCKET_OPTIONS
                && socket.options.values().all(|value| value.len() <= MAX_SOCKET_OPTION)
                && names_fit;
            let queued = match &socket.state {
                State::Listening { backlog, ready, waiting } => {
                    *backlog <= MAX_BACKLOG
                        && ready.len() <= *backlog as usize + 1
                        && ready.iter().all(|&end| held.insert(end) && self.is_connected(end))
                        && waiting.iter().all(|&waiter| self.waits_for(waiter, *id))
                }
                State::Connecting(listener) => self.get(*listener).is_ok_and(Socket::is_listening),
                State::Idle | State::Connected => true,
            };
            if !bounded || !queued {
                return false;
            }
        }
        self.all.len() <= MAX_SOCKETS
            && self.last_id <= i64::MAX as u64
            && bytes == self.bytes
            && bytes <= MAX_SOCKETS_BYTES
            && held.len() == self.all.len()
            && held.iter().all(|id| self.all.contains_key(id))
    }

    fn is_connected(&self, id: SocketId) -> bool {
        self.get(id).is_ok_and(|socket| matches!(socket.state, State::Connected))
    }

    fn waits_for(&self, waiter: SocketId, listener: SocketId) -> bool {
        self.get(waiter).is_ok_and(|socket| matches!(socket.state, State::Connecting(id) if id == listener))
    }
}
