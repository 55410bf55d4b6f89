//! A machine for each session of the protocol.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use brumate_mcp::{HttpOptions, Principal};
use brumate_python_server::http::{HttpLimits, HttpService, Isolation};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;

use crate::support::{Answer, HANG, PythonLauncher, Served, limits, serve_app_by, until};

/// Has sessions as a server of MCP has them, but one id for all: only machines of their own keep them apart.
const SERVER: &str = r#"
import asyncio, json, os, pathlib, uuid
count, posted = 0, asyncio.Queue()

async def app(scope, receive, send):
    global count
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        pathlib.Path(f"ended-{os.getpid()}").touch()
        await send({"type": "lifespan.shutdown.complete"})
        return
    asked = dict(scope["headers"])
    body = (await receive())["body"]
    headers, status = [], 200
    if scope["path"] == "/sse" and scope["method"] == "GET":
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        endpoint = b"event: endpoint\ndata: /messages/?session_id=" + uuid.uuid4().hex.encode() + b"\n\n"
        await send({"type": "http.response.body", "body": endpoint, "more_body": True})
        while True:
            await send({"type": "http.response.body", "body": await posted.get(), "more_body": True})
    if scope["path"] == "/messages/":
        await posted.put(f"data: {os.getpid()} ".encode() + body + b"\n\n")
        status = 202
    if scope["path"] == "/die":
        os._exit(1)
    if scope["path"] == "/taken":
        headers = [(b"mcp-session-id", asked[b"x-id"])]
    if scope["path"] == "/mcp" and scope["method"] == "POST" and b"mcp-session-id" not in asked:
        headers = [(b"mcp-session-id", uuid.uuid4().hex.encode())]
    count += 1
    await send({"type": "http.response.start", "status": status, "headers": headers})
    answer = {"count": count, "machine": os.getpid(), "principal": asked.get(b"x-brumate-principal", b"").decode()}
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})
"#;

/// A client with a token, maybe in a session.
#[derive(Clone, Copy)]
struct Client<'a> {
    served: &'a Served<PythonLauncher>,
    token: &'a str,
    session: Option<&'a str>,
}

impl<'a> Client<'a> {
    fn new(served: &'a Served<PythonLauncher>, token: &'a str) -> Self {
        Self { served, token, session: None }
    }

    fn in_session(self, session: &'a str) -> Self {
        Self { session: Some(session), ..self }
    }

    fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.header("authorization", format!("Bearer {}", self.token));
        match self.session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        }
    }

    async fn ask(&self, method: &str, path: &str) -> Answer {
        self.served.ask(self.request(method, path).body(Body::from("{}")).unwrap()).await
    }

    async fn begin(&self) -> String {
        let answer = self.ask("POST", "/mcp").await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.headers["mcp-session-id"].to_str().unwrap().to_owned()
    }
}

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap()
}

async fn serve(limits: HttpLimits) -> Served<PythonLauncher> {
    let names = |token: &str| ["ada", "bob"].contains(&token).then(|| Principal::new(token));
    let service = HttpService::new(HttpOptions::new().bearer(names)).isolation(Isolation::Session).limits(limits);
    serve_app_by(SERVER, service).await
}

fn assert_unknown(answer: &Answer) {
    assert_eq!(
        (answer.status, &json(answer)["error"]["message"]),
        (StatusCode::NOT_FOUND, &"Session not found".into())
    );
}

#[tokio::test]
async fn sessions_do_not_share_their_state() {
    let served = serve(limits()).await;
    let ada = Client::new(&served, "ada");
    let (first, second) = (ada.begin().await, ada.begin().await);
    for count in 2..5 {
        let answer = json(&ada.in_session(&first).ask("POST", "/mcp").await);
        assert_eq!((&answer["count"], &answer["principal"]), (&count.into(), &"ada".into()));
    }
    let answer = json(&ada.in_session(&second).ask("POST", "/mcp").await);
    assert_eq!(answer["count"], 2, "the other session has a state of its own");
    // The first session has the first machine, and one is started ahead of the third session.
    until(|| served.launcher.started.load(Ordering::SeqCst) == 3).await;
    served.stop().await.unwrap();
}

#[tokio::test]
async fn a_machine_that_was_started_ahead_serves_no_changed_program() {
    let served = serve(limits()).await;
    let ada = Client::new(&served, "ada");
    let ended = || {
        let entries = served.launcher.path("").read_dir().unwrap().map(Result::unwrap);
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("ended-")).count()
    };
    let mut sessions = vec![ada.begin().await];
    until(|| served.launcher.started.load(Ordering::SeqCst) == 2).await;
    served.launcher.revision.store(1, Ordering::SeqCst);
    // The machine may still be starting: then a later session finds it.
    let outdated = async {
        while ended() == 0 {
            sessions.push(ada.begin().await);
        }
    };
    tokio::time::timeout(HANG, outdated).await.expect("the outdated machine ends");
    for session in &sessions {
        assert_eq!(ada.in_session(session).ask("POST", "/mcp").await.status, StatusCode::OK, "it was not theirs");
    }
    served.stop().await.unwrap();
}

#[tokio::test]
async fn sessions_of_others_and_of_nobody_are_not_found() {
    let served = serve(limits()).await;
    let (ada, bob) = (Client::new(&served, "ada"), Client::new(&served, "bob"));
    let session = ada.begin().await;
    for client in [bob.in_session(&session), ada.in_session("nobody's")] {
        for method in ["POST", "GET", "DELETE"] {
            assert_unknown(&client.ask(method, "/mcp").await);
        }
    }
    assert_eq!(json(&ada.in_session(&session).ask("POST", "/mcp").await)["count"], 2, "nobody else has reached it");
    // A machine cannot take the id of another one's session.
    let taking = bob.request("POST", "/taken").header("x-id", &session).body(Body::from("{}")).unwrap();
    assert_eq!(served.ask(taking).await.status, StatusCode::BAD_GATEWAY);
    assert_eq!(json(&ada.in_session(&session).ask("POST", "/mcp").await)["count"], 3);
    served.stop().await.unwrap();
}

