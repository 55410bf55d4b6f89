//! The session manager for rmcp: all sessions over HTTP, before 2026-07-28.
//!
//! It differs from the manager of rmcp. Log messages go to the stream of their request. A session is idle only while
//! none of its requests runs. Slow readers hold up nobody, and the number of sessions is bounded.

use super::super::clients::{Requester, SWEEP_EVERY};
use super::super::limits::SessionLimits;
use super::super::request_extensions::RequestStream;
use super::super::request_scope::{RequestScope, SessionRefusal};
use super::super::response_body::ResponseReservation;
use super::super::rpc_errors::{duplicate_id_error, too_many_requests_error};
use super::super::session_store::SessionJournal;
use super::super::store::EventStore;
use super::super::streams::{STANDALONE, SessionStreams};
use super::reader::StreamReader;
use super::transport::SessionTransport;
use super::{LEVEL_REQUEST, Session, SessionClient, SessionError};
use crate::principal::Principal;
use crate::sync::lock;
use futures::{Stream, StreamExt as _};
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions as _, GetMeta as _, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::RestoreOutcome;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Messages of the client that wait until the server takes them.
const INBOX: usize = 64;

/// The most requests of one session that are not answered yet. Further ones are answered with an error.
const MAX_RUNNING: usize = 1024;

/// The least interval at which the event store is told which sessions are in use.
const TOUCH_EVERY: Duration = Duration::from_secs(60);

/// All sessions of one endpoint.
#[derive(Debug)]
pub(crate) struct Sessions {
    sessions: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    limits: SessionLimits,
    store: Option<Arc<dyn EventStore>>,
    reaping: Mutex<bool>,
    this: Weak<Self>,
}

