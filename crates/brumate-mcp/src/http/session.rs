//! Sessions over HTTP, before 2026-07-28: rmcp's session manager, ours.
//!
//! Other than rmcp's own: log messages go to the stream of the request they belong to, a session is idle only while
//! none of its requests runs, slow readers hold up nobody, and the number of sessions is bounded.

#![expect(deprecated, reason = "log levels, which the protocol keeps until July 2027 at least")]

use super::Limits;
use super::principal::{Principal, SCOPE, Scope};
use super::store::{EventStore, Journal};
use super::streams::{Next, STANDALONE, Streams};
use futures::Stream;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions as _, GetMeta as _, RequestId,
    ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use rmcp::service::OriginatingRequestId;
use rmcp::transport::Transport;
use rmcp::transport::common::server_side_http::ServerSseMessage;
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::RestoreOutcome;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Messages from the client that wait for the server to take them.
const INBOX: usize = 64;

/// Standalone streams that may wait behind the one that is read.
const MAX_WAITING_READERS: usize = 4;

/// The first protocol version whose clients expect a stream to begin with an empty event (SEP-1699).
const PRIMED_SINCE: &str = "2025-11-25";

/// Why a message could not be passed on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("there is no such session")]
    NotFound,
    #[error("the session has ended")]
    Ended,
    #[error("there are too many sessions: try again later")]
    TooMany,
    #[error("there is nothing to resume at this event")]
    NothingToResume,
}

/// One client's session.
#[derive(Debug)]
pub(crate) struct Session {
    /// Whose it is: for others it does not exist.
    principal: Option<Principal>,
    streams: Mutex<Streams>,
    inbox: mpsc::Sender<ClientJsonRpcMessage>,
    initialized: Mutex<Option<oneshot::Sender<ServerJsonRpcMessage>>>,
    version: Mutex<String>,
    used: Mutex<Instant>,
    waiting: Mutex<usize>,
    ended: CancellationToken,
    retry: Duration,
    /// Where it is kept, if it is.
    journal: Option<Journal>,
    /// The log level that it had in an earlier process, until it has it again.
    level: Mutex<Option<String>>,
}

/// The id of the request that gives a session its log level back. No client's: those are strings of its own or numbers.
const LEVEL_REQUEST: &str = "brumate-mcp/level";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In a request's extensions: the session and stream it came by.
#[derive(Clone, Debug)]
pub(crate) struct RequestStream {
    session: Arc<Session>,
    stream: u64,
}

impl RequestStream {
    /// Ends the connection that reads the stream; the client may resume it.
    pub(crate) fn release(&self) {
        lock(&self.session.streams).detach(self.stream, None);
    }

    /// Fires when the session ends.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.session.ended.clone()
    }
}

impl Session {
    fn touch(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// How long nothing has been going on.
    fn idle(&self) -> Duration {
        let streams = lock(&self.streams);
        if streams.running() > 0 || streams.is_read() { Duration::ZERO } else { lock(&self.used).elapsed() }
    }

    /// Puts a message of the server on the stream where it belongs.
    fn route(&self, message: ServerJsonRpcMessage) {
        self.touch();
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if answered.is_some()
            && let Some(initialized) = lock(&self.initialized).take()
        {
            if let ServerJsonRpcMessage::Response(response) = &message
                && let ServerResult::InitializeResult(result) = &response.result
            {
                *lock(&self.version) = result.protocol_version.to_string();
            }
            // Whoever waited may have left; the session is reaped then.
            let _ = initialized.send(message);
            return;
        }
        if matches!(&answered, Some(RequestId::String(id)) if &**id == LEVEL_REQUEST) {
            return;
        }
        let mut streams = lock(&self.streams);
        let by_request = |id: Option<&RequestId>| id.and_then(|id| streams.of_request(id));
        let stream = match &message {
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => by_request(answered.as_ref()),
            ServerJsonRpcMessage::Request(request) => {
                by_request(request.request.extensions().get::<OriginatingRequestId>().map(|origin| &origin.0))
            }
            ServerJsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => streams.of_token(&progress.params.progress_token),
                ServerNotification::LoggingMessageNotification(log) => {
                    by_request(log.extensions.get::<OriginatingRequestId>().map(|origin| &origin.0))
                }
                ServerNotification::CancelledNotification(cancelled) => {
                    by_request(cancelled.params.request_id.as_ref())
                }
                _ => None,
            },
        };
        streams.push(stream.unwrap_or(STANDALONE), message);
        if let Some(answered) = answered {
            streams.end(&answered);
        }
    }

