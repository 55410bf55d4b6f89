//! Event stores: sessions and their messages outside of the process, for clients that come back after it has ended.

use std::fmt;
use std::time::SystemTime;

/// The reason why a store failed.
pub type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// The part of a session that is needed to continue it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSession {
    /// The principal that the session belongs to.
    pub principal: Option<String>,
    /// The parameters of its `initialize` as JSON: version, capabilities, the client's name.
    pub initialize: String,
    /// The log level that the client has set, as the protocol names it.
    pub level: Option<String>,
}

impl StoredSession {
    /// Makes a session without a log level.
    pub fn new(principal: Option<String>, initialize: String) -> Self {
        Self { principal, initialize, level: None }
    }
}

/// A stream of a session. Stream 0 has the messages that belong to no request; every other stream belongs to one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredStream {
    /// The number of the stream.
    pub id: u64,
    /// The id of its request as JSON, until the request is answered.
    pub request: Option<String>,
    /// The number of the next message.
    pub next: u64,
    /// The messages as JSON, by number, oldest first.
    pub events: Vec<(u64, String)>,
}

impl StoredStream {
    /// Makes a stream of these messages.
    pub fn new(id: u64, request: Option<String>, next: u64, events: Vec<(u64, String)>) -> Self {
        Self { id, request, next, events }
    }
}

/// Keeps sessions and their messages, so that clients can resume them after the server has ended, however it ended.
///
/// The methods are called from asynchronous code, before a message is sent to the client. They may wait for memory and
/// for the system's file cache, but not for a disk or a network. When a store fails, the failure is logged, and the
/// session goes on without it. The server decides which messages are kept
/// ([`ResumptionLimits`](crate::ResumptionLimits)). A store bounds all sessions together, and removes the sessions that
/// were used least recently. One store serves one endpoint of one process at a time.
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a session, or replaces it. Ids cannot be guessed.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn put_session(&self, id: &str, session: &StoredSession) -> Result<(), StoreError>;

    /// Returns a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn session(&self, id: &str) -> Result<Option<StoredSession>, StoreError>;

    /// Removes a session and its streams.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn remove_session(&self, id: &str) -> Result<(), StoreError>;

    /// Opens a stream of a session. `request` is the id of its request as JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn open_stream(&self, session: &str, stream: u64, request: &str) -> Result<(), StoreError>;

    /// Appends a message to a stream. Does nothing if the session is not stored.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn append(&self, session: &str, stream: u64, number: u64, message: &str) -> Result<(), StoreError>;

    /// Notes that the request of a stream is answered.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn end_stream(&self, session: &str, stream: u64) -> Result<(), StoreError>;

    /// Removes the messages of a stream up to this number; with `None` the stream.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn forget(&self, session: &str, stream: u64, up_to: Option<u64>) -> Result<(), StoreError>;

    /// Returns all streams of a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn streams(&self, session: &str) -> Result<Vec<StoredStream>, StoreError>;

    /// Notes that these sessions are in use. It is called at most once a minute, with all sessions in memory.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn touch(&self, ids: &[&str]) -> Result<(), StoreError>;

    /// Removes sessions that were not used since `unused_since`.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn expire(&self, unused_since: SystemTime) -> Result<(), StoreError>;
}
