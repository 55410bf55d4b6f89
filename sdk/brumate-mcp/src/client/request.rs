//! Sends requests, and answers the input requests that come before their results.

use super::callbacks::{Callbacks, OnProgress, ProgressSubscription};
use super::error::ClientError;
use rmcp::RoleClient;
use rmcp::model as wire;
use rmcp::model::{ClientRequest, InputResponses, RequestId, RequestMetaObject, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions};
use std::sync::Arc;
use std::time::Duration;

/// The most rounds of input requests in one request, unless `ClientBuilder::max_input_rounds` sets another number.
pub const MAX_INPUT_ROUNDS: usize = 10;

/// The time before the next round when the server wants one without an input request. It doubles with each such round.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest time before such a round.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The options of a request.
#[derive(Clone, Default)]
pub(super) struct RequestOptions {
    pub(super) meta: RequestMetaObject,
    pub(super) on_progress: Option<OnProgress>,
}

/// Sends requests over one connection.
#[derive(Clone)]
pub(super) struct RequestSender {
    pub(super) peer: Peer<RoleClient>,
    pub(super) callbacks: Arc<Callbacks>,
    pub(super) max_input_rounds: usize,
}

impl RequestSender {
    /// Sends a request and waits for its answer. Dropping the future cancels the request at the server.
    pub(super) async fn send(
        &self,
        request: ClientRequest,
        options: &RequestOptions,
    ) -> Result<ServerResult, ClientError> {
        let mut sent = PeerRequestOptions::no_options();
        sent.meta = (!options.meta.0.0.is_empty()).then(|| options.meta.clone());
        let handle = self.peer.send_request_with_option(request, sent).await.map_err(ClientError::of_service)?;
        let _progress: Option<ProgressSubscription> = options
            .on_progress
            .as_ref()
            .map(|callback| self.callbacks.follow_progress(handle.progress_token.clone(), callback.clone()));
        let mut cancel = CancelOnDrop { peer: self.peer.clone(), id: Some(handle.id.clone()) };
        let answer = handle.await_response().await;
        cancel.id = None;
        answer.map_err(ClientError::of_service)
    }

    /// Sends the request that `make` makes, and answers the input requests of the server (2026-07-28). `make` gets the
    /// answers and the `requestState` for the next round. Returns the first result that requests no input.
    ///
    /// # Errors
    ///
    /// Returns an error if a request fails, an input request has no answer, or there are more rounds than
    /// [`RequestSender::max_input_rounds`].
    pub(super) async fn send_in_rounds(
        &self,
        options: &RequestOptions,
        make: impl Fn(Option<InputResponses>, Option<String>) -> ClientRequest,
    ) -> Result<ServerResult, ClientError> {
        let (mut answers, mut state) = (None, None);
        let mut pause = FIRST_PAUSE;
        for left in (0..self.max_input_rounds).rev() {
            let result = match self.send(make(answers, state), options).await? {
                ServerResult::InputRequiredResult(result) => result,
                other => return Ok(other),
            };
            if left == 0 {
                break;
            }
            let input_requests = result.input_requests.unwrap_or_default();
            state = result.request_state;
            if input_requests.is_empty() {
                if state.is_none() {
                    return Err(ClientError::InvalidResult("it wants another round and asks nothing".to_owned()));
                }
                tokio::time::sleep(pause).await;
                pause = (2 * pause).min(LONGEST_PAUSE);
                answers = None;
            } else {
                pause = FIRST_PAUSE;
                // Boxed: it is rare, and its future is large.
                answers = Some(Box::pin(self.answer(input_requests)).await?);
            }
        }
        Err(ClientError::InvalidResult(format!("it asks in more than {} rounds", self.max_input_rounds)))
    }

    /// Answers the input requests of a round, all at once.
    pub(super) async fn answer(
        &self,
        input_requests: impl IntoIterator<Item = (String, wire::InputRequest)>,
    ) -> Result<InputResponses, ClientError> {
        let answers = input_requests.into_iter().map(|(key, question)| async move {
            match self.callbacks.input_callbacks().answer(question).await {
                Ok(answer) => Ok((key, answer)),
                Err(error) => Err(ClientError::InputRequest(format!("`{key}`: {}", error.message()))),
            }
        });
        Ok(futures::future::try_join_all(answers).await?.into_iter().collect())
    }
}

/// Cancels a request at the server when it is dropped before the answer has come (`notifications/cancelled`).
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let reason = "nobody waits for the answer any more".to_owned();
            let _ = peer.notify_cancelled(wire::CancelledNotificationParam::new(Some(id), Some(reason))).await;
        });
    }
}