#[tokio::test]
async fn a_session_ends_with_delete_or_with_its_machine() {
    let served = serve(limits()).await;
    let ada = Client::new(&served, "ada");
    let session = ada.begin().await;
    let machine = json(&ada.in_session(&session).ask("POST", "/mcp").await)["machine"].clone();
    assert_eq!(ada.in_session(&session).ask("DELETE", "/mcp").await.status, StatusCode::OK);
    assert_unknown(&ada.in_session(&session).ask("POST", "/mcp").await);
    let ended = served.launcher.path(&format!("ended-{machine}"));
    until(|| ended.exists()).await;
    let session = ada.begin().await;
    assert_eq!(ada.in_session(&session).ask("POST", "/die").await.status, StatusCode::BAD_GATEWAY);
    assert_unknown(&ada.in_session(&session).ask("POST", "/mcp").await);
    served.stop().await.unwrap();
}

#[tokio::test]
async fn idle_sessions_end() {
    let mut limits = limits();
    limits.session_idle = Duration::from_millis(300);
    let served = serve(limits).await;
    let ada = Client::new(&served, "ada");
    let session = ada.begin().await;
    let machine = json(&ada.in_session(&session).ask("POST", "/mcp").await)["machine"].clone();
    let ended = served.launcher.path(&format!("ended-{machine}"));
    until(|| ended.exists()).await;
    assert_unknown(&ada.in_session(&session).ask("POST", "/mcp").await);
    served.stop().await.unwrap();
}

#[tokio::test]
async fn machines_are_bounded_in_all_and_for_each_principal() {
    let mut limits = limits();
    (limits.max_machines, limits.max_machines_each) = (3, 2);
    let served = serve(limits).await;
    let (ada, bob) = (Client::new(&served, "ada"), Client::new(&served, "bob"));
    let first = ada.begin().await;
    ada.begin().await;
    let refused = ada.ask("POST", "/mcp").await;
    assert_eq!(
        (refused.status, refused.headers["retry-after"].as_bytes()),
        (StatusCode::SERVICE_UNAVAILABLE, &b"5"[..])
    );
    let third = bob.begin().await;
    assert_eq!(bob.ask("POST", "/mcp").await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(bob.in_session(&third).ask("POST", "/mcp").await.status, StatusCode::OK);
    // A place is free when a machine has ended.
    ada.in_session(&first).ask("DELETE", "/mcp").await;
    let free = async {
        while bob.ask("POST", "/mcp").await.status != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(HANG, free).await.unwrap();
    served.stop().await.unwrap();
}

#[tokio::test]
async fn requests_without_a_session_share_a_machine_of_their_principal() {
    let served = serve(limits()).await;
    let modern = async |token: &str| {
        let client = Client::new(&served, token);
        let request = client.request("POST", "/mcp").header("mcp-protocol-version", "2026-07-28");
        let answer = json(&served.ask(request.body(Body::from("{}")).unwrap()).await);
        (answer["machine"].clone(), answer["count"].clone())
    };
    let ((ada, first), (again, second)) = (modern("ada").await, modern("ada").await);
    assert_eq!((&ada, first, second), (&again, 1.into(), 2.into()));
    assert_ne!(modern("bob").await.0, ada);
    let page = json(&Client::new(&served, "ada").ask("GET", "/page").await);
    assert_eq!((&page["machine"], &page["count"]), (&ada, &3.into()));
    served.stop().await.unwrap();
}

/// Without a session that it begins, a request has a machine to itself.
#[tokio::test]
async fn a_machine_without_a_session_ends_after_the_response() {
    let served = serve(limits()).await;
    let answer = json(&Client::new(&served, "ada").ask("POST", "/other").await);
    let ended = served.launcher.path(&format!("ended-{}", answer["machine"]));
    until(|| ended.exists()).await;
    served.stop().await.unwrap();
}

#[tokio::test]
async fn streams_of_http_and_sse_have_machines_of_their_own() {
    let served = serve(limits()).await;
    let next = async |stream: &mut http::Response<hyper::body::Incoming>| {
        let frame = tokio::time::timeout(HANG, stream.frame()).await.unwrap().unwrap().unwrap();
        String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
    };
    let open = async |token: &str| {
        let request = Client::new(&served, token).request("GET", "/sse").header("accept", "text/event-stream");
        let mut stream = served.send(request.body(Body::empty()).unwrap()).await;
        let target = next(&mut stream).await.lines().nth(1).unwrap()["data: ".len()..].to_owned();
        (stream, target)
    };
    let ((mut ada, ada_target), (mut bob, bob_target)) = (open("ada").await, open("bob").await);
    assert_eq!(Client::new(&served, "ada").ask("POST", &ada_target).await.status, StatusCode::ACCEPTED);
    assert_unknown(&Client::new(&served, "ada").ask("POST", &bob_target).await);
    assert_eq!(Client::new(&served, "bob").ask("POST", &bob_target).await.status, StatusCode::ACCEPTED);
    assert_ne!(next(&mut ada).await, next(&mut bob).await, "two machines");
    drop(ada);
    let client = Client::new(&served, "ada");
    let gone = async { while client.ask("POST", &ada_target).await.status != StatusCode::NOT_FOUND {} };
    tokio::time::timeout(HANG, gone).await.unwrap();
    served.stop().await.unwrap();
}
