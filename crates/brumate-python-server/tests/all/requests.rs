//! Requests that an ASGI application of plain Python answers.

use std::sync::atomic::Ordering;

use axum::body::Body;
use brumate_mcp::{HttpOptions, Principal};
use brumate_python_server::http::HttpService;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::support::{limits, serve_app, serve_app_by};

/// Answers with what it was asked.
const ECHO: &str = r#"
import json

async def app(scope, receive, send):
    assert scope["type"] == "http"
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]]
    facts = {key: scope[key] for key in ("method", "path", "http_version", "scheme", "client", "server", "root_path")}
    facts |= {"query": scope["query_string"].decode(), "headers": headers, "body": body.decode()}
    status = int(dict(scope["headers"]).get(b"x-status", b"200"))
    answer = [(b"content-type", b"application/json"), (b"server", b"mine"), (b"date", b"never"), (b"connection", b"x-hop"),
              (b"x-hop", b"1"), (b"x-own", b"2"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]
    await send({"type": "http.response.start", "status": status, "headers": answer})
    await send({"type": "http.response.body", "body": json.dumps(facts).encode()})
"#;

#[tokio::test]
async fn a_request_reaches_the_application_and_its_response_the_client() {
    let served = serve_app(ECHO).await;
    let request = Request::post("/a%20b?q=%41")
        .header("x-name", "1")
        .header("x-brumate-principal", "eve")
        .header("authorization", "Bearer of-the-application")
        .body(Body::from("hello"));
    let answer = served.ask(request.unwrap()).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let facts: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        (&facts["method"], &facts["path"], &facts["query"], &facts["body"], &facts["http_version"], &facts["scheme"]),
        (&json!("POST"), &json!("/a b"), &json!("q=%41"), &json!("hello"), &json!("1.1"), &json!("http"))
    );
    assert_eq!((&facts["server"], &facts["root_path"]), (&json!(["127.0.0.1", served.address.port()]), &json!("")));
    assert_eq!(facts["client"][0], "127.0.0.1");
    let host = served.address.to_string();
    assert_eq!(
        facts["headers"],
        json!([
            ["x-name", "1"],
            ["authorization", "Bearer of-the-application"],
            ["host", host],
            ["content-length", "5"]
        ])
    );
    let mut names: Vec<&str> = answer.headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names.join(" "),
        "access-control-expose-headers content-type date set-cookie transfer-encoding vary x-own"
    );
    assert_ne!(answer.headers["date"], "never");
    assert_eq!(answer.headers.get_all("set-cookie").iter().count(), 2);
    served.stop().await.unwrap();
}

#[tokio::test]
async fn the_host_checks_tokens_and_names_the_principal() {
    let options = HttpOptions::new().bearer(|token| (token == "secret").then(|| Principal::new("ada")));
    let served = serve_app_by(ECHO, HttpService::new(options).limits(limits())).await;
    let ask = async |token: Option<&str>, host: Option<&str>| {
        let mut request = Request::get("/").header("x-brumate-principal", "eve");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(host) = host {
            request = request.header("host", host);
        }
        served.ask(request.body(Body::empty()).unwrap()).await
    };
    assert_eq!(ask(None, None).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(ask(Some("wrong"), None).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(ask(Some("secret"), Some("evil.example")).await.status, StatusCode::FORBIDDEN);
    let answer = ask(Some("secret"), None).await;
    let facts: Value = serde_json::from_str(&answer.body).unwrap();
    let host = served.address.to_string();
    assert_eq!(facts["headers"], json!([["host", host], ["x-brumate-principal", "ada"]]));
    served.stop().await.unwrap();
}

#[tokio::test]
async fn some_responses_have_no_body() {
    let served = serve_app(ECHO).await;
    for (method, status) in [("HEAD", 200), ("GET", 204), ("GET", 304)] {
        let request = Request::builder().method(method).uri("/").header("x-status", status.to_string());
        let answer = served.ask(request.body(Body::empty()).unwrap()).await;
        assert_eq!((answer.status.as_u16(), answer.body.as_str()), (status, ""), "{method}");
        assert_eq!(answer.headers["x-own"], "2");
    }
    assert_eq!(served.get("/").await.status, StatusCode::OK);
    served.stop().await.unwrap();
}

#[tokio::test]
async fn bodies_of_requests_are_bounded() {
    let service = HttpService::new(HttpOptions::new().max_body(100_000)).limits(limits());
    let served = serve_app_by(ECHO, service).await;
    let post = |body: Body| Request::post("/").body(body).unwrap();
    let chunks = |count: usize| {
        let chunks = (0..count).map(|_| Ok::<_, std::io::Error>(vec![b'x'; 10_000]));
        Body::from_stream(futures::stream::iter(chunks))
    };
    for (body, status) in [
        (Body::from(vec![b'x'; 100_000]), 200),
        (Body::from(vec![b'x'; 100_001]), 413),
        (chunks(10), 200),
        (chunks(11), 413),
    ] {
        assert_eq!(served.ask(post(body)).await.status, status);
    }
    assert_eq!(served.launcher.started.load(Ordering::SeqCst), 1);
    served.stop().await.unwrap();
}

#[tokio::test]
async fn two_hundred_requests_are_answered_at_the_same_time() {
    // Nobody is answered before all have asked.
    let source = r#"
import asyncio
waiting, everybody = 0, asyncio.Event()

async def app(scope, receive, send):
    global waiting
    assert scope["type"] == "http"
    waiting += 1
    if waiting == 200:
        everybody.set()
    await everybody.wait()
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": scope["path"].encode()})
"#;
    let served = serve_app(source).await;
    let paths: Vec<String> = (0..200).map(|number| format!("/{number}")).collect();
    let answers = futures::future::join_all(paths.iter().map(|path| served.get(path))).await;
    for (path, answer) in paths.iter().zip(answers) {
        assert_eq!((answer.status, &answer.body), (StatusCode::OK, path));
    }
    served.stop().await.unwrap();
}

#[tokio::test]
async fn applications_that_fail_answer_500() {
    let source = r#"
async def app(scope, receive, send):
    assert scope["type"] == "http"
    if scope["path"] == "/late":
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
    if scope["path"] == "/header":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b\r\nc: d")]})
    raise ValueError("it always does")
"#;
    let served = serve_app(source).await;
    for path in ["/", "/header"] {
        let answer = served.get(path).await;
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"));
    }
    // The connection may be cut before the head is sent.
    if let Ok(response) = served.try_send(Request::get("/late").body(Body::empty()).unwrap()).await {
        assert_eq!(response.status(), StatusCode::OK);
        let whole = http_body_util::BodyExt::collect(response.into_body()).await;
        assert!(whole.is_err(), "a response that was cut off does not look whole");
    }
    assert_eq!(served.launcher.started.load(Ordering::SeqCst), 1, "the machine goes on");
    served.stop().await.unwrap();
}
