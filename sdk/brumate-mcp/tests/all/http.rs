//! HTTP: who is let in, what is accepted, how much; old and new protocols side by side.

use crate::support::{Http, MODERN, call, meta, read, read_until};
use axum::body::Body;
use brumate_mcp::{App, Content, Context, HttpOptions, Server, tool};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

#[tool(name = "name")]
async fn name_tool(context: Context) -> String {
    context.info("asked").await;
    context.server().add_tool(late).expect("a tool");
    format!("{:?}", context.http().map(|head| head.uri.path().to_owned()))
}

#[tool]
async fn late() -> Content {
    Content::text("late")
}

#[tool]
async fn quiet() -> Content {
    Content::text("quiet")
}

#[tool(name = "header")]
async fn header_tool(#[arg(header = "Tenant")] tenant: String) -> Content {
    Content::text(tenant)
}

fn server(label: &str) -> Server {
    Server::new(label).tool(name_tool).tool(quiet).tool(header_tool)
}

/// E: rmcp wants both media types named, as the protocol says; simple clients send wildcards.
#[tokio::test]
async fn wildcards_are_accepted_and_json_alone_where_answers_are_json() {
    let cases = [
        ("*/*", false, StatusCode::OK),
        ("application/*, text/*;q=0.5", false, StatusCode::OK),
        ("application/json", false, StatusCode::NOT_ACCEPTABLE),
        ("application/json", true, StatusCode::OK),
        ("text/html", true, StatusCode::NOT_ACCEPTABLE),
    ];
    for (accept, json, expected) in cases {
        let options = HttpOptions::new().stateless();
        let options = if json { options.json_responses() } else { options };
        let http = Http::new(&server("accept"), options).with("accept", accept);
        assert_eq!(http.call(1, "quiet", json!({})).await.status, expected, "{accept} {json}");
    }
}

/// F: rmcp checks no origins unless told to.
#[tokio::test]
async fn foreign_pages_and_names_are_refused() {
    for (header, value, expected) in [
        ("origin", "http://evil.example", StatusCode::FORBIDDEN),
        ("origin", "http://localhost:6274", StatusCode::OK),
        ("host", "evil.example", StatusCode::FORBIDDEN),
    ] {
        let http = Http::new(&server("guard"), HttpOptions::new().stateless().legacy_sse()).with(header, value);
        assert_eq!(http.call(1, "quiet", json!({})).await.status, expected, "{value}");
        let sse = http.send("GET", "/sse", Body::empty()).await;
        assert_eq!(sse.status(), expected, "{value}");
    }
    let options = HttpOptions::new().stateless().allow_host("mcp.example").allow_origin("https://app.example");
    let http =
        Http::new(&server("guard"), options).with("host", "mcp.example:8443").with("origin", "https://app.example");
    assert_eq!(http.call(1, "quiet", json!({})).await.status, StatusCode::OK);
}

/// G: rmcp answers preflight requests with 405.
#[tokio::test]
async fn pages_that_are_let_in_can_use_the_endpoint() {
    let http = Http::new(&server("cors"), HttpOptions::new());
    let preflight = |origin: &str| {
        http.clone()
            .with("origin", origin)
            .with("access-control-request-method", "POST")
            .with("access-control-request-headers", "mcp-protocol-version,mcp-param-tenant")
    };
    let allowed = read(preflight("http://localhost:6274").send("OPTIONS", "/mcp", Body::empty()).await).await;
    assert_eq!(allowed.status, StatusCode::OK);
    assert_eq!(allowed.headers["access-control-allow-origin"], "http://localhost:6274");
    assert_eq!(allowed.headers["access-control-allow-headers"], "mcp-protocol-version,mcp-param-tenant");
    let refused = read(preflight("http://evil.example").send("OPTIONS", "/mcp", Body::empty()).await).await;
    assert!(!refused.headers.contains_key("access-control-allow-origin"));
    let session = http.with("origin", "http://localhost:6274").session().await;
    let answer = session.call(1, "quiet", json!({})).await;
    let exposed = answer.headers["access-control-expose-headers"].to_str().expect("text");
    assert!(exposed.contains("mcp-session-id"), "{exposed}");
}

#[tokio::test]
async fn large_bodies_are_refused() {
    let http = Http::new(&server("bodies"), HttpOptions::new().stateless().max_body(1000));
    let answer = http.call(1, "quiet", json!({"text": "x".repeat(1000)})).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
}

