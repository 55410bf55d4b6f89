//! How an input request reaches the client: through a task, in the next round, or as a request of the server.

use super::Context;
use super::input_requests::{InputRounds, MAX_OPEN_INPUT_REQUESTS, WaitingHandler};
use crate::error::{Error, InputError};
use rmcp::RoleServer;
use rmcp::model as wire;
use rmcp::service::{OriginatingRequestId, PeerRequestOptions, RequestHandle, ServiceError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a handler that runs on waits for an answer, if it sets no time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The reason that a client gets when an input request is withdrawn.
const NOT_AWAITED: &str = "the code no longer waits";

/// The reason that a client gets when its user took too long.
const LATE: &str = "nobody answered in time";

/// An input request before it is sent.
pub(super) struct Question {
    /// The kind, which keys begin with.
    kind: &'static str,
    method: &'static str,
    params: Value,
    key: Option<String>,
    timeout: Option<Duration>,
}

impl Question {
    pub(super) fn new(kind: &'static str, method: &'static str, params: Value) -> Self {
        Self { kind, method, params, key: None, timeout: None }
    }

    /// Sets the key. `None` stands for a key from the kind and a number.
    pub(super) fn key(mut self, key: Option<String>) -> Self {
        self.key = key;
        self
    }

    /// Sets how long the client may take. `None`: the default of the call.
    pub(super) fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Context {
    /// Runs a step once, although the handler may run several times because it requests input. Later rounds get the
    /// result of the first run. The result travels with the client in `requestState`: the client can read the result,
    /// but cannot change it.
    ///
    /// # Errors
    ///
    /// Returns the error of `step`, or an error if the result cannot be written as JSON.
    pub async fn once<T, F>(&self, key: &str, step: F) -> Result<T, Error>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T, Error>>,
    {
        match self.step_done(key)? {
            Some(done) => Ok(done),
            None => self.keep_step(key, step.await?),
        }
    }

    /// Returns the result of the step `key` in an earlier round.
    pub(super) fn step_done<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        let known = self.input_requests().lock().known.steps.get(key).cloned();
        Ok(known.map(serde_json::from_value).transpose()?)
    }

    /// Keeps the result of a step for later rounds.
    pub(super) fn keep_step<T: Serialize>(&self, key: &str, done: T) -> Result<T, Error> {
        if self.is_stateless_protocol() {
            self.input_requests().lock().known.steps.insert(key.to_owned(), serde_json::to_value(&done)?);
        }
        Ok(done)
    }

    /// Sends an input request and returns its answer.
    pub(super) async fn ask(&self, question: Question) -> Result<Value, Error> {
        let Question { kind, method, params, key, timeout } = question;
        let request: wire::InputRequest = serde_json::from_value(json!({"method": method, "params": params}))
            .map_err(|error| Error::new(format!("a question the protocol does not know: {error}")))?;
        let runs_on = self.suspends();
        let kept_for = timeout.unwrap_or(DEFAULT_TIMEOUT);
        let timeout = if runs_on { Some(kept_for) } else { timeout };
        if runs_on {
            // Where the call may become a task, it does so now.
            self.detach().await;
        }
        let numbered =
            |key: Option<String>| key.unwrap_or_else(|| format!("{kind}-{}", self.input_requests().count(kind)));
        if let Some(task) = self.task() {
            let key = numbered(key);
            let answer = task.request_input(&key, request);
            let answer = match timeout {
                Some(timeout) => tokio::time::timeout(timeout, answer).await.map_err(|_| InputError::TimedOut(timeout)),
                None => Ok(answer.await),
            };
            let answer = answer.and_then(|answer| answer.map_err(InputError::TaskEnds));
            answer.map_err(Error::input)
        } else if !self.is_stateless_protocol() {
            self.ask_client(request, timeout).await.map_err(Error::input)
        } else if runs_on {
            self.ask_in_next_request(numbered(key), request, kept_for).await.map_err(Error::input)
        } else {
            let count = self.input_requests().count(kind);
            self.ask_client_to_retry(key.unwrap_or_else(|| format!("{kind}-{count}")), request).await
        }
    }

    /// Returns the answer of an earlier round. Without one, notes the request for the client and never returns: the
    /// runner drops the handler.
    async fn ask_client_to_retry(&self, key: String, request: wire::InputRequest) -> Result<Value, Error> {
        {
            let mut rounds = self.input_requests().lock();
            if let Some(answer) = rounds.fresh.remove(&key) {
                rounds.known.answers.insert(key, answer.clone());
                return Ok(answer);
            }
            if let Some(answer) = rounds.known.answers.get(&key) {
                return Ok(answer.clone());
            }
            if rounds.open.len() >= MAX_OPEN_INPUT_REQUESTS {
                return Err(Error::new(format!("more than {MAX_OPEN_INPUT_REQUESTS} input requests at once")));
            }
            rounds.open.insert(key, request);
        }
        self.input_requests().asked.notify_waiters();
        // `run` drops the handler here.
        std::future::pending().await
    }

    /// Notes the request for the client, and waits until a later request of the call brings the answer.
    async fn ask_in_next_request(
        &self,
        key: String,
        request: wire::InputRequest,
        timeout: Duration,
    ) -> Result<Value, InputError> {
        if self.is_cancelled() {
            return Err(InputError::call_cancelled());
        }
        let (answer, receiver) = oneshot::channel();
        let key = {
            let mut rounds = self.input_requests().lock();
            if rounds.is_abandoned {
                return Err(InputError::Unreachable("it did not come back with the last answer".to_owned()));
            }
            if rounds.waiting.len() >= MAX_OPEN_INPUT_REQUESTS {
                let text = format!("more than {MAX_OPEN_INPUT_REQUESTS} input requests at once");
                return Err(InputError::Unreachable(text));
            }
            let key = rounds.free_key(key);
            rounds.waiting.insert(key.clone(), WaitingHandler { answer, timeout, is_sent: false });
            rounds.open.insert(key.clone(), request);
            key
        };
        self.input_requests().asked.notify_waiters();
        let mut withdrawn = WithdrawOnDrop { context: self, key: Some(key) };
        let answer = receiver.await;
        // A later request may have the key.
        withdrawn.key = None;
        answer.unwrap_or_else(|_| Err(InputError::Unreachable("the call has ended".to_owned())))
    }

    /// Sends the request to the client and waits for the answer (before 2026-07-28). The request is cancelled when the
    /// handler no longer waits.
    async fn ask_client(&self, request: wire::InputRequest, timeout: Option<Duration>) -> Result<Value, InputError> {
        let unreachable = |reason: String| InputError::Unreachable(reason);
        let Some((peer, id)) = self.with_current(|request| (request.peer.clone(), request.id.clone())) else {
            return Err(unreachable("no request of the client is open".to_owned()));
        };
        let originating = OriginatingRequestId(id);
        let request = match request {
            wire::InputRequest::Elicitation(mut request) => {
                request.extensions.insert(originating);
                wire::ServerRequest::ElicitRequest(request)
            }
            wire::InputRequest::CreateMessage(mut request) => {
                request.extensions.insert(originating);
                wire::ServerRequest::CreateMessageRequest(request)
            }
            wire::InputRequest::ListRoots(mut request) => {
                request.extensions.insert(originating);
                wire::ServerRequest::ListRootsRequest(request)
            }
            _ => return Err(unreachable("a question the protocol does not know".to_owned())),
        };
        let sent = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let mut sent = SentRequest(Some(sent.map_err(|error| unreachable(error.to_string()))?));
        let answer = match timeout {
            Some(timeout) => match tokio::time::timeout(timeout, sent.answer()).await {
                Ok(answer) => answer,
                Err(_) => {
                    sent.cancel(LATE).await;
                    return Err(InputError::TimedOut(timeout));
                }
            },
            None => sent.answer().await,
        };
        match answer {
            Ok(answer) => serde_json::to_value(answer).map_err(|error| InputError::Malformed(error.to_string())),
            Err(ServiceError::McpError(error)) => {
                Err(InputError::Refused { code: error.code.0, message: error.message.into_owned() })
            }
            Err(error) => Err(unreachable(error.to_string())),
        }
    }
}

impl InputRounds {
    /// Returns `key`, or one like it that no open request has.
    fn free_key(&self, key: String) -> String {
        let taken = |key: &String| self.waiting.contains_key(key) || self.open.contains_key(key);
        if !taken(&key) {
            return key;
        }
        // The number of open requests is bounded, so one of these is free.
        (2..).map(|number| format!("{key}-{number}")).find(|key| !taken(key)).unwrap_or(key)
    }
}

/// Withdraws an input request that its handler no longer waits for.
struct WithdrawOnDrop<'a> {
    context: &'a Context,
    /// `None` once there is an answer.
    key: Option<String>,
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        let Some(key) = &self.key else { return };
        let mut rounds = self.context.input_requests().lock();
        rounds.waiting.remove(key);
        rounds.open.remove(key);
    }
}

/// A request to the client. It is cancelled there when it is dropped without an answer.
struct SentRequest(Option<RequestHandle<RoleServer>>);

impl SentRequest {
    /// Waits for the answer.
    async fn answer(&mut self) -> Result<wire::ClientResult, ServiceError> {
        let Some(request) = &mut self.0 else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut request.rx).await;
        self.0 = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }

    async fn cancel(&mut self, reason: &str) {
        if let Some(request) = self.0.take() {
            // The client may be gone.
            let _ = request.cancel(Some(reason.to_owned())).await;
        }
    }
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        if let (Some(request), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(request.cancel(Some(NOT_AWAITED.to_owned())));
        }
    }
}
