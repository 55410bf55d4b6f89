//! Clients that leave.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::Mutex;

use axum::body::Body;
use brumate_mcp::HttpOptions;
use brumate_python_server::http::HttpService;
use http::Request;
use http_body_util::BodyExt as _;

use crate::support::fake_guest::{ABORT, CLOSED, DATA, FakeLauncher, HEAD, OPEN, START, WINDOW};
use crate::support::{HANG, Served, limits, serve_app, until};

/// Notes in files how requests end.
const NOTES: &str = r#"
import asyncio, pathlib

async def app(scope, receive, send):
    assert scope["type"] == "http"
    name = scope["path"][1:]
    if name == "stream":
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
    elif name == "ok":
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"ok"})
        return
    pathlib.Path(name + ".begun").touch()
    while (await receive())["type"] != "http.disconnect":
        pass
    pathlib.Path(name + ".gone").touch()
"#;

#[tokio::test]
async fn the_application_learns_that_a_client_has_left() {
    let served = serve_app(NOTES).await;
    let file = |name: &str| served.launcher.path(name);
    // While the response is awaited.
    let mut stream = std::net::TcpStream::connect(served.address).unwrap();
    write!(stream, "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    until(|| file("wait.begun").exists()).await;
    drop(stream);
    until(|| file("wait.gone").exists()).await;
    // Within the response.
    let mut response = served.send(Request::get("/stream").body(Body::empty()).unwrap()).await;
    tokio::time::timeout(HANG, response.frame()).await.unwrap().unwrap().unwrap();
    drop(response);
    until(|| file("stream.gone").exists()).await;
    // Within the request's body.
    let mut stream = std::net::TcpStream::connect(served.address).unwrap();
    write!(stream, "POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf").unwrap();
    until(|| file("body.begun").exists()).await;
    drop(stream);
    until(|| file("body.gone").exists()).await;
    assert_eq!(served.get("/ok").await.body, "ok");
    served.stop().await.unwrap();
}

/// A guest may send data until it has heard that the client is gone: that is no fault, and the data is dropped.
#[tokio::test]
async fn frames_may_cross() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let guest_seen = Arc::clone(&seen);
    let launcher = FakeLauncher::new(move |mut guest| {
        let seen = Arc::clone(&guest_seen);
        async move {
            let stream = guest.wait_for(OPEN).await.unwrap();
            guest.send(START, stream, HEAD).await;
            guest.send(DATA, stream, b"begun").await;
            guest.wait_for(ABORT).await.unwrap();
            guest.send(DATA, stream, &vec![b'x'; 200_000]).await;
            guest.send(ABORT, stream, b"").await;
            guest.send(CLOSED, stream, b"").await;
            // The next request finds the machine whole.
            let next = guest.wait_for(OPEN).await.unwrap();
            seen.lock().unwrap().push((stream, next));
            guest.send(START, next, HEAD).await;
            guest.send(ABORT, next, b"").await;
            guest.send(CLOSED, next, b"").await;
            while let Some((frame, ..)) = guest.next().await {
                assert_ne!(frame, WINDOW);
            }
        }
    });
    let served = Served::start(launcher, HttpService::new(HttpOptions::new()).limits(limits())).await;
    let mut response = served.send(Request::get("/").body(Body::empty()).unwrap()).await;
    tokio::time::timeout(HANG, response.frame()).await.unwrap().unwrap().unwrap();
    drop(response);
    // Cut off within the body, or before the head is written.
    if let Ok(response) = served.try_send(Request::get("/").body(Body::empty()).unwrap()).await {
        assert_eq!(response.status().as_u16(), 200);
        assert!(response.into_body().collect().await.is_err(), "it was cut off");
    }
    assert_eq!(*seen.lock().unwrap(), [(1, 2)]);
}
