//! Bodies that are streamed: each side waits for the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use brumate_mcp::HttpOptions;
use brumate_python_server::http::HttpService;
use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;

use crate::support::fake_guest::{BODY, CLOSED, DATA, END, FINISH, FakeLauncher, HEAD, OPEN, START, WINDOW};
use crate::support::{HANG, Served, limits, read, serve_app, until};

/// Bytes that either side may send unasked.
const CREDIT: usize = 256 << 10;
/// Time to wait for an event that must not happen.
const SILENCE: Duration = Duration::from_millis(200);

/// Sends back each piece of a body when it comes.
const PIECES: &str = r#"
async def app(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200})
    more = True
    while more:
        message = await receive()
        more = message["more_body"]
        await send({"type": "http.response.body", "body": message["body"], "more_body": more})
"#;

#[tokio::test]
async fn both_bodies_are_streamed_at_once() {
    let served = serve_app(PIECES).await;
    let (pieces, body) = mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let body = futures::stream::unfold(body, |mut body| async { body.recv().await.map(|piece| (piece, body)) });
    let mut response = served.send(Request::post("/").body(Body::from_stream(body)).unwrap()).await;
    for number in 0..100 {
        let text = format!("piece {number}");
        pieces.send(Ok(Bytes::from(text.clone()))).await.unwrap();
        let frame = tokio::time::timeout(HANG, response.frame()).await.unwrap().unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), text);
    }
    drop(pieces);
    assert_eq!(read(response).await.body, "");
    let large = "0123456789".repeat(300_000);
    let answer = served.ask(Request::post("/").body(Body::from(large.clone())).unwrap()).await;
    assert!(answer.body == large);
    served.stop().await.unwrap();
}

/// The guest gets as much of a body as it may be sent, and no more until it has allowed more.
#[tokio::test]
async fn a_body_waits_for_an_application_that_does_not_receive() {
    let received = Arc::new(AtomicUsize::new(0));
    let guest_received = Arc::clone(&received);
    let launcher = FakeLauncher::new(move |mut guest| {
        let received = Arc::clone(&guest_received);
        async move {
            let stream = guest.wait_for(OPEN).await.unwrap();
            let mut credit = CREDIT;
            while let Some((frame, _, payload)) = guest.next().await {
                match frame {
                    BODY => {
                        received.fetch_add(payload.len(), Ordering::SeqCst);
                        credit -= payload.len();
                        if credit == 0 && tokio::time::timeout(SILENCE, guest.next()).await.is_ok() {
                            return;
                        }
                        if credit == 0 {
                            guest.send(WINDOW, stream, &(CREDIT as u32).to_be_bytes()).await;
                            credit = CREDIT;
                        }
                    }
                    END => {
                        guest.send(START, stream, HEAD).await;
                        guest.send(FINISH, stream, b"").await;
                        guest.send(CLOSED, stream, b"").await;
                    }
                    _ => {}
                }
            }
        }
    });
    let served = Served::start(launcher, HttpService::new(HttpOptions::new()).limits(limits())).await;
    let body = vec![b'x'; CREDIT * 2 + 1000];
    let answer = served.ask(Request::post("/").body(Body::from(body)).unwrap()).await;
    assert_eq!((answer.status.as_u16(), received.load(Ordering::SeqCst)), (200, CREDIT * 2 + 1000));
}

/// The guest may send its credit; the host allows more only when the client has read.
#[tokio::test]
async fn a_response_waits_for_a_client_that_does_not_read() {
    const WHOLE: usize = 64 << 20;
    let sent = Arc::new(AtomicUsize::new(0));
    let guest_sent = Arc::clone(&sent);
    let launcher = FakeLauncher::new(move |mut guest| {
        let sent = Arc::clone(&guest_sent);
        async move {
            let stream = guest.wait_for(OPEN).await.unwrap();
            guest.send(START, stream, HEAD).await;
            let mut credit = CREDIT;
            while sent.load(Ordering::SeqCst) < WHOLE {
                if credit == 0 {
                    let Some((frame, _, payload)) = guest.next().await else { return };
                    if frame == WINDOW {
                        credit += u32::from_be_bytes(payload.try_into().unwrap()) as usize;
                    }
                    continue;
                }
                let count = credit.min(64 << 10);
                guest.send(DATA, stream, &vec![b'z'; count]).await;
                credit -= count;
                sent.fetch_add(count, Ordering::SeqCst);
            }
            guest.send(FINISH, stream, b"").await;
            guest.send(CLOSED, stream, b"").await;
            while guest.next().await.is_some() {}
        }
    });
    let served = Served::start(launcher, HttpService::new(HttpOptions::new()).limits(limits())).await;
    let response = served.send(Request::get("/").body(Body::empty()).unwrap()).await;
    // The sockets take some megabytes; then the guest stands still.
    let mut before = 0;
    loop {
        tokio::time::sleep(SILENCE).await;
        let now = sent.load(Ordering::SeqCst);
        if now == before && now > 0 {
            break;
        }
        before = now;
    }
    assert!(before < WHOLE / 2, "{before} bytes were sent to a client that does not read");
    assert_eq!(read(response).await.body.len(), WHOLE);
    assert_eq!(sent.load(Ordering::SeqCst), WHOLE);
    until(|| served.launcher.control.kills.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn an_event_stream_stays_open_and_ends_with_the_service() {
    let source = r#"
import asyncio
events = asyncio.Queue()

async def app(scope, receive, send):
    assert scope["type"] == "http"
    if scope["method"] == "POST":
        await events.put((await receive())["body"])
        await send({"type": "http.response.start", "status": 202})
        await send({"type": "http.response.body"})
        return
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while True:
        await send({"type": "http.response.body", "body": await events.get(), "more_body": True})
"#;
    let served = serve_app(source).await;
    let mut stream = served.send(Request::get("/").body(Body::empty()).unwrap()).await;
    for number in 0..5 {
        let event = format!("data: {number}\n\n");
        let posted = served.ask(Request::post("/").body(Body::from(event.clone())).unwrap()).await;
        assert_eq!(posted.status.as_u16(), 202);
        let frame = tokio::time::timeout(HANG, stream.frame()).await.unwrap().unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), event);
    }
    let (stopped, rest) = futures::join!(served.stop(), stream.frame());
    stopped.unwrap();
    assert!(rest.is_none(), "the stream ends as if it were complete");
}
