//! Sending requests, and answering what the server asks before it answers them.

use super::callbacks::{Callbacks, Following, OnProgress};
use super::error::ClientError;
use rmcp::RoleClient;
use rmcp::model as wire;
use rmcp::model::{ClientRequest, InputResponses, RequestId, RequestMetaObject, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions};
use std::sync::Arc;
use std::time::Duration;

/// Rounds of questions in one request, at most, unless the client says otherwise.
pub const MAX_ROUNDS: usize = 10;

/// How long to wait before a request is sent again that the server only wanted to see again: the first time, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What a request is sent with.
#[derive(Clone, Default)]
pub(super) struct Options {
    pub(super) meta: RequestMetaObject,
    pub(super) on_progress: Option<OnProgress>,
}

/// Sends requests over one connection.
#[derive(Clone)]
pub(super) struct Requests {
    pub(super) peer: Peer<RoleClient>,
    pub(super) callbacks: Arc<Callbacks>,
    pub(super) max_rounds: usize,
}

/// What the server wants to know before it goes on.
pub(super) struct Round {
    pub(super) questions: Vec<(String, wire::InputRequest)>,
    pub(super) state: Option<String>,
}

impl From<wire::InputRequiredResult> for Round {
    fn from(result: wire::InputRequiredResult) -> Self {
        let questions = result.input_requests.unwrap_or_default().into_iter().collect();
        Self { questions, state: result.request_state }
    }
}

impl Requests {
    /// Sends a request and waits for its answer. Dropping the future tells the server that nobody waits any more.
    pub(super) async fn send(&self, request: ClientRequest, options: &Options) -> Result<ServerResult, ClientError> {
        let mut sent = PeerRequestOptions::no_options();
        sent.meta = (!options.meta.0.0.is_empty()).then(|| options.meta.clone());
        let handle = self.peer.send_request_with_option(request, sent).await.map_err(ClientError::of_service)?;
        let _following: Option<Following> = options
            .on_progress
            .as_ref()
            .map(|callback| self.callbacks.follow_progress(handle.progress_token.clone(), callback.clone()));
        let mut abandoned = Abandoned { peer: self.peer.clone(), id: Some(handle.id.clone()) };
        let answer = handle.await_response().await;
        abandoned.id = None;
        answer.map_err(ClientError::of_service)
    }

    /// Asks whoever answers the questions of a round, all at once, and returns their answers.
    pub(super) async fn answer(
        &self,
        questions: impl IntoIterator<Item = (String, wire::InputRequest)>,
    ) -> Result<InputResponses, ClientError> {
        let answers = questions.into_iter().map(|(key, question)| async move {
            match self.callbacks.answerers().answer(question).await {
                Ok(answer) => Ok((key, answer)),
                Err(error) => Err(ClientError::Question(format!("`{key}`: {}", error.message()))),
            }
        });
        Ok(futures::future::try_join_all(answers).await?.into_iter().collect())
    }
}

/// Counts the rounds of a request.
pub(super) struct Rounds {
    left: usize,
    pause: Duration,
}

impl Rounds {
    pub(super) fn new(max: usize) -> Self {
        Self { left: max, pause: FIRST_PAUSE }
    }

    /// Answers a round; returns what the next request carries.
    pub(super) async fn next(
        &mut self,
        requests: &Requests,
        round: Round,
    ) -> Result<(Option<InputResponses>, Option<String>), ClientError> {
        self.left = self.left.checked_sub(1).filter(|left| *left > 0).ok_or_else(|| {
            ClientError::InvalidResult(format!("it asks in more than {} rounds", requests.max_rounds))
        })?;
        if round.questions.is_empty() {
            if round.state.is_none() {
                return Err(ClientError::InvalidResult("it wants another round and asks nothing".to_owned()));
            }
            tokio::time::sleep(self.pause).await;
            self.pause = (2 * self.pause).min(LONGEST_PAUSE);
            return Ok((None, round.state));
        }
        self.pause = FIRST_PAUSE;
        Ok((Some(requests.answer(round.questions).await?), round.state))
    }
}

/// Tells the server about a request whose answer nobody waits for any more.
struct Abandoned {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let reason = "nobody waits for the answer any more".to_owned();
            let _ = peer.notify_cancelled(wire::CancelledNotificationParam::new(Some(id), Some(reason))).await;
        });
    }
}
