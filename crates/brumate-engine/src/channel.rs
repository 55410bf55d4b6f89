//! The blocking end of a [`wire`](crate::wire) connection, for zygotes and machines.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::wire::{HEADER, MAX_FDS, MachineRequest, WireError, decode, decode_header, encode};

/// Buffers grow by at most this much ahead of what has arrived, in bytes.
const STEP: usize = 1 << 20;

/// Most bytes that are held back for the next message.
const MAX_HELD: usize = 64 << 10;

/// A stream socket that carries frames.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: Mutex<Arc<OwnedFd>>,
    /// Frames that travel with the next one.
    held: Mutex<Vec<u8>>,
}

impl Channel {
    /// Takes over a connected stream socket in blocking mode.
    pub(crate) fn new(socket: OwnedFd) -> Channel {
        Channel { socket: Mutex::new(Arc::new(socket)), held: Mutex::default() }
    }

    /// The socket.
    pub(crate) fn socket(&self) -> Arc<OwnedFd> {
        self.socket.lock().clone()
    }

    /// Whether something has come that was not received yet, or the peer is gone.
    pub(crate) fn is_readable(&self) -> bool {
        let socket = self.socket();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&now)), Ok(0))
    }

    /// Closes the socket and goes on with another: what a fork does with its zygote's connection.
    pub(crate) fn replace(&self, socket: OwnedFd) {
        *self.socket.lock() = Arc::new(socket);
    }

    /// Sends one message.
    ///
    /// # Errors
    /// When the peer is gone or the message too large.
    pub(crate) fn send<T: Serialize>(&self, message: &T) -> Result<(), WireError> {
        self.hold(message)?;
        self.flush()
    }

    /// Sends a message together with the next one. For messages that are sent shortly before another one and that the
    /// server does not wait for: waking the server for them would only take the processor from this process.
    ///
    /// # Errors
    /// As [`Channel::send`].
    pub(crate) fn send_soon<T: Serialize>(&self, message: &T) -> Result<(), WireError> {
        self.hold(message)?;
        if self.held().len() > MAX_HELD { self.flush() } else { Ok(()) }
    }

    fn held(&self) -> MutexGuard<'_, Vec<u8>> {
        self.held.lock()
    }

    fn hold<T: Serialize>(&self, message: &T) -> Result<(), WireError> {
        let frame = encode(message, 0)?;
        let mut held = self.held();
        if held.is_empty() {
            *held = frame;
        } else {
            held.extend(frame);
        }
        Ok(())
    }

    fn flush(&self) -> Result<(), WireError> {
        let frames = std::mem::take(&mut *self.held());
        let mut rest = &frames[..];
        while !rest.is_empty() {
            match rustix::net::send(self.socket().as_fd(), rest, SendFlags::NOSIGNAL) {
                Ok(count) => rest = &rest[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Receives one message and its descriptors.
    ///
    /// # Errors
    /// When the peer is gone or sends what is no message.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> Result<(T, Vec<OwnedFd>), WireError> {
        let mut header = [0; HEADER];
        let mut fds = Vec::new();
        let mut filled = 0;
        while filled < HEADER {
            filled += self.receive_some(&mut header[filled..], &mut fds)?;
        }
        let (length, count) = decode_header(header)?;
        let mut payload = Vec::new();
        while payload.len() < length {
            let start = payload.len();
            payload.resize(length.min(start + STEP), 0);
            let mut at = start;
            while at < payload.len() {
                at += self.receive_some(&mut payload[at..], &mut fds)?;
            }
        }
        if fds.len() != count {
            return Err(WireError::MissingDescriptor);
        }
        Ok((decode(&payload)?, fds))
    }

    /// Receives what the server says to a machine, except for answers to requests that the guest waits for no longer.
    ///
    /// # Errors
    /// As [`Channel::receive`].
    pub(crate) fn receive_request(&self) -> Result<(MachineRequest, Vec<OwnedFd>), WireError> {
        loop {
            match self.receive()? {
                (MachineRequest::Answer { .. }, _) => {}
                (MachineRequest::Layers { guest_request: Some(_), .. }, _) => {}
                other => return Ok(other),
            }
        }
    }

    /// Receives the next bytes; restarted by interrupts.
    fn receive_some(&self, buffer: &mut [u8], fds: &mut Vec<OwnedFd>) -> Result<usize, WireError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
        loop {
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let received =
                recvmsg(self.socket().as_fd(), &mut [IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
            match received {
                Ok(message) => {
                    for item in ancillary.drain() {
                        if let RecvAncillaryMessage::ScmRights(rights) = item {
                            fds.extend(rights);
                        }
                    }
                    if fds.len() > MAX_FDS {
                        return Err(WireError::TooLarge(fds.len()));
                    }
                    return if message.bytes == 0 { Err(WireError::Closed) } else { Ok(message.bytes) };
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Sends `frame` (from [`encode`]) with descriptors over a socket that may be non-blocking; returns the bytes sent.
///
/// # Errors
/// `EAGAIN` among others.
pub(crate) fn send_with_fds(
    socket: BorrowedFd<'_>,
    frame: &[u8],
    fds: &[BorrowedFd<'_>],
) -> Result<usize, rustix::io::Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(rustix::io::Errno::INVAL);
    }
    sendmsg(socket, &[IoSlice::new(frame)], &mut ancillary, SendFlags::NOSIGNAL)
}
