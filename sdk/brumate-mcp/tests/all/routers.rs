//! Routers that are mounted beside servers, with the guard of a server.

use crate::support::read;
use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request};
use axum::routing::get;
use brumate_mcp::{App, HttpOptions, Principal, Server, TokenRevocation};
use futures::StreamExt as _;
use http::StatusCode;
use http_body_util::BodyExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tower::ServiceExt as _;

/// Says what it sees of a request, and reads its body.
async fn see(request: Request) -> String {
    let (head, body) = request.into_parts();
    let principal = head.extensions.get::<Principal>().map(|principal| principal.name().to_owned());
    let body = body.collect().await.map(|body| body.to_bytes().len());
    let token = head.headers.contains_key("authorization");
    format!("{} {principal:?} {token} {:?}", head.uri.path(), body.ok())
}

async fn ask(router: &Router, request: http::request::Builder, body: Body) -> (StatusCode, String) {
    let answer = read(router.clone().oneshot(request.body(body).expect("a request")).await.expect("an answer")).await;
    (answer.status, answer.body)
}

fn request(path: &str) -> http::request::Builder {
    Request::post(path).header("host", "localhost")
}

#[tokio::test]
async fn a_router_is_guarded_like_a_server() {
    let names = |token: &str| (token == "secret").then(|| Principal::new("ada"));
    let app = App::new()
        .mount("/tools", Server::new("tools"), HttpOptions::new().stateless())
        .mount_router("/guarded/", Router::new().fallback(see), HttpOptions::new().bearer(names))
        .mount_router("", Router::new().fallback(see), HttpOptions::new())
        .merge(Router::new().route("/health", get(|| async { "well" })));
    app.start().await.expect("it starts");
    let router = app.router();
    let with_token = |path: &str, token: &str| request(path).header("authorization", format!("Bearer {token}"));
    for (request, status, text) in [
        (request("/any/path"), 200, "/any/path None false Some(2)"),
        (with_token("/", "of-the-router"), 200, "/ None true Some(2)"),
        (request("/guarded/x"), 401, "a bearer token is required: `Authorization: Bearer TOKEN`"),
        (with_token("/guarded/x", "wrong"), 401, "the token is not valid"),
        (with_token("/guarded/x", "secret"), 200, "/x Some(\"ada\") false Some(2)"),
        (request("/x").header("origin", "http://localhost:1"), 200, "/x None false Some(2)"),
    ] {
        assert_eq!(
            ask(&router, request, Body::from("{}")).await,
            (StatusCode::from_u16(status).unwrap(), text.to_owned())
        );
    }
    for refused in
        [Request::post("/x").header("host", "evil.example"), request("/x").header("origin", "http://evil.example")]
    {
        assert_eq!(ask(&router, refused, Body::empty()).await.0, StatusCode::FORBIDDEN);
    }
    let health = Request::get("/health").header("host", "evil.example");
    assert_eq!(ask(&router, health, Body::empty()).await.1, "well", "nothing checks who asks for merged routes");
    let preflight = Request::options("/guarded/x").header("host", "localhost").header("origin", "http://localhost:1");
    let preflight = preflight.header("access-control-request-method", "PUT").body(Body::empty()).expect("a request");
    let preflight = read(router.clone().oneshot(preflight).await.expect("an answer")).await;
    assert_eq!(preflight.headers["access-control-allow-methods"], "PUT");
}

