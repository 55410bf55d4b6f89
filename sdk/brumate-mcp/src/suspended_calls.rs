//! Calls that were answered with `input_required`, until the client repeats them with the input.

use crate::sync::lock;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ElicitResult, InputRequest, InputRequests, InputRequiredResult, InputResponses,
};
use serde::Deserialize as _;
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::task::JoinHandle;

/// The most calls of one principal that may be suspended.
const MAX_SUSPENDED: usize = 256;

/// Random bytes of a `requestState`. Only the client that received it can continue the call.
const STATE_BYTES: usize = 18;

/// Random bytes of a process's name, the first part of each `requestState`.
const PROCESS_BYTES: usize = 6;

/// Separator between the process's name and the random part.
const SEPARATOR: char = '.';

/// The tool calls of one principal whose work `T` waits for input of the client (since protocol 2026-07-28), at most
/// 256. Clones share them.
///
/// The handler of most tools runs from its beginning when the client repeats the call. Here the work stays in memory and goes on.
pub(crate) struct SuspendedCalls<T> {
    calls: Arc<Mutex<HashMap<String, SuspendedCall<T>>>>,
}

/// A call that waits for input.
struct SuspendedCall<T> {
    work: T,
    digest: CallDigest,
    requests: InputRequests,
    timer: JoinHandle<()>,
}

/// The result of [`SuspendedCalls::resume`].
#[derive(Debug)]
pub(crate) enum ResumeResult<T> {
    /// The work of the call, and the client's responses to all of its input requests.
    Call(T, InputResponses),
    /// The request lacks input: the same input requests again.
    InputMissing(InputRequiredResult),
    /// There is no such call: its input was given already, or came too late.
    Unknown,
    /// The call belongs to another process, which may have ended.
    OtherProcess,
}

/// A hash of a call's tool and arguments. It finds mistakes of clients; it is no protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallDigest(u64);

impl CallDigest {
    /// Makes the digest of a call.
    pub(crate) fn of(request: &CallToolRequestParams) -> Self {
        let mut hasher = DefaultHasher::new();
        request.name.hash(&mut hasher);
        let arguments = request.arguments.as_ref().map(serde_json::to_string);
        arguments.and_then(Result::ok).hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl<T> Default for SuspendedCalls<T> {
    fn default() -> Self {
        Self { calls: Arc::default() }
    }
}

impl<T> Clone for SuspendedCalls<T> {
    fn clone(&self) -> Self {
        Self { calls: Arc::clone(&self.calls) }
    }
}

impl<T> fmt::Debug for SuspendedCalls<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SuspendedCalls").field("calls", &lock(&self.calls).len()).finish()
    }
}

impl<T> SuspendedCalls<T> {
    /// Returns whether a call is suspended, or another clone may still add one.
    pub(crate) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.calls) > 1 || !lock(&self.calls).is_empty()
    }

    /// Drops all calls.
    pub(crate) fn cancel_all(&self) {
        let calls = std::mem::take(&mut *lock(&self.calls));
        calls.values().for_each(|call| call.timer.abort());
    }

    /// Returns whether a call with this `requestState` is suspended.
    pub(crate) fn has(&self, state: &str) -> bool {
        lock(&self.calls).contains_key(state)
    }

    /// Continues the call with this `requestState`, whose client repeats it with `request`.
    ///
    /// # Errors
    ///
    /// Returns "invalid params" if the request has another tool or other arguments than the first one. A malformed
    /// response to an elicitation gets the same error. The call stays suspended.
    pub(crate) fn resume(&self, state: &str, request: &CallToolRequestParams) -> Result<ResumeResult<T>, ErrorData> {
        let mut calls = lock(&self.calls);
        let Some(call) = calls.get(state) else {
            return Ok(if is_from_other_process(state) { ResumeResult::OtherProcess } else { ResumeResult::Unknown });
        };
        if call.digest != CallDigest::of(request) {
            return Err(ErrorData::invalid_params("This requestState belongs to a call with other arguments", None));
        }
        let mut input = InputResponses::new();
        for (name, asked) in &call.requests {
            let Some(response) = request.input_responses.as_ref().and_then(|responses| responses.get(name)) else {
                let again = InputRequiredResult::new(Some(call.requests.clone()), Some(state.to_owned()));
                return Ok(ResumeResult::InputMissing(again));
            };
            // The error does not repeat the response: it may contain a password.
            if matches!(asked, InputRequest::Elicitation(_)) && ElicitResult::deserialize(response).is_err() {
                let text = format!("inputResponses.{name} is no result of an elicitation");
                return Err(ErrorData::invalid_params(text, None));
            }
            input.insert(name.clone(), response.clone());
        }
        let Some(SuspendedCall { work, timer, .. }) = calls.remove(state) else {
            return Ok(ResumeResult::Unknown);
        };
        timer.abort();
        Ok(ResumeResult::Call(work, input))
    }
}

