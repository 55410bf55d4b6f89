//! The server's end of a session, as rmcp reads and writes it.

use super::{Session, SessionError};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The server's end of a session.
pub(crate) struct SessionTransport {
    pub(super) session: Arc<Session>,
    pub(super) inbox: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
}

impl Transport<RoleServer> for SessionTransport {
    type Error = SessionError;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        std::future::ready(self.session.route(message))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            biased;
            () = self.session.ended.cancelled() => None,
            message = self.inbox.recv() => message.map(|message| *message),
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.session.ended.cancel();
        Ok(())
    }
}
