use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use brumate_packages::Bundle;
use brumate_packages::index::DownloadSink as _;
use brumate_packages::policy::{Policy, PolicyLayer, PolicyTable, RuleOrigin};
use futures::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::super::PackageSettings;
use super::body::Passing;
use super::*;
use crate::testing::FakeEngine;

fn gateway(place: &Path, change: impl FnOnce(&mut PackageSettings)) -> PackageGateway {
    let mut settings = PackageSettings::new(place.join("cache"));
    // Nothing listens there.
    settings.sources.index = Some("http://127.0.0.1:1/simple/".to_owned());
    change(&mut settings);
    let bundle = Arc::new(Bundle::new([]).expect("a bundle"));
    PackageGateway::new(Packages::new(Arc::new(FakeEngine::default()), bundle, settings))
}

async fn served(gateway: &PackageGateway) -> (SocketAddr, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (address, AbortOnDropHandle::new(tokio::spawn(gateway.serve(listener))))
}

/// Sends a request for a path and reads the answer until the connection ends.
async fn ask(address: SocketAddr, path: &str, accept: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: {accept}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("written");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("read");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Starts an index with one page, `foo`, and redirects from all other paths.
fn index(page: String, elsewhere: String) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut head = [0; 4096];
            let count = stream.read(&mut head).unwrap_or(0);
            let kind = if page.starts_with('{') { page::JSON } else { "text/html" };
            let answer = if head[..count].starts_with(b"GET /simple/foo/ ") {
                format!("200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{page}", page.len())
            } else {
                format!("302 Found\r\ncontent-length: 0\r\nlocation: {elsewhere}\r\n\r\n")
            };
            let _ = stream
                .write_all(format!("HTTP/1.1 {answer}").replacen("\r\n", "\r\nconnection: close\r\n", 1).as_bytes());
        }
    });
    address
}

#[tokio::test]
async fn pages_and_files_are_served_in_both_forms_under_the_rules() {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("foo-1-py3-none-any.whl"), "the wheel").expect("written");
    let gateway = gateway(place.path(), |settings| {
        settings.sources.offline = true;
        settings.sources.find_links = vec![place.path().display().to_string()];
        let table = PolicyTable { deny: vec!["evil".parse().expect("a pattern")], ..PolicyTable::default() };
        settings.policy = Policy::new([PolicyLayer::new(table, RuleOrigin::CommandLine).expect("a policy")]);
    });
    let (address, _service) = served(&gateway).await;
    let (html, json) = ("text/html;q=0.9", "application/vnd.pypi.simple.v1+json, text/html;q=0.1");
    for (path, accept, parts) in [
        (
            "/simple/foo/",
            html,
            &["200 OK", "content-type: text/html", "href=\"/files/foo/foo-1-py3-none-any.whl\""][..],
        ),
        ("/simple/foo/", json, &["200 OK", "content-type: application/vnd.pypi.simple.v1+json", "\"name\":\"foo\""]),
        ("/files/foo/foo-1-py3-none-any.whl", html, &["200 OK", "the wheel"]),
        // A directory announces no metadata.
        ("/files/foo/foo-1-py3-none-any.whl.metadata", html, &["404"]),
        ("/files/foo/foo-2-py3-none-any.whl", html, &["404"]),
        ("/files/bar/foo-1-py3-none-any.whl", html, &["504", "the network is off"]),
        ("/simple/evil/", html, &["403", "`evil` is not allowed"]),
        ("/simple/evil/", html, &["403"]),
    ] {
        let answer = ask(address, path, accept).await;
        assert!(parts.iter().all(|part| answer.contains(part)), "{path}: {answer}");
        assert!(!answer.contains(&place.path().display().to_string()), "{answer}");
    }
    let reasons = ask(address, "/reasons", html).await;
    assert_eq!(reasons.matches("`evil` is not allowed").count(), 1, "{reasons}");
    let again = ask(address, "/reasons", html).await;
    assert!(again.ends_with("\r\n\r\n"), "{again}");
    // Another session has reasons of its own.
    ask(address, "/simple/evil/", html).await;
    let (other, _service) = served(&gateway).await;
    assert!(ask(other, "/reasons", html).await.ends_with("\r\n\r\n"));
}