/// O: rmcp answers what is no message as what does not claim to be JSON.
#[tokio::test]
async fn what_is_no_message_is_an_error_of_the_protocol() {
    for options in [HttpOptions::new(), HttpOptions::new().stateless().json_responses()] {
        let http = Http::new(&server("readers"), options);
        let deep =
            format!(r#"{{"jsonrpc":"2.0","id":3,"method":"ping","params":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        for (body, code, id) in [
            ("", -32700, None),
            ("{oops", -32700, None),
            ("{}{}", -32700, None),
            ("3", -32600, None),
            ("\"\\ud800\"", -32600, None),
            ("[]", -32600, None),
            ("{}", -32600, None),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600, Some(json!(1))),
            (r#"{"jsonrpc":"2.0","method":"ping","params":{"a":},"id":"a"}"#, -32700, Some(json!("a"))),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Some(json!(1.5))),
            (&deep, -32700, Some(json!(3))),
        ] {
            let body = body.to_owned();
            let answer = read(http.send("POST", "/mcp", Body::from(body.clone())).await).await;
            assert_eq!((answer.status, answer.content_type()), (StatusCode::BAD_REQUEST, "application/json"), "{body}");
            let error = answer.last();
            assert_eq!(
                (&error["jsonrpc"], &error["error"]["code"], error.get("id")),
                (&json!("2.0"), &json!(code), id.as_ref())
            );
        }
        let answer = read(http.send("POST", "/mcp", Body::from(&b"\xff\xfe"[..])).await).await;
        assert_eq!((answer.status, &answer.last()["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32700)));
        let text = http.with("content-type", "text/plain");
        let answer = read(text.send("POST", "/mcp", Body::from("{oops")).await).await;
        assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
}

/// Without a session a log level would be accepted and forgotten.
#[tokio::test]
async fn a_level_that_would_be_forgotten_is_refused() {
    let set = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "warning"}});
    let http = Http::new(&server("forgetful"), HttpOptions::new().stateless().json_responses());
    let answer = http.post(&set).await;
    assert_eq!(answer.last()["error"]["code"], -32600, "{}", answer.body);
    assert!(answer.body.contains("keeps no sessions"), "{}", answer.body);
}

/// H: rmcp sends log messages to clients of 2026-07-28 that asked for none.
#[tokio::test]
async fn since_2026_07_28_who_wants_log_messages_says_so() {
    let http = Http::new(&server("levels"), HttpOptions::new());
    assert_eq!(http.call_modern("name", json!({})).await.messages().len(), 1);
    for (level, expected) in [("info", 2), ("warning", 1)] {
        let mut meta = meta(json!({}));
        meta["io.modelcontextprotocol/logLevel"] = level.into();
        let params = json!({"name": "name", "arguments": {}, "_meta": meta});
        let http =
            http.clone().with("mcp-protocol-version", MODERN).with("mcp-method", "tools/call").with("mcp-name", "name");
        let answer = http.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await;
        assert_eq!(answer.messages().len(), expected, "{level}: {}", answer.body);
    }
}

#[tokio::test]
async fn one_endpoint_speaks_all_protocols() {
    let http = Http::new(&server("versions"), HttpOptions::new());
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let answer = http.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        assert_eq!(answer.last()["result"]["protocolVersion"], version);
        // Only newer clients expect streams to begin with an empty event.
        let session = http.clone().with("mcp-session-id", answer.headers["mcp-session-id"].to_str().expect("text"));
        let answer = session.call(1, "quiet", json!({})).await;
        assert_eq!(answer.body.matches("data:").count(), if version == "2025-11-25" { 2 } else { 1 }, "{version}");
    }
    let answer = http.call_modern("quiet", json!({})).await.last();
    assert_eq!((&answer["result"]["resultType"], &answer["error"]), (&json!("complete"), &Value::Null));
}