impl Sessions {
    pub(crate) fn new(limits: SessionLimits, store: Option<Arc<dyn EventStore>>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            sessions: Mutex::default(),
            limits,
            store,
            reaping: Mutex::default(),
            this: this.clone(),
        })
    }

    fn find(&self, id: &Arc<str>) -> Result<Arc<Session>, SessionError> {
        let Some(session) = self.look(id) else {
            // rmcp lets a request pass that waited while the session's owner restored it.
            RequestScope::refuse(SessionRefusal::NoSuchSession);
            return Err(SessionError::NotFound);
        };
        session.touch();
        if let Some(credential) = RequestScope::client().and_then(|client| client.credential) {
            lock(&session.client).credential = Some(credential);
        }
        Ok(session)
    }

    /// Returns the session, if it belongs to the sender of the request at hand.
    fn look(&self, id: &Arc<str>) -> Option<Arc<Session>> {
        let session = lock(&self.sessions).get(id).cloned()?;
        RequestScope::admits(session.principal.as_ref()).then_some(session)
    }

    /// Returns whether there is such a session, of any principal.
    pub(crate) fn knows(&self, id: &str) -> bool {
        lock(&self.sessions).contains_key(id)
    }

    /// Returns the number of sessions.
    pub(crate) fn count(&self) -> usize {
        lock(&self.sessions).len()
    }

    /// Waits until no request of any session runs.
    pub(crate) async fn finished(&self) {
        let runs = |session: &Arc<Session>| lock(&session.streams).running() > 0;
        while lock(&self.sessions).values().any(runs) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends all sessions.
    pub(crate) fn end_all(&self) {
        for (_, session) in lock(&self.sessions).drain() {
            session.ended.cancel();
        }
    }

    /// Starts to end sessions that are idle or whose token was revoked, and to drop expired streams.
    fn reap(&self) {
        let mut reaping = lock(&self.reaping);
        if std::mem::replace(&mut *reaping, true) {
            return;
        }
        let (this, idle) = (self.this.clone(), self.limits.idle);
        let pause = (idle / 4).clamp(Duration::from_millis(10), SWEEP_EVERY);
        tokio::spawn(async move {
            let mut touched = Instant::now();
            loop {
                tokio::time::sleep(pause).await;
                let Some(this) = this.upgrade() else { return };
                let left = this.sweep(idle);
                // After the sweep, so that requests do not wait for the store.
                if let Some(store) = &this.store
                    && touched.elapsed() >= (idle / 4).min(TOUCH_EVERY)
                {
                    touched = Instant::now();
                    let ids: Vec<&str> = left.iter().map(AsRef::as_ref).collect();
                    if let Err(error) = store.touch(&ids) {
                        tracing::error!(%error, "the event store failed");
                    }
                }
            }
        });
    }

    /// Does one round of [`Sessions::reap`]. Returns the sessions that are left.
    fn sweep(&self, idle: Duration) -> Vec<Arc<str>> {
        let mut ended = Vec::new();
        let left: Vec<Arc<Session>> = {
            let mut sessions = lock(&self.sessions);
            sessions.retain(|id, session| {
                let reason = match session.idle() >= idle {
                    true => "an idle session was ended",
                    false if session.is_revoked() => "a session whose token was revoked was ended",
                    false => return true,
                };
                tracing::info!(session = %id, "{reason}");
                ended.push(session.clone());
                false
            });
            sessions.values().cloned().collect()
        };
        ended.iter().for_each(|session| session.end());
        for session in left {
            lock(&session.streams).forget_expired();
        }
        lock(&self.sessions).keys().cloned().collect()
    }

    /// Ends the session of a principal that is idle longest, if it has many. Clients that never end their sessions
    /// would fill the memory until the idle timeout.
    fn make_room(&self, principal: Option<&Principal>) {
        let oldest = {
            let mut sessions = lock(&self.sessions);
            let mine = || sessions.iter().filter(|(_, session)| session.principal.as_ref() == principal);
            if mine().count() < self.limits.idle_sessions {
                return;
            }
            let oldest = mine().map(|(id, session)| (session.idle(), id)).max();
            let Some(oldest) = oldest.filter(|(idle, _)| *idle >= self.limits.kept_for).map(|(_, id)| id.clone())
            else {
                return;
            };
            sessions.remove(&oldest).map(|session| (oldest, session))
        };
        if let Some((id, session)) = oldest {
            tracing::info!(session = %id, "an idle session was ended for a new one");
            session.end();
        }
    }

    /// Makes a session for the sender, if there is room for one.
    fn admit(
        &self,
        id: &Arc<str>,
        streams: SessionStreams,
        client: Requester,
        journal: Option<SessionJournal>,
        level: Option<String>,
    ) -> Result<SessionTransport, SessionError> {
        self.reap();
        let (sender, inbox) = mpsc::channel(INBOX);
        let session = Arc::new(Session {
            principal: client.principal,
            account: client.account,
            max_message: self.limits.resumption.max_bytes,
            streams: Mutex::new(streams),
            inbox: sender,
            client: Mutex::new(SessionClient::new(client.credential, level)),
            ended: CancellationToken::new(),
            retry: self.limits.retry,
            journal,
        });
        self.make_room(session.principal.as_ref());
        let mut sessions = lock(&self.sessions);
        let mine = || sessions.values().filter(|known| known.principal == session.principal).count();
        if sessions.len() >= self.limits.sessions
            || (session.principal.is_some() && mine() >= self.limits.sessions_per_principal)
        {
            RequestScope::refuse(SessionRefusal::TooManySessions);
            return Err(SessionError::TooMany);
        }
        sessions.insert(id.clone(), session.clone());
        Ok(SessionTransport { session, inbox })
    }

    async fn accept(&self, id: &Arc<str>, message: ClientJsonRpcMessage) -> Result<(), SessionError> {
        let session = self.find(id)?;
        session.inbox.send(Box::new(message)).await.map_err(|_| SessionError::Ended)
    }
}

