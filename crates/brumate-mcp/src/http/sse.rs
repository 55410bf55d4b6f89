//! The deprecated HTTP+SSE transport (2024-11-05): a stream of the server's messages, and an address for the client's.

use super::HttpOptions;
use super::guard::Guard;
use super::service::{Response, cors, refusal};
use crate::server::Server;
use axum::Router;
use axum::body::Body;
use axum::extract::OriginalUri;
use axum::response::IntoResponse as _;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::{get, post};
use futures::StreamExt as _;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions as _, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Messages that wait in either direction.
const QUEUE: usize = 256;

/// One server's streams.
pub(crate) struct SseEndpoint {
    server: Server,
    guard: Guard,
    sessions: Mutex<HashMap<String, mpsc::Sender<ClientJsonRpcMessage>>>,
    max_sessions: usize,
    max_body: usize,
    keep_alive: Duration,
    token: CancellationToken,
}

/// A stream that is read; dropped with it.
struct Open {
    endpoint: Arc<SseEndpoint>,
    id: String,
    token: CancellationToken,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.endpoint.lock().remove(&self.id);
        self.token.cancel();
    }
}

impl SseEndpoint {
    pub(crate) fn new(server: Server, options: &HttpOptions) -> Arc<Self> {
        Arc::new(Self {
            server,
            guard: Guard::new(options),
            sessions: Mutex::default(),
            max_sessions: options.limits.sessions,
            max_body: options.max_body,
            keep_alive: options.keep_alive,
            token: CancellationToken::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<ClientJsonRpcMessage>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The routes: the stream at `path`, messages beside it.
    pub(crate) fn router(self: &Arc<Self>, path: &str) -> Router {
        let level = path.rfind('/').map_or("", |slash| &path[..slash]);
        let (streams, messages) = (self.clone(), self.clone());
        Router::new()
            .route(path, get(move |request| streams.stream(request)))
            .route(&format!("{level}/messages/"), post(move |request| messages.message(request)))
            .layer(cors(self.guard.clone()))
    }

    /// Ends all streams.
    pub(crate) fn end_all(&self) {
        self.token.cancel();
    }

    async fn stream(self: Arc<Self>, request: Request<Body>) -> Response {
        let (head, _) = request.into_parts();
        if let Err(reason) = self.guard.check(&head) {
            tracing::warn!(reason, "a request was refused");
            return refusal(StatusCode::FORBIDDEN, reason);
        }
        // Where the stream is mounted, the messages' address is too.
        let path = head.extensions.get::<OriginalUri>().map_or(head.uri.path(), |uri| uri.path());
        let level = path.rfind('/').map_or("", |slash| &path[..slash]);
        let id = crate::random_id();
        let address = format!("{level}/messages/?session_id={id}");

        let (from_client, inbox) = mpsc::channel(QUEUE);
        let (outbox, to_client) = mpsc::channel(QUEUE);
        {
            let mut sessions = self.lock();
            if self.token.is_cancelled() || sessions.len() >= self.max_sessions {
                return refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions: try again later");
            }
            sessions.insert(id.clone(), from_client);
        }
        let token = self.token.child_token();
        let open = Open { endpoint: self.clone(), id, token: token.clone() };
        let server = self.server.clone();
        let transport = SseTransport { inbox, outbox, token: token.clone() };
        tokio::spawn(async move {
            if let Err(error) = server.serve_connection(transport, token).await {
                tracing::info!(%error, "a client's stream ended");
            }
        });
        let messages = futures::stream::unfold((to_client, open), |(mut messages, open)| async move {
            let message: ServerJsonRpcMessage = tokio::select! {
                message = messages.recv() => message?,
                () = open.token.cancelled() => return None,
            };
            let text = serde_json::to_string(&message).unwrap_or_default();
            Some((Event::default().event("message").data(text), (messages, open)))
        });
        let first = futures::stream::once(async { Event::default().event("endpoint").data(address) });
        let events = first.chain(messages).map(Ok::<_, Infallible>);
        Sse::new(events).keep_alive(KeepAlive::new().interval(self.keep_alive)).into_response()
    }

    async fn message(self: Arc<Self>, request: Request<Body>) -> Response {
        let (head, body) = request.into_parts();
        if let Err(reason) = self.guard.check(&head) {
            tracing::warn!(reason, "a request was refused");
            return refusal(StatusCode::FORBIDDEN, reason);
        }
        let pairs = head.uri.query().unwrap_or_default().split('&');
        let id = pairs.filter_map(|pair| pair.strip_prefix("session_id=")).next().unwrap_or_default();
        let Some(session) = self.lock().get(id).cloned() else {
            return refusal(StatusCode::NOT_FOUND, "there is no such session");
        };
        let bytes = match Limited::new(body, self.max_body).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let text = format!("a message has at most {} bytes", self.max_body);
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, text);
            }
            Err(_) => return refusal(StatusCode::BAD_REQUEST, "the body could not be read"),
        };
        let mut message: ClientJsonRpcMessage = match serde_json::from_slice(&bytes) {
            Ok(message) => message,
            Err(error) => return refusal(StatusCode::BAD_REQUEST, format!("no JSON-RPC message: {error}")),
        };
        if let ClientJsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(head);
        }
        match session.send(message).await {
            Ok(()) => refusal(StatusCode::ACCEPTED, "Accepted"),
            Err(_) => refusal(StatusCode::NOT_FOUND, "the session has ended"),
        }
    }
}

/// The server's end of a stream.
struct SseTransport {
    inbox: mpsc::Receiver<ClientJsonRpcMessage>,
    outbox: mpsc::Sender<ServerJsonRpcMessage>,
    token: CancellationToken,
}

impl Transport<RoleServer> for SseTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sent = match (self.outbox.try_send(message), self.outbox.clone()) {
            // Who reads too slowly misses what is said on the way, not answers.
            (Err(mpsc::error::TrySendError::Full(ServerJsonRpcMessage::Notification(_))), _) | (Ok(()), _) => None,
            (Err(mpsc::error::TrySendError::Full(message) | mpsc::error::TrySendError::Closed(message)), outbox) => {
                Some((outbox, message))
            }
        };
        async move {
            match sent {
                Some((outbox, message)) => {
                    outbox.send(message).await.map_err(|_| std::io::ErrorKind::BrokenPipe.into())
                }
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        tokio::select! {
            () = self.token.cancelled() => None,
            message = self.inbox.recv() => message,
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.token.cancel();
        Ok(())
    }
}
