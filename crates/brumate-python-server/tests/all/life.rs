//! Start, crash, restart and end of a machine.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use brumate_mcp::HttpOptions;
use brumate_python_server::http::{ApplicationError, HttpServeError, HttpService};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;

use crate::support::fake_guest::{FAILED, FakeLauncher};
use crate::support::{PythonLauncher, Served, limits, serve_app, until};

/// Counts its requests; dies when it is told to; notes its lifespan.
const MORTAL: &str = r#"
import asyncio, os, pathlib
count = 0

async def app(scope, receive, send):
    global count
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        pathlib.Path("ended").touch()
        await send({"type": "lifespan.shutdown.complete"})
        return
    count += 1
    if scope["path"] == "/die":
        os._exit(3)
    if scope["path"] == "/stream":
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        await asyncio.Event().wait()
    if scope["path"] == "/wait":
        pathlib.Path("waits").touch()
        await asyncio.Event().wait()
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": str(count).encode()})
"#;

#[tokio::test]
async fn a_machine_that_has_died_is_started_again_by_the_next_request() {
    let served = serve_app(MORTAL).await;
    assert_eq!(served.get("/").await.body, "1");
    let waiting = served.get("/wait");
    let dying = async {
        until(|| served.launcher.path("waits").exists()).await;
        let stream = served.send(Request::get("/stream").body(Body::empty()).unwrap()).await;
        (served.get("/die").await, stream.into_body().collect().await)
    };
    let (waiting, (died, streamed)) = futures::join!(waiting, dying);
    assert_eq!((waiting.status, died.status), (StatusCode::BAD_GATEWAY, StatusCode::BAD_GATEWAY));
    assert!(streamed.is_err(), "a response that had begun is cut off");
    let answers = futures::future::join_all((0..20).map(|_| served.get("/"))).await;
    assert!(answers.iter().all(|answer| answer.status == StatusCode::OK), "{answers:?}");
    assert_eq!(served.get("/").await.body, "21", "one machine answers all");
    assert_eq!(served.launcher.started.load(Ordering::SeqCst), 2);
    served.stop().await.unwrap();
}

#[tokio::test]
async fn deaths_that_clients_cause_do_not_end_the_service() {
    let served = serve_app(MORTAL).await;
    for _ in 0..4 {
        assert_eq!(served.get("/die").await.status, StatusCode::BAD_GATEWAY);
    }
    assert_eq!(served.get("/").await.body, "1");
    assert_eq!(served.launcher.started.load(Ordering::SeqCst), 5);
    served.stop().await.unwrap();
}

#[tokio::test]
async fn a_machine_that_cannot_be_started_again_is_an_answer_and_then_the_end() {
    let source = r#"
import os, pathlib
runs = pathlib.Path("runs")
if runs.exists():
    raise SystemExit("it runs once")
runs.touch()

async def app(scope, receive, send):
    assert scope["type"] == "http"
    os._exit(0)
"#;
    let served = serve_app(source).await;
    assert_eq!(served.get("/").await.status, StatusCode::BAD_GATEWAY);
    let answer = served.get("/").await;
    assert_eq!(
        (answer.status, answer.headers["retry-after"].to_str().unwrap()),
        (StatusCode::SERVICE_UNAVAILABLE, "5")
    );
    for _ in 0..2 {
        assert_eq!(served.get("/").await.status, StatusCode::SERVICE_UNAVAILABLE);
    }
    let error = served.ended().await.unwrap_err().to_string();
    assert!(error.contains("started again 3 times") && error.ends_with("the last time: it runs once"), "{error}");
}

#[tokio::test]
async fn the_lifespan_ends_with_the_service() {
    let served = serve_app(MORTAL).await;
    assert_eq!(served.get("/").await.status, StatusCode::OK);
    let ended = served.launcher.path("ended");
    assert!(!ended.exists());
    let launcher = served.launcher.clone();
    served.stop().await.unwrap();
    assert!(ended.exists());
    assert_eq!(launcher.started.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn requests_that_run_may_end_before_the_service_does() {
    let source = r#"
import asyncio, pathlib

async def app(scope, receive, send):
    assert scope["type"] == "http"
    pathlib.Path("runs").touch()
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.01)
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": b"whole"})
"#;
    let served = serve_app(source).await;
    let (runs, go) = (served.launcher.path("runs"), served.launcher.path("go"));
    let stopping = async {
        until(|| runs.exists()).await;
        served.begin_stop();
        // The service has time to do wrong.
        tokio::time::sleep(Duration::from_millis(50)).await;
        std::fs::write(go, "").unwrap();
    };
    let (answer, ()) = futures::join!(served.get("/"), stopping);
    assert_eq!(answer.body, "whole");
    served.stop().await.unwrap();
}

#[tokio::test]
async fn an_application_that_does_not_end_is_killed() {
    let source = r#"
async def app(scope, receive, send):
    assert scope["type"] == "lifespan"
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    while True:
        pass
"#;
    let mut limits = limits();
    limits.shutdown_grace = Duration::from_millis(200);
    let service = HttpService::new(HttpOptions::new()).limits(limits);
    crate::support::serve_app_by(source, service).await.stop().await.unwrap();
}

#[tokio::test]
async fn an_application_that_fails_to_start_is_the_error() {
    let source = r#"
async def app(scope, receive, send):
    assert scope["type"] == "lifespan"
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no database"})
"#;
    let error = serve_app(source).await.ended().await.unwrap_err();
    assert!(
        matches!(&error, HttpServeError::Start(ApplicationError::Failed(text)) if text == "no database"),
        "{error}"
    );
    // Of a fake guest, which goes on.
    let launcher = FakeLauncher::unready(|mut guest| async move {
        guest.send(FAILED, 0, b"no reason").await;
        std::future::pending::<()>().await;
    });
    let served = Served::start(launcher, HttpService::new(HttpOptions::new()).limits(limits())).await;
    let launcher = served.launcher.clone();
    assert_eq!(served.ended().await.unwrap_err().to_string(), "the application failed to start: no reason");
    until(|| launcher.control.kills.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn an_application_that_does_not_start_in_time_is_killed() {
    let launcher = FakeLauncher::unready(|_guest| std::future::pending());
    let mut limits = limits();
    limits.start_timeout = Duration::from_millis(100);
    let served = Served::start(launcher, HttpService::new(HttpOptions::new()).limits(limits)).await;
    let launcher = served.launcher.clone();
    assert!(matches!(served.ended().await, Err(HttpServeError::Start(ApplicationError::TimedOut(_)))));
    until(|| launcher.control.kills.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn a_server_of_stdio_is_no_http() {
    let source = "import sys\nfor line in sys.stdin: pass\n";
    let served = Served::start(PythonLauncher::new(source), HttpService::new(HttpOptions::new())).await;
    assert!(matches!(served.ended().await, Err(HttpServeError::Start(ApplicationError::NoHttp))));
}