    /// A stream of messages after `after`, with an empty first one where clients expect it.
    fn read(self: &Arc<Self>, stream: u64, after: u64, replace: bool) -> Option<Reader> {
        let waits = !replace && stream == STANDALONE;
        if waits {
            let mut waiting = lock(&self.waiting);
            if *waiting > MAX_WAITING_READERS {
                return None;
            }
            *waiting += 1;
        }
        let attached = lock(&self.streams).attach(stream, replace);
        let reader = Reader {
            session: self.clone(),
            stream,
            reader: attached.unwrap_or_default(),
            after,
            waits,
            primed: lock(&self.version).as_str() < PRIMED_SINCE,
        };
        attached.map(|_| reader)
    }
}

/// Follows a stream until it ends or another follows it.
struct Reader {
    session: Arc<Session>,
    stream: u64,
    reader: u64,
    after: u64,
    waits: bool,
    primed: bool,
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.waits {
            *lock(&self.session.waiting) -= 1;
        }
        self.session.touch();
        let mut streams = lock(&self.session.streams);
        streams.detach(self.stream, Some(self.reader));
        streams.forget_expired();
    }
}

impl Reader {
    async fn next(mut self) -> Option<(ServerSseMessage, Self)> {
        let id = |reader: &Self| format!("{}-{}", reader.stream, reader.after);
        if !self.primed {
            self.primed = true;
            return Some((ServerSseMessage::priming(id(&self), self.session.retry), self));
        }
        let ended = self.session.ended.clone();
        loop {
            let changed = {
                let mut streams = lock(&self.session.streams);
                match streams.next(self.stream, self.reader, self.after, self.waits) {
                    Next::Event(event) => {
                        drop(streams);
                        self.after = event.number;
                        let mut message = ServerSseMessage::default();
                        message.event_id = Some(id(&self));
                        message.message = Some(event.message);
                        return Some((message, self));
                    }
                    Next::End => return None,
                    // Made before the lock is given back: it sees every change after that.
                    Next::Wait(changed) => changed.notified_owned(),
                }
            };
            tokio::select! {
                () = changed => {}
                () = ended.cancelled() => return None,
            }
        }
    }

    fn into_stream(self) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
        futures::stream::unfold(self, Self::next)
    }
}

/// All sessions of one endpoint.
#[derive(Debug)]
pub(crate) struct Sessions {
    sessions: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    limits: Limits,
    store: Option<Arc<dyn EventStore>>,
    reaping: Mutex<bool>,
    this: Weak<Self>,
}

impl Sessions {
    pub(crate) fn new(limits: Limits, store: Option<Arc<dyn EventStore>>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            sessions: Mutex::default(),
            limits,
            store,
            reaping: Mutex::default(),
            this: this.clone(),
        })
    }

    fn find(&self, id: &Arc<str>) -> Result<Arc<Session>, SessionError> {
        let session = self.look(id).ok_or(SessionError::NotFound)?;
        session.touch();
        Ok(session)
    }

    /// The session, if there is one of that name for whoever asks.
    fn look(&self, id: &Arc<str>) -> Option<Arc<Session>> {
        let session = lock(&self.sessions).get(id).cloned()?;
        Scope::admits(session.principal.as_ref()).then_some(session)
    }

    /// Whether there is one of that name, whoever's it is.
    pub(crate) fn knows(&self, id: &str) -> bool {
        lock(&self.sessions).contains_key(id)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        lock(&self.sessions).len()
    }

    /// Waits until no request runs in any of them.
    pub(crate) async fn finished(&self) {
        let runs = |session: &Arc<Session>| lock(&session.streams).running() > 0;
        while lock(&self.sessions).values().any(runs) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends all of them.
    pub(crate) fn end_all(&self) {
        for (_, session) in lock(&self.sessions).drain() {
            session.ended.cancel();
        }
    }

    /// Ends sessions that have been idle for too long, from now on.
    fn reap(&self) {
        let mut reaping = lock(&self.reaping);
        if std::mem::replace(&mut *reaping, true) {
            return;
        }
        let (this, idle) = (self.this.clone(), self.limits.idle);
        let pause = (idle / 4).clamp(Duration::from_millis(10), Duration::from_secs(60));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(this) = this.upgrade() else { return };
                let left: Vec<Arc<str>> = {
                    let mut sessions = lock(&this.sessions);
                    sessions.retain(|id, session| {
                        let keep = session.idle() < idle;
                        if !keep {
                            tracing::info!(session = %id, "an idle session was ended");
                            session.ended.cancel();
                            if let Some(journal) = &session.journal {
                                journal.remove();
                            }
                        }
                        keep
                    });
                    sessions.keys().cloned().collect()
                };
                // Requests need not wait for the store.
                if let Some(store) = &this.store {
                    let ids: Vec<&str> = left.iter().map(AsRef::as_ref).collect();
                    if let Err(error) = store.touch(&ids) {
                        tracing::error!(%error, "the event store failed");
                    }
                }
            }
        });
    }

    /// A session of whoever asks, if there is room for one.
    fn admit(
        &self,
        id: &Arc<str>,
        streams: Streams,
        journal: Option<Journal>,
        level: Option<String>,
    ) -> Result<SessionTransport, SessionError> {
        self.reap();
        let (sender, inbox) = mpsc::channel(INBOX);
        let session = Arc::new(Session {
            principal: Scope::principal(),
            streams: Mutex::new(streams),
            inbox: sender,
            initialized: Mutex::default(),
            version: Mutex::default(),
            used: Mutex::new(Instant::now()),
            waiting: Mutex::default(),
            ended: CancellationToken::new(),
            retry: self.limits.retry,
            journal,
            level: Mutex::new(level),
        });
        let mut sessions = lock(&self.sessions);
        let mine = || sessions.values().filter(|known| known.principal == session.principal).count();
        if sessions.len() >= self.limits.sessions
            || (session.principal.is_some() && mine() >= self.limits.sessions_each)
        {
            let _ = SCOPE.try_with(|scope| scope.refused.set(true));
            return Err(SessionError::TooMany);
        }
        sessions.insert(id.clone(), session.clone());
        Ok(SessionTransport { session, inbox })
    }

    async fn accept(&self, id: &Arc<str>, message: ClientJsonRpcMessage) -> Result<(), SessionError> {
        let session = self.find(id)?;
        session.inbox.send(message).await.map_err(|_| SessionError::Ended)
    }
}

