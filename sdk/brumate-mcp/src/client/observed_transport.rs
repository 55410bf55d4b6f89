//! A transport that passes notifications to the client's callbacks before rmcp sees them.
//!
//! rmcp handles each notification in a task of its own, so callbacks would get them in any order, and after the result
//! of their request. Here they get them where they are read.
//!
//! It also marks a failure for rmcp: a server of an older protocol may answer `server/discover`, which it does not
//! know, with any result.

use super::callbacks::Callbacks;
use crate::sync::lock;
use futures::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::{Arc, Mutex};

/// The reason why a transport failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct TransportError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// A transport of any type. The code of rmcp is compiled for this one only, because it is large.
#[allow(unreachable_pub, reason = "it shows in a sealed trait")]
pub struct AnyTransport(Box<dyn DynTransport>);

impl AnyTransport {
    pub(super) fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        Self(Box::new(transport))
    }
}

trait DynTransport: Send {
    fn send(&mut self, item: TxJsonRpcMessage<RoleClient>) -> BoxFuture<'static, Result<(), TransportError>>;
    fn receive(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>>;
    fn close(&mut self) -> BoxFuture<'_, Result<(), TransportError>>;
}

impl<T: Transport<RoleClient>> DynTransport for T {
    fn send(&mut self, item: TxJsonRpcMessage<RoleClient>) -> BoxFuture<'static, Result<(), TransportError>> {
        let sent = Transport::send(self, item);
        Box::pin(async move { sent.await.map_err(|error| TransportError(Box::new(error))) })
    }

    fn receive(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>> {
        Box::pin(Transport::receive(self))
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(async move { Transport::close(self).await.map_err(|error| TransportError(Box::new(error))) })
    }
}

/// A transport whose notifications are observed.
pub(super) struct ObservedTransport {
    inner: AnyTransport,
    callbacks: Arc<Callbacks>,
    /// The id of the `server/discover` request without an answer.
    discovering: Mutex<Option<RequestId>>,
}

impl ObservedTransport {
    pub(super) fn new(inner: AnyTransport, callbacks: Arc<Callbacks>) -> Self {
        Self { inner, callbacks, discovering: Mutex::default() }
    }

    /// Returns the message, or an error if it answers `server/discover` with something else.
    fn checked(&self, message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        let ServerJsonRpcMessage::Response(response) = &message else { return message };
        let mut discovering = lock(&self.discovering);
        if !discovering.as_ref().is_some_and(|id| *id == response.id) {
            return message;
        }
        *discovering = None;
        if matches!(response.result, ServerResult::DiscoverResult(_)) {
            return message;
        }
        let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "server/discover has a result of another kind", None);
        ServerJsonRpcMessage::error(error, Some(response.id.clone()))
    }
}

impl Transport<RoleClient> for ObservedTransport {
    type Error = TransportError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let ClientJsonRpcMessage::Request(request) = &item
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            *lock(&self.discovering) = Some(request.id.clone());
        }
        self.inner.0.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.inner.0.receive().await? {
                ServerJsonRpcMessage::Notification(message) if self.callbacks.notice(&message.notification) => {}
                message => return Some(self.checked(message)),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.0.close().await
    }
}
