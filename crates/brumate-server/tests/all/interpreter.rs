//! The tools of the code interpreter: each row of the contract, and each defect of the predecessor.

use crate::support::{Client, engine, text_of};
use brumate_engine_api::{Ended, Event, ExitReason, StopReason};
use brumate_server::ToolSet;
use brumate_session::testing::{FakeEngine, Script, outcome};
use serde_json::{Value, json};

const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn display(parts: &[(&str, &str)]) -> Event {
    Event::DisplayData { data: parts.iter().map(|(mime, data)| ((*mime).to_owned(), (*data).to_owned())).collect() }
}

fn value(text: &str) -> Event {
    Event::ExecuteResult { data: [("text/plain".to_owned(), text.to_owned())].into() }
}

fn scripts() -> FakeEngine {
    let interrupted = Ended::Raised {
        ename: "KeyboardInterrupt".to_owned(),
        evalue: String::new(),
        traceback: "Traceback (most recent call last):\nKeyboardInterrupt\n".to_owned(),
    };
    engine(&[
        ("x = 42", Script::silent().stdout("Hello, World!\n").sets("x", "42")),
        ("x", Script::silent().gets("x")),
        ("x = 7", Script::silent().sets("x", "7")),
        ("1 + 1", Script::returning("2").event(value("2"))),
        ("1/0", Script::raising("ZeroDivisionError", "division by zero").sets("x", "1")),
        ("plot", Script::silent().event(display(&[("image/png", PIXEL), ("text/plain", "<Figure>")]))),
        ("save", Script::silent().writes("data/out.csv", "a,b\n1,2\n")),
        ("slow", Script::ending_with(Ok(outcome(interrupted, Some(StopReason::TimeLimit)))).stdout("partial\n")),
        ("crash", Script::dying(ExitReason::MemoryLimit).stdout("half\n").sets("x", "crashed")),
        ("flood", Script::silent().stdout(&"line\n".repeat(20_000))),
        ("long value", Script::silent().event(value(&"v".repeat(100_000)))),
        ("loop", Script::silent().stdout("begun\n").endless()),
        ("boom", Script::silent().panicking()),
    ])
}

async fn open() -> Client {
    Client::interpreter(scripts(), ToolSet::Interpreter).await
}

#[tokio::test]
async fn the_interpreter_introduces_itself() {
    let mut client = Client::connect_interpreter(scripts(), ToolSet::Interpreter).await;
    let info = client.initialize("2025-06-18").await;
    assert_eq!(info["serverInfo"]["name"], "Python Code Interpreter");
    assert_eq!(info["capabilities"], json!({"logging": {}, "tools": {}, "resources": {"listChanged": true}}));
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    let tools = tools.as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "execute_code",
            "list_session_files",
            "clear_session",
            "upload_file",
            "fork_session",
            "reset_session",
            "interrupt"
        ]
    );
    let execute = &tools[0]["inputSchema"];
    assert_eq!((&execute["required"], &execute["properties"]["session_id"]["default"]), (&json!(["code"]), &json!("")));
    for tool in tools {
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        assert!(tool["description"].as_str().unwrap().len() > 20);
    }
    let unknown = client.request("tools/call", json!({"name": "run_python_code", "arguments": {}})).await;
    assert_eq!(unknown["error"]["message"], "Unknown tool: run_python_code");
}

#[tokio::test]
async fn a_session_is_introduced_by_the_answer_that_made_it() {
    let mut client = open().await;
    let first = client.cell("", "x = 42").await;
    let id = first["session_info"]["session_id"].as_str().unwrap().to_owned();
    assert_eq!(
        first.to_string(),
        json!({
            "success": true,
            "output": ["Hello, World!\n"],
            "result": null,
            "error": null,
            "traceback": [],
            "files": [],
            "session_info": {
                "session_id": id,
                "instructions": "Use this `session_id` in subsequent requests to maintain state. Session will expire after 30 minutes of inactivity.",
            },
        })
        .to_string()
    );
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
    let second = client.cell(&id, "x").await;
    assert_eq!((&second["result"], &second["session_info"]), (&json!("42"), &Value::Null));
    assert_ne!(client.cell("0", "1 + 1").await["session_info"]["session_id"], json!(id));
    let left_out = client.tool("execute_code", json!({"code": "1 + 1"})).await;
    assert_eq!(left_out["structuredContent"]["result"], "2");
    assert!(left_out["structuredContent"]["session_info"]["session_id"].is_string());
    // The text is the same, written for people.
    assert!(left_out["content"][0]["text"].as_str().unwrap().starts_with("{\n  \"success\": true,\n  \"output\": [],"));
}

