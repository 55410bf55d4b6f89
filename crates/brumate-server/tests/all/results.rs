//! The exact text and structure of results.

use crate::support::{Client, engine, text_of};
use brumate_engine_api::{EngineError, Event, ExitReason};
use brumate_server::ReturnMode;
use brumate_session::RunnerSettings;
use brumate_session::testing::Script;
use serde_json::{Value, json};

async fn text(script: Script) -> String {
    Client::open(&[("code", script)]).await.text("code").await
}

async fn json_mode(script: Script) -> String {
    let mut client = Client::connect(engine(&[("code", script)]), ReturnMode::Json, RunnerSettings::default());
    client.initialize("2025-06-18").await;
    client.text("code").await
}

#[tokio::test]
async fn the_documented_example() {
    let script = Script::returning("[\n  1,\n  2,\n  3\n]").imports(&["numpy"], &[]).stdout("[1 2 3]\n");
    let mut client = Client::open(&[("import numpy", script)]).await;
    let result = client.run("import numpy").await;
    assert_eq!(
        text_of(&result),
        "<status>success</status>\n\
         <dependencies>[\"numpy\"]</dependencies>\n\
         <output>\n[1 2 3]\n</output>\n\
         <return_value>\n[\n  1,\n  2,\n  3\n]\n</return_value>"
    );
    assert_eq!(
        result["structuredContent"],
        json!({"status": "success", "output": ["[1 2 3]"], "dependencies": ["numpy"], "return_value": [1, 2, 3]})
    );
    assert_eq!(result.get("isError"), None);
}

#[tokio::test]
async fn a_value_after_output() {
    let script = Script::returning("4").stdout("x=4\n");
    assert_eq!(
        text(script).await,
        "<status>success</status>\n<output>\nx=4\n</output>\n<return_value>\n4\n</return_value>"
    );
}

#[tokio::test]
async fn sections_that_are_empty_are_left_out() {
    assert_eq!(text(Script::silent()).await, "<status>success</status>");
    assert_eq!(text(Script::silent().stdout("\n")).await, "<status>success</status>\n<output>\n\n</output>");
}

#[tokio::test]
async fn figures_follow_the_text() {
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let figure = |png: &str| {
        let data = [("text/plain", "<Figure>"), ("image/png", png)];
        Event::DisplayData { data: data.map(|(mime, data)| (mime.to_owned(), data.to_owned())).into() }
    };
    let script = Script::returning("1").event(figure(PIXEL)).event(figure("no base64"));
    let mut client = Client::open(&[("plot()", script.clone())]).await;
    let result = client.run("plot()").await;
    let text = "<status>success</status>\n<output>\n<Figure>\n<Figure>\n</output>\n<return_value>\n1\n</return_value>";
    let content = result["content"].as_array().unwrap();
    assert_eq!((content[0]["text"].as_str(), content.len()), (Some(text), 2), "{content:?}");
    assert_eq!(
        (&content[1]["type"], &content[1]["mimeType"], &content[1]["data"]),
        (&json!("image"), &json!("image/png"), &json!(PIXEL))
    );

    let mut client = Client::without_figures(engine(&[("plot()", script)]));
    client.initialize("2025-06-18").await;
    let result = client.run("plot()").await;
    assert_eq!(text_of(&result), text);
}

#[tokio::test]
async fn strings_are_verbatim_and_anything_else_is_json() {
    assert_eq!(
        text(Script::returning_str("fo\"o\nbar")).await,
        "<status>success</status>\n<return_value>\nfo\"o\nbar\n</return_value>"
    );
    assert_eq!(text(Script::returning_str("")).await, "<status>success</status>\n<return_value>\n\n</return_value>");
    let huge = "123456789012345678901234567890";
    assert!(text(Script::returning(huge)).await.contains(huge));
}

#[tokio::test]
async fn an_exception_replaces_the_value() {
    let mut client =
        Client::open(&[("print(unknown)", Script::raising("NameError", "name 'unknown' is not defined"))]).await;
    let result = client.run("print(unknown)").await;
    let traceback = "Traceback (most recent call last):\n  File \"main.py\", line 1, in <module>\nNameError: name 'unknown' is not defined";
    assert_eq!(text_of(&result), format!("<status>run-error</status>\n<error>\n{traceback}\n</error>"));
    assert_eq!(result["structuredContent"], json!({"status": "run-error", "output": [], "error": traceback}));
    assert_eq!(result.get("isError"), None);
}

#[tokio::test]
async fn a_missing_package_is_an_install_error() {
    let unknown = text(Script::silent().imports(&["nosuchmodule"], &[])).await;
    assert!(
        unknown.starts_with("<status>install-error</status>\n<error>\nthe code imports `nosuchmodule`"),
        "{unknown}"
    );
    assert!(unknown.contains("numpy 2.4.6, rich 12.6.0"), "{unknown}");
    // A module of a known project that is not in the bundle, without an index.
    let refused = text(Script::silent().imports(&["requests"], &[])).await;
    assert!(
        refused.starts_with("<status>install-error</status>\n<error>\n`requests` (for `import requests`)"),
        "{refused}"
    );
    assert!(refused.contains("`only-bundled` is set"), "{refused}");
}

#[tokio::test]
async fn pinned_dependencies_are_shown_as_written() {
    let code = "# /// script\n# dependencies = [\"rich<13\", \"numpy\"]\n# ///\n";
    let mut client = Client::open(&[(code, Script::silent())]).await;
    assert_eq!(
        client.text(code).await,
        "<status>success</status>\n<dependencies>[\"rich<13\",\"numpy\"]</dependencies>"
    );
}

