//! The server's end of a [`wire`](crate::wire) connection.

#![expect(unsafe_code, reason = "registers a descriptor for readiness")]

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg, socketpair,
};
use rustix::process::Pid;
use serde::{Serialize, de::DeserializeOwned};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::channel::send_with_fds;
use crate::wire::{HEADER, WireError, decode, decode_header, encode};

/// Longest a peer may take to read one message; one that reads nothing must not hold the server.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Buffers grow by at most this much ahead of what has arrived, in bytes: an announced length costs nothing.
const STEP: usize = 64 << 10;

/// Frames without await points. Partial reads are kept, so that receiving may be cancelled.
#[derive(Debug)]
pub(crate) struct AsyncChannel {
    socket: AsyncFd<OwnedFd>,
    header: [u8; HEADER],
    header_filled: usize,
    payload: Vec<u8>,
    peer: Option<Pid>,
}

/// Returns a connected pair: the server's end, and the child's end (blocking, close-on-exec).
///
/// # Errors
/// When the system has no descriptors left.
pub(crate) fn pair() -> Result<(AsyncChannel, OwnedFd), WireError> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // The kernel names the sender of each message; the first sender is the machine's process.
    rustix::net::sockopt::set_socket_passcred(&ours, true)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    let socket = watched(ours, Interest::READABLE)?;
    let channel = AsyncChannel { socket, header: [0; HEADER], header_filled: 0, payload: Vec::new(), peer: None };
    Ok((channel, theirs))
}

fn watched(socket: OwnedFd, interest: Interest) -> std::io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor has to stay open and the same while it is registered: an `OwnedFd` gives its number away by shared
    // reference only, and closes it when the registration is dropped.
    unsafe { AsyncFd::register_with_interest(socket, interest) }.map_err(std::io::Error::from)
}

impl AsyncChannel {
    /// The process that sent the first message, as this process sees it.
    pub(crate) fn peer(&self) -> Option<Pid> {
        self.peer
    }

    /// Sends a message and descriptors.
    ///
    /// # Errors
    /// When the peer is gone.
    pub(crate) async fn send<T: Serialize>(&self, message: &T, fds: &[BorrowedFd<'_>]) -> Result<(), WireError> {
        let frame = encode(message, fds.len())?;
        let sent = tokio::time::timeout(SEND_TIMEOUT, self.send_frame(&frame, fds)).await;
        sent.unwrap_or(Err(WireError::NotRead))
    }

    async fn send_frame(&self, frame: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), WireError> {
        let mut sent = 0;
        let mut full = None;
        while sent < frame.len() {
            let fds = if sent == 0 { fds } else { &[] };
            match send_with_fds(self.socket.as_fd(), &frame[sent..], fds) {
                Ok(count) => sent += count,
                Err(Errno::INTR) => {}
                // Watched only now: otherwise each read by the peer would wake this process.
                Err(Errno::WOULDBLOCK) => {
                    let watched = match full.take() {
                        Some(watched) => watched,
                        None => watched(self.socket.get_ref().try_clone()?, Interest::WRITABLE)?,
                    };
                    watched.writable().await?.clear_ready();
                    full = Some(watched);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Receives one message. Cancel-safe: what has arrived is kept. Descriptors from the peer are never accepted.
    ///
    /// # Errors
    /// When the peer is gone or sends what is no message.
    pub(crate) async fn receive<T: DeserializeOwned>(&mut self) -> Result<T, WireError> {
        loop {
            if self.header_filled == HEADER {
                let (length, _) = decode_header(self.header)?;
                if self.payload.len() == length {
                    self.header_filled = 0;
                    return decode(&std::mem::take(&mut self.payload));
                }
            }
            let mut ready = self.socket.readable().await?;
            let result = if self.header_filled < HEADER {
                let rest = &mut self.header[self.header_filled..];
                ready.try_io(|socket| read(socket.as_fd(), rest)).map(|result| {
                    result.map(|(count, peer)| {
                        self.header_filled += count;
                        (count, peer)
                    })
                })
            } else {
                let (length, _) = decode_header(self.header)?;
                let start = self.payload.len();
                self.payload.resize(length.min(start + STEP), 0);
                let rest = &mut self.payload[start..];
                let result = ready.try_io(|socket| read(socket.as_fd(), rest));
                let arrived = match &result {
                    Ok(Ok((count, _))) => *count,
                    _ => 0,
                };
                self.payload.truncate(start + arrived);
                result
            };
            match result {
                Ok(Ok((0, _))) => return Err(WireError::Closed),
                Ok(Ok((_, peer))) => self.peer = self.peer.or(peer),
                Ok(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Err(error.into()),
                Err(_would_block) => {}
            }
        }
    }
}

/// Reads bytes and the sender's credentials; descriptors have no room and are discarded by the kernel.
fn read(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> std::io::Result<(usize, Option<Pid>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let message = recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut peer = None;
    for item in ancillary.drain() {
        if let RecvAncillaryMessage::ScmCredentials(credentials) = item {
            peer = Some(credentials.pid);
        }
    }
    Ok((message.bytes, peer))
}
