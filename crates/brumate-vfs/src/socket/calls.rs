//! Calls on sockets, by descriptor.

use super::{Family, Kind, Shutdown, SocketAddress, SocketId, option};
use crate::Vfs;
use crate::fds::Target;
use crate::flags::{OpenFlags, at};
use crate::inode::{InodeKind, MountId};
use crate::limits::MAX_SOCKET_NAME;
use crate::resolve::{Follow, Last, Node};
use brumate_abi::errno::Errno;

/// Result of a [`Vfs::receive`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Bytes that were written to the buffer.
    pub count: usize,
    /// Length of the datagram, which may be larger.
    pub length: usize,
    /// Sender of the datagram.
    pub source: SocketAddress,
}

impl super::Sockets {
    /// Sends to the other end, as `write` does.
    pub(crate) fn send(&mut self, id: SocketId, data: &[u8]) -> Result<usize, Errno> {
        let socket = self.get(id)?;
        match (socket.kind, socket.family) {
            (Kind::Stream, _) => self.send_stream(id, data),
            (Kind::Datagram, Family::Unix) => self.send_unix(id, data, None),
            (Kind::Datagram, _) => self.send_udp(id, data, None),
        }
    }
}

impl Vfs {
    /// Makes a socket; returns its descriptor. Of `flags`, `O_CLOEXEC` and `O_NONBLOCK` count.
    ///
    /// # Errors
    /// `EMFILE`; `ENOBUFS` when there are too many sockets.
    pub fn socket(&mut self, family: Family, kind: Kind, flags: OpenFlags) -> Result<i32, Errno> {
        let fd = self.fds.lowest_free(0)?;
        let id = self.sockets.open(family, kind)?;
        self.install_socket(fd, id, flags)
    }

    /// Makes two sockets that are connected with each other.
    ///
    /// # Errors
    /// The errors of [`Vfs::socket`]; `EOPNOTSUPP` for other families than Unix.
    pub fn socket_pair(&mut self, family: Family, kind: Kind, flags: OpenFlags) -> Result<(i32, i32), Errno> {
        if family != Family::Unix {
            return Err(Errno::EOPNOTSUPP);
        }
        let first = self.fds.lowest_free(0)?;
        let second = self.fds.lowest_free(first + 1)?;
        let (one, other) = self.sockets.pair(family, kind)?;
        Ok((self.install_socket(first, one, flags)?, self.install_socket(second, other, flags)?))
    }

    fn install_socket(&mut self, fd: usize, id: SocketId, flags: OpenFlags) -> Result<i32, Errno> {
        let kept = flags.0 & (OpenFlags::CLOEXEC | OpenFlags::NONBLOCK);
        let made = self.allocate(MountId(0), InodeKind::Socket(id), 0o777, false);
        let made = made.and_then(|inode| self.install(fd, Target::Inode(inode), OpenFlags(OpenFlags::RDWR | kept)));
        made.inspect_err(|_| self.sockets.close(id))
    }

    pub(super) fn socket_of(&self, fd: i32) -> Result<SocketId, Errno> {
        let Target::Inode(inode) = self.descriptions.get(self.usable(fd)?)?.target else {
            return Err(Errno::ENOTSOCK);
        };
        match self.inodes.get(inode)?.kind {
            InodeKind::Socket(id) => Ok(id),
            _ => Err(Errno::ENOTSOCK),
        }
    }

    /// Returns the number of a socket, which tells it from one that gets the same descriptor later.
    ///
    /// # Errors
    /// `EBADF`, `ENOTSOCK`.
    pub fn socket_id(&self, fd: i32) -> Result<SocketId, Errno> {
        self.socket_of(fd)
    }

    /// Returns the family and the kind of a socket.
    ///
    /// # Errors
    /// `EBADF`, `ENOTSOCK`.
    pub fn socket_kind(&self, fd: i32) -> Result<(Family, Kind), Errno> {
        let socket = self.sockets.get(self.socket_of(fd)?)?;
        Ok((socket.family, socket.kind))
    }

