//! Guests that break the protocol: their machine is killed, and the service goes on with another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use brumate_mcp::HttpOptions;
use brumate_python_server::http::{ApplicationError, HttpLimits, HttpServeError, HttpService, fuzzing};
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::json;

use crate::support::fake_guest::{
    ABORT, BODY, CLOSED, DATA, FINISH, FakeLauncher, HEAD, OPEN, PONG, READY, START, WINDOW, encode,
};
use crate::support::{HANG, Served, limits, until};

fn service(limits: HttpLimits) -> HttpService {
    HttpService::new(HttpOptions::new()).limits(limits)
}

fn head(status: i64, headers: &[(&str, &str)]) -> Vec<u8> {
    json!({"status": status, "headers": headers}).to_string().into_bytes()
}

fn join(frames: &[(u8, u32, &[u8])]) -> Vec<u8> {
    frames.iter().flat_map(|(frame, stream, payload)| encode(*frame, *stream, payload)).collect()
}

/// Answers the first request with `bytes` and all others as they should be. Returns whether the first one was answered, the kills, and
/// the machines that were started.
async fn after(bytes: Vec<u8>) -> (bool, usize, usize) {
    let machines = Arc::new(AtomicUsize::new(0));
    let launcher = FakeLauncher::new(move |mut guest| {
        let mut fault = Some(bytes.clone()).filter(|_| machines.fetch_add(1, Ordering::SeqCst) == 0);
        async move {
            while let Some(stream) = guest.wait_for(OPEN).await {
                if let Some(bytes) = fault.take() {
                    guest.write(&bytes).await;
                } else {
                    guest.send(START, stream, HEAD).await;
                    guest.send(FINISH, stream, b"").await;
                    guest.send(CLOSED, stream, b"").await;
                }
            }
        }
    });
    let mut limits = limits();
    // No fault is found by its silence.
    limits.request_time_limit = HANG * 10;
    let served = Served::start(launcher, service(limits)).await;
    // It may be cut off before its head is written.
    let first = served.try_send(Request::get("/").body(Body::empty()).unwrap()).await;
    let whole = match first {
        Ok(first) => first.status() == 200 && first.into_body().collect().await.is_ok(),
        Err(_) => false,
    };
    // The fault may come after the end of the response.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(served.get("/").await.status, 200, "the service goes on");
    let kills = served.launcher.control.kills.load(Ordering::SeqCst);
    (whole, kills, served.launcher.started.load(Ordering::SeqCst))
}