#[tokio::test]
async fn a_first_cell_that_raises_keeps_its_session() {
    let mut client = open().await;
    let failed = client.cell("", "1/0").await;
    assert_eq!((&failed["success"], &failed["error"]), (&json!(false), &json!("ZeroDivisionError: division by zero")));
    let traceback = failed["traceback"].as_array().unwrap();
    assert_eq!(traceback.first().unwrap(), "Traceback (most recent call last):");
    assert_eq!(traceback.last().unwrap(), "ZeroDivisionError: division by zero");
    let id = failed["session_info"]["session_id"].as_str().unwrap().to_owned();
    assert_eq!(client.cell(&id, "x").await["result"], "1");
}

#[tokio::test]
async fn unknown_and_expired_sessions_are_told_to_the_letter() {
    let mut client = open().await;
    let message = |id: &str| {
        format!(
            "SessionExpiredError: Session {id} not found or has expired. Sessions expire after 30 minutes of \
             inactivity. Please create a new session (use session_id=\"\" or session_id=\"0\") and re-execute your \
             setup code."
        )
    };
    for id in ["abc123xyz4560000", "../../etc/passwd"] {
        let answer = client.cell(id, "x").await;
        assert_eq!(answer["error"], json!(message(id)));
        assert_eq!((&answer["success"], &answer["session_info"]), (&json!(false), &Value::Null));
        let files = client.tool("list_session_files", json!({"session_id": id})).await;
        assert_eq!(files["structuredContent"], json!({"session_id": id, "files": [], "error": message(id)}));
        let cleared = client.tool("clear_session", json!({"session_id": id})).await;
        assert_eq!(
            cleared["structuredContent"],
            json!({"success": false, "message": format!("Session {id} not found")})
        );
    }
    let id = client.session("x = 42").await;
    let cleared = client.tool("clear_session", json!({"session_id": id})).await;
    let expected = json!({"success": true, "message": format!("Session {id} cleared and all files deleted")});
    assert_eq!(cleared["structuredContent"], expected);
    assert_eq!(text_of(&cleared), serde_json::to_string_pretty(&expected).unwrap());
    assert_eq!(client.cell(&id, "x").await["error"], json!(message(&id)));
    assert_eq!(client.engine.alive(), 0);
}

#[tokio::test]
async fn figures_are_files_pictures_and_links_and_files_are_listed_once() {
    let mut client = open().await;
    let result = client.tool("execute_code", json!({"code": "plot"})).await;
    let answer = &result["structuredContent"];
    let id = answer["session_info"]["session_id"].as_str().unwrap().to_owned();
    let uri = format!("kernel://{id}/figure_1.png");
    assert_eq!(answer["files"], json!([{"uri": uri, "mime_type": "image/png", "name": "figure_1.png", "size": 70}]));
    assert_eq!(answer["output"], json!(["📊 File created: figure_1.png (image/png, 70 bytes)"]));
    assert_eq!(result["content"][1], json!({"type": "image", "data": PIXEL, "mimeType": "image/png"}));
    assert_eq!(
        result["content"][2],
        json!({"type": "resource_link", "uri": uri, "name": "figure_1.png", "mimeType": "image/png", "size": 70})
    );
    assert!(!answer.to_string().contains(PIXEL), "no base64 in the structure");
    let quiet = client.tool("execute_code", json!({"code": "1 + 1", "session_id": id})).await;
    assert_eq!((&quiet["structuredContent"]["files"], quiet["content"].as_array().unwrap().len()), (&json!([]), 1));
    let saved = client.cell(&id, "save").await;
    assert_eq!(saved["output"], json!(["📊 File created: data/out.csv (text/csv, 8 bytes)"]));
    let listed = client.tool("list_session_files", json!({"session_id": id})).await;
    assert_eq!(
        listed["structuredContent"],
        json!({"session_id": id, "files": [
            {"uri": format!("kernel://{id}/data%2Fout.csv"), "mime_type": "text/csv", "name": "data/out.csv", "size": 8},
            {"uri": uri, "mime_type": "image/png", "name": "figure_1.png", "size": 70},
        ]})
    );
}

#[tokio::test]
async fn code_over_the_time_limit_keeps_its_output_and_shifts_no_answer() {
    let mut client = open().await;
    let slow = client.cell("", "slow").await;
    let id = slow["session_info"]["session_id"].as_str().unwrap().to_owned();
    assert_eq!(slow["output"], json!(["partial\n"]));
    assert!(slow["error"].as_str().unwrap().starts_with("KeyboardInterrupt: The code was stopped: it ran longer than"));
    assert_eq!(client.cell(&id, "x = 42").await["output"], json!(["Hello, World!\n"]));
    assert_eq!(client.cell(&id, "x").await["result"], "42");
    let crashed = client.cell(&id, "crash").await;
    assert_eq!(crashed["output"], json!(["half\n"]));
    let error = crashed["error"].as_str().unwrap();
    assert!(
        error.starts_with("SessionRolledBackError")
            && error.contains("`memory`")
            && error.ends_with("as it was before this cell."),
        "{error}"
    );
    assert_eq!(client.cell(&id, "x").await["result"], "42");
}