impl<T: Send + 'static> SuspendedCalls<T> {
    /// Keeps the work of a call until its client repeats the call with the input. Returns the answer for the client.
    /// After `timeout` the work goes to `expire` instead.
    ///
    /// # Errors
    ///
    /// Returns the work if too many calls are suspended, or if the system has no random bytes.
    pub(crate) fn suspend<F>(
        &self,
        work: T,
        digest: CallDigest,
        requests: InputRequests,
        timeout: Duration,
        expire: impl FnOnce(T) -> F + Send + 'static,
    ) -> Result<InputRequiredResult, T>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut bytes = [0; STATE_BYTES];
        let mut calls = lock(&self.calls);
        if calls.len() >= MAX_SUSPENDED || getrandom::fill(&mut bytes).is_err() {
            return Err(work);
        }
        let state = format!("{}{SEPARATOR}{}", process_name(), URL_SAFE_NO_PAD.encode(bytes));
        let timer = tokio::spawn({
            let (suspended, state) = (self.clone(), state.clone());
            async move {
                tokio::time::sleep(timeout).await;
                let late = lock(&suspended.calls).remove(&state);
                if let Some(call) = late {
                    expire(call.work).await;
                }
            }
        });
        calls.insert(state.clone(), SuspendedCall { work, digest, requests: requests.clone(), timer });
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }
}

/// Returns the random name of this process. It tells this process's states from the states of other servers behind the
/// same address.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tokio::sync::oneshot;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn request(arguments: Value, responses: Value) -> CallToolRequestParams {
        let request = json!({"name": "run", "arguments": arguments, "inputResponses": responses});
        serde_json::from_value(request).unwrap()
    }

    fn suspend(calls: &SuspendedCalls<&'static str>, work: &'static str) -> Result<String, &'static str> {
        let form = json!({"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}});
        let asked = json!({"input": {"method": "elicitation/create", "params": form}});
        let digest = CallDigest::of(&request(json!({"a": 1}), json!(null)));
        let requests = serde_json::from_value(asked).unwrap();
        let required = calls.suspend(work, digest, requests, TIMEOUT, |_| std::future::ready(()))?;
        assert!(required.input_requests.unwrap().contains_key("input"));
        Ok(required.request_state.unwrap())
    }

    #[tokio::test]
    async fn a_call_goes_on_once_with_its_input() {
        let calls = SuspendedCalls::default();
        let state = suspend(&calls, "work").unwrap();
        let answered = json!({"input": {"action": "accept", "content": {"value": "a"}}, "other": 1});
        let other = calls.resume(&state, &request(json!({"a": 2}), answered.clone())).unwrap_err();
        assert_eq!(other.message, "This requestState belongs to a call with other arguments");
        let malformed = calls.resume(&state, &request(json!({"a": 1}), json!({"input": "secret"}))).unwrap_err();
        assert_eq!(malformed.message, "inputResponses.input is no result of an elicitation");
        let missing = calls.resume(&state, &request(json!({"a": 1}), json!(null))).unwrap();
        assert!(matches!(missing, ResumeResult::InputMissing(again) if again.request_state.as_ref() == Some(&state)));
        let given = request(json!({"a": 1}), answered);
        let Ok(ResumeResult::Call("work", input)) = calls.resume(&state, &given) else { panic!("it goes on") };
        assert_eq!(json!(input), json!({"input": {"action": "accept", "content": {"value": "a"}}}));
        assert!(matches!(calls.resume(&state, &given), Ok(ResumeResult::Unknown)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_its_client_expires() {
        let (late, expired) = oneshot::channel();
        let calls = SuspendedCalls::default();
        let digest = CallDigest::of(&request(json!({}), json!(null)));
        let required = calls.suspend("work", digest, InputRequests::new(), TIMEOUT, |work| async move {
            late.send(work).unwrap();
        });
        assert!(calls.is_in_use() && required.is_ok());
        assert_eq!(expired.await.unwrap(), "work");
        tokio::task::yield_now().await;
        assert!(!calls.is_in_use());
    }

    #[tokio::test]
    async fn calls_are_bounded_and_states_name_their_process() {
        let calls = SuspendedCalls::default();
        for _ in 0..MAX_SUSPENDED {
            suspend(&calls, "work").unwrap();
        }
        assert_eq!(suspend(&calls, "one more"), Err("one more"));
        let foreign =
            format!("{}.{}", URL_SAFE_NO_PAD.encode([7; PROCESS_BYTES]), URL_SAFE_NO_PAD.encode([7; STATE_BYTES]));
        let resume = |state: &str| calls.resume(state, &request(json!({"a": 1}), json!(null)));
        assert!(matches!(resume(&foreign), Ok(ResumeResult::OtherProcess)));
        let own = format!("{}.{}", process_name(), URL_SAFE_NO_PAD.encode([7; STATE_BYTES]));
        for state in [&own, "", ".", "a.b"] {
            assert!(matches!(resume(state), Ok(ResumeResult::Unknown)), "{state}");
        }
    }
}
