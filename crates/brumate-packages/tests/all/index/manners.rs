//! Servers that fail, lie and delay: every error says what happened, and nothing grows without a limit.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use brumate_packages::index::IndexError;
use brumate_packages::resolver::{Resolution, ResolutionError};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::server::{Reply, Request, Server};
use super::wheels::{digest, metadata, names, page, resolve, settings, wheel};

const WHEEL: &str = "foo-1.0-py3-none-any.whl";
const OLDER: &str = "foo-0.9-py3-none-any.whl";

async fn ask(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Result<Resolution, ResolutionError> {
    let server = Server::start(answer).await;
    resolve(settings(&server), &["foo"]).await
}

fn index_error(result: Result<Resolution, ResolutionError>) -> IndexError {
    match result {
        Err(ResolutionError::Index(error)) => error,
        other => panic!("not an error of the index: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_named() {
    let error = ask(|_| Reply::status(404)).await.expect_err("not there");
    assert!(matches!(error, ResolutionError::NoSolution(_)));
    assert!(error.to_string().contains("no source has a package `foo`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_server_is_asked_again_and_then_named() {
    let error = index_error(ask(|_| Reply::status(500)).await);
    assert!(matches!(error, IndexError::Status { status: 500, attempts: 3, .. }), "{error:?}");
    assert!(error.to_string().contains("tried 3 times"), "{error}");

    let calls = AtomicUsize::new(0);
    let recovered = ask(move |request| match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::status(503).header("Retry-After", "0"),
        1 => Reply::status(429),
        _ if request.path.ends_with(".metadata") => Reply::new(200, "", metadata("foo", "1.0", &[])),
        _ => Reply::json(&page(&[(WHEEL, r#", "core-metadata": true"#)])),
    });
    assert_eq!(names(&recovered.await.expect("in the end")), ["foo==1.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_refusals_are_not_repeated() {
    let server = Server::start(|_| Reply::status(418)).await;
    let error = index_error(resolve(settings(&server), &["foo"]).await);
    assert!(matches!(error, IndexError::Status { status: 418, attempts: 1, .. }), "{error:?}");
    assert_eq!(server.requests().len(), 1);

    let error = index_error(ask(|_| Reply::status(403)).await);
    assert!(matches!(error, IndexError::Forbidden { .. }) && error.to_string().contains("netrc"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_answers_are_errors() {
    let error = index_error(
        ask(|_| {
            let mut reply = Reply::json(&page(&[(WHEEL, "")]));
            reply.announced = Some(reply.body.len() + 100);
            reply
        })
        .await,
    );
    assert!(matches!(error, IndexError::Transport { attempts: 3, .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_ends() {
    let server = Server::start(|_| {
        let mut reply = Reply::json(&page(&[(WHEEL, "")]));
        reply.silence = Duration::from_secs(3600);
        reply
    })
    .await;
    let mut settings = settings(&server);
    settings.timeout = Duration::from_millis(100);
    let error = index_error(resolve(settings, &["foo"]).await);
    assert!(matches!(error, IndexError::Timeout { attempts: 3, .. }), "{error:?}");
    assert!(error.to_string().contains("UV_HTTP_TIMEOUT"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_connection_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let server = Server::start(|_| Reply::status(404)).await;
    let mut settings = settings(&server);
    settings.indexes[0].url = format!("http://{address}/simple/").parse().expect("a URL");
    let error = index_error(resolve(settings, &["foo"]).await);
    assert!(matches!(error, IndexError::Transport { attempts: 3, .. }), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_with_another_hash_is_refused() {
    let error = index_error(
        ask(|request| {
            if request.path.ends_with(".metadata") {
                return Reply::new(200, "", metadata("foo", "1.0", &["evil"]));
            }
            let promised = digest(metadata("foo", "1.0", &[]).as_bytes());
            Reply::json(&page(&[(WHEEL, &format!(r#", "core-metadata": {{"sha256": "{promised}"}}"#))]))
        })
        .await,
    );
    assert!(matches!(error, IndexError::Hash { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_wheel_with_another_hash_is_refused() {
    let error = index_error(
        ask(|request| {
            if request.path.ends_with(".whl") {
                return Reply::new(200, "", wheel("foo", "1.0", &["evil"], 10));
            }
            let promised = digest(&wheel("foo", "1.0", &[], 10));
            let file =
                format!(r#"{{"filename": "{WHEEL}", "url": "/files/{WHEEL}", "hashes": {{"sha256": "{promised}"}}}}"#);
            Reply::json(&format!(r#"{{"files": [{file}]}}"#))
        })
        .await,
    );
    assert!(matches!(error, IndexError::Hash { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_followed_and_loops_end() {
    let followed = ask(|request| match request.path.as_str() {
        "/simple/foo/" => Reply::redirect("/moved/simple/foo/"),
        "/moved/simple/foo/" => Reply::html(&format!("<a href='../../files/{WHEEL}' data-core-metadata=true>x</a>")),
        path if path == format!("/moved/files/{WHEEL}.metadata") => Reply::new(200, "", metadata("foo", "1.0", &[])),
        _ => Reply::status(404),
    });
    assert_eq!(names(&followed.await.expect("followed")), ["foo==1.0"]);

    let error = index_error(ask(|_| Reply::redirect("/simple/foo/")).await);
    assert!(matches!(error, IndexError::Redirect { .. }), "{error:?}");
    assert!(error.to_string().contains("redirects"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gigantic_answers_are_not_read() {
    let error = index_error(
        ask(|_| {
            let mut reply = Reply::json("{");
            reply.announced = Some(1 << 40);
            reply
        })
        .await,
    );
    assert!(matches!(error, IndexError::TooLarge { .. }), "{error:?}");

    // Few bytes on the wire, many after decompression.
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(metadata("foo", "1.0", &[]).as_bytes()).expect("written");
    bomb.write_all(&vec![b'x'; 9 << 20]).expect("written");
    let bomb = bomb.finish().expect("finished");
    assert!(bomb.len() < 100_000);
    let error = index_error(
        ask(move |request| {
            if request.path.ends_with(".metadata") {
                return Reply::new(200, "", bomb.clone()).header("Content-Encoding", "gzip");
            }
            Reply::json(&page(&[(WHEEL, r#", "core-metadata": true"#)]))
        })
        .await,
    );
    assert!(matches!(error, IndexError::TooLarge { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_are_none_are_errors() {
    for (reply, part) in [
        (Reply::json("{\"files\": ["), "JSON"),
        (Reply::json("{\"meta\": {\"api-version\": \"9.0\"}, \"files\": []}"), "9.0"),
        (Reply::new(200, "image/png", "x"), "image/png"),
    ] {
        let error = index_error(ask(move |_| reply.clone()).await);
        assert!(matches!(error, IndexError::Malformed { .. }) && error.to_string().contains(part), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_with_unusable_metadata_is_passed_over() {
    for broken in [
        metadata("bar", "1.0", &[]),
        metadata("foo", "2.0", &[]),
        "Name: foo\n".to_owned(),
        metadata("foo", "1.0", &["!"]),
    ] {
        let answer = move |request: &Request| match request.path.as_str() {
            path if path.ends_with(&format!("{WHEEL}.metadata")) => Reply::new(200, "", broken.clone()),
            path if path.ends_with(".metadata") => Reply::new(200, "", metadata("foo", "0.9", &[])),
            _ => Reply::json(&page(&[(WHEEL, r#", "core-metadata": true"#), (OLDER, r#", "core-metadata": true"#)])),
        };
        let server = Server::start(answer).await;
        assert_eq!(names(&resolve(settings(&server), &["foo"]).await.expect("older")), ["foo==0.9"]);
        let error = resolve(settings(&server), &["foo>=1"]).await.expect_err("unusable");
        assert!(error.to_string().contains("metadata of `foo` is unusable"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_spare_the_wheel() {
    let bytes = wheel("foo", "1.0", &["bar; sys_platform == 'win32'"], 1 << 20);
    let size = bytes.len();
    let server = Server::start(move |request| {
        if request.path.ends_with(".whl") {
            return Reply::file(request, &bytes);
        }
        Reply::json(&page(&[(WHEEL, "")]))
    })
    .await;
    assert_eq!(names(&resolve(settings(&server), &["foo"]).await.expect("found")), ["foo==1.0"]);
    let ranges: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.header("range").to_owned())
        .filter(|range| !range.is_empty())
        .collect();
    // The end, then the bytes around the metadata in the middle.
    assert!((2..=4).contains(&ranges.len()), "{ranges:?} of {size}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_ranges_sends_the_wheel() {
    let bytes = wheel("foo", "1.0", &[], 1000);
    let server = Server::start(move |request| {
        if request.path.ends_with(".whl") {
            return Reply::new(200, "", bytes.clone());
        }
        Reply::json(&page(&[(WHEEL, "")]))
    })
    .await;
    assert_eq!(names(&resolve(settings(&server), &["foo"]).await.expect("found")), ["foo==1.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_that_lie_are_errors() {
    let error = {
        let bytes = wheel("foo", "1.0", &[], 1 << 20);
        let server = Server::start(move |request| match request.header("range") {
            "" if request.path.ends_with(".whl") => Reply::status(500),
            "" => Reply::json(&page(&[(WHEEL, "")])),
            range if range.starts_with("bytes=-") => Reply::file(request, &bytes),
            _ => Reply::new(206, "", "xx").header("Content-Range", &format!("bytes 0-1/{}", bytes.len())),
        })
        .await;
        resolve(settings(&server), &["foo"]).await.expect_err("refused")
    };
    assert!(error.to_string().contains("other ranges"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promised_metadata_file_may_be_absent() {
    let bytes = wheel("foo", "1.0", &[], 10);
    let server = Server::start(move |request| match request.path.as_str() {
        path if path.ends_with(".metadata") => Reply::status(404),
        path if path.ends_with(".whl") => Reply::file(request, &bytes),
        _ => Reply::json(&page(&[(WHEEL, r#", "core-metadata": true"#)])),
    })
    .await;
    assert_eq!(names(&resolve(settings(&server), &["foo"]).await.expect("found")), ["foo==1.0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_kept_as_long_as_their_server_says() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let server = Server::start(|request| {
        if request.path.ends_with(".metadata") {
            return Reply::new(200, "", metadata("foo", "1.0", &[]))
                .header("Cache-Control", "max-age=1000000, immutable");
        }
        if request.header("if-none-match") == "\"v1\"" {
            return Reply::status(304).header("ETag", "\"v1\"");
        }
        Reply::json(&page(&[(WHEEL, r#", "core-metadata": true"#)])).header("ETag", "\"v1\"")
    })
    .await;
    let mut settings = settings(&server);
    settings.cache_directory = Some(directory.path().to_owned());
    for _ in 0..2 {
        assert_eq!(names(&resolve(settings.clone(), &["foo"]).await.expect("found")), ["foo==1.0"]);
    }
    let asked: Vec<(String, String)> = server
        .requests()
        .iter()
        .map(|request| (request.path.clone(), request.header("if-none-match").to_owned()))
        .collect();
    let page = || "/simple/foo/".to_owned();
    let metadata_path = format!("/files/{WHEEL}.metadata");
    assert_eq!(asked, [(page(), String::new()), (metadata_path, String::new()), (page(), "\"v1\"".to_owned())]);

    // Without the network the cached copy is enough, of any age.
    settings.offline = true;
    assert_eq!(names(&resolve(settings.clone(), &["foo"]).await.expect("kept")), ["foo==1.0"]);
    assert_eq!(server.requests().len(), 3);
    let error = resolve(settings, &["bar"]).await.expect_err("not kept");
    assert!(error.to_string().contains("the network is off"), "{error}");
}