#[tokio::test]
async fn long_texts_are_cut_and_kept_whole_as_a_resource() {
    let mut client = open().await;
    let flood = client.cell("", "flood").await;
    let id = flood["session_info"]["session_id"].as_str().unwrap().to_owned();
    let output = flood["output"][0].as_str().unwrap();
    let uri = format!("kernel://{id}/.output%2F1.txt");
    assert!(output.len() < 20_000 && output.contains(&format!("were cut here; all of it: {uri}]")), "{}", output.len());
    let whole = client.read_resource(&uri).await["result"]["contents"][0].clone();
    assert_eq!(whole["text"].as_str().unwrap(), "line\n".repeat(20_000));
    assert_eq!(flood["files"], json!([]));
    let long = client.cell(&id, "long value").await;
    assert!(long["result"].as_str().unwrap().contains(&format!("kernel://{id}/.output%2F2.txt")));
}

#[tokio::test]
async fn interrupt_and_cancel_stop_the_cell_and_keep_the_session() {
    let mut client = open().await;
    let id = client.session("x = 42").await;
    let idle = client.tool("interrupt", json!({"session_id": id})).await["structuredContent"].clone();
    assert_eq!(idle, json!({"success": false, "message": format!("Session {id} is not running code")}));
    let running = client
        .begin("tools/call", json!({"name": "execute_code", "arguments": {"code": "loop", "session_id": id}}))
        .await;
    client.until_executed(2).await;
    // The answer of `interrupt` may come before or after that of the cell.
    let interrupt = client.begin("tools/call", json!({"name": "interrupt", "arguments": {"session_id": id}})).await;
    let mut answers = [client.receive().await.unwrap(), client.receive().await.unwrap()];
    answers.sort_by_key(|answer| answer["id"].as_i64());
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(running), &json!(interrupt)));
    assert_eq!(answers[0]["result"]["structuredContent"]["output"], json!(["begun\n"]));
    assert!(answers[0]["result"]["structuredContent"]["error"].as_str().unwrap().contains("the call was cancelled"));
    assert_eq!(answers[1]["result"]["structuredContent"]["success"], true);

    let cancelled = client
        .begin("tools/call", json!({"name": "execute_code", "arguments": {"code": "loop", "session_id": id}}))
        .await;
    client.until_executed(3).await;
    client.notify("notifications/cancelled", json!({"requestId": cancelled})).await;
    assert_eq!(client.cell(&id, "x").await["result"], "42");
}

#[tokio::test]
async fn uploads_forks_and_resets() {
    let mut client = open().await;
    let text = client.tool("upload_file", json!({"filename": "in.csv", "content": "a,b\n", "last": false})).await;
    let answer = &text["structuredContent"];
    let id = answer["session_info"]["session_id"].as_str().unwrap().to_owned();
    assert_eq!(answer["message"], "4 bytes written to in.csv, which has 4 now");
    let more = json!({"filename": "in.csv", "content": "MSwy", "encoding": "base64", "offset": 4, "session_id": id});
    let more = client.tool("upload_file", more).await["structuredContent"].clone();
    assert_eq!((&more["file"]["size"], &more["session_info"]), (&json!(7), &Value::Null));
    let content = client.read_resource(&format!("kernel://{id}/in.csv")).await;
    assert_eq!(content["result"]["contents"][0]["text"], "a,b\n1,2");
    assert_eq!(client.cell(&id, "x = 42").await["files"], json!([]), "uploads are not the next cell's");

    let fork = client.tool("fork_session", json!({"session_id": id})).await["structuredContent"].clone();
    let copy = fork["session_id"].as_str().unwrap().to_owned();
    assert_ne!(copy, id);
    client.cell(&copy, "x = 7").await;
    assert_eq!(client.cell(&id, "x").await["result"], "42");
    assert_eq!(
        client.read_resource(&format!("kernel://{copy}/in.csv")).await["result"]["contents"][0]["text"],
        "a,b\n1,2"
    );

    let forks = client.tool("fork_session", json!({"session_id": copy, "count": 3})).await["structuredContent"].clone();
    let forks: Vec<String> = serde_json::from_value(forks["session_ids"].clone()).unwrap();
    for fork in &forks {
        assert_eq!(client.cell(fork, "x").await["result"], "7");
    }
    assert_eq!(forks.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "{forks:?}");

    let reset = client.tool("reset_session", json!({"session_id": id})).await["structuredContent"].clone();
    assert_eq!(reset["success"], true);
    assert_eq!(client.cell(&id, "x").await["error"], "NameError: name 'x' is not defined");
    assert_eq!(client.cell(&copy, "x").await["result"], "7");
    for tool in ["fork_session", "reset_session", "interrupt"] {
        let missing = client.tool(tool, json!({"session_id": "0123456789abcdef"})).await["structuredContent"].clone();
        assert_eq!(missing["success"], false);
        assert!(missing["message"].as_str().unwrap().starts_with("SessionExpiredError"), "{missing}");
    }
}

