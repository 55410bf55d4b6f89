//! The requests of one client that the server has not answered yet, with their time limits, and those of the server to the client.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::request_id::RequestId;

/// Most requests that are not answered, in each direction.
pub(super) const MAX_OPEN: usize = 1024;
/// Longest time that a request may take beyond its limit because the server waits for answers of the client.
pub(super) const MAX_CLIENT_WAIT: Duration = Duration::from_secs(60 * 60);
/// Most requests whose late answers are known as such. The oldest is forgotten.
const MAX_CLOSED: usize = 1024;

/// A request that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenRequest {
    /// It is a call of a tool, whose result can say that it failed.
    pub(super) is_tool_call: bool,
}

/// The reason why a request is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Another open request has the id.
    IdInUse,
    /// There are [`MAX_OPEN`] of them.
    TooMany,
}

/// The request that an answer of the server belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerOf {
    /// An open request.
    Open,
    /// A request that the client has cancelled. It may still want the answer.
    Cancelled,
    /// A request that the host has answered itself.
    Stopped,
    /// No request.
    Nothing,
}

/// When the time of a request is up.
#[derive(Debug)]
struct Deadline {
    /// By the server's clock.
    limit: Duration,
    /// Whether or not the clock stands still. `None` if it is never.
    latest: Option<Instant>,
    id: RequestId,
    /// Number of the request.
    number: u64,
}

/// Open requests in both directions.
///
/// The time limit of a request counts from its delivery. It stands still while the server waits for somebody at the client, for at most
/// [`MAX_CLIENT_WAIT`] in all.
#[derive(Debug)]
pub(super) struct Requests {
    limit: Duration,
    open: HashMap<RequestId, (OpenRequest, u64)>,
    /// Deadlines in order. Entries of ended requests are skipped.
    deadlines: VecDeque<Deadline>,
    /// Numbers requests, because ids may be used again.
    next_number: u64,
    /// Requests that ended without an answer of the server, and whether the client has cancelled them.
    closed: VecDeque<(RequestId, bool)>,
    /// Requests of the server, and whether the clock stands still until they are answered.
    of_server: HashMap<RequestId, bool>,
    /// Time that the server's clock has run until `running_since`.
    elapsed: Duration,
    /// `None` while the clock stands still.
    running_since: Option<Instant>,
}

