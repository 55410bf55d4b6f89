//! Uses everything of a server of another SDK with the crate's client. The server is `tests/python/sdk_server.py`, or has the same tools.

use brumate_mcp::client::{ClientBuilder, ClientError, LogMessage, Progress, Target};
use brumate_mcp::{ElicitationResult, LogLevel};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time for a server to begin to listen.
pub(crate) const START: Duration = Duration::from_secs(60);

/// The data of a client that a server keeps between requests.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Session {
    /// Nothing: before 2026-07-28, such a server cannot ask, and knows no log level.
    Absent,
    /// All it needs.
    Kept,
    /// All it needs; but its log messages go to the stream of the session, not to that of the request, as rmcp's do. They may be seen
    /// after the answer.
    LogsApart,
}

/// Uses everything that the server has. Returns the protocol that was spoken.
pub(crate) async fn exercise<T: Target>(
    name: &str,
    builder: ClientBuilder<T>,
    session: Session,
) -> Result<String, ClientError> {
    let logged: Arc<Mutex<Vec<LogMessage>>> = Arc::default();
    let log = logged.clone();
    let client = builder
        .on_form(|form| async move {
            assert!(form.message.starts_with("Who"));
            ElicitationResult::Accepted(json!({"name": "Ada"}).as_object().unwrap().clone())
        })
        .on_log(move |message| log.lock().unwrap().push(message))
        .timeout(START);
    let client = if session != Session::Absent { client.log_level(LogLevel::Info) } else { client };
    let client = client.connect().await?;
    let tools: Vec<String> = client.tools().await?.into_iter().map(|tool| tool.name).collect();
    assert_eq!(tools, ["add", "fails", "steps", "talks", "asks"], "{name}");
    assert_eq!(client.call("add").arg("a", 2).await?.parse::<i64>()?, 3, "{name}");
    let failed = client.call("fails").await?;
    assert!(failed.is_error && failed.text().contains("it always does"), "{name}: {failed:?}");
    let wrong = client.call("add").arg("a", "two").await;
    assert!(wrong.is_err() || wrong.is_ok_and(|result| result.is_error), "{name}");
    let seen: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let progress = seen.clone();
    let stepped = client.call("steps").on_progress(move |step| progress.lock().unwrap().push(step)).await?;
    assert_eq!(stepped.text(), "stepped", "{name}");
    let done: Vec<f64> = seen.lock().unwrap().iter().map(|step| step.done).collect();
    assert_eq!(done, (1..=10).map(f64::from).collect::<Vec<_>>(), "{name}");
    assert_eq!(client.call("talks").await?.text(), "talked", "{name}");
    let began = Instant::now();
    while session == Session::LogsApart && logged.lock().unwrap().len() < 3 && began.elapsed() < START {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let data: Vec<Value> = logged.lock().unwrap().iter().map(|message| message.data.clone()).collect();
    assert_eq!(data, ["fact 0", "fact 1", "fact 2"], "{name}");
    if session != Session::Absent {
        assert_eq!(client.call("asks").await?.text(), "accept Ada", "{name}");
    }

    assert_eq!(client.resources().await?[0].uri, "text://about", "{name}");
    assert_eq!(client.read("text://about").await?[0].as_text(), Some("a server for tests"), "{name}");
    assert_eq!(client.templates().await?[0].uri_template, "text://users/{name}", "{name}");
    assert_eq!(client.read("text://users/Ada").await?[0].as_text(), Some("the user Ada"), "{name}");
    client.read("text://nowhere").await.unwrap_err();
    assert!(client.prompts().await?[0].arguments[0].required, "{name}");
    let messages = client.prompt("greet").arg("name", "Ada").await?.messages;
    assert_eq!(messages[0].content.as_text(), Some("Greet Ada."), "{name}");
    client.prompt("greet").await.unwrap_err();
    client.ping().await?;
    client.close().await;
    Ok(client.protocol_version().to_owned())
}
