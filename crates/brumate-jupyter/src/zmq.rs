//! The five sockets of a kernel: shell, control, stdin, iopub and heartbeat.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use brumate_notebook::OutputPolicy;
use brumate_session::CancellationToken;
use brumate_session::sessions::Sessions;
use brumate_zmtp::{BindError, Echo, Limits, PeerId, Publisher, Received, Router};
use bytes::Bytes;
use thiserror::Error;
use tokio::sync::mpsc;

use crate::connection_file::ConnectionFile;
use crate::kernel::{Destination, Frontends, Kernel, KernelSession, Peer};
use crate::requests::{self, Request};
use brumate_jupyter_protocol::{Message, Signer};

/// Longest time for the last messages of a kernel.
const LAST_MESSAGES: Duration = Duration::from_secs(2);

/// The sockets cannot be opened.
#[derive(Debug, Error)]
pub enum ServeError {
    /// An address of the connection file is wrong.
    #[error("the connection file cannot be used: {0}")]
    Address(String),
    /// An address cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// The sockets, as the kernel sends to them.
struct Sockets {
    shell: Router,
    control: Router,
    stdin: Router,
    iopub: Publisher,
    signer: Signer,
    /// Beginning of topics.
    topic: String,
}

#[async_trait]
impl Frontends for Sockets {
    async fn send(&self, to: Destination, message: Message) {
        let (router, peer) = match to {
            Destination::Shell(peer) => (&self.shell, peer),
            Destination::Control(peer) => (&self.control, peer),
            Destination::Stdin(peer) => (&self.stdin, peer),
            Destination::Iopub => {
                let topic = Bytes::from(format!("{}.{}", self.topic, message.header.msg_type));
                let _ = self.iopub.publish(message.into_parts(vec![topic], &self.signer)).await;
                return;
            }
        };
        let mut identities = peer.into_iter();
        let Some(identity) = identities.next() else { return };
        let parts = message.into_parts(identities.collect(), &self.signer);
        if let Err(error) = router.send(&PeerId::new(identity), parts).await {
            tracing::debug!(%error, "a frontend did not get a message");
        }
    }
}

/// The five sockets of a kernel, which listen: what frontends send waits for [`serve`].
pub struct KernelSockets {
    sockets: Arc<Sockets>,
    _heartbeat: Echo,
}

impl KernelSockets {
    /// Listens at the addresses of a connection file. To be called early: a frontend that finds no socket tries again after 100 ms only.
    ///
    /// # Errors
    ///
    /// [`ServeError`].
    pub async fn bind(file: &ConnectionFile) -> Result<Self, ServeError> {
        let endpoint = |port| file.endpoint(port).map_err(ServeError::Address);
        let limits = Limits::default;
        let sockets = Sockets {
            shell: Router::bind(endpoint(file.shell_port)?, limits()).await?,
            control: Router::bind(endpoint(file.control_port)?, limits()).await?,
            stdin: Router::bind(endpoint(file.stdin_port)?, limits()).await?,
            iopub: Publisher::bind(endpoint(file.iopub_port)?, limits()).await?,
            signer: Signer::new(&file.key),
            topic: format!("kernel.{}", brumate_jupyter_protocol::new_id()),
        };
        let _heartbeat = Echo::bind(endpoint(file.hb_port)?, limits()).await?;
        Ok(Self { sockets: Arc::new(sockets), _heartbeat })
    }
}

/// Serves a kernel until a frontend asks for its end, or `shutdown` is cancelled. `interrupts` interrupts the running cell with each item.
/// The session begins at once, beside the first requests.
pub async fn serve(
    sockets: KernelSockets,
    sessions: Sessions,
    principal: &str,
    (session, policy): (KernelSession, OutputPolicy),
    interrupts: mpsc::Receiver<()>,
    shutdown: &CancellationToken,
) {
    let KernelSockets { sockets, _heartbeat } = sockets;
    let kernel = Kernel::new(sessions, principal, session, policy, sockets.clone());
    kernel.starting().await;

    let (queue, waiting) = mpsc::channel(requests::MAX_WAITING);
    let (control_queue, control) = mpsc::channel(1);
    tokio::select! {
        _ = requests::serve_control(&kernel, control) => {}
        () = shutdown.cancelled() => {}
        () = start(&kernel) => {}
        () = read_requests(&sockets.shell, &sockets.signer, queue) => {}
        () = read_requests(&sockets.control, &sockets.signer, control_queue) => {}
        () = requests::serve_shell(&kernel, waiting) => {}
        () = serve_stdin(&kernel, &sockets) => {}
        () = welcome(&kernel, &sockets) => {}
        () = interrupt(&kernel, interrupts) => {}
    }
    kernel.end().await;
    sockets.control.close(LAST_MESSAGES).await;
    sockets.iopub.close(LAST_MESSAGES).await;
}

/// Interrupts the running cell with each item.
async fn interrupt(kernel: &Kernel, mut interrupts: mpsc::Receiver<()>) {
    while let Some(()) = interrupts.recv().await {
        kernel.interrupt().await;
    }
    std::future::pending().await
}

/// Makes the session ahead of the first request. A failure is told to that request.
async fn start(kernel: &Kernel) {
    if let Err(error) = kernel.start().await {
        tracing::warn!(%error, "the session of this kernel did not start");
    }
    std::future::pending().await
}

/// Reads a message. None, and a line in the log, for one that is none.
fn read(received: Received, signer: &Signer) -> Option<(Peer, Message)> {
    let mut peer = vec![received.peer.as_bytes().clone()];
    match Message::from_parts(received.parts, signer) {
        Ok((identities, message)) => {
            peer.extend(identities);
            Some((peer, message))
        }
        Err(error) => {
            tracing::warn!(%error, "a message is ignored");
            None
        }
    }
}

/// Puts the messages of a socket into a queue.
async fn read_requests(socket: &Router, signer: &Signer, queue: mpsc::Sender<Request>) {
    while let Some(received) = socket.recv().await {
        let Some((peer, message)) = read(received, signer) else { continue };
        if queue.send(Request::new(peer, message)).await.is_err() {
            return;
        }
    }
}

async fn serve_stdin(kernel: &Kernel, sockets: &Sockets) {
    while let Some(received) = sockets.stdin.recv().await {
        if let Some((_, message)) = read(received, &sockets.signer) {
            kernel.stdin(&message);
        }
    }
}

async fn welcome(kernel: &Kernel, sockets: &Sockets) {
    while let Some(subscription) = sockets.iopub.next_subscription().await {
        let topic = String::from_utf8_lossy(&subscription.topic).into_owned();
        let parts = kernel.welcome(&topic).into_parts(vec![subscription.topic.clone()], &sockets.signer);
        let _ = sockets.iopub.send_to(&subscription.peer, parts).await;
    }
}