#[tokio::test]
async fn each_section_escapes_its_own_tag_only() {
    let script = Script::returning_str("</return_value> <output>").stdout("</output>\n< OUTPUT x>\n<error>\n");
    assert_eq!(
        text(script).await,
        "<status>success</status>\n\
         <output>\n&lt;/output&gt;\n&lt; OUTPUT x&gt;\n<error>\n</output>\n\
         <return_value>\n&lt;/return_value&gt; <output>\n</return_value>"
    );
    let error = text(Script::raising("E", "</error><output>")).await;
    assert!(error.ends_with("E: &lt;/error&gt;<output>\n</error>"), "{error}");
}

#[tokio::test]
async fn json_mode_is_one_object() {
    assert_eq!(json_mode(Script::returning("2")).await, r#"{"status":"success","output":[],"return_value":2}"#);
    assert_eq!(
        json_mode(Script::returning_str("foobar")).await,
        r#"{"status":"success","output":[],"return_value":"foobar"}"#
    );
    assert_eq!(
        json_mode(Script::silent().stdout("a\nb").stderr("\n\nc\n")).await,
        r#"{"status":"success","output":["ab","","c"],"return_value":null}"#.replace("ab", "a\",\"b")
    );
    assert_eq!(
        json_mode(Script::returning("{\n  \"a b\": [1.50, \" \\\" \"],\n  \"big\": 123456789012345678901234567890\n}"))
            .await,
        r#"{"status":"success","output":[],"return_value":{"a b":[1.50," \" "],"big":123456789012345678901234567890}}"#
    );
    let error = json_mode(Script::raising("E", "x").imports(&["numpy"], &[])).await;
    let error: Value = serde_json::from_str(&error).unwrap();
    assert_eq!((&error["status"], &error["dependencies"]), (&json!("run-error"), &json!(["numpy"])));
    assert!(error["error"].as_str().unwrap().ends_with("E: x"));
    assert_eq!(error.get("return_value"), None);
}

#[tokio::test]
async fn values_that_clients_would_change_are_text_as_well() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let cases = [
        ("9007199254740991".to_owned(), true, false),
        ("[\n  9007199254740992\n]".to_owned(), true, true),
        ("18446744073709551615".to_owned(), true, true),
        (r#"{"a\"1": -18446744073709551616}"#.to_owned(), false, true),
        ("[NaN, 0.1, -0.0]".to_owned(), true, false),
        (nested(100), true, false),
        (nested(101), false, true),
        (nested(1000), false, true),
        ("1e999".to_owned(), false, true),
    ];
    for (json, is_held, is_text) in cases {
        let mut client = Client::open(&[("v", Script::returning(&json))]).await;
        let content = &client.run("v").await["structuredContent"];
        let exact: String = json.split_ascii_whitespace().collect::<String>().replace("NaN", "null");
        let expected = content["return_value_json"].as_str().map_or(!is_text, |text| is_text && text == exact);
        assert!(expected, "{json}: {content}");
        assert_eq!(content.get("return_value").map(Value::to_string), is_held.then_some(exact), "{json}");
        let text = json_mode(Script::returning(&json)).await;
        assert!(
            text.starts_with(r#"{"status":"success","output":[],"return_value":"#) && !text.contains("_json"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn limits_are_explained() {
    let text = text(Script::dying(ExitReason::MemoryLimit).stdout("half\n")).await;
    assert_eq!(
        text,
        "<status>run-error</status>\n<output>\nhalf\n</output>\n<error>\n\
         The code was killed: the code may use at most 1 GiB of memory (set by `memory`).\n</error>"
    );
}

#[tokio::test]
async fn failures_of_the_sandbox_are_tool_errors_in_the_same_form() {
    let broken = Script::ending_with(Err(EngineError::Unavailable("no user namespaces".to_owned())));
    let mut client = Client::open(&[("code", broken.clone())]).await;
    let result = client.run("code").await;
    assert_eq!(result["isError"], json!(true));
    assert_eq!(
        text_of(&result),
        "<status>run-error</status>\n<error>\n\
         the sandbox failed: the sandbox is not available: no user namespaces\n</error>"
    );
    let text: Value = serde_json::from_str(&json_mode(broken).await).unwrap();
    assert_eq!(text["status"], "run-error");
}

#[tokio::test]
async fn a_panic_is_answered_and_the_server_goes_on() {
    let mut client = Client::open(&[("boom", Script::silent().panicking()), ("1", Script::returning("1"))]).await;
    let result = client.run("boom").await;
    assert_eq!(result["isError"], json!(true));
    assert!(text_of(&result).contains("this is a defect"));
    assert_eq!(client.engine.alive(), 0);
    assert!(client.text("1").await.contains("success"));
}

#[tokio::test]
async fn a_busy_server_says_so() {
    let mut settings = RunnerSettings::default();
    settings.max_concurrent = 1;
    let scripts = engine(&[("loop", Script::silent().endless()), ("1", Script::returning("1"))]);
    let mut client = Client::connect(scripts, ReturnMode::Xml, settings);
    client.initialize("2025-06-18").await;
    let call = |code: &str| json!({"name": "run_python_code", "arguments": {"python_code": code}});
    let first = client.begin("tools/call", call("loop")).await;
    client.until_executed(1).await;
    for _ in 0..5 {
        client.begin("tools/call", call("1")).await;
    }
    // One runs and four wait; the next one is rejected at once.
    let refused = client.receive().await.unwrap();
    assert_eq!(refused["result"]["isError"], json!(true));
    assert!(text_of(&refused["result"]).contains("busy: 1 runs are under way and 4 are waiting"));
    client.notify("notifications/cancelled", json!({"requestId": first})).await;
    for _ in 0..4 {
        assert!(text_of(&client.receive().await.unwrap()["result"]).contains("success"));
    }
}
