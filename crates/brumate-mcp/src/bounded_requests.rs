//! A transport that bounds the unanswered requests of one connection, and refuses ids that are in use.

use crate::http::rpc_errors::{duplicate_id_error, too_many_requests_error};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinSet;

/// The most requests of one connection that are not answered yet. Further ones are answered with an error.
const MAX_RUNNING: usize = 1024;
/// The most such errors that wait to be written. A client that does not read misses further ones.
const MAX_REFUSALS: usize = 64;

/// A transport that itself answers requests whose id is in use, and requests beyond [`MAX_RUNNING`].
pub(crate) struct BoundedRequests<T> {
    transport: T,
    running: Arc<Mutex<HashSet<RequestId>>>,
    refusals: JoinSet<()>,
}

impl<T> BoundedRequests<T> {
    pub(crate) fn new(transport: T) -> Self {
        Self { transport, running: Arc::default(), refusals: JoinSet::new() }
    }

    /// Takes note of a message. Returns the answer to a message that is not passed on.
    fn note(&self, message: &ClientJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match message {
            ClientJsonRpcMessage::Request(request) if running.contains(&request.id) => {
                Some(duplicate_id_error(&request.id))
            }
            ClientJsonRpcMessage::Request(request) if running.len() >= MAX_RUNNING => {
                Some(too_many_requests_error(&request.id, MAX_RUNNING))
            }
            ClientJsonRpcMessage::Request(request) => {
                running.insert(request.id.clone());
                None
            }
            ClientJsonRpcMessage::Notification(notification) => {
                // A cancelled request is never answered.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    running.remove(id);
                }
                None
            }
            _ => None,
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for BoundedRequests<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let (running, sent) = (self.running.clone(), self.transport.send(message));
        async move {
            let sent = sent.await;
            if let Some(answered) = answered {
                running.lock().unwrap_or_else(PoisonError::into_inner).remove(&answered);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.transport.receive().await?;
            let Some(answer) = self.note(&message) else { return Some(message) };
            while self.refusals.try_join_next().is_some() {}
            if self.refusals.len() < MAX_REFUSALS {
                // In a task: this future may be dropped at any time, and half a line must not be written.
                let sent = self.transport.send(answer);
                self.refusals.spawn(async move { drop(sent.await) });
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}