impl Requests {
    /// Makes an empty table. Each request may take `limit`.
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            open: HashMap::new(),
            deadlines: VecDeque::new(),
            next_number: 0,
            closed: VecDeque::new(),
            of_server: HashMap::new(),
            elapsed: Duration::ZERO,
            running_since: Some(Instant::now()),
        }
    }

    fn clock(&self) -> Duration {
        self.elapsed + self.running_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Adds a request of the client.
    ///
    /// # Errors
    ///
    /// [`Refusal`] when its id is in use or there are too many.
    pub(super) fn begin(&mut self, id: RequestId, request: OpenRequest) -> Result<(), Refusal> {
        if self.open.contains_key(&id) {
            return Err(Refusal::IdInUse);
        }
        if self.open.len() >= MAX_OPEN {
            return Err(Refusal::TooMany);
        }
        self.closed.retain(|(closed, _)| *closed != id);
        let number = self.next_number;
        self.next_number += 1;
        if let Some(limit) = self.clock().checked_add(self.limit) {
            let latest = self.limit.checked_add(MAX_CLIENT_WAIT).and_then(|wait| Instant::now().checked_add(wait));
            self.deadlines.push_back(Deadline { limit, latest, id: id.clone(), number });
        }
        self.open.insert(id, (request, number));
        Ok(())
    }

    /// Ends the request of the client that an answer belongs to.
    pub(super) fn answered(&mut self, id: &RequestId) -> AnswerOf {
        if self.open.remove(id).is_some() {
            return AnswerOf::Open;
        }
        match self.closed.iter().position(|(closed, _)| closed == id).and_then(|index| self.closed.remove(index)) {
            Some((_, true)) => AnswerOf::Cancelled,
            Some((_, false)) => AnswerOf::Stopped,
            None => AnswerOf::Nothing,
        }
    }

    /// Ends a request that the client has cancelled.
    pub(super) fn cancelled(&mut self, id: &RequestId) {
        if self.open.remove(id).is_some() {
            self.close(id.clone(), true);
        }
    }

    fn close(&mut self, id: RequestId, by_client: bool) {
        if self.closed.len() >= MAX_CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back((id, by_client));
    }

    /// Returns when the time limit of the next request is reached. `None` if no request is open.
    pub(super) fn next_deadline(&mut self) -> Option<Instant> {
        while let Some(Deadline { id, number, .. }) = self.deadlines.front() {
            if self.open.get(id).is_some_and(|(_, open)| open == number) {
                break;
            }
            self.deadlines.pop_front();
        }
        let Deadline { limit, latest, .. } = self.deadlines.front()?;
        let left = limit.saturating_sub(self.elapsed);
        let by_clock = self.running_since.and_then(|since| since.checked_add(left));
        by_clock.into_iter().chain(*latest).min()
    }

    /// Removes the requests whose time limit is reached, and returns them.
    pub(super) fn take_overdue(&mut self) -> Vec<(RequestId, OpenRequest)> {
        let mut overdue = Vec::new();
        while self.next_deadline().is_some_and(|deadline| deadline <= Instant::now()) {
            let Some(Deadline { id, .. }) = self.deadlines.pop_front() else { break };
            if let Some((request, _)) = self.open.remove(&id) {
                self.close(id.clone(), false);
                overdue.push((id, request));
            }
        }
        overdue
    }

    /// Returns whether a request of the client is open.
    pub(super) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Adds a request of the server to the client. The clock stands still until it is answered if it `asks_somebody`.
    ///
    /// # Errors
    ///
    /// [`Refusal`] when its id is in use or there are too many.
    pub(super) fn begin_of_server(&mut self, id: RequestId, asks_somebody: bool) -> Result<(), Refusal> {
        if self.of_server.len() >= MAX_OPEN {
            return Err(Refusal::TooMany);
        }
        if self.of_server.contains_key(&id) {
            return Err(Refusal::IdInUse);
        }
        self.of_server.insert(id, asks_somebody);
        if asks_somebody && let Some(since) = self.running_since.take() {
            self.elapsed += since.elapsed();
        }
        Ok(())
    }

    /// Ends a request of the server. Returns its id as the server has written it; `None` if there is no such request.
    ///
    /// A client that has numbers of 64 bits with a fraction rounds large ids, so that rounded ids are taken too.
    pub(super) fn end_of_server(&mut self, id: &RequestId) -> Option<RequestId> {
        let own = match self.of_server.get_key_value(id) {
            Some((own, _)) => own.clone(),
            None => self.of_server.keys().find(|own| own.rounds_to(id))?.clone(),
        };
        self.of_server.remove(&own);
        if self.running_since.is_none() && !self.of_server.values().any(|asks_somebody| *asks_somebody) {
            self.running_since = Some(Instant::now());
        }
        Some(own)
    }

    /// Removes everything, because the server has died. Returns the requests of the client, and the ids of those of the server.
    pub(super) fn take_all(&mut self) -> (Vec<(RequestId, OpenRequest)>, Vec<RequestId>) {
        let mut open: Vec<_> = self.open.drain().map(|(id, (request, number))| (number, id, request)).collect();
        open.sort_by_key(|(number, ..)| *number);
        let of_server = self.of_server.drain().map(|(id, _)| id).collect();
        *self = Self::new(self.limit);
        (open.into_iter().map(|(_, id, request)| (id, request)).collect(), of_server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);
    const CALL: OpenRequest = OpenRequest { is_tool_call: true };

    fn id(text: &str) -> RequestId {
        RequestId::of_text(text)
    }

    #[tokio::test(start_paused = true)]
    async fn each_request_has_its_time() {
        let mut requests = Requests::new(LIMIT);
        requests.begin(id("a"), CALL).unwrap();
        tokio::time::advance(Duration::from_secs(4)).await;
        requests.begin(id("b"), CALL).unwrap();
        assert_eq!(requests.next_deadline(), Some(Instant::now() + Duration::from_secs(6)));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(requests.take_overdue(), [(id("a"), CALL)]);
        assert_eq!(requests.answered(&id("a")), AnswerOf::Stopped);
        assert_eq!(requests.answered(&id("a")), AnswerOf::Nothing);
        assert_eq!(requests.answered(&id("b")), AnswerOf::Open);
        assert_eq!(requests.next_deadline(), None);
        // An id that is used again has the time of its new request.
        requests.begin(id("b"), CALL).unwrap();
        assert_eq!(requests.next_deadline(), Some(Instant::now() + LIMIT));
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_stands_still_while_the_client_is_asked() {
        let mut requests = Requests::new(LIMIT);
        requests.begin(id("a"), CALL).unwrap();
        tokio::time::advance(Duration::from_secs(4)).await;
        requests.begin_of_server(id("1"), true).unwrap();
        requests.begin_of_server(id("2"), true).unwrap();
        requests.begin_of_server(id("3"), false).unwrap();
        assert_eq!(requests.begin_of_server(id("2"), true), Err(Refusal::IdInUse));
        let latest = Some(Instant::now() + Duration::from_secs(6) + MAX_CLIENT_WAIT);
        tokio::time::advance(Duration::from_secs(300)).await;
        assert_eq!(requests.next_deadline(), latest);
        assert_eq!(requests.end_of_server(&id("1")), Some(id("1")));
        assert_eq!(requests.next_deadline(), latest);
        assert_eq!(requests.end_of_server(&id("2")), Some(id("2")));
        assert_eq!(requests.end_of_server(&id("2")), None);
        assert_eq!(requests.next_deadline(), Some(Instant::now() + Duration::from_secs(6)));
        assert!(requests.take_overdue().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_cannot_stop_the_clock_for_ever() {
        let mut requests = Requests::new(LIMIT);
        requests.begin(id("a"), CALL).unwrap();
        // A request that asks nobody does not stop the clock.
        requests.begin_of_server(id("ping"), false).unwrap();
        assert_eq!(requests.next_deadline(), Some(Instant::now() + LIMIT));
        // One question after the other, and none is answered.
        for number in 0..20 {
            requests.begin_of_server(id(&number.to_string()), true).unwrap();
            tokio::time::advance(MAX_CLIENT_WAIT / 20).await;
            requests.end_of_server(&id(&number.to_string()));
            assert!(requests.take_overdue().is_empty(), "{number}");
            requests.begin_of_server(id(&number.to_string()), true).unwrap();
        }
        tokio::time::advance(LIMIT).await;
        assert_eq!(requests.take_overdue(), [(id("a"), CALL)]);
    }

    #[tokio::test(start_paused = true)]
    async fn tables_are_bounded() {
        let mut requests = Requests::new(Duration::MAX);
        for number in 0..MAX_OPEN {
            requests.begin(id(&number.to_string()), CALL).unwrap();
            requests.begin_of_server(id(&number.to_string()), true).unwrap();
        }
        assert_eq!(requests.begin(id("0"), CALL), Err(Refusal::IdInUse));
        assert_eq!(requests.begin(id("more"), CALL), Err(Refusal::TooMany));
        assert_eq!(requests.begin_of_server(id("more"), true), Err(Refusal::TooMany));
        for round in 0..3 {
            for number in 0..MAX_OPEN {
                requests.cancelled(&id(&format!("{round}-{number}")));
                requests.cancelled(&id(&number.to_string()));
                let _ = requests.begin(id(&format!("{}-{number}", round + 1)), CALL);
            }
        }
        assert!(requests.closed.len() <= MAX_CLOSED);
        let (open, of_server) = requests.take_all();
        assert_eq!((open.len(), of_server.len()), (MAX_OPEN, MAX_OPEN));
        assert!(!requests.any_open());
    }

    #[tokio::test(start_paused = true)]
    async fn cancelled_requests_may_still_be_answered_once() {
        let mut requests = Requests::new(LIMIT);
        requests.begin(id("a"), CALL).unwrap();
        requests.cancelled(&id("a"));
        assert!(!requests.any_open());
        assert_eq!(requests.answered(&id("a")), AnswerOf::Cancelled);
        assert_eq!(requests.answered(&id("a")), AnswerOf::Nothing);
    }
}
