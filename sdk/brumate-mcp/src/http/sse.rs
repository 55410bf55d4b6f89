//! The deprecated HTTP+SSE transport (2024-11-05): a stream of the server's messages, and a URL to post the client's
//! messages to.

use super::budget::{Account, Charge};
use super::charged_message::ChargedMessage;
use super::clients::{Clients, Requester};
use super::guard::Guard;
use super::options::HttpOptions;
use super::parse_errors;
use super::proxies::ProxyPrefix;
use super::request_body::RefusedMessages;
use super::response::{Response, refusal};
use super::response_body::ResponseReservation;
use super::rpc_errors::{duplicate_id_error, too_many_requests_error};
use super::running_requests::{RunningRequest, RunningRequests};
use super::service::cors;
use crate::incoming::InvalidMessage;
use crate::principal::Principal;
use axum::Router;
use axum::body::Body;
use axum::extract::OriginalUri;
use axum::response::IntoResponse as _;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::{get, post};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::request::Parts;
use http::{HeaderValue, Request, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, GetExtensions as _, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServerHandler};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The most messages that wait in either direction. A client that does not read misses further notifications; answers
/// wait.
const QUEUE: usize = 256;
/// The most requests of one stream that are not answered yet. Further ones are answered with an error.
const MAX_RUNNING: usize = 256;

/// The streams of one server.
pub(crate) struct SseEndpoint {
    serve: ServeStream,
    guard: Guard,
    clients: Arc<Clients>,
    sessions: Mutex<HashMap<String, Session>>,
    max_sessions: usize,
    max_each: usize,
    keep_alive: Duration,
    proxy_prefix: ProxyPrefix,
    activity: Arc<RunningRequests>,
    token: CancellationToken,
}

/// Serves a stream to its end.
type ServeStream =
    Box<dyn Fn(Option<&Principal>, SseTransport, CancellationToken) -> BoxFuture<'static, ()> + Send + Sync>;

/// The inbox of a client's messages.
#[derive(Clone)]
struct Session {
    principal: Option<Principal>,
    inbox: mpsc::Sender<ClientJsonRpcMessage>,
    /// The messages to the client, for answers to requests that cannot be parsed.
    outbox: mpsc::WeakSender<QueuedMessage>,
    account: Account,
}

impl Session {
    /// Refuses a message, or the requests of a batch. The client waits for answers to requests on the stream.
    fn refuse(&self, refused: &[InvalidMessage]) -> Response {
        self.answer_on_stream(refused);
        parse_errors::answer(refused)
    }

    /// Answers the requests among messages that are refused, on the stream.
    fn answer_on_stream(&self, refused: &[InvalidMessage]) {
        for refused in refused.iter().filter(|refused| refused.has_id()) {
            let Some(outbox) = self.outbox.upgrade() else { break };
            let text = refused.to_json().into_bytes();
            let charge = self.account.charge(text.len());
            // A client that does not read its answers does not miss this one.
            let _ = outbox.try_send((text, charge));
        }
    }
}

/// An open stream. Dropping it ends the session.
struct OpenStream {
    endpoint: Arc<SseEndpoint>,
    id: String,
    token: CancellationToken,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.endpoint.lock().remove(&self.id);
        self.token.cancel();
    }
}

