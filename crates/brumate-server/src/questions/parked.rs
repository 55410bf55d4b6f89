//! Calls whose clients were told that input is required, until they come back with it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brumate_session::{InputReply, InputRequest};
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitResult, ErrorData, InputRequest as McpInputRequest,
    InputRequests as McpInputRequests, InputRequiredResult,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Conversation, INPUT, form, too_late};

/// Calls of one connection that may wait for their clients.
const MAX_PARKED: usize = 256;
/// Random bytes of a state: nobody but the client that was given it can go on with a call.
const STATE_BYTES: usize = 18;
/// Random bytes of a process's name in the states that it gives out.
const PROCESS_BYTES: usize = 6;
/// Separates the process's name from the random part.
const SEPARATOR: char = '.';

/// The calls of one connection that wait.
#[derive(Clone, Default)]
pub(crate) struct Parked {
    calls: Arc<Mutex<HashMap<String, Waiting>>>,
}

impl Parked {
    /// Returns whether a call waits, or a request is under way that may make one wait.
    pub(crate) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.calls) > 1 || !self.calls().is_empty()
    }
}

impl std::fmt::Debug for Parked {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Parked").field("calls", &self.calls().len()).finish()
    }
}

struct Waiting {
    call: Conversation,
    reply: oneshot::Sender<InputReply>,
    requests: McpInputRequests,
    timer: JoinHandle<()>,
}

/// What a request that goes on with a call finds.
pub(crate) enum Resumed {
    /// The call; it has its answer.
    Call(Conversation),
    /// Nothing was answered: the question again.
    Again(InputRequiredResult),
    /// No such call: it was answered already, or nobody came in time.
    Gone,
    /// The call waits in another process, or in one that has ended.
    Elsewhere,
}

/// The name of this process in the states that it gives out, to tell them from those of other servers behind the same address.
fn process() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let mut bytes = [0; PROCESS_BYTES];
        // Without randomness no call is kept either.
        let _ = getrandom::fill(&mut bytes);
        URL_SAFE_NO_PAD.encode(bytes)
    })
}

/// Whether a state was given out by another process.
fn is_of_another(state: &str) -> bool {
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).map(|bytes| bytes.len()).ok();
    state.split_once(SEPARATOR).is_some_and(|(name, rest)| {
        name != process() && (bytes(name), bytes(rest)) == (Some(PROCESS_BYTES), Some(STATE_BYTES))
    })
}

impl Parked {
    /// Keeps a call until its client comes back, at most `patience`.
    ///
    /// # Errors
    ///
    /// The call, when it cannot be kept; its code has been told.
    pub(crate) fn park(
        &self,
        call: Conversation,
        question: InputRequest,
        patience: Duration,
    ) -> Result<InputRequiredResult, Conversation> {
        let request = McpInputRequest::Elicitation(ElicitRequest::new(form::form(&question)));
        let requests: McpInputRequests = [(INPUT.to_owned(), request)].into();
        let mut bytes = [0; STATE_BYTES];
        let mut calls = self.calls();
        if calls.len() >= MAX_PARKED || getrandom::fill(&mut bytes).is_err() {
            let text = "[too many calls of this client wait for input]\n".to_owned();
            let _ = question.reply.send(InputReply::Stop(text));
            return Err(call);
        }
        let state = format!("{}{SEPARATOR}{}", process(), URL_SAFE_NO_PAD.encode(bytes));
        let timer = tokio::spawn({
            let (parked, state) = (self.clone(), state.clone());
            async move {
                tokio::time::sleep(patience).await;
                let late = parked.calls().remove(&state);
                if let Some(Waiting { call, reply, .. }) = late {
                    let _ = reply.send(too_late(patience));
                    parked.see_off(call).await;
                }
            }
        });
        calls.insert(state.clone(), Waiting { call, reply: question.reply, requests: requests.clone(), timer });
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// Code whose client did not come back ends; more questions of it find nobody.
    async fn see_off(&self, mut call: Conversation) {
        call.listen(None);
        while let super::Step::Asked(_) = call.step().await {}
        tracing::info!("the client did not come back with the input that a call waited for; its code was interrupted");
    }

    /// Goes on with the call that `request` means.
    ///
    /// # Errors
    ///
    /// When the request is not the one that was asked to come back.
    pub(crate) fn resume(&self, state: &str, request: &CallToolRequestParams) -> Result<Resumed, ErrorData> {
        let mut calls = self.calls();
        let Some(waiting) = calls.get(state) else {
            return Ok(if is_of_another(state) { Resumed::Elsewhere } else { Resumed::Gone });
        };
        if waiting.call.digest != digest(request) {
            return Err(ErrorData::invalid_params("This requestState belongs to a call with other arguments", None));
        }
        let Some(response) = request.input_responses.as_ref().and_then(|responses| responses.get(INPUT)) else {
            let again = InputRequiredResult::new(Some(waiting.requests.clone()), Some(state.to_owned()));
            return Ok(Resumed::Again(again));
        };
        // What is wrong with it is not repeated: it may hold a password.
        let result: ElicitResult = serde_json::from_value(response.clone()).map_err(|_| {
            ErrorData::invalid_params(format!("inputResponses.{INPUT} is no result of an elicitation"), None)
        })?;
        let Some(Waiting { call, reply, timer, .. }) = calls.remove(state) else { return Ok(Resumed::Gone) };
        timer.abort();
        // Code that waits no longer has its result for the client all the same.
        let _ = reply.send(form::reply(result));
        Ok(Resumed::Call(call))
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells calls apart. A client that mixes them up makes a mistake; nothing is protected by this.
pub(crate) fn digest(request: &CallToolRequestParams) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.name.hash(&mut hasher);
    let arguments = request.arguments.as_ref().map(serde_json::to_string);
    arguments.and_then(Result::ok).hash(&mut hasher);
    hasher.finish()
}
