//! Requests of services where each session has a machine: which machine answers.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use brumate_mcp::Principal;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderName, Method, Request, StatusCode};
use http_body_util::BodyExt as _;

use super::endpoint_event::{EndpointEvent, session_id};
use super::forward::forward;
use super::owned_machine::OwnedMachine;
use super::refusals::{refusal, unknown_session};
use super::request_head::ServedAddress;
use super::sessions::{NoSessionMachine, Sessions};

/// The header of requests and responses that names a session.
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header of requests that names the version of the protocol.
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The first version of the protocol without sessions. Later ones are greater as texts.
const WITHOUT_SESSIONS: &str = "2026-07-28";

/// The purpose of a request, by its head.
#[derive(Debug, PartialEq, Eq)]
enum RequestPurpose {
    /// It belongs to the session with this id.
    InSession(String),
    /// It may begin a session.
    BeginsSession,
    /// It may be the stream of a session of HTTP+SSE.
    BeginsStream,
    /// It belongs to no session.
    Other,
}

impl RequestPurpose {
    fn of(head: &Parts) -> Self {
        let text = |name: &HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
        if head.headers.contains_key(SESSION_ID) {
            return Self::InSession(text(&SESSION_ID).unwrap_or_default().to_owned());
        }
        if text(&PROTOCOL_VERSION).is_some_and(|version| version >= WITHOUT_SESSIONS) {
            return Self::Other;
        }
        let has_kind = |name, kind: &str| text(name).is_some_and(|value| value.contains(kind));
        match head.method {
            Method::POST => match head.uri.query().and_then(session_id) {
                Some(id) => Self::InSession(id),
                None if has_kind(&CONTENT_TYPE, "application/json") => Self::BeginsSession,
                None => Self::Other,
            },
            Method::GET if has_kind(&ACCEPT, "text/event-stream") => Self::BeginsStream,
            _ => Self::Other,
        }
    }
}

/// Answers a request by the machine of its session.
pub(super) async fn answer(sessions: &Arc<Sessions>, request: Request<Body>, served: &ServedAddress) -> Response {
    let (head, body) = request.into_parts();
    let principal = head.extensions.get::<Principal>().cloned();
    let (purpose, method) = (RequestPurpose::of(&head), head.method.clone());
    let request = Request::from_parts(head, body);
    let principal = principal.as_ref();
    match purpose {
        RequestPurpose::InSession(id) => {
            let Some(connection) = sessions.find(&id, principal) else { return unknown_session() };
            let response = forward(&connection, request, served).await;
            if method == Method::DELETE && response.status().is_success() {
                sessions.end(&id);
            }
            response
        }
        RequestPurpose::Other => match sessions.of_principal(principal).await {
            Ok(connection) => forward(&connection, request, served).await,
            Err(reason) => no_machine(&reason),
        },
        RequestPurpose::BeginsSession => match sessions.start(principal).await {
            Ok(machine) => {
                let response = forward(machine.connection(), request, served).await;
                begin_session(sessions, principal, machine, response)
            }
            Err(reason) => no_machine(&reason),
        },
        RequestPurpose::BeginsStream => match sessions.start(principal).await {
            Ok(machine) => {
                let response = forward(machine.connection(), request, served).await;
                begin_stream(sessions, principal, machine, response)
            }
            Err(reason) => no_machine(&reason),
        },
    }
}

/// Binds the session that a response begins to its machine. Without a session the machine ends after the response.
fn begin_session(
    sessions: &Sessions,
    principal: Option<&Principal>,
    machine: OwnedMachine,
    response: Response,
) -> Response {
    let Some(id) = response.headers().get(SESSION_ID) else {
        return response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                // It lives as long as this closure.
                let _ = &machine;
                frame
            }))
        });
    };
    match sessions.bind(id.to_str().unwrap_or_default(), principal, machine) {
        Ok(()) => response,
        Err(_) => refusal(StatusCode::BAD_GATEWAY, "the server has given its session an id that is not valid"),
    }
}

/// Binds the session of an HTTP+SSE stream to its machine, when the stream has named it. The machine ends after the stream.
fn begin_stream(
    sessions: &Arc<Sessions>,
    principal: Option<&Principal>,
    machine: OwnedMachine,
    response: Response,
) -> Response {
    let mut stream = StreamSession {
        sessions: Arc::clone(sessions),
        principal: principal.cloned(),
        machine: Some(machine),
        event: EndpointEvent::default(),
        id: None,
    };
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            if let Some(data) = frame.data_ref() {
                stream.take(data);
            }
            frame
        }))
    })
}

/// The session of an HTTP+SSE stream. It ends with the stream.
struct StreamSession {
    sessions: Arc<Sessions>,
    principal: Option<Principal>,
    /// The machine, until the session is bound to it.
    machine: Option<OwnedMachine>,
    event: EndpointEvent,
    id: Option<String>,
}

impl StreamSession {
    fn take(&mut self, data: &[u8]) {
        let Some(id) = self.event.take(data) else { return };
        let Some(machine) = self.machine.take() else { return };
        match self.sessions.bind(&id, self.principal.as_ref(), machine) {
            Ok(()) => self.id = Some(id),
            Err(machine) => self.machine = Some(machine),
        }
    }
}

impl Drop for StreamSession {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.sessions.end(id);
        }
    }
}

fn no_machine(reason: &NoSessionMachine) -> Response {
    let text = match reason {
        NoSessionMachine::NoPlace => "there are too many sessions: try again later",
        NoSessionMachine::NotStarted => "the server could not be started: try again later",
    };
    refusal(StatusCode::SERVICE_UNAVAILABLE, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_say_what_a_request_is() {
        let in_session = |id: &str| RequestPurpose::InSession(id.to_owned());
        for (method, target, headers, purpose) in [
            ("POST", "/mcp", &[("content-type", "application/json")][..], RequestPurpose::BeginsSession),
            ("POST", "/token", &[("content-type", "application/x-www-form-urlencoded")], RequestPurpose::Other),
            ("POST", "/mcp", &[("mcp-session-id", "a")], in_session("a")),
            ("DELETE", "/mcp", &[("mcp-session-id", "a")], in_session("a")),
            ("GET", "/mcp", &[("mcp-session-id", "\u{e9}")], in_session("")),
            ("POST", "/messages/?x=1&session_id=b", &[("content-type", "application/json")], in_session("b")),
            ("GET", "/sse", &[("accept", "text/event-stream")], RequestPurpose::BeginsStream),
            ("GET", "/page?session_id=b", &[("accept", "text/html")], RequestPurpose::Other),
            (
                "POST",
                "/mcp",
                &[("content-type", "application/json"), ("mcp-protocol-version", "2026-07-28")],
                RequestPurpose::Other,
            ),
            (
                "POST",
                "/mcp",
                &[("content-type", "application/json"), ("mcp-protocol-version", "2025-11-25")],
                RequestPurpose::BeginsSession,
            ),
        ] {
            let mut request = Request::builder().method(method).uri(target);
            for (name, value) in headers {
                request = request.header(*name, value.as_bytes());
            }
            let (head, ()) = request.body(()).unwrap().into_parts();
            assert_eq!(RequestPurpose::of(&head), purpose, "{method} {target} {headers:?}");
        }
    }
}