    /// Gives a socket an address. `SocketAddress::Unnamed` gives a Unix socket an abstract name.
    ///
    /// # Errors
    /// The errors of `bind(2)`; `EADDRNOTAVAIL` for addresses that are not of the loopback network.
    pub fn bind(&mut self, fd: i32, address: &SocketAddress) -> Result<(), Errno> {
        let id = self.socket_of(fd)?;
        let is_unix = self.sockets.get(id)?.family == Family::Unix;
        match address {
            SocketAddress::Ip(ip, port) if !is_unix => self.sockets.bind_ip(id, *ip, *port),
            SocketAddress::Abstract(name) if is_unix && name.len() < MAX_SOCKET_NAME => {
                self.sockets.bind_abstract(id, Some(name))
            }
            SocketAddress::Unnamed if is_unix => self.sockets.bind_abstract(id, None),
            SocketAddress::Path(path) if is_unix && path.len() <= MAX_SOCKET_NAME => {
                self.sockets.check_unbound(id)?;
                let ino = self.make_socket_file(path)?;
                self.sockets.bind_file(id, path, ino)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    fn make_socket_file(&mut self, path: &[u8]) -> Result<u64, Errno> {
        let parent = self.resolve_parent(at::FDCWD, path)?;
        let Last::Name(name) = parent.last else { return Err(Errno::EADDRINUSE) };
        if self.lookup(&parent.directory, &name)?.is_some() {
            return Err(Errno::EADDRINUSE);
        }
        if parent.trailing_slash {
            return Err(Errno::ENOENT);
        }
        // A socket file in a granted directory would be seen by others, and would lead nowhere.
        let Node::Inode(directory) = parent.directory else { return Err(Errno::EPERM) };
        let inode = self.create(directory, &name, InodeKind::SocketFile, 0o777 & !self.umask)?;
        Ok(self.inodes.get(inode)?.ino)
    }

    /// Finds the socket with a name; `None` if its file is there and no socket has it.
    fn find_socket(&mut self, address: &SocketAddress) -> Result<Option<SocketId>, Errno> {
        match address {
            SocketAddress::Abstract(_) => Ok(self.sockets.named(address)),
            SocketAddress::Path(path) => match self.resolve_existing(at::FDCWD, path, Follow::Yes)?.0 {
                Node::Inode(inode) => Ok(self.sockets.at_file(self.inodes.get(inode)?.ino)),
                _ => Ok(None),
            },
            _ => Err(Errno::EINVAL),
        }
    }

    /// Makes a socket accept connections. `backlog` connections, and one, may wait.
    ///
    /// # Errors
    /// The errors of `listen(2)`.
    pub fn listen(&mut self, fd: i32, backlog: i32) -> Result<(), Errno> {
        let id = self.socket_of(fd)?;
        self.sockets.listen(id, backlog)
    }

    /// Connects a socket.
    ///
    /// # Errors
    /// The errors of `connect(2)`: `EINPROGRESS` while the backlog of the listener is full, `EACCES` for addresses that
    /// are not of the loopback network. A descriptor that does not block gets `EINPROGRESS` for a refusal, which is
    /// pending then: as on Linux, and asyncio names the address in the error that it finds later.
    pub fn connect(&mut self, fd: i32, address: &SocketAddress) -> Result<(), Errno> {
        let id = self.socket_of(fd)?;
        let is_unix = self.sockets.get(id)?.family == Family::Unix;
        match address {
            SocketAddress::Unnamed => self.sockets.disconnect(id),
            SocketAddress::Ip(ip, port) if !is_unix => {
                let blocks = self.blocks(fd);
                self.sockets.connect_ip(id, *ip, *port, blocks)
            }
            SocketAddress::Path(_) | SocketAddress::Abstract(_) if is_unix => {
                let target = self.find_socket(address)?;
                self.sockets.connect_unix(id, target)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// Takes the first connection that waits at a listener; returns its descriptor. Of `flags`, `O_CLOEXEC` and
    /// `O_NONBLOCK` count.
    ///
    /// # Errors
    /// The errors of `accept(2)`: `EAGAIN` when none waits.
    pub fn accept(&mut self, fd: i32, flags: OpenFlags) -> Result<i32, Errno> {
        let id = self.socket_of(fd)?;
        let free = self.fds.lowest_free(0)?;
        let end = self.sockets.accept(id)?;
        self.install_socket(free, end, flags)
    }

    /// Returns the address of a socket.
    ///
    /// # Errors
    /// `EBADF`, `ENOTSOCK`.
    pub fn local_address(&self, fd: i32) -> Result<SocketAddress, Errno> {
        let socket = self.sockets.get(self.socket_of(fd)?)?;
        Ok(socket.local.clone())
    }

    /// Returns the address of the other end.
    ///
    /// # Errors
    /// `EBADF`, `ENOTSOCK`; `ENOTCONN` when there is none.
    pub fn remote_address(&self, fd: i32) -> Result<SocketAddress, Errno> {
        let socket = self.sockets.get(self.socket_of(fd)?)?;
        match socket.state {
            super::State::Connected => Ok(socket.remote.clone()),
            _ => Err(Errno::ENOTCONN),
        }
    }

    /// Sends bytes or a datagram; returns how many bytes were sent. Streams ignore `to`.
    ///
    /// # Errors
    /// The errors of `sendto(2)`: `EAGAIN` when nothing fits, `EPIPE` without a signal.
    pub fn send(&mut self, fd: i32, data: &[u8], to: Option<&SocketAddress>) -> Result<usize, Errno> {
        let id = self.socket_of(fd)?;
        let (family, kind) = self.socket_kind(fd)?;
        match (kind, family, to) {
            (Kind::Stream, ..) | (_, _, None) => self.sockets.send(id, data),
            (Kind::Datagram, Family::Unix, Some(address)) => {
                let target = self.find_socket(address)?.ok_or(Errno::ECONNREFUSED)?;
                self.sockets.send_unix(id, data, Some(target))
            }
            (Kind::Datagram, ..) => self.sockets.send_udp(id, data, to),
        }
    }

    /// Receives bytes or a datagram; leaves them in the buffer with `peek`. No bytes of a stream are its end.
    ///
    /// # Errors
    /// The errors of `recvfrom(2)`: `EAGAIN` when nothing has arrived.
    pub fn receive(&mut self, fd: i32, buf: &mut [u8], peek: bool) -> Result<Received, Errno> {
        let id = self.socket_of(fd)?;
        self.sockets.receive(id, buf, peek)
    }

    /// Closes directions of a connection.
    ///
    /// # Errors
    /// The errors of `shutdown(2)`: `ENOTCONN`.
    pub fn shutdown(&mut self, fd: i32, how: Shutdown) -> Result<(), Errno> {
        let id = self.socket_of(fd)?;
        self.sockets.shutdown(id, how)
    }

    /// Returns and forgets the pending error of a socket, as `SO_ERROR` does.
    ///
    /// # Errors
    /// The pending error; `EBADF`, `ENOTSOCK`.
    pub fn take_socket_error(&mut self, fd: i32) -> Result<(), Errno> {
        let id = self.socket_of(fd)?;
        self.sockets.get_mut(id)?.take_error()
    }

    /// Returns the value of an option, in the guest's layout.
    ///
    /// # Errors
    /// The errors of `getsockopt(2)`: `ENOPROTOOPT`.
    pub fn socket_option(&mut self, fd: i32, level: i32, name: i32) -> Result<Vec<u8>, Errno> {
        let id = self.socket_of(fd)?;
        self.sockets.option(id, level, name)
    }

    /// Sets an option.
    ///
    /// # Errors
    /// The errors of `setsockopt(2)`: `ENOPROTOOPT`, `EINVAL`.
    pub fn set_socket_option(&mut self, fd: i32, level: i32, name: i32, value: &[u8]) -> Result<(), Errno> {
        let id = self.socket_of(fd)?;
        self.sockets.set_option(id, level, name, value)
    }

    /// Returns the longest time, in microseconds, that a blocking call may wait to receive (or, with `sends`, to send):
    /// `SO_RCVTIMEO`, `SO_SNDTIMEO`. 0 is for ever.
    ///
    /// # Errors
    /// `EBADF`, `ENOTSOCK`.
    pub fn socket_timeout(&self, fd: i32, sends: bool) -> Result<u64, Errno> {
        let name = if sends { option::SO_SNDTIMEO } else { option::SO_RCVTIMEO };
        self.sockets.timeout(self.socket_of(fd)?, name)
    }
}
