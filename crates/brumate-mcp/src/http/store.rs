//! Sessions and their events outside the process, for clients that come back after it has ended.

use super::principal::{Principal, Scope};
use rmcp::model::{InitializeRequestParams, RequestId};
use rmcp::transport::streamable_http_server::session::{SessionState, SessionStore, SessionStoreError};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Why a store did not do what it was to do.
pub type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// What a session of the protocol needs in order to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSession {
    /// Whose it is.
    pub principal: Option<String>,
    /// The parameters of its `initialize` (version, capabilities, the client's name), as JSON.
    pub initialize: String,
    /// The log level that the client has set, as the protocol calls it.
    pub level: Option<String>,
}

impl StoredSession {
    /// A session whose client has set nothing.
    pub fn new(principal: Option<String>, initialize: String) -> Self {
        Self { principal, initialize, level: None }
    }
}

/// A stream of a session: the messages that belong to one request, or, as stream 0, to none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredStream {
    /// Its number.
    pub id: u64,
    /// The id of its request as JSON, until that is answered.
    pub request: Option<String>,
    /// The number that the next message will have.
    pub next: u64,
    /// Messages as JSON, by number, oldest first.
    pub events: Vec<(u64, String)>,
}

impl StoredStream {
    /// A stream of these messages.
    pub fn new(id: u64, request: Option<String>, next: u64, events: Vec<(u64, String)>) -> Self {
        Self { id, request, next, events }
    }
}

/// Keeps sessions of the protocol and their events, so that clients lose neither when the server ends, however it does.
///
/// The methods are called from asynchronous code, before what they keep is sent to the client: they may wait for memory and
/// for the system's file cache, not for a disk or a network. A store that fails is logged, and the session goes on without.
/// Which messages are kept is decided by the server ([`Resumption`](super::Resumption)); a store bounds all sessions together
/// and forgets those that were used least recently. One store serves one endpoint of one process at a time.
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Keeps a session, or what has changed of it. Ids are unguessable.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn put_session(&self, id: &str, session: &StoredSession) -> Result<(), StoreError>;

    /// A session.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn session(&self, id: &str) -> Result<Option<StoredSession>, StoreError>;

    /// Forgets a session and its streams.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn remove_session(&self, id: &str) -> Result<(), StoreError>;

    /// Begins a stream of a session, whose request has this id (JSON).
    ///
    /// # Errors
    ///
    /// The store fails.
    fn open_stream(&self, session: &str, stream: u64, request: &str) -> Result<(), StoreError>;

    /// Appends a message to a stream; a session that is not kept has none.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn append(&self, session: &str, stream: u64, number: u64, message: &str) -> Result<(), StoreError>;

    /// The request of a stream is answered.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn end_stream(&self, session: &str, stream: u64) -> Result<(), StoreError>;

    /// Forgets the messages of a stream up to the one of this number; with `None` the stream.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn forget(&self, session: &str, stream: u64, up_to: Option<u64>) -> Result<(), StoreError>;

    /// All streams of a session.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn streams(&self, session: &str) -> Result<Vec<StoredStream>, StoreError>;

    /// These sessions are in use; asked once in a while for all that are in memory.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn touch(&self, ids: &[&str]) -> Result<(), StoreError>;

    /// Forgets sessions that were not used since then.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn expire(&self, unused_since: SystemTime) -> Result<(), StoreError>;
}

/// The store, for one session.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    store: Arc<dyn EventStore>,
    session: Arc<str>,
}

impl Journal {
    pub(crate) fn new(store: Arc<dyn EventStore>, session: Arc<str>) -> Self {
        Self { store, session }
    }

    fn note(&self, what: &str, kept: Result<(), StoreError>) {
        if let Err(error) = kept {
            tracing::error!(%error, what, "the event store failed: what comes now is lost with the process");
        }
    }

    pub(crate) fn open(&self, stream: u64, request: &RequestId) {
        let request = serde_json::to_string(request).unwrap_or_default();
        self.note("opening a stream", self.store.open_stream(&self.session, stream, &request));
    }

    pub(crate) fn append(&self, stream: u64, number: u64, message: &[u8]) {
        let text = String::from_utf8_lossy(message);
        self.note("keeping a message", self.store.append(&self.session, stream, number, &text));
    }

    pub(crate) fn end(&self, stream: u64) {
        self.note("ending a stream", self.store.end_stream(&self.session, stream));
    }

    pub(crate) fn forget(&self, stream: u64, up_to: Option<u64>) {
        self.note("forgetting messages", self.store.forget(&self.session, stream, up_to));
    }

    pub(crate) fn set_level(&self, level: &str) {
        let kept = self.store.session(&self.session).and_then(|known| match known {
            Some(known) => {
                self.store.put_session(&self.session, &StoredSession { level: Some(level.to_owned()), ..known })
            }
            None => Ok(()),
        });
        self.note("keeping the log level", kept);
    }

    pub(crate) fn remove(&self) {
        self.note("forgetting a session", self.store.remove_session(&self.session));
    }
}

/// The store as rmcp asks for sessions that are not in memory. What belongs to another principal is not there.
pub(crate) struct Kept {
    store: Arc<dyn EventStore>,
    idle: Duration,
}

impl Kept {
    pub(crate) fn new(store: Arc<dyn EventStore>, idle: Duration) -> Self {
        Self { store, idle }
    }

    /// Whether there is such a session of `principal`.
    pub(crate) fn knows(&self, id: &str, principal: Option<&Principal>) -> bool {
        match self.store.session(id) {
            Ok(found) => found.is_some_and(|session| session.principal.as_deref() == principal.map(Principal::name)),
            Err(error) => {
                tracing::error!(%error, "the event store failed");
                false
            }
        }
    }

    /// The session, if there is one for whoever asks.
    fn look(&self, id: &str) -> Result<Option<StoredSession>, StoreError> {
        if let Some(since) = SystemTime::now().checked_sub(self.idle) {
            self.store.expire(since)?;
        }
        let owner = |session: &StoredSession| session.principal.as_deref().map(Principal::new);
        Ok(self.store.session(id)?.filter(|session| Scope::admits(owner(session).as_ref())))
    }
}

#[async_trait::async_trait]
impl SessionStore for Kept {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let Some(session) = self.look(id)? else { return Ok(None) };
        let parameters: InitializeRequestParams = serde_json::from_str(&session.initialize)?;
        Ok(Some(SessionState::new(parameters)))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let initialize = serde_json::to_string(&state.initialize_params)?;
        let principal = Scope::principal().map(|principal| principal.name().to_owned());
        self.store.put_session(id, &StoredSession::new(principal, initialize))
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        match self.look(id)? {
            Some(_) => self.store.remove_session(id),
            None => Ok(()),
        }
    }
}
