//! Messages on sockets that keep them apart (`SOCK_SEQPACKET`), with at most one descriptor each.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why a message cannot be sent or received.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    /// The socket's peer is gone.
    #[error("the connection was closed")]
    Closed,
    /// A message is larger than the receiver takes, or does not decode.
    #[error("a message is malformed")]
    Malformed,
    /// The socket has failed, or it would block (`EAGAIN`).
    #[error(transparent)]
    Os(#[from] Errno),
}

/// Makes a pair of connected sockets that do not block.
///
/// # Errors
/// The system's.
pub fn pair(kind: SocketType) -> Result<(OwnedFd, OwnedFd), Errno> {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}

/// Sends a message.
///
/// # Errors
/// `EAGAIN` when the receiver has not taken earlier messages.
pub fn send<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    descriptor: Option<BorrowedFd<'_>>,
) -> Result<(), PacketError> {
    let bytes = postcard::to_stdvec(message).map_err(|_| PacketError::Malformed)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.as_slice();
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    match sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
        Ok(_) => Ok(()),
        Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => Err(PacketError::Closed),
        Err(errno) => Err(errno.into()),
    }
}

/// Receives a message of at most `room` bytes.
///
/// # Errors
/// `EAGAIN` when there is none.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd, room: usize) -> Result<(T, Option<OwnedFd>), PacketError> {
    let mut bytes = vec![0; room];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = match recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
        Ok(received) if received.bytes == 0 => return Err(PacketError::Closed),
        Ok(received) => received,
        Err(Errno::CONNRESET) => return Err(PacketError::Closed),
        Err(errno) => return Err(errno.into()),
    };
    let mut descriptor = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            descriptor = descriptors.last();
        }
    }
    if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(PacketError::Malformed);
    }
    let (message, rest) = postcard::take_from_bytes(&bytes[..received.bytes]).map_err(|_| PacketError::Malformed)?;
    if rest.is_empty() { Ok((message, descriptor)) } else { Err(PacketError::Malformed) }
}