#[tokio::test]
async fn wrong_arguments_are_explained() {
    let mut client = open().await;
    for (tool, arguments, message) in [
        ("execute_code", json!({}), "`code` (string, the Python code to execute) is missing"),
        (
            "execute_code",
            json!({"code": "1", "session_id": 3, "timeout": 1}),
            "`session_id` must be a string, not a number; `timeout` is not an argument",
        ),
        ("clear_session", json!({}), "`session_id` (string, the session) is missing"),
        ("fork_session", json!({"session_id": "a", "count": 0}), "`count` must be from 1 to 16"),
        (
            "upload_file",
            json!({"filename": "a", "content": "%", "encoding": "base64"}),
            "`content` is not base64: Invalid symbol 37, offset 0.",
        ),
        (
            "upload_file",
            json!({"filename": "a", "content": "x", "encoding": "hex", "offset": -1}),
            "`offset` must be a whole number, 0 or more; `encoding` must be \"text\" or \"base64\"",
        ),
    ] {
        let result = client.tool(tool, arguments).await;
        assert_eq!(result["isError"], true);
        assert_eq!(
            text_of(&result).trim_end_matches('.'),
            format!("Invalid arguments for {tool}: {message}").trim_end_matches('.')
        );
    }
    for name in ["../x", "/etc/passwd", "a\\b", "..", "%2e%2e/x", "a\u{0}"] {
        let result = client.tool("upload_file", json!({"filename": name, "content": ""})).await;
        assert_eq!(result["isError"], true, "{name:?}");
        assert!(text_of(&result).contains("is no name of a file in a session"), "{result}");
    }
    assert_eq!(client.engine.made(), 0);
}

#[tokio::test]
async fn all_tools_together_share_the_sessions() {
    let mut client = Client::interpreter(scripts(), ToolSet::All).await;
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 8);
    assert_eq!(tools[0]["name"], "run_python_code");
    assert_eq!(tools[0]["inputSchema"]["properties"]["session_id"]["type"], "string");
    let id = client.session("x = 42").await;
    let in_session = client.call(json!({"python_code": "x", "session_id": id, "global_variables": {"a": 1}})).await;
    assert_eq!(text_of(&in_session), "<status>success</status>\n<return_value>\n42\n</return_value>");
    assert_eq!(client.engine.executed()[1].globals_json, "{\"a\":1}");
    for arguments in [json!({"python_code": "1 + 1"}), json!({"python_code": "1 + 1", "session_id": ""})] {
        assert_eq!(
            text_of(&client.call(arguments).await),
            "<status>success</status>\n<return_value>\n2\n</return_value>"
        );
    }
    let failed = text_of(&client.call(json!({"python_code": "1/0", "session_id": id})).await);
    assert!(failed.starts_with("<status>run-error</status>\n<error>\nTraceback (most recent call last):"), "{failed}");
    assert!(failed.ends_with("\nZeroDivisionError: division by zero\n</error>"), "{failed}");
    let missing = client.call(json!({"python_code": "x", "session_id": "0123456789abcdef"})).await;
    assert_eq!(missing["isError"], true);
    assert!(text_of(&missing).contains("SessionExpiredError"));
}

#[tokio::test]
async fn progress_and_panics_are_as_in_runs() {
    let mut client = open().await;
    let params = json!({"name": "execute_code", "arguments": {"code": "x = 42"}, "_meta": {"progressToken": "t"}});
    client.request("tools/call", params).await;
    let progress = client.notifications.pop_front().unwrap();
    assert_eq!(progress["params"], json!({"progressToken": "t", "progress": 1.0, "message": "Hello, World!\n"}));
    let boom = client.tool("execute_code", json!({"code": "boom"})).await;
    assert_eq!(boom["isError"], true);
    assert!(text_of(&boom).contains("this is a defect"));
    assert_eq!(client.cell("", "1 + 1").await["result"], "2");
}