impl SseEndpoint {
    pub(crate) fn new<H: ServerHandler>(
        make: impl Fn(Option<&Principal>) -> H + Send + Sync + 'static,
        options: &HttpOptions,
        clients: Arc<Clients>,
    ) -> Arc<Self> {
        let serve: ServeStream = Box::new(move |principal, transport, token| {
            let handler = make(principal);
            Box::pin(async move {
                if let Err(error) = crate::stdio::serve_handler(handler, transport, token.clone(), token).await {
                    tracing::info!(%error, "a client's stream ended");
                }
            })
        });
        Arc::new(Self {
            serve,
            guard: Guard::new(options),
            clients,
            sessions: Mutex::default(),
            max_sessions: options.limits.sessions,
            max_each: options.limits.sessions_per_principal,
            keep_alive: options.keep_alive,
            proxy_prefix: options.proxy_prefix.clone(),
            activity: Arc::default(),
            token: CancellationToken::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of streams.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Returns the routes: the stream at `path`, and messages beside it.
    pub(crate) fn router(self: &Arc<Self>, path: &str) -> Router {
        let level = path.rfind('/').map_or("", |slash| &path[..slash]);
        let (streams, messages) = (self.clone(), self.clone());
        Router::new()
            .route(path, get(move |request| streams.stream(request)))
            .route(&format!("{level}/messages/"), post(move |request| messages.message(request)))
            .layer(cors(self.guard.clone()))
    }

    /// Refuses new streams and messages.
    pub(crate) fn begin_drain(&self) {
        self.activity.drain();
    }

    /// Waits until no request runs.
    pub(crate) async fn finished(&self) {
        self.activity.finished().await;
    }

    /// Ends all streams.
    pub(crate) fn end_all(&self) {
        self.token.cancel();
    }

    /// Returns the sender of a request, if it is let in.
    async fn admit(&self, head: &mut Parts) -> Result<Requester, Box<Response>> {
        if let Err((status, reason)) = self.guard.admit(head) {
            return Err(Box::new(refusal(status, reason)));
        }
        let client = self.clients.authenticate(head).await?;
        if self.activity.is_draining() {
            return Err(Box::new(refusal(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping")));
        }
        Ok(client)
    }

    async fn stream(self: Arc<Self>, request: Request<Body>) -> Response {
        let (mut head, _) = request.into_parts();
        let client = match self.admit(&mut head).await {
            Ok(client) => client,
            Err(refusal) => return *refusal,
        };
        let principal = client.principal.clone();
        // The URL of messages is below the path where the stream is mounted.
        let path = head.extensions.get::<OriginalUri>().map_or(head.uri.path(), |uri| uri.path());
        let level = path.rfind('/').map_or("", |slash| &path[..slash]);
        let id = crate::random_id();
        let prefix = self.proxy_prefix.prefix(&head);
        let address = format!("{prefix}{level}/messages/?session_id={id}");

        let (from_client, inbox) = mpsc::channel(QUEUE);
        let (outbox, to_client) = mpsc::channel(QUEUE);
        {
            let mut sessions = self.lock();
            let mine = || sessions.values().filter(|session| session.principal == principal).count();
            if sessions.len() >= self.max_sessions || (principal.is_some() && mine() >= self.max_each) {
                return refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions: try again later");
            }
            let (outbox, account) = (outbox.downgrade(), client.account.clone());
            let session = Session { principal: principal.clone(), inbox: from_client, outbox, account };
            sessions.insert(id.clone(), session);
        }
        let token = self.token.child_token();
        let open = OpenStream { endpoint: self.clone(), id, token: token.clone() };
        let (activity, account, running) = (self.activity.clone(), client.account.clone(), HashMap::new());
        let transport = SseTransport { inbox, outbox, token: token.clone(), activity, account, running };
        tokio::spawn((self.serve)(principal.as_ref(), transport, token));
        let messages = futures::stream::unfold((to_client, open), |(mut messages, open)| async move {
            let (text, _charge): QueuedMessage = tokio::select! {
                message = messages.recv() => message?,
                () = open.token.cancelled() => return None,
            };
            let text = String::from_utf8(text).unwrap_or_default();
            Some((Event::default().event("message").data(text), (messages, open)))
        });
        let first = futures::stream::once(async { Event::default().event("endpoint").data(address) });
        let events = first.chain(messages).map(Ok::<_, Infallible>);
        let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(self.keep_alive)).into_response();
        // Tells proxies not to buffer events.
        response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
        self.clients.send(&client, None, None, response)
    }

    async fn message(self: Arc<Self>, request: Request<Body>) -> Response {
        let (mut head, body) = request.into_parts();
        let client = match self.admit(&mut head).await {
            Ok(client) => client,
            Err(refusal) => return *refusal,
        };
        let pairs = head.uri.query().unwrap_or_default().split('&');
        let id = pairs.filter_map(|pair| pair.strip_prefix("session_id=")).next().unwrap_or_default();
        // Sessions of other principals are not found.
        let session = self.lock().get(id).filter(|session| session.principal == client.principal).cloned();
        let Some(session) = session else {
            return refusal(StatusCode::NOT_FOUND, "there is no such session");
        };
        let bytes = match self.clients.receive(&client, &mut head, body).await {
            Ok(bytes) => bytes,
            Err(refusal) => {
                if let Some(RefusedMessages(refused)) = refusal.extensions().get() {
                    session.answer_on_stream(refused);
                }
                return *refusal;
            }
        };
        let bytes = match parse_errors::prepared(&mut head, bytes) {
            Ok(bytes) => bytes,
            Err(refused) => return session.refuse(&refused),
        };
        if let Some(refusal) = self.clients.refuse_tool(&client, &bytes) {
            return refusal;
        }
        head.extensions.insert(self.activity.draining().clone());
        let mut message: ClientJsonRpcMessage = match serde_json::from_slice(&bytes) {
            Ok(message) => message,
            Err(_) => return session.refuse(&[parse_errors::no_message(&bytes)]),
        };
        if let ClientJsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(head);
        }
        match session.inbox.send(message).await {
            Ok(()) => refusal(StatusCode::ACCEPTED, "Accepted"),
            Err(_) => refusal(StatusCode::NOT_FOUND, "the session has ended"),
        }
    }
}

/// The JSON of a message that waits for its client, and the charge for it.
type QueuedMessage = (Vec<u8>, Charge);

fn queued(outgoing: ChargedMessage) -> QueuedMessage {
    (outgoing.text, outgoing.charge)
}

/// A request that is not answered yet.
struct PendingRequest {
    _running: RunningRequest,
    reservation: Option<ResponseReservation>,
}

/// The server's end of a stream.
struct SseTransport {
    inbox: mpsc::Receiver<ClientJsonRpcMessage>,
    outbox: mpsc::Sender<QueuedMessage>,
    token: CancellationToken,
    activity: Arc<RunningRequests>,
    account: Account,
    running: HashMap<RequestId, PendingRequest>,
}

impl SseTransport {
    /// Takes note of a client's message.
    ///
    /// # Errors
    ///
    /// Returns the answer to a request that is not passed on.
    fn note(&mut self, message: &ClientJsonRpcMessage) -> Result<(), Box<ServerJsonRpcMessage>> {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                if self.running.contains_key(&request.id) {
                    return Err(Box::new(duplicate_id_error(&request.id)));
                }
                if self.running.len() >= MAX_RUNNING {
                    return Err(Box::new(too_many_requests_error(&request.id, MAX_RUNNING)));
                }
                let reservation = request.request.extensions().get::<Parts>();
                let reservation = reservation.and_then(|head| head.extensions.get::<ResponseReservation>()).cloned();
                let unanswered = PendingRequest { _running: self.activity.begin(), reservation };
                self.running.insert(request.id.clone(), unanswered);
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.running.remove(id);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Transport<RoleServer> for SseTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => self.running.remove(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref().and_then(|id| self.running.remove(id)),
            _ => None,
        };
        let may_be_missed = matches!(message, ServerJsonRpcMessage::Notification(_));
        let reserved = answered.as_ref().and_then(|answered| answered.reservation.as_ref()?.take());
        let outgoing = ChargedMessage::charged(message, &self.account, reserved, |_| Ok(()));
        let sent = outgoing.map(|outgoing| match self.outbox.try_send(queued(outgoing?)) {
            Ok(()) => None,
            // A slow client misses notifications.
            Err(mpsc::error::TrySendError::Full(_)) if may_be_missed => None,
            Err(mpsc::error::TrySendError::Full(outgoing) | mpsc::error::TrySendError::Closed(outgoing)) => {
                Some((self.outbox.clone(), outgoing))
            }
        });
        async move {
            // The request counts as running until its answer is queued.
            let _answered = answered;
            match sent.map_err(|refused| std::io::Error::new(std::io::ErrorKind::OutOfMemory, refused))? {
                Some((outbox, outgoing)) => {
                    outbox.send(outgoing).await.map_err(|_| std::io::ErrorKind::BrokenPipe.into())
                }
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = tokio::select! {
                () = self.token.cancelled() => None,
                message = self.inbox.recv() => message,
            }?;
            match self.note(&message) {
                Ok(()) => return Some(message),
                Err(answer) => {
                    // A client that does not read its answers does not miss this one.
                    let _ = self.outbox.try_send(queued(ChargedMessage::small(*answer, &self.account)));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.token.cancel();
        Ok(())
    }
}