/// Reads the stream and the number of an event id.
fn event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, number) = text.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(Arc<str>, SessionTransport), SessionError> {
        let id: Arc<str> = crate::random_id().into();
        let journal = self.store.clone().map(|store| SessionJournal::new(store, id.clone()));
        let client = RequestScope::client().ok_or(SessionError::NotFound)?;
        let streams = SessionStreams::new(self.limits.resumption.clone(), journal.clone(), client.account.clone());
        let transport = self.admit(&id, streams, client, journal, None)?;
        Ok((id, transport))
    }

    async fn restore_session(&self, id: Arc<str>) -> Result<RestoreOutcome<SessionTransport>, SessionError> {
        let Some(store) = &self.store else { return Ok(RestoreOutcome::NotSupported) };
        let failed = |error| {
            tracing::error!(%error, "a session could not be read from the event store");
            SessionError::NotFound
        };
        let Some(stored) = store.session(&id).map_err(failed)? else { return Err(SessionError::NotFound) };
        let streams = store.streams(&id).map_err(failed)?;
        let journal = SessionJournal::new(store.clone(), id.clone());
        let client = RequestScope::client().ok_or(SessionError::NotFound)?;
        let account = client.account.clone();
        let streams = SessionStreams::restore(self.limits.resumption.clone(), journal.clone(), streams, account);
        let transport = self.admit(&id, streams, client, Some(journal), stored.level)?;
        tracing::info!(session = %id, "a session of an earlier process goes on");
        Ok(RestoreOutcome::Restored(transport))
    }

    async fn initialize_session(
        &self,
        id: &Arc<str>,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let session = self.find(id)?;
        let (sender, answer) = oneshot::channel();
        lock(&session.client).initialized = Some(sender);
        session.inbox.send(Box::new(message)).await.map_err(|_| SessionError::Ended)?;
        tokio::select! {
            // A server that refuses ends the session after its answer.
            biased;
            answer = answer => answer.map_err(|_| SessionError::Ended),
            () = session.ended.cancelled() => Err(SessionError::Ended),
        }
    }

    async fn has_session(&self, id: &Arc<str>) -> Result<bool, SessionError> {
        Ok(self.look(id).is_some())
    }

    async fn close_session(&self, id: &Arc<str>) -> Result<(), SessionError> {
        if let Some(session) = self.look(id) {
            lock(&self.sessions).remove(id);
            session.ended.cancel();
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &Arc<str>,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.find(id)?;
        let ClientJsonRpcMessage::Request(request) = &mut message else { return Err(SessionError::NotFound) };
        if let (ClientRequest::SetLevelRequest(set), Some(journal)) = (&request.request, &session.journal)
            && let Ok(serde_json::Value::String(level)) = serde_json::to_value(set.params.level)
        {
            journal.set_level(&level);
        }
        let token = request.request.get_meta().get_progress_token();
        let head = request.request.extensions().get::<http::request::Parts>();
        let reservation = head.and_then(|head| head.extensions.get::<ResponseReservation>()).cloned();
        let opened = {
            let mut streams = lock(&session.streams);
            match streams.running() {
                running if running >= MAX_RUNNING => Err(too_many_requests_error(&request.id, MAX_RUNNING)),
                _ => (streams.open(request.id.clone(), token, reservation))
                    .ok_or_else(|| duplicate_id_error(&request.id)),
            }
        };
        let stream = match opened {
            Ok(stream) => stream,
            // On a stream of its own: the call that has the id must not get it.
            Err(answer) => {
                let mut message = ServerSseMessage::default();
                message.message = Some(Arc::new(answer));
                return Ok(futures::stream::once(std::future::ready(message)).left_stream());
            }
        };
        let origin = RequestStream::new(session.ended.clone(), {
            let session = session.clone();
            move || lock(&session.streams).detach(stream, None)
        });
        request.request.extensions_mut().insert(origin);
        let reader = session.read(stream, 0, true).ok_or(SessionError::Ended)?;
        session.inbox.send(Box::new(message)).await.map_err(|_| SessionError::Ended)?;
        Ok(reader.into_stream().right_stream())
    }

    async fn accept_message(&self, id: &Arc<str>, message: ClientJsonRpcMessage) -> Result<(), SessionError> {
        if let ClientJsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(request) = &cancelled.params.request_id
        {
            // The stream gets nothing more, not even an answer.
            lock(&self.find(id)?.streams).end(request);
        }
        let begins = matches!(&message, ClientJsonRpcMessage::Notification(notification)
            if matches!(notification.notification, ClientNotification::InitializedNotification(_)));
        self.accept(id, message).await?;
        if begins && let Some(level) = self.find(id).ok().and_then(|session| lock(&session.client).level.take()) {
            let set = serde_json::json!({"method": "logging/setLevel", "params": {"level": level}});
            if let Ok(set) = serde_json::from_value::<ClientRequest>(set) {
                let request = RequestId::String(LEVEL_REQUEST.into());
                self.accept(id, ClientJsonRpcMessage::request(set, request)).await?;
            }
        }
        Ok(())
    }

    async fn create_standalone_stream(
        &self,
        id: &Arc<str>,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.find(id)?;
        let reader = session.read(STANDALONE, 0, false);
        if reader.is_none() {
            RequestScope::refuse(SessionRefusal::TooManyStreams);
        }
        Ok(futures::stream::iter(reader).flat_map(StreamReader::into_stream))
    }

    async fn resume(
        &self,
        id: &Arc<str>,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.find(id)?;
        let event = event_id(&last_event_id);
        // An id that was never sent would skip messages.
        let newest = |stream| lock(&session.streams).newest(stream);
        let known = event.filter(|(stream, after)| newest(*stream).is_some_and(|newest| *after <= newest));
        let reader = known.and_then(|(stream, after)| session.read(stream, after, true));
        if reader.is_none() {
            RequestScope::refuse(SessionRefusal::NothingToResume);
        }
        Ok(reader.ok_or(SessionError::NothingToResume)?.into_stream())
    }
}
