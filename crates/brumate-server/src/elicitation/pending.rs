//! Calls that were answered with `input_required`, until the client repeats them with the input.

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

use super::{INPUT, RunningCall, form, timed_out};

/// Most calls of one connection that may wait for input.
const MAX_PENDING: usize = 256;
/// Random bytes of a `requestState`. Only the client that received it can continue the call.
const STATE_BYTES: usize = 18;
/// Random bytes of a process's name, the first part of each `requestState`.
const PROCESS_BYTES: usize = 6;
/// Separator between the process's name and the random part.
const SEPARATOR: char = '.';

/// The calls of one connection that wait for input. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct PendingCalls {
    calls: Arc<Mutex<HashMap<String, PendingCall>>>,
}

impl PendingCalls {
    /// Returns whether a call waits, or another clone may still add one.
    pub(crate) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.calls) > 1 || !self.calls().is_empty()
    }
}

impl std::fmt::Debug for PendingCalls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PendingCalls").field("calls", &self.calls().len()).finish()
    }
}

/// A call that waits for input.
struct PendingCall {
    call: RunningCall,
    reply: oneshot::Sender<InputReply>,
    requests: McpInputRequests,
    timer: JoinHandle<()>,
}

/// The result of [`PendingCalls::resume`].
pub(crate) enum ResumeResult {
    /// The call, whose code has received the input.
    Call(RunningCall),
    /// The request has no input: the same input request again.
    InputMissing(InputRequiredResult),
    /// There is no such call: its input was given already, or came too late.
    Unknown,
    /// The call belongs to another process, which may have ended.
    OtherProcess,
}

/// Returns the random name of this process. It tells its states from those of other servers behind the same address.
fn process_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let mut bytes = [0; PROCESS_BYTES];
        // Without randomness `suspend` fails as well.
        let _ = getrandom::fill(&mut bytes);
        URL_SAFE_NO_PAD.encode(bytes)
    })
}

/// Returns whether another process made a `requestState`.
fn is_from_other_process(state: &str) -> bool {
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).map(|bytes| bytes.len()).ok();
    state.split_once(SEPARATOR).is_some_and(|(name, rest)| {
        name != process_name() && (bytes(name), bytes(rest)) == (Some(PROCESS_BYTES), Some(STATE_BYTES))
    })
}

impl PendingCalls {
    /// Keeps a call until its client repeats it with the input. After `timeout` the code is stopped.
    ///
    /// # Errors
    ///
    /// The call, when it cannot be kept. Its code is stopped then.
    pub(crate) fn suspend(
        &self,
        call: RunningCall,
        question: InputRequest,
        timeout: Duration,
    ) -> Result<InputRequiredResult, RunningCall> {
        let request = McpInputRequest::Elicitation(ElicitRequest::new(form::form(&question)));
        let requests: McpInputRequests = [(INPUT.to_owned(), request)].into();
        let mut bytes = [0; STATE_BYTES];
        let mut calls = self.calls();
        if calls.len() >= MAX_PENDING || getrandom::fill(&mut bytes).is_err() {
            let text = "[too many calls of this client wait for input]\n".to_owned();
            let _ = question.reply.send(InputReply::Stop(text));
            return Err(call);
        }
        let state = format!("{}{SEPARATOR}{}", process_name(), URL_SAFE_NO_PAD.encode(bytes));
        let timer = tokio::spawn({
            let (pending, state) = (self.clone(), state.clone());
            async move {
                tokio::time::sleep(timeout).await;
                let late = pending.calls().remove(&state);
                if let Some(PendingCall { call, reply, .. }) = late {
                    let _ = reply.send(timed_out(timeout));
                    pending.run_to_end(call).await;
                }
            }
        });
        calls.insert(state.clone(), PendingCall { call, reply: question.reply, requests: requests.clone(), timer });
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// Waits for the end of a call whose client did not come back. Further input requests have no answer.
    async fn run_to_end(&self, mut call: RunningCall) {
        call.set_event_sink(None);
        while let super::CallEvent::InputRequested(_) = call.next_event().await {}
        tracing::info!("the client did not come back with the input that a call waited for; its code was interrupted");
    }

    /// Continues the call with this `requestState`, and gives its code the input of `request`.
    ///
    /// # Errors
    ///
    /// The request has another tool or other arguments than the first one, or its input is malformed.
    pub(crate) fn resume(&self, state: &str, request: &CallToolRequestParams) -> Result<ResumeResult, ErrorData> {
        let mut calls = self.calls();
        let Some(waiting) = calls.get(state) else {
            return Ok(if is_from_other_process(state) { ResumeResult::OtherProcess } else { ResumeResult::Unknown });
        };
        if waiting.call.digest != digest(request) {
            return Err(ErrorData::invalid_params("This requestState belongs to a call with other arguments", None));
        }
        let Some(response) = request.input_responses.as_ref().and_then(|responses| responses.get(INPUT)) else {
            let again = InputRequiredResult::new(Some(waiting.requests.clone()), Some(state.to_owned()));
            return Ok(ResumeResult::InputMissing(again));
        };
        // The error does not repeat the input: it may contain a password.
        let result: ElicitResult = serde_json::from_value(response.clone()).map_err(|_| {
            ErrorData::invalid_params(format!("inputResponses.{INPUT} is no result of an elicitation"), None)
        })?;
        let Some(PendingCall { call, reply, timer, .. }) = calls.remove(state) else {
            return Ok(ResumeResult::Unknown);
        };
        timer.abort();
        // The code may have stopped waiting. Then the call has a result.
        let _ = reply.send(form::reply(result));
        Ok(ResumeResult::Call(call))
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, PendingCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a hash of the tool's name and arguments. It finds mistakes of clients; it is no protection.
pub(crate) fn digest(request: &CallToolRequestParams) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.name.hash(&mut hasher);
    let arguments = request.arguments.as_ref().map(serde_json::to_string);
    arguments.and_then(Result::ok).hash(&mut hasher);
    hasher.finish()
}
