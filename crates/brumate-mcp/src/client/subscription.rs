//! Subscriptions to changes at a server.

use super::callbacks::Change;
use super::error::ClientError;
use super::request::Requests;
use super::{Client, Inner};
use rmcp::model as wire;
use rmcp::model::{ClientRequest, SubscriptionFilter};
use rmcp::service::Subscription;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use tokio::sync::broadcast;

/// Changes of the resources that were subscribed to. Ends the subscription when it is dropped.
pub struct Changes {
    source: Source,
    uris: BTreeSet<String>,
}

enum Source {
    /// Since 2026-07-28: a stream of its own.
    Listening(Box<Subscription>),
    /// Before: notifications of the session.
    Session { client: Weak<Inner>, changes: broadcast::Receiver<Change> },
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes").field("uris", &self.uris).finish_non_exhaustive()
    }
}

impl Client {
    /// Subscribes to changes of the resources at these addresses.
    ///
    /// # Errors
    ///
    /// The server knows no subscriptions, or the request fails.
    pub async fn subscribe<U: Into<String>>(&self, uris: impl IntoIterator<Item = U>) -> Result<Changes, ClientError> {
        let uris: BTreeSet<String> = uris.into_iter().map(Into::into).collect();
        if self.inner.is_modern {
            let mut filter = SubscriptionFilter::default();
            filter.resource_subscriptions = Some(uris.iter().cloned().collect());
            let listening = self.inner.requests.peer.listen(filter).await.map_err(ClientError::of_service)?;
            return Ok(Changes { source: Source::Listening(Box::new(listening)), uris });
        }
        let changes = self.inner.requests.callbacks.changes();
        for uri in &uris {
            #[expect(deprecated, reason = "how protocols before 2026-07-28 do it")]
            let request = wire::SubscribeRequest::new(wire::SubscribeRequestParams::new(uri.clone()));
            self.acknowledged("resources/subscribe", ClientRequest::SubscribeRequest(request)).await?;
        }
        Ok(Changes { source: Source::Session { client: Arc::downgrade(&self.inner), changes }, uris })
    }
}

impl Changes {
    /// Waits for the next change; returns nothing when the subscription has ended.
    ///
    /// # Errors
    ///
    /// The server sends what it should not.
    pub async fn next(&mut self) -> Result<Option<Change>, ClientError> {
        match &mut self.source {
            Source::Listening(listening) => loop {
                let Some(notification) = listening.next().await.map_err(ClientError::of_service)? else {
                    return Ok(None);
                };
                if let Some(change @ Change::Resource(_)) = Change::of(&notification) {
                    return Ok(Some(change));
                }
            },
            Source::Session { changes, .. } => loop {
                match changes.recv().await {
                    Ok(Change::Resource(uri)) if self.uris.contains(&uri) => return Ok(Some(Change::Resource(uri))),
                    // A slow reader has missed some changes. The next one tells the same: read again.
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return Ok(None),
                }
            },
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let Source::Session { client, .. } = &self.source else { return };
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
    /// Listens to changes of what the server offers, where the protocol has a stream for that (2026-07-28). Ends with the client.
    pub(super) fn listen(&self) {
        if !self.inner.is_modern {
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
        let Requests { peer, callbacks, .. } = self.inner.requests.clone();
        let closed = self.inner.closed.clone();
        tokio::spawn(async move {
            let listening = async {
                let mut listening = peer.listen(filter).await?;
                while let Some(notification) = listening.next().await? {
                    if let Some(change) = Change::of(&notification) {
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
