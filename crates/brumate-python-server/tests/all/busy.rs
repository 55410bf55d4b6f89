//! Functions that keep the loop busy.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use brumate_mcp::HttpOptions;
use brumate_python_server::http::HttpService;
use http::StatusCode;
use tokio::sync::Notify;

use crate::support::fake_guest::{CLOSED, FINISH, FakeLauncher, HEAD, OPEN, PING, PONG, START};
use crate::support::{Served, limits, serve_app_by};

#[tokio::test]
async fn a_busy_function_is_interrupted_and_the_server_goes_on() {
    let source = r#"
count = 0

async def app(scope, receive, send):
    global count
    assert scope["type"] == "http"
    count += 1
    body = str(count).encode()
    if scope["path"] == "/busy":
        try:
            while True:
                pass
        except TimeoutError as error:
            body = str(error).encode()
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": body})
"#;
    let mut limits = limits();
    limits.request_time_limit = Duration::from_millis(200);
    let served = serve_app_by(source, HttpService::new(HttpOptions::new()).limits(limits)).await;
    assert_eq!(served.get("/busy").await.body, "the time limit of this request is reached");
    assert_eq!(served.get("/").await.body, "2", "it is the same machine");
    served.stop().await.unwrap();
}

#[tokio::test]
async fn a_function_that_cannot_be_interrupted_ends_the_machine() {
    let source = r#"
import signal, time

async def app(scope, receive, send):
    assert scope["type"] == "http"
    if scope["path"] == "/busy":
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        while True:
            time.sleep(0.01)
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": b"well"})
"#;
    let mut limits = limits();
    limits.request_time_limit = Duration::from_millis(200);
    limits.interrupt_grace = Duration::from_millis(200);
    let served = serve_app_by(source, HttpService::new(HttpOptions::new()).limits(limits)).await;
    assert_eq!(served.get("/busy").await.status, StatusCode::BAD_GATEWAY);
    assert_eq!(served.get("/").await.body, "well");
    assert_eq!(served.launcher.started.load(Ordering::SeqCst), 2);
    served.stop().await.unwrap();
}

/// A request that waits is not interrupted, however long; a machine without requests is not asked.
#[tokio::test]
async fn only_busy_machines_are_asked_and_only_unanswered_ones_interrupted() {
    let idle = Arc::new(Notify::new());
    let was_idle = Arc::clone(&idle);
    let launcher = FakeLauncher::new(move |mut guest| {
        let idle = Arc::clone(&was_idle);
        async move {
            let asked = tokio::time::timeout(Duration::from_millis(200), guest.next()).await.is_ok();
            idle.notify_one();
            // The first question may come before the request.
            let (mut stream, mut questions) = (None, 0);
            while stream.is_none() || questions < 10 {
                match guest.next().await.unwrap() {
                    (OPEN, number, _) => stream = Some(number),
                    (PING, ..) => {
                        questions += 1;
                        guest.send(PONG, 0, b"").await;
                    }
                    _ => {}
                }
            }
            let stream = stream.unwrap();
            let head = if asked { br#"{"status":599,"headers":[]}"# } else { HEAD };
            guest.send(START, stream, head).await;
            guest.send(FINISH, stream, b"").await;
            guest.send(CLOSED, stream, b"").await;
            // One more may be on its way.
            while guest.wait_for(PING).await.is_some() {
                guest.send(PONG, 0, b"").await;
            }
        }
    });
    let mut limits = limits();
    limits.request_time_limit = Duration::from_millis(40);
    limits.shutdown_grace = Duration::from_millis(100);
    // A slow machine for tests must not look like a busy one.
    limits.interrupt_grace = Duration::from_secs(60);
    let served = Served::start(launcher, HttpService::new(HttpOptions::new()).limits(limits)).await;
    idle.notified().await;
    assert_eq!(served.get("/").await.status, StatusCode::OK);
    let launcher = served.launcher.clone();
    served.stop().await.unwrap();
    assert_eq!(launcher.started.load(Ordering::SeqCst), 1);
}
