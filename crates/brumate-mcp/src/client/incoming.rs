//! A transport that shows notifications to the client's callbacks before the protocol's machinery sees them.
//!
//! rmcp gives each notification to a task of its own, so they would be seen in any order, and after the result of the request that
//! they belong to. Here they are seen where they are read.

use super::callbacks::Callbacks;
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::Arc;

/// A transport whose notifications are observed.
pub(super) struct Observed<T> {
    inner: T,
    callbacks: Arc<Callbacks>,
}

impl<T> Observed<T> {
    pub(super) fn new(inner: T, callbacks: Arc<Callbacks>) -> Self {
        Self { inner, callbacks }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Observed<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.inner.receive().await? {
                ServerJsonRpcMessage::Notification(message) if self.callbacks.notice(&message.notification) => {}
                message => return Some(message),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
