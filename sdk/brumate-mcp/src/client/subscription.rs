//! Subscriptions to changes at a server.

use super::callbacks::ServerChange;
use super::error::ClientError;
use super::request::RequestSender;
use super::{Client, Inner};
use rmcp::model as wire;
use rmcp::model::{ClientRequest, SubscriptionFilter};
use rmcp::service::Subscription;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use tokio::sync::broadcast;

/// A subscription to changes of resources. Dropping it ends the subscription.
pub struct ResourceSubscription {
    source: ChangeSource,
    uris: BTreeSet<String>,
}

enum ChangeSource {
    /// Since 2026-07-28: a stream of its own.
    Listening(Box<Subscription>),
    /// Before: notifications of the session.
    Session { client: Weak<Inner>, changes: broadcast::Receiver<ServerChange> },
}

impl std::fmt::Debug for ResourceSubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResourceSubscription").field("uris", &self.uris).finish_non_exhaustive()
    }
}

impl Client {
    /// Subscribes to changes of the resources with these URIs.
    ///
    /// # Errors
    ///
    /// Returns an error if the server has no subscriptions, or if the request fails.
    pub async fn subscribe<U: Into<String>>(
        &self,
        uris: impl IntoIterator<Item = U>,
    ) -> Result<ResourceSubscription, ClientError> {
        let uris: BTreeSet<String> = uris.into_iter().map(Into::into).collect();
        if self.inner.is_stateless_protocol {
            let mut filter = SubscriptionFilter::default();
            filter.resource_subscriptions = Some(uris.iter().cloned().collect());
            let listening = self.inner.requests.peer.listen(filter).await.map_err(ClientError::of_service)?;
            return Ok(ResourceSubscription { source: ChangeSource::Listening(Box::new(listening)), uris });
        }
        let changes = self.inner.requests.callbacks.changes();
        for uri in &uris {
            #[expect(deprecated, reason = "how protocols before 2026-07-28 do it")]
            let request = wire::SubscribeRequest::new(wire::SubscribeRequestParams::new(uri.clone()));
            self.acknowledged("resources/subscribe", ClientRequest::SubscribeRequest(request)).await?;
        }
        Ok(ResourceSubscription {
            source: ChangeSource::Session { client: Arc::downgrade(&self.inner), changes },
            uris,
        })
    }
}

impl ResourceSubscription {
    /// Waits for the next change. `None` when the subscription has ended.
    ///
    /// # Errors
    ///
    /// Returns an error if the server breaks the protocol.
    pub async fn next(&mut self) -> Result<Option<ServerChange>, ClientError> {
        match &mut self.source {
            ChangeSource::Listening(listening) => loop {
                let Some(notification) = listening.next().await.map_err(ClientError::of_service)? else {
                    return Ok(None);
                };
                if let Some(change @ ServerChange::Resource(_)) = ServerChange::of(&notification) {
                    return Ok(Some(change));
                }
            },
            ChangeSource::Session { changes, .. } => loop {
                match changes.recv().await {
                    Ok(ServerChange::Resource(uri)) if self.uris.contains(&uri) => {
                        return Ok(Some(ServerChange::Resource(uri)));
                    }
                    // A slow reader has missed some changes. The next one says the same: read the resource again.
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return Ok(None),
                }
            },
        }
    }
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        let ChangeSource::Session { client, .. } = &self.source else { return };
        let (Some(inner), Ok(runtime)) = (client.upgrade(), tokio::runtime::Handle::try_current()) else { return };
        let uris = std::mem::take(&mut self.uris);
        runtime.spawn(async move {
            let client = Client { inner };
            for uri in uris {
                #[expect(deprecated, reason = "how protocols before 2026-07-28 do it")]
                let request = wire::UnsubscribeRequest::new(wire::UnsubscribeRequestParams::new(uri));
                let _ = client.acknowledged("resources/unsubscribe", ClientRequest::UnsubscribeRequest(request)).await;
            }
        });
    }
}

impl Client {
    /// Listens to changes of the server's lists, if the protocol has a stream for that (2026-07-28), until the client
    /// ends.
    pub(super) fn listen(&self) {
        if !self.inner.is_stateless_protocol {
            return;
        }
        let changes = |capability: &str| {
            let declared = self.inner.capabilities.get(capability).and_then(|capability| capability.get("listChanged"));
            declared.is_some_and(|declared| declared == true).then_some(true)
        };
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed = changes("tools");
        filter.resources_list_changed = changes("resources");
        filter.prompts_list_changed = changes("prompts");
        if filter == SubscriptionFilter::default() {
            return;
        }
        let RequestSender { peer, callbacks, .. } = self.inner.requests.clone();
        let closed = self.inner.closed.clone();
        tokio::spawn(async move {
            let listening = async {
                let mut listening = peer.listen(filter).await?;
                while let Some(notification) = listening.next().await? {
                    if let Some(change) = ServerChange::of(&notification) {
                        callbacks.notice_change(change);
                    }
                }
                Ok::<(), rmcp::ServiceError>(())
            };
            tokio::select! {
                ended = listening => if let Err(error) = ended {
                    tracing::warn!(%error, "changes at the server are not heard of");
                },
                () = closed.cancelled() => {}
            }
        });
    }
}
