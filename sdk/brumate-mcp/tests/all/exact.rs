//! Numbers that `serde_json::Value` would round, and texts that are no Unicode, between clients and servers.

use crate::support::{Http, LEGACY, Pipe, read, text};
use axum::body::Body;
use brumate_mcp::client::{ClientError, Protocol};
use brumate_mcp::{App, Client, Content, Context, Error, HttpOptions, Server, Tool, tool};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

const LARGE: i128 = (1 << 64) + 3;

/// Adds.
#[tool]
async fn add(a: i128, b: u64) -> Content {
    Content::text((a + i128::from(b)).to_string())
}

#[tool]
async fn keep(value: Value) -> Content {
    Content::text(value.to_string())
}

#[tool]
async fn double(a: i128) -> i128 {
    a * 2
}

#[tool]
async fn same(value: Box<RawValue>) -> Box<RawValue> {
    value
}

#[tool]
async fn as_text(value: Box<RawValue>) -> String {
    value.get().to_owned()
}

#[tool]
async fn ask(context: Context) -> Result<Content, Error> {
    context.elicit_url("Sign in", "https://example.com/sign-in").await?;
    Ok(Content::text("asked"))
}

fn server() -> Server {
    let raw = Tool::new("raw").raw_handler(|arguments: Value, _| async move { Content::text(arguments.to_string()) });
    Server::new("Exact").tool(add).tool(keep).tool(double).tool(same).tool(as_text).tool(raw)
}

async fn exercise(client: &Client) {
    let result = client.call("add").arg("a", LARGE).arg("b", u64::MAX).await.unwrap();
    assert_eq!(result.text(), (LARGE + i128::from(u64::MAX)).to_string());
    let refused = client.call("add").arg("a", 1).arg("b", LARGE).await.unwrap();
    assert!(refused.is_error && refused.text().contains("18446744073709551619 is out of range"), "{}", refused.text());
    // Numbers that would be rounded are refused.
    for tool in ["keep", "raw"] {
        assert!(!client.call(tool).arg("value", u64::MAX).await.unwrap().is_error);
        let refused = client.call(tool).arg("value", vec![LARGE]).await.unwrap();
        assert!(refused.is_error && refused.text().contains("more than 64 bits"), "{}", refused.text());
    }
    assert_eq!(client.call("double").arg("a", 1_i64 << 60).await.unwrap().parse::<i128>().unwrap(), 1 << 61);
    let refused = client.call("double").arg("a", LARGE).await.unwrap();
    assert!(refused.is_error && refused.text().contains("return it as a string"), "{}", refused.text());
    let text = client.call("as_text").arg("value", vec![LARGE]).await.unwrap();
    assert_eq!(text.text(), format!("[{LARGE}]"));
    let value = json!([u64::MAX, 1.5, {"a": "b"}]);
    assert_eq!(
        client.call("same").arg("value", &value).await.unwrap().parse::<Value>().unwrap(),
        json!({"result": value})
    );
    let refused = client.call("same").arg("value", vec![LARGE]).await.unwrap();
    assert!(refused.is_error && refused.text().contains("return it as a string"), "{}", refused.text());
    client.close().await;
}

/// Serves over HTTP; the address.
async fn http() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = App::new().mount("", server(), HttpOptions::new().legacy_sse());
    tokio::spawn(app.serve(listener, std::future::pending()));
    format!("http://{address}")
}

#[tokio::test]
async fn integers_are_exact_or_refused() {
    for protocol in [Protocol::Initialize, Protocol::Discover] {
        exercise(&Client::in_process(&server()).protocol(protocol).connect().await.unwrap()).await;
    }
    let address = http().await;
    exercise(&Client::http(format!("{address}/mcp")).connect().await.unwrap()).await;
    exercise(&Client::sse(format!("{address}/sse")).connect().await.unwrap()).await;
}

