//! Requests of frontends that wait for their kernel.

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::kernel::{Kernel, Peer, Shutdown};
use brumate_jupyter_protocol::Message;

/// Most requests on the shell channel that wait. Then frontends wait.
pub(crate) const MAX_WAITING: usize = 10_000;

/// A request and its frontend.
pub(crate) struct Request {
    peer: Peer,
    message: Message,
    /// Room that the message takes until it is answered.
    _room: Option<OwnedSemaphorePermit>,
}

impl Request {
    pub(crate) fn new(peer: Peer, message: Message) -> Self {
        Self { peer, message, _room: None }
    }

    /// Makes a request that holds its room until it is answered.
    pub(crate) fn with_room(peer: Peer, message: Message, room: OwnedSemaphorePermit) -> Self {
        Self { peer, message, _room: Some(room) }
    }
}

/// Answers requests on the shell channel one after the other. When a cell fails, the cells that wait already are aborted.
pub(crate) async fn serve_shell(kernel: &Kernel, mut waiting: mpsc::Receiver<Request>) {
    let mut to_abort = 0_usize;
    while let Some(Request { peer, message, _room }) = waiting.recv().await {
        let aborts = to_abort > 0;
        to_abort = to_abort.saturating_sub(1);
        if aborts && message.header.msg_type == "execute_request" {
            kernel.abort(peer, &message).await;
        } else if kernel.shell(peer, message).await {
            to_abort = waiting.len();
        }
    }
}

/// Answers requests on the control channel until one asks for the kernel's end. `None`: there are no more.
pub(crate) async fn serve_control(kernel: &Kernel, mut waiting: mpsc::Receiver<Request>) -> Option<Shutdown> {
    while let Some(Request { peer, message, _room }) = waiting.recv().await {
        if let Some(shutdown) = kernel.control(peer, message).await {
            return Some(shutdown);
        }
    }
    None
}
