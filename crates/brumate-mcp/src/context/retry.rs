//! How an input request reaches the client: through a task, in the next round, or as a request of the server.

use super::Context;
use super::input_requests::MAX_OPEN_INPUT_REQUESTS;
use crate::error::Error;
use rmcp::model as wire;
use rmcp::service::{OriginatingRequestId, ServiceError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

impl Context {
    /// Runs a step once, although the handler may run several times because it requests input. Later rounds get the
    /// result of the first run. The result travels with the client in `requestState`: it cannot change it, but it can
    /// read it.
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
    pub(super) async fn ask(
        &self,
        kind: &'static str,
        key: Option<String>,
        method: &'static str,
        params: Value,
    ) -> Result<Value, Error> {
        let request: wire::InputRequest = serde_json::from_value(json!({"method": method, "params": params}))
            .map_err(|error| Error::new(format!("a question the protocol does not know: {error}")))?;
        if let Some(task) = self.task() {
            let key = key.unwrap_or_else(|| format!("{kind}-{}", self.input_requests().count(kind)));
            task.request_input(&key, request).await.map_err(Error::new)
        } else if self.is_stateless_protocol() {
            self.ask_client_to_retry(kind, key, request).await
        } else {
            self.ask_client(request).await
        }
    }

    /// Returns the answer of an earlier round. Without one, notes the request for the client and never returns: the
    /// runner drops the handler.
    async fn ask_client_to_retry(
        &self,
        kind: &'static str,
        key: Option<String>,
        request: wire::InputRequest,
    ) -> Result<Value, Error> {
        {
            let count = self.input_requests().count(kind);
            let mut rounds = self.input_requests().lock();
            let key = key.unwrap_or_else(|| format!("{kind}-{count}"));
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

    /// Sends the request to the client and waits for the answer (before 2026-07-28).
    async fn ask_client(&self, request: wire::InputRequest) -> Result<Value, Error> {
        let originating = OriginatingRequestId(self.request().id.clone());
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
            _ => return Err(Error::new("a question the protocol does not know")),
        };
        match self.request().peer.send_request(request).await {
            Ok(answer) => Ok(serde_json::to_value(answer)?),
            Err(ServiceError::McpError(error)) => Err(Error::new(format!("the client refused: {}", error.message))),
            Err(error) => Err(Error::new(format!("the client could not be asked: {error}"))),
        }
    }
}
