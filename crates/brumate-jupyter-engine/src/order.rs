//! Messages with descriptors, between the server and the processes that it trusts: first processes of jails, and zygotes.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest message, in bytes.
const MAX_BYTES: usize = 128 << 10;
/// Most descriptors of a message.
const MAX_DESCRIPTORS: usize = 32;

/// Makes a pair of sockets that keep messages apart. The second one goes to the other process.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends a message.
pub(crate) fn send(socket: &OwnedFd, message: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if text.len() > MAX_BYTES || descriptors.len() > MAX_DESCRIPTORS {
        return Err(io::Error::other("the message is too large"));
    }
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("the message has too many descriptors"));
    }
    sendmsg(socket, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a message, and waits for it. `None`: the other side has hung up.
pub(crate) fn receive<T: DeserializeOwned>(socket: &OwnedFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut text = vec![0; MAX_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut text)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            received => break received?,
        }
    };
    let descriptors: Vec<OwnedFd> = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    if received.bytes == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&text[..received.bytes])?, descriptors)))
}

/// Lets [`receive`] wait without an end.
pub(crate) fn wait_for_ever(socket: &OwnedFd) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_timeout(socket, rustix::net::sockopt::Timeout::Recv, None)?)
}

/// Receives a message as [`receive`] does, within `timeout`, without keeping a thread of the runtime busy.
pub(crate) async fn receive_within<T: DeserializeOwned + Send + 'static>(
    socket: Arc<OwnedFd>,
    timeout: Duration,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    rustix::net::sockopt::set_socket_timeout(&*socket, rustix::net::sockopt::Timeout::Recv, Some(timeout))?;
    tokio::task::spawn_blocking(move || receive(&socket)).await.map_err(io::Error::other)?
}