#[tokio::test]
async fn an_argument_with_a_header_must_be_in_both() {
    let http = Http::new(&server("headers"), HttpOptions::new());
    let answer = http.call_modern("header", json!({"tenant": "a"})).await;
    assert_eq!((answer.status, &answer.last()["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32020)));
    let answer = http.with("mcp-param-tenant", "a").call_modern("header", json!({"tenant": "a"})).await;
    assert_eq!(answer.last()["result"]["content"][0]["text"], "a");
}

#[tokio::test]
async fn servers_are_mounted_by_path_and_by_host() {
    let app = App::new()
        .mount("/one", server("one"), HttpOptions::new().stateless().json_responses())
        .mount("/two", server("two"), HttpOptions::new().stateless().json_responses().path("/rpc"))
        .mount_host("mcp.example", server("three"), HttpOptions::new().stateless().json_responses());
    let router = app.router();
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    for (host, path, expected) in [
        ("localhost", "/one/mcp", Some("one")),
        ("localhost:80", "/two/rpc", Some("two")),
        ("mcp.example", "/mcp", Some("three")),
        ("mcp.example", "/one/mcp", None),
        ("localhost", "/mcp", None),
    ] {
        let request = Request::post(path)
            .header("host", host)
            .header("accept", "*/*")
            .header("content-type", "application/json")
            .body(Body::from(message.to_string()))
            .expect("a request");
        let Ok(response) = router.clone().oneshot(request).await;
        let found = (response.status() == StatusCode::OK).then_some(response);
        let name = match found {
            Some(response) => {
                let body = response.into_body().collect().await.expect("a body").to_bytes();
                let answer: Value = serde_json::from_slice(&body).expect("JSON");
                answer["result"]["serverInfo"]["name"].as_str().map(str::to_owned)
            }
            None => None,
        };
        assert_eq!(name.as_deref(), expected, "{host}{path}");
    }
}

/// The address of messages is the one that clients see: below the path of the proxy in front.
#[tokio::test]
async fn the_older_transport_names_addresses_as_clients_see_them() {
    let options = HttpOptions::new().legacy_sse().public_url("https://mcp.example/tools").expect("a URL");
    let options = options.trust_proxy("10.0.0.0/8").expect("a network");
    let router = App::new().mount("", server("old"), options).router();
    let cases = [
        ("mcp.example", "127.0.0.1", None, "/tools/messages/"),
        ("localhost", "10.0.0.1", Some("/other"), "/other/messages/"),
        ("localhost", "192.0.2.1", Some("/other"), "/tools/messages/"),
    ];
    for (host, peer, prefix, expected) in cases {
        let mut request = Request::get("/sse").header("host", host);
        if let Some(prefix) = prefix {
            request = request.header("x-forwarded-prefix", prefix);
        }
        let mut request = request.body(Body::empty()).expect("a request");
        let address = std::net::SocketAddr::new(peer.parse().expect("an address"), 1);
        request.extensions_mut().insert(axum::extract::ConnectInfo(address));
        let Ok(mut stream) = router.clone().oneshot(request).await;
        assert_eq!(stream.headers()["x-accel-buffering"], "no");
        let frame = stream.frame().await.expect("an event").expect("a frame").into_data().expect("data");
        let first = std::str::from_utf8(&frame).expect("text").to_owned();
        assert!(first.contains(&format!("data: {expected}?session_id=")), "{host} {peer} {prefix:?}: {first}");
    }
    for url in ["mcp.example", "ftp://mcp.example", "https://", "https://a@b/", "https://a/?b", "https://a/b c"] {
        assert!(HttpOptions::new().public_url(url).is_err(), "{url}");
    }
}

/// The address of messages includes where the server is mounted.
#[tokio::test]
async fn the_older_transport_works_below_a_path() {
    let router = App::new().mount("/old", server("old"), HttpOptions::new().legacy_sse()).router();
    let request = Request::get("/old/sse").header("host", "localhost").body(Body::empty()).expect("a request");
    let Ok(mut stream) = router.clone().oneshot(request).await;
    let frame = stream.frame().await.expect("an event").expect("a frame").into_data().expect("data");
    let first = std::str::from_utf8(&frame).expect("text").to_owned();
    let address = first.lines().find_map(|line| line.strip_prefix("data: ")).expect("an address").to_owned();
    assert!(first.contains("event: endpoint") && address.starts_with("/old/messages/?session_id="), "{first}");
    let post = async |address: &str, message: Value| {
        let request = Request::post(address).header("host", "localhost").body(Body::from(message.to_string()));
        let Ok(response) = router.clone().oneshot(request.expect("a request")).await;
        response.status()
    };
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client});
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    assert_eq!(post(&address, message).await, StatusCode::ACCEPTED);
    read_until(&mut stream, "").await;
    post(&address, json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!(post(&address, call(1, "name", json!({}))).await, StatusCode::ACCEPTED);
    let messages = read_until(&mut stream, "").await;
    assert!(messages.iter().any(|(_, message)| message["params"]["data"] == "asked"), "{messages:?}");
    assert_eq!(post(&address, json!([])).await, StatusCode::BAD_REQUEST);
    assert_eq!(post("/old/messages/?session_id=0", json!({})).await, StatusCode::NOT_FOUND);
    drop(stream);
    while post(&address, call(2, "quiet", json!({}))).await != StatusCode::NOT_FOUND {
        tokio::task::yield_now().await;
    }
}