#[tokio::test]
async fn each_fault_ends_the_machine_and_not_the_service() {
    let many: Vec<(&str, &str)> = vec![("a", "b"); 300];
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("a long frame", [&u32::MAX.to_be_bytes()[..], &[DATA], &1u32.to_be_bytes()].concat()),
        ("an unknown frame", join(&[(99, 1, b"")])),
        ("a frame of the host's", join(&[(BODY, 1, b"x")])),
        ("no frame", b"Traceback (most recent call last):\n".to_vec()),
        ("an unknown stream", join(&[(START, 7, HEAD)])),
        ("stream 0", join(&[(START, 0, HEAD)])),
        ("START twice", join(&[(START, 1, HEAD), (START, 1, HEAD)])),
        ("DATA before START", join(&[(DATA, 1, b"x")])),
        ("FINISH before START", join(&[(FINISH, 1, b"")])),
        ("DATA after FINISH", join(&[(START, 1, HEAD), (FINISH, 1, b""), (DATA, 1, b"x")])),
        ("FINISH twice", join(&[(START, 1, HEAD), (FINISH, 1, b""), (FINISH, 1, b"")])),
        ("CLOSED before the end", join(&[(CLOSED, 1, b"")])),
        ("a frame after CLOSED", join(&[(ABORT, 1, b""), (CLOSED, 1, b""), (ABORT, 1, b"")])),
        ("empty data", join(&[(START, 1, HEAD), (DATA, 1, b"")])),
        ("a window that was not used", join(&[(WINDOW, 1, &[0, 0, 0, 1])])),
        ("a long window", join(&[(WINDOW, 1, &[0; 5])])),
        ("PONG without PING, twice", join(&[(PONG, 0, b""), (PONG, 0, b"")])),
        ("READY twice", join(&[(READY, 0, b"")])),
        ("no JSON", join(&[(START, 1, b"{")])),
        ("status 0", join(&[(START, 1, &head(0, &[]))])),
        ("status 101", join(&[(START, 1, &head(101, &[]))])),
        ("a line break in a value", join(&[(START, 1, &head(200, &[("a", "b\r\nset-cookie: c")]))])),
        ("a line break in a name", join(&[(START, 1, &head(200, &[("a\n", "b")]))])),
        ("no name", join(&[(START, 1, &head(200, &[("", "b")]))])),
        ("many headers", join(&[(START, 1, &head(200, &many))])),
        ("a wrong length", join(&[(START, 1, &head(200, &[("content-length", "-1")]))])),
    ];
    for (what, bytes) in cases {
        let (_, kills, started) = after(bytes).await;
        assert_eq!((kills, started), (1, 2), "{what}");
    }
    // The same guest without a fault.
    let good = join(&[(START, 1, HEAD), (DATA, 1, b"x"), (FINISH, 1, b""), (CLOSED, 1, b"")]);
    let (whole, kills, started) = after(good).await;
    assert_eq!((whole, kills, started), (true, 0, 1));
}

#[tokio::test]
async fn a_guest_that_does_not_wait_for_the_client_is_killed() {
    let launcher = FakeLauncher::new(|mut guest| async move {
        let stream = guest.wait_for(OPEN).await.unwrap();
        guest.send(START, stream, HEAD).await;
        loop {
            guest.send(DATA, stream, &[b'x'; 1 << 16]).await;
            tokio::task::yield_now().await;
        }
    });
    let served = Served::start(launcher, service(limits())).await;
    let unread = served.send(Request::get("/").body(Body::empty()).unwrap()).await;
    let control = served.launcher.control.clone();
    until(|| control.kills.load(Ordering::SeqCst) == 1).await;
    assert!(unread.into_body().collect().await.is_err(), "it was cut off");
}

#[tokio::test]
async fn frames_before_the_start_are_faults_too() {
    for frames in [join(&[(START, 1, HEAD)]), join(&[(PONG, 0, b"")]), b"hello, this is no frame".to_vec()] {
        let launcher = FakeLauncher::unready(move |mut guest| {
            let frames = frames.clone();
            async move {
                guest.write(&frames).await;
                std::future::pending::<()>().await;
            }
        });
        let ended = Served::start(launcher, service(limits())).await.ended().await;
        assert!(matches!(ended, Err(HttpServeError::Start(ApplicationError::Ended(_)))), "{ended:?}");
    }
}

/// Runs the property of the fuzz target on a few random bytes.
#[test]
fn random_frames_break_nothing() {
    let mut seed = 1u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut most = 0;
    for _ in 0..2000 {
        let mut bytes = encode(READY, 0, b"");
        for _ in 0..random(30) {
            let frame = [START, DATA, FINISH, ABORT, WINDOW, CLOSED, PONG, random(30) as u8][random(8) as usize];
            let payload = match frame {
                START => HEAD.to_vec(),
                DATA => vec![0; 1 + random(100_000) as usize],
                WINDOW => vec![0, 0, 0, random(255) as u8],
                _ => vec![0; random(20).saturating_sub(18) as usize],
            };
            bytes.extend(encode(frame, 1 + random(3) as u32, &payload));
        }
        let step = 1 + random(70_000) as usize;
        let taken = fuzzing::take_guest_bytes(&bytes, step);
        assert!(taken.is_bounded(step), "{taken:?}");
        most = most.max(taken.frames);
    }
    assert!(most > 4, "some sequences get far: {most}");
}
