//! Input requests of one request, and the answers of earlier rounds (2026-07-28).

use crate::error::InputError;
use rmcp::model as wire;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// The most input requests that may be open at once.
pub(super) const MAX_OPEN_INPUT_REQUESTS: usize = 32;

/// The answers of earlier rounds of a request, and the input that this round requests.
#[derive(Debug, Default)]
pub(crate) struct InputRequests {
    rounds: Mutex<InputRounds>,
    pub(super) asked: Notify,
}

/// The rounds so far, and the open input requests of this one.
#[derive(Debug, Default)]
pub(super) struct InputRounds {
    pub(super) known: RequestState,
    /// Answers that came with the request. Answers that the handler does not ask for are dropped.
    pub(super) fresh: BTreeMap<String, Value>,
    pub(super) open: BTreeMap<String, wire::InputRequest>,
    /// Channels on which a running handler waits for answers, by the key of the request.
    pub(super) waiting: BTreeMap<String, WaitingHandler>,
    /// Whether the client did not come back with answers. A handler that runs on gets none from then on.
    pub(super) is_abandoned: bool,
    /// How many input requests of each kind this run has made, for requests without a key.
    counts: BTreeMap<&'static str, usize>,
}

/// A handler that waits for an answer, and for how long.
#[derive(Debug)]
pub(super) struct WaitingHandler {
    pub(super) answer: oneshot::Sender<Result<Value, InputError>>,
    pub(super) timeout: Duration,
    /// Whether the client has the request.
    pub(super) is_sent: bool,
}

/// The state that travels from round to round (`requestState`).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RequestState {
    pub(super) answers: BTreeMap<String, Value>,
    pub(super) steps: BTreeMap<String, Value>,
}

impl InputRequests {
    /// Makes the input requests of a round, with the state of earlier rounds and the answers of this one.
    pub(crate) fn new(known: RequestState, fresh: BTreeMap<String, Value>) -> Self {
        Self { rounds: Mutex::new(InputRounds { known, fresh, ..InputRounds::default() }), asked: Notify::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, InputRounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an input request of a kind. Returns its number.
    pub(super) fn count(&self, kind: &'static str) -> usize {
        let mut rounds = self.lock();
        let count = rounds.counts.entry(kind).or_default();
        *count += 1;
        *count
    }

    /// Waits until there is an input request without an answer.
    pub(crate) async fn asked(&self) {
        loop {
            let asked = self.asked.notified();
            if !self.lock().open.is_empty() {
                return;
            }
            asked.await;
        }
    }

    /// Takes the open input requests of a handler that runs on, with the longest time that it waits for one of them. Returns `None`
    /// if it has withdrawn all.
    pub(crate) fn take_open(&self) -> Option<(BTreeMap<String, wire::InputRequest>, Duration)> {
        let rounds = &mut *self.lock();
        let open = std::mem::take(&mut rounds.open);
        let mut longest = None;
        for key in open.keys() {
            if let Some(waiting) = rounds.waiting.get_mut(key) {
                waiting.is_sent = true;
                longest = longest.max(Some(waiting.timeout));
            }
        }
        Some((open, longest?))
    }

    /// Gives answers to a handler that runs on. Answers that it no longer waits for are dropped.
    pub(crate) fn answer(&self, answers: BTreeMap<String, Value>) {
        let mut rounds = self.lock();
        for (key, answer) in answers {
            // A request that the client does not have yet may have the key of one that was withdrawn.
            if rounds.waiting.get(&key).is_some_and(|waiting| waiting.is_sent)
                && let Some(waiting) = rounds.waiting.remove(&key)
            {
                // The handler may have stopped waiting.
                let _ = waiting.answer.send(Ok(answer));
            }
        }
    }

    /// Fails all input requests for whose answers a handler that runs on waits.
    pub(crate) fn fail(&self, error: &InputError) {
        let mut rounds = self.lock();
        rounds.open.clear();
        for waiting in std::mem::take(&mut rounds.waiting).into_values() {
            let _ = waiting.answer.send(Err(error.clone()));
        }
    }

    /// Notes that the client did not come back: later input requests fail at once.
    pub(crate) fn abandon(&self) {
        self.lock().is_abandoned = true;
    }

    /// Takes the open input requests, and returns the state for the next round.
    pub(crate) fn take(&self) -> (BTreeMap<String, wire::InputRequest>, RequestState) {
        let mut rounds = self.lock();
        (std::mem::take(&mut rounds.open), rounds.known.clone())
    }
}