#[tokio::test]
async fn a_router_takes_tokens_in_other_places_and_refuses_in_its_own_format() {
    let names = |token: &str| (token == "se-cret").then(|| Principal::new("ada"));
    let options = HttpOptions::new().bearer(names).token_scheme("token").query_token("token");
    let options = options.refusal_format(|status, text| {
        (http::HeaderValue::from_static("text/x-refusal"), format!("{}: {text}", status.as_u16()))
    });
    let target = async |request: Request| {
        let original = request.extensions().get::<axum::extract::OriginalUri>().map(|uri| uri.0.to_string());
        format!("{} {:?}", request.uri(), original)
    };
    let router = App::new().mount_router("/guarded", Router::new().fallback(target), options).router();
    let seen = |uri: &str| format!("{uri} {:?}", Some(format!("/guarded{uri}")));
    for (path, header, status, text) in [
        ("/guarded/x", Some("token se-cret"), 200, seen("/x")),
        ("/guarded/x", Some("Bearer se-cret"), 200, seen("/x")),
        ("/guarded/x?token=se%2Dcret", None, 200, seen("/x")),
        ("/guarded/x?a=1&token=se-cret&b", Some("token se-cret"), 200, seen("/x?a=1&b")),
        ("/guarded/x?token=wrong", None, 401, "401: the token is not valid".to_owned()),
        ("/guarded/x?token=wrong", Some("token se-cret"), 400, "400: the request has more than one token".to_owned()),
        ("/guarded/x?token=a&token=b", None, 400, "400: the request has more than one token".to_owned()),
        ("/guarded/x", None, 401, "401: a bearer token is required: `Authorization: Bearer TOKEN`".to_owned()),
    ] {
        let request = header.into_iter().fold(request(path), |request, value| request.header("authorization", value));
        let request = request.body(Body::empty()).expect("a request");
        let answer = read(router.clone().oneshot(request).await.expect("an answer")).await;
        assert_eq!((answer.status.as_u16(), answer.body), (status, text), "{path} {header:?}");
        assert_eq!(answer.headers["content-type"] == "text/x-refusal", status != 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_router_learns_after_its_answer_that_a_token_is_revoked() {
    let valid = Arc::new(AtomicBool::new(true));
    let known = valid.clone();
    let names = move |_: &str| known.load(Ordering::SeqCst).then(|| Principal::new("ada"));
    let (sender, mut revoked) = tokio::sync::mpsc::channel(1);
    let stays = move |Extension(revocation): Extension<TokenRevocation>| async move {
        tokio::spawn(async move {
            revocation.revoked().await;
            _ = sender.send(()).await;
        });
    };
    let app = App::new().mount_router("", Router::new().fallback(stays), HttpOptions::new().bearer(names));
    let router = app.router();
    let request = request("/x").header("authorization", "Bearer secret");
    assert_eq!(ask(&router, request, Body::empty()).await.0, StatusCode::OK);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(revoked.try_recv().is_err());
    valid.store(false, Ordering::SeqCst);
    assert_eq!(tokio::time::timeout(Duration::from_secs(60), revoked.recv()).await, Ok(Some(())));
}

#[tokio::test(start_paused = true)]
async fn bodies_for_a_router_are_bounded() {
    let options = HttpOptions::new().max_body(10).body_timeout(Duration::from_secs(5));
    let router = App::new().mount_router("", Router::new().fallback(see), options).router();
    let chunks = |count: usize| {
        let chunks = futures::stream::iter((0..count).map(|_| Ok::<_, std::io::Error>("12345")));
        Body::from_stream(chunks)
    };
    assert_eq!(ask(&router, request("/"), chunks(2)).await, (StatusCode::OK, "/ None false Some(10)".to_owned()));
    for (request, body, status) in [
        (request("/"), chunks(3), StatusCode::PAYLOAD_TOO_LARGE),
        (request("/").header("content-length", "11"), Body::empty(), StatusCode::PAYLOAD_TOO_LARGE),
        (
            request("/"),
            Body::from_stream(futures::stream::pending::<Result<&str, std::io::Error>>()),
            StatusCode::REQUEST_TIMEOUT,
        ),
    ] {
        assert_eq!(ask(&router, request, body).await.0, status);
    }
    let options = HttpOptions::new().max_requests(0, 0);
    let router = App::new().mount_router("", Router::new().fallback(see), options).router();
    assert_eq!(ask(&router, request("/"), Body::empty()).await.0, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_requests_and_ends_streams_that_listen() {
    let (go, begun) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (waits, begins) = (go.clone(), begun.clone());
    let slow = move || {
        let (go, begun) = (waits.clone(), begins.clone());
        async move {
            begun.notify_one();
            go.notified().await;
            "whole"
        }
    };
    let listens = || async {
        let events = futures::stream::iter([Ok::<_, std::io::Error>("data: 1\n\n")]).chain(futures::stream::pending());
        ([("content-type", "text/event-stream")], Body::from_stream(events))
    };
    let routes = Router::new().route("/slow", get(slow)).route("/listens", get(listens));
    let app = App::new().mount_router("", routes, HttpOptions::new());
    let router = app.router();
    let get = |path: &str| {
        let request = Request::get(path).header("host", "localhost").body(Body::empty()).expect("a request");
        router.clone().oneshot(request)
    };
    let mut stream = get("/listens").await.expect("an answer").into_body();
    stream.frame().await.expect("a frame").expect("it is whole");
    // Silence is no reason to give up a stream that is read.
    assert!(tokio::time::timeout(Duration::from_secs(600), stream.frame()).await.is_err());
    assert_eq!(app.running_requests(), 0);
    let slow = tokio::spawn(get("/slow"));
    begun.notified().await;
    assert_eq!(app.running_requests(), 1);
    let draining = tokio::spawn({
        let app = app.clone();
        async move { app.drain().await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!draining.is_finished());
    assert_eq!(get("/slow").await.expect("an answer").status(), StatusCode::SERVICE_UNAVAILABLE);
    go.notify_one();
    assert_eq!(read(slow.await.expect("no panic").expect("an answer")).await.body, "whole");
    draining.await.expect("no panic");
    assert!(stream.frame().await.is_none());
}

#[tokio::test]
async fn two_routers_need_two_prefixes() {
    let app = App::new().mount_router("/a", Router::new(), HttpOptions::new()).mount_router(
        "/a/",
        Router::new(),
        HttpOptions::new(),
    );
    let problem = app.start().await.expect_err("they cannot be served");
    assert!(problem.to_string().contains("two routers at `/a`"), "{problem}");
}