/// Requests of clients that no parser takes as they are, and the texts of their results. `None`: an error.
fn requests() -> [(String, Option<&'static str>); 4] {
    let deep = "[".repeat(200) + &"]".repeat(200);
    let call = |id: &str, value: &str| {
        format!(
            r#"{{"method":"tools/call","params":{{"name":"keep","arguments":{{"value":{value}}}}},"jsonrpc":"2.0","id":{id}}}"#
        )
    };
    [
        (call("101", r#""a\ud800b""#), Some("\"a\u{fffd}b\"")),
        (call("\"x\"", "[1e999]"), None),
        (call("103", &deep), None),
        (call("104", "\"\0\""), None),
    ]
}

/// Checks the answer to one of [`requests`].
fn check(request: &str, answer: &Value, wanted: Option<&str>) {
    assert!(request.ends_with(&format!("\"id\":{}}}", answer["id"])), "{request}: {answer}");
    match wanted {
        Some(wanted) => assert_eq!(text(&answer["result"]), wanted, "{request}"),
        None => assert!(answer.get("error").is_some() || answer["result"]["isError"] == true, "{request}: {answer}"),
    }
}

#[tokio::test]
async fn each_request_with_an_id_is_answered_with_it() {
    let mut pipe = Pipe::legacy(&server(), json!({})).await;
    for (request, wanted) in requests() {
        pipe.output.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        check(&request, &pipe.receive().await, wanted);
    }
    // A line that is too long, with its id at the end.
    let start = br#"{"jsonrpc":"2.0","method":"ping","params":{"x":""#;
    let long = [&start[..], &vec![b'x'; 17 << 20], b"\"},\"id\":\"long\"}\n"].concat();
    pipe.output.write_all(&long).await.unwrap();
    let answer = pipe.receive().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("long"), &json!(-32600)));
    // More of them than answers may wait.
    let many: String = (0..500).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":}}\n")).collect();
    let mut ids = Vec::new();
    pipe.output.write_all(many.as_bytes()).await.unwrap();
    while ids.len() < 500 {
        ids.push(pipe.receive().await["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..500));
}

#[tokio::test]
async fn over_http_too() {
    let stateless = HttpOptions::new().stateless().json_responses();
    let stateless = Http::new(&server(), stateless).with("mcp-protocol-version", LEGACY);
    for http in [Http::new(&server(), HttpOptions::new()).session().await, stateless] {
        for (request, wanted) in requests() {
            let answer = read(http.send("POST", "/mcp", Body::from(request.clone())).await).await.last();
            check(&request, &answer, wanted);
        }
    }
    // Over HTTP+SSE clients wait for the answer on the stream.
    let address = http().await.replace("http://", "");
    let connect = || async { tokio::net::TcpStream::connect(&address).await.unwrap() };
    let mut stream = BufReader::new(connect().await);
    stream.write_all(format!("GET /sse HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).await.unwrap();
    let mut line = String::new();
    let mut data = async |line: &mut String| loop {
        line.clear();
        stream.read_line(line).await.unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            return data.trim().to_owned();
        }
    };
    let path = data(&mut line).await;
    // Answers that cannot be parsed.
    for (request, wanted) in requests().into_iter().skip(2) {
        let mut post = connect().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nconnection: close\r\n"
        );
        post.write_all(format!("{head}content-length: {}\r\n\r\n{request}", request.len()).as_bytes()).await.unwrap();
        let mut answer = String::new();
        post.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        check(&request, &serde_json::from_str(&data(&mut line).await).unwrap(), wanted);
    }
}

/// A server that answers calls with the lines of its table.
async fn client_of(results: &'static [&'static str]) -> Client {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let (input, mut output) = tokio::io::split(theirs);
        let (mut lines, mut results) = (BufReader::new(input).lines(), results.iter());
        while let Ok(Some(line)) = lines.next_line().await {
            let request: Value = serde_json::from_str(&line).unwrap();
            let result = match request["method"].as_str().unwrap() {
                "initialize" => {
                    r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#
                }
                "tools/call" => results.next().unwrap(),
                _ => continue,
            };
            let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n", request["id"]);
            output.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let (input, output) = tokio::io::split(ours);
    Client::streams(input, output).protocol(Protocol::Initialize).connect().await.unwrap()
}

#[tokio::test]
async fn answers_are_exact_or_fail_their_call() {
    let client = client_of(&[
        r#"{"content":[{"type":"text","text":"\ud800"}],"structuredContent":{"result":18446744073709551619}}"#,
        r#"{"content":[],"structuredContent":{"n":[18446744073709551619,1]},"_meta":{"a":1}}"#,
        r#"{"content":[{"type":"text","text":"18446744073709551619"}]}"#,
        r#"{"content":[{"type":"text","text":}]}"#,
        "{\"content\":[{\"type\":\"text\",\"text\":\"\0\"}]}",
    ])
    .await;
    let result = client.call("t").await.unwrap();
    assert_eq!((result.text().as_str(), result.clone().parse::<i128>().unwrap()), ("\u{fffd}", LARGE));
    assert!(result.parse::<Value>().unwrap_err().to_string().contains("more than 64 bits"));
    let result = client.call("t").await.unwrap();
    assert_eq!(result.structured, Some(json!({"n": ["18446744073709551619", 1]})));
    assert_eq!(result.meta, *json!({"a": 1}).as_object().unwrap());
    assert!(result.to_json_text().contains(r#"{"n":[18446744073709551619,1]}"#), "{}", result.to_json_text());
    assert_eq!(client.call("t").await.unwrap().parse::<u128>().unwrap(), LARGE as u128);
    for _ in 0..2 {
        let error = client.call("t").await.unwrap_err();
        assert!(matches!(error, ClientError::Protocol { code: -32700, .. }), "{error}");
    }
}

#[tokio::test]
async fn a_broken_answer_of_a_client_fails_the_question() {
    let mut pipe = Pipe::legacy(&Server::new("Ask").tool(ask), json!({"elicitation": {"form": {}, "url": {}}})).await;
    let call = pipe.start("tools/call", json!({"name": "ask", "arguments": {}})).await;
    let question = pipe.receive().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    pipe.send(json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32603}})).await;
    let answer = pipe.receive().await;
    assert_eq!(answer["id"], call, "{answer}");
    assert!(answer["result"]["isError"] == true || answer.get("error").is_some(), "{answer}");
    // Nothing else was sent.
    assert_eq!(pipe.request("ping", json!({})).await["result"], json!({}));
    assert!(pipe.heard.is_empty(), "{:?}", pipe.heard);
}