#[tokio::test]
async fn an_index_leads_to_no_place_that_only_this_machine_reaches() {
    let trap = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    trap.set_nonblocking(true).expect("set");
    let elsewhere = format!("http://localhost:{}", trap.local_addr().expect("an address").port());
    let page = format!(
        "<a href=\"{elsewhere}/foo-1-py3-none-any.whl\" data-core-metadata=\"true\">foo-1-py3-none-any.whl</a>\
         <a href=\"/foo-2-py3-none-any.whl\">foo-2-py3-none-any.whl</a>"
    );
    let index = index(page, elsewhere);
    let place = tempfile::tempdir().expect("a directory");
    let gateway = gateway(place.path(), |settings| settings.sources.index = Some(format!("http://{index}/simple/")));
    let (address, _service) = served(&gateway).await;
    assert!(ask(address, "/simple/foo/", "*/*").await.contains("foo-2-py3-none-any.whl"));
    for file in ["foo-1-py3-none-any.whl", "foo-1-py3-none-any.whl.metadata", "foo-2-py3-none-any.whl"] {
        let answer = ask(address, &format!("/files/foo/{file}"), "*/*").await;
        assert!(answer.contains("504") && answer.contains("`localhost` is in another network"), "{answer}");
    }
    assert_eq!(trap.accept().expect_err("nobody comes").kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn files_with_names_of_nothing_that_can_be_installed_are_left_out() {
    let names = [
        "../../etc/passwd",
        "foo-1-py3-none-any.whl/../passwd",
        "foo-1-py3-none-any.whl/..",
        "bar-1-py3-none-any.whl",
        "foo-1.exe",
        "foo-1-py3-none-any.whl.metadata",
        "foo-1-py3-none-any\"><b>.whl",
        // These two are in the page, the second one of the same name is not.
        "foo-1-py3-none-any.whl",
        "foo-2.tar.gz",
        "foo-1-py3-none-any.whl",
    ];
    let files = names.map(|name| serde_json::json!({"filename": name, "url": "/x", "hashes": {}}));
    let page = serde_json::json!({"files": files}).to_string();
    let index = index(page, "/".to_owned());
    let place = tempfile::tempdir().expect("a directory");
    let gateway = gateway(place.path(), |settings| settings.sources.index = Some(format!("http://{index}/simple/")));
    let (address, _service) = served(&gateway).await;
    let answer = ask(address, "/simple/foo/", "*/*").await;
    let (_, page) = answer.split_once("<body>").unwrap_or_else(|| panic!("a page: {answer}"));
    let expected = ["foo-1-py3-none-any.whl", "foo-2.tar.gz"]
        .map(|name| format!("<a href=\"/files/foo/{name}\">{name}</a><br>\n"))
        .concat();
    assert_eq!(page.trim_start(), format!("{expected}</body></html>\n"));
}

#[tokio::test]
async fn constraints_hold() {
    let place = tempfile::tempdir().expect("a directory");
    for version in 1..=3 {
        std::fs::write(place.path().join(format!("foo-{version}-py3-none-any.whl")), "").expect("written");
    }
    let gateway = gateway(place.path(), |settings| {
        settings.sources.offline = true;
        settings.sources.find_links = vec![place.path().display().to_string()];
        settings.constraints = vec!["foo<2".parse().expect("a requirement")];
    });
    let (address, _service) = served(&gateway).await;
    let page = ask(address, "/simple/foo/", "*/*").await;
    assert!(page.contains("foo-1-py3-none-any.whl") && !page.contains("foo-2"), "{page}");
    assert!(ask(address, "/files/foo/foo-2-py3-none-any.whl", "*/*").await.contains("404"));
    let reasons = ask(address, "/reasons", "*/*").await;
    let reason = "2 files of `foo` are left out. The first: the constraint `foo<2` excludes `foo 2`";
    assert!(reasons.contains(reason) || reasons.contains(&reason.replace("`foo 2`", "`foo 3`")), "{reasons}");
}

#[tokio::test(start_paused = true)]
async fn connections_that_say_nothing_end_and_the_next_ones_are_served() {
    let place = tempfile::tempdir().expect("a directory");
    let (address, _service) = served(&gateway(place.path(), |_| {})).await;
    let mut silent = Vec::new();
    for number in 0..3 * MAX_CONNECTIONS {
        let mut stream = TcpStream::connect(address).await.expect("connected");
        stream.write_all(&b"GET /reasons"[..number % 2]).await.expect("written");
        silent.push(stream);
    }
    assert!(ask(address, "/reasons", "*/*").await.contains("200 OK"));
    for mut stream in silent {
        assert_eq!(stream.read_to_end(&mut Vec::new()).await.expect("closed"), 0);
    }
}

#[tokio::test]
async fn an_installer_that_keeps_all_of_its_connections_does_not_wait_for_itself() {
    let place = tempfile::tempdir().expect("a directory");
    let (address, _service) = served(&gateway(place.path(), |_| {})).await;
    let mut kept = Vec::new();
    for _ in 0..3 * MAX_CONNECTIONS {
        let mut stream = TcpStream::connect(address).await.expect("connected");
        stream.write_all(b"GET /reasons HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("written");
        kept.push(stream);
    }
    let mut closing = 0;
    for stream in &mut kept {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("an answer"));
        }
        closing += usize::from(String::from_utf8_lossy(&head).contains("connection: close"));
    }
    assert!(closing >= 3 * MAX_CONNECTIONS - MAX_CONNECTIONS, "{closing}");
}

#[tokio::test(start_paused = true)]
async fn a_download_waits_for_its_reader_for_a_bounded_time() {
    let place = tempfile::tempdir().expect("a directory");
    let session = Arc::new(GatewaySession::new(Arc::clone(&gateway(place.path(), |_| {}).inner)));
    let (mut sink, mut pieces) = Passing::new(Arc::clone(&session));
    let reader = tokio::spawn(async move {
        let mut bytes = 0;
        // It reads slowly, and stops.
        while bytes < 1 << 20
            && let Some(piece) = pieces.recv().await
        {
            bytes += piece.len();
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
        pieces
    });
    let error = sink.take(&vec![0; 4 << 20]).await.expect_err("nobody reads");
    assert!(sink.pass_all(vec![0; 4 << 20].into()).await.is_err());
    assert!(error.to_string().contains("the installer does not read it"), "{error}");
    drop(reader);
    // A part of the file was sent, so it does not start again.
    assert!(sink.begin().await.is_err());
}

#[tokio::test]
async fn bytes_of_a_session_are_bounded() {
    let place = tempfile::tempdir().expect("a directory");
    let session = GatewaySession::new(Arc::clone(&gateway(place.path(), |_| {}).inner));
    let half = usize::try_from(MAX_SESSION_BYTES / 2).expect("it fits");
    session.count_bytes(half).expect("allowed");
    session.count_bytes(half).expect("allowed");
    let error = session.count_bytes(1).expect_err("too many");
    assert!(error.to_string().contains("which is the most"), "{error}");
}

#[tokio::test]
async fn requests_of_a_session_are_bounded() {
    let place = tempfile::tempdir().expect("a directory");
    let gateway = gateway(place.path(), |settings| settings.sources.offline = true);
    let session = Arc::new(GatewaySession::new(Arc::clone(&gateway.inner)));
    session.requests.store(MAX_SESSION_REQUESTS - 1, std::sync::atomic::Ordering::Relaxed);
    let request = hyper::Request::get("/files/foo/foo.whl.metadata").body(()).expect("a request");
    for status in [hyper::StatusCode::GATEWAY_TIMEOUT, hyper::StatusCode::FORBIDDEN] {
        assert_eq!(session.answer(&request).await.status(), status);
    }
}

#[tokio::test]
async fn a_session_takes_a_part_of_the_downloads() {
    let place = tempfile::tempdir().expect("a directory");
    let gateway = gateway(place.path(), |_| {});
    let (one, other) =
        (GatewaySession::new(Arc::clone(&gateway.inner)), GatewaySession::new(Arc::clone(&gateway.inner)));
    let mut slots: Vec<_> = (0..MAX_SESSION_DOWNLOADS).map(|_| one.slots().now_or_never()).collect();
    assert!(slots.iter().all(Option::is_some));
    assert!(one.slots().now_or_never().is_none());
    assert!(other.slots().now_or_never().is_some());
    slots.pop();
    assert!(one.slots().now_or_never().is_some());
}

#[tokio::test]
async fn long_pages_arrive_whole() {
    let file =
        |number| serde_json::json!({"filename": format!("foo-{number}-py3-none-any.whl"), "url": "/x", "hashes": {}});
    let page = serde_json::json!({"files": (0..2000).map(file).collect::<Vec<_>>()}).to_string();
    let index = index(page, "/".to_owned());
    let place = tempfile::tempdir().expect("a directory");
    let gateway = gateway(place.path(), |settings| settings.sources.index = Some(format!("http://{index}/simple/")));
    let (address, _service) = served(&gateway).await;
    let answer = ask(address, "/simple/foo/", "*/*").await;
    let (head, page) = answer.split_once("\r\n\r\n").expect("an answer");
    assert!(page.len() > body::PIECE_BYTES && head.contains(&format!("content-length: {}", page.len())), "{head}");
    assert_eq!(page.matches("<a href=").count(), 2000);
    assert!(page.ends_with("</html>\n"));
}
