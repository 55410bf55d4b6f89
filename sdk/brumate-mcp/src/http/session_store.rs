//! The event store, in the forms that sessions and rmcp use.

use super::request_scope::RequestScope;
use super::store::{EventStore, StoreError, StoredSession};
use crate::principal::Principal;
use rmcp::model::{InitializeRequestParams, RequestId};
use rmcp::transport::streamable_http_server::session::{SessionState, SessionStore, SessionStoreError};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Writes the changes of one session to the event store.
#[derive(Clone, Debug)]
pub(crate) struct SessionJournal {
    store: Arc<dyn EventStore>,
    session: Arc<str>,
}

impl SessionJournal {
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

/// Finds sessions that are not in memory for rmcp, in the event store. It finds no sessions of other principals.
pub(crate) struct PrincipalSessionStore {
    store: Arc<dyn EventStore>,
    idle: Duration,
}

impl PrincipalSessionStore {
    pub(crate) fn new(store: Arc<dyn EventStore>, idle: Duration) -> Self {
        Self { store, idle }
    }

    /// Returns whether `principal` has a session with this id in the store.
    pub(crate) fn knows(&self, id: &str, principal: Option<&Principal>) -> bool {
        match self.store.session(id) {
            Ok(found) => found.is_some_and(|session| session.principal.as_deref() == principal.map(Principal::name)),
            Err(error) => {
                tracing::error!(%error, "the event store failed");
                false
            }
        }
    }

    /// Returns the session with this id, if it belongs to the sender of the current request.
    fn look(&self, id: &str) -> Result<Option<StoredSession>, StoreError> {
        if let Some(since) = SystemTime::now().checked_sub(self.idle) {
            self.store.expire(since)?;
        }
        let owner = |session: &StoredSession| session.principal.as_deref().map(Principal::new);
        Ok(self.store.session(id)?.filter(|session| RequestScope::admits(owner(session).as_ref())))
    }
}

#[async_trait::async_trait]
impl SessionStore for PrincipalSessionStore {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let Some(session) = self.look(id)? else { return Ok(None) };
        let parameters: InitializeRequestParams = serde_json::from_str(&session.initialize)?;
        Ok(Some(SessionState::new(parameters)))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let initialize = serde_json::to_string(&state.initialize_params)?;
        let principal = RequestScope::principal().map(|principal| principal.name().to_owned());
        self.store.put_session(id, &StoredSession::new(principal, initialize))
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        match self.look(id)? {
            Some(_) => self.store.remove_session(id),
            None => Ok(()),
        }
    }
}