/// The server's end of a session.
pub(crate) struct SessionTransport {
    session: Arc<Session>,
    inbox: mpsc::Receiver<ClientJsonRpcMessage>,
}

impl Transport<RoleServer> for SessionTransport {
    type Error = SessionError;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.session.route(message);
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            biased;
            () = self.session.ended.cancelled() => None,
            message = self.inbox.recv() => message,
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.session.ended.cancel();
        Ok(())
    }
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(Arc<str>, SessionTransport), SessionError> {
        let id: Arc<str> = crate::random_id().into();
        let journal = self.store.clone().map(|store| Journal::new(store, id.clone()));
        let streams = Streams::new(self.limits.resumption.clone(), journal.clone());
        let transport = self.admit(&id, streams, journal, None)?;
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
        let journal = Journal::new(store.clone(), id.clone());
        let streams = Streams::restore(self.limits.resumption.clone(), journal.clone(), streams);
        let transport = self.admit(&id, streams, Some(journal), stored.level)?;
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
        *lock(&session.initialized) = Some(sender);
        session.inbox.send(message).await.map_err(|_| SessionError::Ended)?;
        tokio::select! {
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
        let stream = lock(&session.streams).open(request.id.clone(), token);
        let origin = RequestStream { session: session.clone(), stream };
        request.request.extensions_mut().insert(origin);
        let reader = session.read(stream, 0, true).ok_or(SessionError::Ended)?;
        session.inbox.send(message).await.map_err(|_| SessionError::Ended)?;
        Ok(reader.into_stream())
    }

    async fn accept_message(&self, id: &Arc<str>, message: ClientJsonRpcMessage) -> Result<(), SessionError> {
        if let ClientJsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(request) = &cancelled.params.request_id
        {
            // Nothing more comes for it, not even an answer.
            lock(&self.find(id)?.streams).end(request);
        }
        let begins = matches!(&message, ClientJsonRpcMessage::Notification(notification)
            if matches!(notification.notification, ClientNotification::InitializedNotification(_)));
        self.accept(id, message).await?;
        if begins && let Some(level) = self.find(id).ok().and_then(|session| lock(&session.level).take()) {
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
        let reader = session.read(STANDALONE, 0, false).ok_or(SessionError::TooMany)?;
        Ok(reader.into_stream())
    }

    async fn resume(
        &self,
        id: &Arc<str>,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.find(id)?;
        let (stream, after) = last_event_id.split_once('-').ok_or(SessionError::NothingToResume)?;
        let stream: u64 = stream.parse().map_err(|_| SessionError::NothingToResume)?;
        let after: u64 = after.parse().map_err(|_| SessionError::NothingToResume)?;
        // An id that was never given out would skip what comes.
        let known = lock(&session.streams).newest(stream).is_some_and(|newest| after <= newest);
        let reader = known.then(|| session.read(stream, after, true)).flatten();
        Ok(reader.ok_or(SessionError::NothingToResume)?.into_stream())
    }
}
