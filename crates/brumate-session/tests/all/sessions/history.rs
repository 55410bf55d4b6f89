//! Sessions as notebooks: what is kept of their cells, how long, and how much.

use brumate_engine_api::{Event, FrontendKind, FrontendMessage};
use brumate_notebook::OutputPolicy;
use brumate_session::sessions::{
    BACKUP_TIMEOUT, LOCAL_PRINCIPAL, MAX_CELL_CODE_BYTES, MAX_HISTORY_BYTES, MAX_HISTORY_CELLS, MAX_RESOURCE_BYTES,
    SessionError, Sessions, SnapshotFiles, notebook_of,
};
use brumate_session::testing::{FakeEngine, Script};
use brumate_session::{CancellationToken, FrontendRequest, Request};
use serde_json::{Value, json};

use super::support::{Host, engine};

/// Bytes of the output of the code `large`. A cell may keep them.
const LARGE: usize = 3 << 20;

fn scripts() -> FakeEngine {
    let display = |pairs: &[(&str, &str)]| Event::DisplayData {
        data: pairs.iter().map(|(mime, payload)| ((*mime).to_owned(), (*payload).to_owned())).collect(),
    };
    let picture = [
        ("image/png", "small"),
        ("application/vnd.brumate.original+png", "whole"),
        ("application/vnd.x+json", "[1]"),
        ("application/json", "no JSON"),
        ("application/vnd.brumate.display+json", r#"{"display_id":"d","update":false}"#),
    ];
    let update =
        [("text/plain", "new"), ("application/vnd.brumate.display+json", r#"{"display_id":"d","update":true}"#)];
    // No text and no picture: such a display is no file.
    let large = |letter: &str| display(&[("text/x", &letter.repeat(LARGE))]);
    let result = Event::ExecuteResult { data: [("text/plain".to_owned(), "7".to_owned())].into() };
    let message = |kind, content: &str| {
        let (content, metadata) = (content.to_owned(), "{}".to_owned());
        Event::Frontend(FrontendMessage { kind, content, metadata, buffers: Vec::new() })
    };
    let quiet = [hidden().to_string(), completion().to_string(), "no JSON".to_owned(), " \n".to_owned(), long()];
    let engine = quiet.iter().fold(engine(), |engine, code| engine.on(code, Script::silent()));
    engine
        .on("shown", Script::silent().stdout("a").stderr("b").event(display(&picture)).event(result))
        .on("updated", Script::silent().event(display(&picture)).event(display(&update)))
        .on("large", Script::silent().event(large("x")))
        .on("too large", Script::silent().event(large("x")).event(large("y")).event(large("z")))
        .on(
            &frontend("1").to_string(),
            Script::returning(r#"{"status": "ok", "execution_count": 5}"#)
                .event(message(FrontendKind::ExecuteInput, r#"{"execution_count": 5}"#))
                .event(message(FrontendKind::DisplayData, r#"{"data": {"text/plain": 1}, "metadata": 2}"#))
                .event(message(FrontendKind::DisplayData, "no JSON"))
                .event(message(FrontendKind::DisplayData, r#"{"data": {"text/plain": "\ud800"}}"#))
                .event(message(FrontendKind::ExecuteResult, r#"{"data": {"text/plain": "1"}, "execution_count": 5}"#)),
        )
}

/// Returns the message of a frontend that runs a cell.
fn frontend(code: &str) -> FrontendRequest {
    FrontendRequest::new("execute_request", json!({"code": code, "silent": false}), &json!({}))
}

/// Returns the message of a frontend that runs code out of its user's sight.
fn hidden() -> FrontendRequest {
    FrontendRequest::new("execute_request", json!({"code": "1", "silent": true}), &json!({}))
}

fn completion() -> FrontendRequest {
    FrontendRequest::new("complete_request", json!({"code": "1"}), &json!({}))
}

/// Returns code that is too long to be kept whole.
fn long() -> String {
    format!("x{}", " ".repeat(MAX_CELL_CODE_BYTES))
}

async fn host() -> Host {
    Host::with(scripts(), |settings| settings.limits.output_bytes = 64 << 20).await
}

async fn notebook(host: &Host, id: &str) -> Value {
    let made = host.sessions.notebook(LOCAL_PRINCIPAL, id, OutputPolicy::Active, MAX_RESOURCE_BYTES).await;
    serde_json::from_str(&made.unwrap().to_json()).unwrap()
}

/// Returns the codes of a notebook's cells.
async fn codes(host: &Host, id: &str) -> Vec<String> {
    let notebook = notebook(host, id).await;
    let code = |cell: &Value| cell["source"].as_array().unwrap().iter().filter_map(Value::as_str).collect::<String>();
    notebook["cells"].as_array().unwrap().iter().map(code).collect()
}

#[tokio::test]
async fn cells_have_their_outputs_as_notebooks_have_them() {
    let host = host().await;
    let id = host.open("shown").await;
    host.cell(Some(&id), "updated").await.unwrap();
    host.cell(Some(&id), "1/0").await.unwrap();
    let notebook = notebook(&host, &id).await;
    assert_eq!((&notebook["nbformat"], &notebook["nbformat_minor"]), (&json!(4), &json!(5)));
    let picture = json!({"image/png": "whole", "application/vnd.x+json": [1], "application/json": "no JSON"});
    let [shown, updated, failed] = &notebook["cells"].as_array().unwrap()[..] else { panic!("{notebook}") };
    let shown_outputs = json!([
        {"output_type": "stream", "name": "stdout", "text": ["a"]},
        {"output_type": "stream", "name": "stderr", "text": ["b"]},
        {"output_type": "display_data", "data": picture, "metadata": {}},
        {"output_type": "execute_result", "data": {"text/plain": ["7"]}, "metadata": {}, "execution_count": 1},
    ]);
    assert_eq!(shown["outputs"], shown_outputs);
    assert_eq!(
        (&shown["id"], &shown["execution_count"], &shown["metadata"]),
        (&json!("cell-1"), &json!(1), &json!({}))
    );
    let new = json!([{"output_type": "display_data", "data": {"text/plain": ["new"]}, "metadata": {}}]);
    assert_eq!(updated["outputs"], new);
    let error = &failed["outputs"][0];
    assert_eq!((&error["ename"], &error["evalue"]), (&json!("ZeroDivisionError"), &json!("division by zero")));
    assert_eq!(error["traceback"].as_array().unwrap().last(), Some(&json!("ZeroDivisionError: division by zero")));
}

#[tokio::test]
async fn cells_that_were_undone_or_stopped_are_there_as_they_were_reported() {
    let host = host().await;
    let id = host.open("x = 1").await;
    host.cell(Some(&id), "crash").await.unwrap();
    let running = host.begin(&id, "loop");
    host.until_executed(3).await;
    host.sessions.interrupt(LOCAL_PRINCIPAL, &id).await.unwrap();
    running.await.unwrap().unwrap();
    let notebook = notebook(&host, &id).await;
    let [_, crashed, stopped] = &notebook["cells"].as_array().unwrap()[..] else { panic!("{notebook}") };
    assert_eq!(crashed["outputs"][0]["text"], json!(["half\n"]));
    assert_eq!(crashed["outputs"][1]["ename"], "SessionRolledBackError");
    assert_eq!(stopped["outputs"][1]["ename"], "KeyboardInterrupt");
    assert_eq!((&crashed["execution_count"], &stopped["execution_count"]), (&json!(2), &json!(2)));
}

#[tokio::test]
async fn cells_of_frontends_are_there_and_hidden_requests_are_not() {
    let host = host().await;
    let id = host.open("x = 1").await;
    for message in [&frontend("1"), &hidden(), &completion()] {
        let request = Request::frontend(&id, message).with_principal(LOCAL_PRINCIPAL);
        host.sessions.execute(request, &CancellationToken::new(), &mut |_| {}).await.unwrap();
    }
    let internal = Request::cell(Some(&id), "x").with_principal(LOCAL_PRINCIPAL).with_unrecorded(true);
    host.sessions.execute(internal, &CancellationToken::new(), &mut |_| {}).await.unwrap();
    host.cell(Some(&id), " \n").await.unwrap();
    assert_eq!(codes(&host, &id).await, ["x = 1", "1"]);
    let notebook = notebook(&host, &id).await;
    let outputs = json!([
        {"output_type": "display_data", "data": {"text/plain": ["1"]}, "metadata": {}},
        {"output_type": "execute_result", "data": {"text/plain": ["1"]}, "metadata": {}, "execution_count": 5},
    ]);
    assert_eq!((&notebook["cells"][1]["outputs"], &notebook["cells"][1]["execution_count"]), (&outputs, &json!(5)));
}

#[tokio::test]
async fn the_history_outlives_machines_and_servers() {
    let mut host = host().await;
    let id = host.open("x = 1").await;
    let fork = host.sessions.fork(LOCAL_PRINCIPAL, &id, &CancellationToken::new()).await.unwrap().to_string();
    host.cell(Some(&id), "x").await.unwrap();
    host.cell(Some(&fork), "1/0").await.unwrap();
    assert_eq!(
        (codes(&host, &id).await, codes(&host, &fork).await),
        (strings(&["x = 1", "x"]), strings(&["x = 1", "1/0"]))
    );
    let before = notebook(&host, &id).await;
    host.pass(100);
    host.sessions.sweep().await;
    for in_order in [true, false] {
        host = host.restart(in_order).await;
        assert_eq!(notebook(&host, &id).await, before);
        let cells = Sessions::read_cells(host.path(), &id).unwrap().unwrap();
        let read = notebook_of(cells, OutputPolicy::Active, u64::MAX).to_json();
        assert_eq!(serde_json::from_str::<Value>(&read).unwrap(), before);
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn copies_have_the_history_and_a_reset_and_the_end_remove_it() {
    let host = host().await;
    let id = host.open("x = 1").await;
    host.cell(Some(&id), "x").await.unwrap();
    let place = tempfile::tempdir().unwrap();
    let files = SnapshotFiles { session: place.path().join("session"), image: place.path().join("image") };
    let cancel = CancellationToken::new();
    let snapshot = host.sessions.snapshot(LOCAL_PRINCIPAL, &id, &files, &cancel).await.unwrap();
    let restored = host.sessions.restore_snapshot(LOCAL_PRINCIPAL, snapshot, &files, &cancel).await.unwrap();
    assert_eq!(notebook(&host, restored.as_str()).await, notebook(&host, &id).await);
    let backup = place.path().join("backup");
    Sessions::backup(host.path(), &backup, BACKUP_TIMEOUT).await.unwrap();
    assert_eq!(Sessions::read_cells(&backup, &id).unwrap().unwrap().len(), 2);
    let of_another = host.sessions.notebook("other", &id, OutputPolicy::Active, MAX_RESOURCE_BYTES).await;
    assert!(matches!(of_another, Err(SessionError::NotFound { .. })));
    host.sessions.reset(LOCAL_PRINCIPAL, &id).await.unwrap();
    assert_eq!(codes(&host, &id).await, strings(&[]));
    assert!(host.sessions.clear(LOCAL_PRINCIPAL, &id).await.unwrap());
    assert_eq!(Sessions::read_cells(host.path(), &id).unwrap(), None);
    assert_eq!(codes(&host, restored.as_str()).await.len(), 2);
}

#[tokio::test]
async fn sizes_are_bounded_and_the_oldest_outputs_go_first() {
    let host = host().await;
    let id = host.open("too large").await;
    for _ in 0..6 {
        host.cell(Some(&id), "large").await.unwrap();
    }
    host.cell(Some(&id), &long()).await.unwrap();
    let history = host.sessions.list(LOCAL_PRINCIPAL).await[0].history_bytes;
    assert!(history <= MAX_HISTORY_BYTES && history > MAX_HISTORY_BYTES / 2, "{history}");
    let notebook = notebook(&host, &id).await;
    let cells = notebook["cells"].as_array().unwrap();
    let kept: Vec<usize> = cells.iter().map(|cell| cell["outputs"].as_array().unwrap().len()).collect();
    assert_eq!(kept, [0, 0, 1, 1, 1, 1, 1, 0]);
    assert_eq!(cells[0]["metadata"]["brumate"]["outputs_dropped"].as_u64(), Some(3));
    assert_eq!(cells[1]["metadata"], json!({"brumate": {"outputs_dropped": 1}}));
    assert_eq!(cells[7]["metadata"], json!({"brumate": {"code_cut": true}}));
    // A small file has the newest outputs.
    let small = host.sessions.notebook(LOCAL_PRINCIPAL, &id, OutputPolicy::Active, 4 << 20).await.unwrap().to_json();
    assert!(small.len() <= 4 << 20 && small.contains("xxx"));
}

#[tokio::test]
async fn the_number_of_cells_is_bounded() {
    let host = host().await;
    let id = host.open("x = 1").await;
    for _ in 0..MAX_HISTORY_CELLS {
        host.cell(Some(&id), "x").await.unwrap();
    }
    let cells = Sessions::read_cells(host.path(), &id).unwrap().unwrap();
    assert_eq!((cells.len() as u64, cells[0].code.as_str()), (MAX_HISTORY_CELLS, "x"));
}

#[tokio::test]
async fn nothing_is_kept_if_the_settings_say_so() {
    let host = Host::with(scripts(), |settings| settings.history = false).await;
    let id = host.open("shown").await;
    assert_eq!(codes(&host, &id).await, strings(&[]));
}
