//! Files of sessions as resources: lists, reads, refused URIs, notifications of changes.

use crate::support::{Client, engine};
use brumate_server::ToolSet;
use brumate_session::testing::{FakeEngine, Script};
use serde_json::{Value, json};

fn scripts() -> FakeEngine {
    engine(&[
        (
            "files",
            Script::silent()
                .writes("a.csv", "1,2\n")
                .writes("b.png", b"\x89PNG\r\n\x1a\n".to_vec())
                .writes("c.bin", b"\xff\x00".to_vec())
                .writes("d.json", "{}")
                .writes("README", "hello")
                .writes("broken.txt", b"\xff\xfe".to_vec())
                .writes("e.svg", "<svg/>")
                .writes("sub/ä b.txt", "ä"),
        ),
        ("remove", Script::silent().removes("a.csv")),
        ("1", Script::silent()),
    ])
}

async fn open() -> Client {
    Client::interpreter(scripts(), ToolSet::Interpreter).await
}

#[tokio::test]
async fn contents_have_their_real_types() {
    let mut client = open().await;
    let id = client.session("files").await;
    for (name, mime, kind, content) in [
        ("a.csv", "text/csv", "text", "1,2\n"),
        ("b.png", "image/png", "blob", "iVBORw0KGgo="),
        ("c.bin", "application/octet-stream", "blob", "/wA="),
        ("d.json", "application/json", "text", "{}"),
        ("README", "text/plain", "text", "hello"),
        ("broken.txt", "text/plain", "blob", "//4="),
        ("e.svg", "image/svg+xml", "blob", "PHN2Zy8+"),
        ("sub%2F%C3%A4%20b.txt", "text/plain", "text", "ä"),
        ("sub/%C3%A4%20b.txt", "text/plain", "text", "ä"),
    ] {
        let uri = format!("kernel://{id}/{name}");
        let contents = client.read_resource(&uri).await["result"]["contents"].clone();
        assert_eq!(contents, json!([{"uri": uri, "mimeType": mime, kind: content}]));
    }
}

#[tokio::test]
async fn an_unknown_cursor_is_refused_in_every_list() {
    let mut interpreter = open().await;
    interpreter.session("files").await;
    for mut client in [interpreter, Client::open(&[]).await] {
        for list in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
            for cursor in ["", "x", "0", "1", "1000", "-1000", "+1000", "01000", "18446744073709551616"] {
                let answer = client.request(list, json!({"cursor": cursor})).await;
                assert_eq!(answer["error"]["code"], -32602, "{list} {cursor:?}: {answer}");
            }
            assert!(client.request(list, json!({})).await["result"].is_object(), "{list}");
        }
    }
}

#[tokio::test]
async fn a_connection_lists_the_files_of_its_own_sessions() {
    let mut client = open().await;
    let templates = client.request("resources/templates/list", json!({})).await["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "kernel://{session_id}/{filename}");
    assert_eq!(client.request("resources/list", json!({})).await["result"]["resources"], json!([]));
    let id = client.session("files").await;
    let listed = client.request("resources/list", json!({})).await["result"]["resources"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 8);
    assert!(listed.as_array().unwrap().contains(&json!({
        "uri": format!("kernel://{id}/a.csv"), "name": "a.csv", "mimeType": "text/csv", "size": 4,
    })));
    client.tool("clear_session", json!({"session_id": id})).await;
    assert_eq!(client.request("resources/list", json!({})).await["result"]["resources"], json!([]));
}

#[tokio::test]
async fn a_session_is_a_notebook_too() {
    let mut client = open().await;
    let id = client.session("files").await;
    let uri = format!("kernel://{id}/.history.ipynb");
    let contents = client.read_resource(&uri).await["result"]["contents"][0].clone();
    assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &json!("application/x-ipynb+json")));
    let text = contents["text"].as_str().unwrap();
    let notebook: Value = serde_json::from_str(text).unwrap();
    assert_eq!((&notebook["nbformat"], &notebook["cells"][0]["source"]), (&json!(4), &json!(["files"])));
    let part = client.read_resource(&format!("{uri}?offset=2&length=10")).await["result"]["contents"][0].clone();
    assert_eq!((part["text"].as_str(), &part["_meta"]["brumate/size"]), (Some(&text[2..12]), &json!(text.len())));
    let beyond = client.read_resource(&format!("{uri}?offset=18446744073709551615&length=9")).await;
    assert_eq!(beyond["result"]["contents"][0]["text"], "");
    client.tool("clear_session", json!({"session_id": id})).await;
    assert_eq!(client.read_resource(&uri).await["error"]["code"], -32002);
}

#[tokio::test]
async fn every_way_out_is_refused() {
    let mut client = open().await;
    let id = client.session("files").await;
    for path in [
        "../config.py",
        "%2E%2E/config.py",
        "%2e%2e%2fconfig.py",
        "..%2fconfig.py",
        "%252E%252E/config.py",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "..\\config.py",
        "..%5Cconfig.py",
        "a.csv%00.png",
        "sub/../a.csv",
        "./a.csv",
        "",
        ".",
        "nosuch.txt",
        "a.csv?x",
        "a.csv#x",
        "a.csv/",
    ] {
        let answer = client.read_resource(&format!("kernel://{id}/{path}")).await;
        assert_eq!(answer["error"]["code"], -32002, "{path:?}: {answer}");
    }
    for uri in
        ["kernel://../config.py", "kernel://%2E%2E/config.py", "kernel:///config.py", "file:///etc/passwd", "nonsense"]
    {
        assert_eq!(client.read_resource(uri).await["error"]["code"], -32002, "{uri}");
    }
    let unknown = client.read_resource("kernel://0123456789abcdef/a.csv").await;
    assert!(unknown["error"]["message"].as_str().unwrap().starts_with("SessionExpiredError"), "{unknown}");
}

#[tokio::test]
async fn clients_hear_when_the_list_has_changed_and_only_then() {
    let mut client = open().await;
    let changes = |client: &mut Client| {
        let count = client
            .notifications
            .iter()
            .filter(|message| message["method"] == "notifications/resources/list_changed")
            .count();
        client.notifications.clear();
        count
    };
    let id = client.session("files").await;
    assert_eq!(changes(&mut client), 1);
    client.cell(&id, "1").await;
    assert_eq!(changes(&mut client), 0);
    client.cell(&id, "remove").await;
    assert_eq!(changes(&mut client), 1);
    client.tool("clear_session", json!({"session_id": id})).await;
    assert_eq!(changes(&mut client), 1);
}

#[tokio::test]
async fn since_2026_subscribers_hear_of_changes() {
    let mut client = Client::connect_interpreter(scripts(), ToolSet::All).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = |code: &str| json!({"name": "execute_code", "arguments": {"code": code}, "_meta": meta});
    client.request("tools/call", call("files")).await;
    assert!(client.notifications.is_empty(), "nobody asked: {:?}", client.notifications);
    client.begin("subscriptions/listen", json!({"_meta": meta, "notifications": {"resourcesListChanged": true}})).await;
    let acknowledged = client.receive().await.unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    client.request("tools/call", call("files")).await;
    let heard: Vec<&Value> = client.notifications.iter().collect();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(heard[0]["method"], "notifications/resources/list_changed");
    let missing = client.request("resources/read", json!({"uri": "kernel://x/y", "_meta": meta})).await;
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
}
