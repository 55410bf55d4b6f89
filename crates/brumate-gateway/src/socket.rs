//! Sockets of messages in tokio.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use brumate_network::packet::{self, PacketError};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::Interest;
use tokio::net::UnixDatagram;

/// A socket of messages.
#[derive(Debug)]
pub(crate) struct PacketSocket(UnixDatagram);

impl PacketSocket {
    /// Takes a socket that does not block.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<PacketSocket> {
        // tokio's datagrams are made of any Unix socket that keeps messages apart.
        UnixDatagram::from_std(socket.into()).map(PacketSocket)
    }

    /// Sends a message; waits until the receiver has room.
    pub(crate) async fn send<T: Serialize>(
        &self,
        message: &T,
        descriptor: Option<BorrowedFd<'_>>,
    ) -> Result<(), PacketError> {
        self.until(Interest::WRITABLE, || packet::send(&self.0, message, descriptor)).await
    }

    /// Receives a message of at most `room` bytes.
    pub(crate) async fn receive<T: DeserializeOwned>(&self, room: usize) -> Result<(T, Option<OwnedFd>), PacketError> {
        self.until(Interest::READABLE, || packet::receive(&self.0, room)).await
    }

    async fn until<T>(
        &self,
        interest: Interest,
        mut call: impl FnMut() -> Result<T, PacketError>,
    ) -> Result<T, PacketError> {
        let call = || match call() {
            Err(PacketError::Os(Errno::AGAIN)) => Err(io::ErrorKind::WouldBlock.into()),
            result => Ok(result),
        };
        self.0.async_io(interest, call).await.map_err(|_| PacketError::Closed)?
    }
}
