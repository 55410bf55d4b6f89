//! Messages that are too long. The sender of a request gets an answer, and a client that waits for an answer gets an error with the limit.

use crate::support::{Answer, Http, LEGACY, Pipe, call, text};
use brumate_mcp::client::{ClientError, Protocol};
use brumate_mcp::{App, Client, Content, Context, HttpOptions, Server, tool};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// Longest message for clients of the crate.
const LIMIT: usize = 16 << 20;
/// Longest answer over streams.
const OUTPUT_LIMIT: usize = 48 << 20;
/// Size from which an answer is sent as JSON.
const LARGE: usize = 512 << 10;

/// Returns so many letters, after a report of progress and a log message if there should be one.
#[tool]
async fn letters(number: usize, #[arg(default)] log: usize, context: Context) -> Content {
    context.progress(1.0, None).await;
    if log > 0 {
        context.info("x".repeat(log)).await;
    }
    Content::text("x".repeat(number))
}

/// Returns the length of a text.
#[tool]
async fn length(text: String) -> usize {
    text.len()
}

fn server() -> Server {
    Server::new("limits").tool(letters).tool(length)
}

/// Returns the message of a JSON-RPC error.
fn error(answer: &Value, code: i64) -> &str {
    assert_eq!(answer["error"]["code"], code, "{answer}");
    answer["error"]["message"].as_str().expect("a text")
}

#[tokio::test]
async fn an_answer_over_the_limit_of_a_stream_is_an_error() {
    let mut client = Pipe::legacy(&server(), json!({})).await;
    let answer = client.request("tools/call", json!({"name": "letters", "arguments": {"number": OUTPUT_LIMIT}})).await;
    assert!(error(&answer, -32603).contains("at most 50331648 bytes"), "{answer}");
    // An answer may be longer than a message of a client.
    let long = client.call("letters", json!({"number": LIMIT})).await;
    assert_eq!(text(&long).len(), LIMIT);
    // A notification is dropped, and its call is answered.
    client.heard.clear();
    assert_eq!(text(&client.call("letters", json!({"number": 3, "log": OUTPUT_LIMIT})).await), "xxx");
    assert_eq!(client.heard, Vec::<Value>::new());
    assert_eq!(text(&client.call("letters", json!({"number": 3, "log": 1})).await), "xxx");
    assert_eq!(client.heard.len(), 1);
}

/// Serves over HTTP. Returns the address.
async fn serve(options: HttpOptions) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = App::new().mount("", server(), options.legacy_sse());
    tokio::spawn(app.serve(listener, std::future::pending()));
    format!("http://{address}")
}

#[tokio::test]
async fn a_body_over_the_limit_is_answered_with_its_id() {
    let http = Http::new(&server(), HttpOptions::new().stateless().max_body(1000));
    let refused = |answer: Answer, id: Value| {
        let last = answer.last();
        assert_eq!((answer.status, &last["id"]), (http::StatusCode::PAYLOAD_TOO_LARGE, &id));
        assert!(error(&last, -32600).contains("longer than 1000 bytes"), "{last}");
    };
    refused(http.call(7, "length", json!({"text": "x".repeat(1000)})).await, json!(7));
    // The id is behind the limit.
    let late = json!({"a": "x".repeat(5000), "jsonrpc": "2.0", "method": "ping", "z_id": 1});
    let late = late.to_string().replace("z_id", "id");
    refused(crate::support::read(http.send("POST", "/mcp", late.into()).await).await, json!(1));

    // Over a connection: the whole body is read, so that the client reads the answer.
    let address = serve(HttpOptions::new()).await;
    let long = "x".repeat(20 << 20);
    let http = Client::http(format!("{address}/mcp"));
    for client in [http.connect().await.unwrap(), Client::sse(format!("{address}/sse")).connect().await.unwrap()] {
        let refused = client.call("length").arg("text", &long).await.unwrap_err().to_string();
        assert!(refused.contains("longer than 4194304 bytes"), "{refused}");
        assert_eq!(client.call("length").arg("text", "abc").await.unwrap().parse::<usize>().unwrap(), 3);
        client.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn large_answers_are_json_where_nothing_was_streamed() {
    let http = Http::new(&server(), HttpOptions::new());
    let session = http.clone().session().await;
    let ends = |answer: &Answer, number: usize| {
        assert_eq!(text(&answer.last()["result"]).len(), number);
        answer.content_type().to_owned()
    };
    for (number, kind) in [(LARGE, "application/json"), (10, "text/event-stream")] {
        let answer = http.call_modern("letters", json!({"number": number})).await;
        assert_eq!(ends(&answer, number), kind);
        let answer = session.call(1, "letters", json!({"number": number})).await;
        assert_eq!(ends(&answer, number), kind);
    }
    // The client asks for progress.
    let mut asks = call(2, "letters", json!({"number": LARGE}));
    asks["params"]["_meta"] = json!({"progressToken": 5});
    let answer = session.post(&asks).await;
    assert_eq!(ends(&answer, LARGE), "text/event-stream");
    assert_eq!(answer.messages().len(), 2);
}

/// Answers each call with as many letters as its arguments say. The id comes last in the answer.
async fn answer_with_letters(stream: tokio::io::DuplexStream) {
    let (input, mut output) = tokio::io::split(stream);
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let request: Value = serde_json::from_str(&line).unwrap();
        let Some(id) = request.get("id") else { continue };
        let result = match request["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": LEGACY,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "letters", "version": "1"},
            }),
            Some("tools/call") => {
                let number = request["params"]["arguments"]["number"].as_u64().unwrap_or_default();
                json!({"content": [{"type": "text", "text": "x".repeat(number as usize)}]})
            }
            _ => json!({"tools": []}),
        };
        output
            .write_all(format!("{{\"result\":{result},\"jsonrpc\":\"2.0\",\"id\":{id}}}\n").as_bytes())
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_client_fails_a_call_whose_answer_is_too_long() {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    tokio::spawn(answer_with_letters(theirs));
    let (input, output) = tokio::io::split(ours);
    let pipe = Client::streams(input, output).protocol(Protocol::Initialize).connect().await.unwrap();
    let address = serve(HttpOptions::new()).await;
    let http = || Client::http(format!("{address}/mcp"));
    let clients = [
        pipe,
        http().connect().await.unwrap(),
        http().protocol(Protocol::Initialize).connect().await.unwrap(),
        Client::sse(format!("{address}/sse")).connect().await.unwrap(),
    ];
    for client in clients {
        // With progress there are events, and without there is JSON.
        for progress in [false, true] {
            let call = |number: usize| {
                let call = client.call("letters").arg("number", number);
                if progress { call.on_progress(|_| {}) } else { call }
            };
            let failed = call(LIMIT).await.unwrap_err();
            assert!(failed.to_string().contains("16777216 bytes"), "{failed}");
            assert!(matches!(failed, ClientError::Protocol { code: -32700, .. } | ClientError::Connection(_)));
            assert_eq!(call(3).await.unwrap().text(), "xxx");
        }
        client.close().await;
    }
}
