//! Servers that die, break the protocol, or are started again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use brumate_python_server::MachineEnd;
use brumate_python_server::stdio::StdioOptions;
use serde_json::json;
use tokio::io::AsyncBufReadExt as _;
use tokio::sync::mpsc;

use super::client::{Client, options, tool_error};
use crate::scripted::{ScriptedLauncher, ScriptedServer, exited};

#[tokio::test]
async fn a_server_that_does_not_go_on_is_killed_and_started_again() {
    let launcher = ScriptedLauncher::default()
        .then_stdio(|mut server| async move {
            let initialize = server.receive().await.unwrap();
            server.answer(&initialize).await;
            std::future::pending().await
        })
        .then_stdio(|mut server| async move {
            let initialize = server.receive().await.unwrap();
            assert_eq!(initialize["method"], "initialize");
            server.answer(&initialize).await;
            assert_eq!(server.receive().await.unwrap()["method"], "notifications/initialized");
            server.echo().await
        });
    let grace = Duration::from_millis(50);
    let mut client = Client::connect(launcher, StdioOptions { request_timeout: grace, grace, ..options(0) }).await;
    assert_eq!(client.ask(json!(0), "initialize").await["id"], 0);
    client.notify("notifications/initialized", json!({})).await;
    assert_eq!(client.ask(json!(1), "tools/call").await["result"]["isError"], true);
    // Requests that come before the server is dead get an answer too.
    client.ask_until_answered("tools/list").await;
    assert_eq!(client.launcher.kills.load(Ordering::SeqCst), 1);
    assert_eq!(client.close().await, (vec![], exited(0)));
}

#[tokio::test]
async fn a_server_that_breaks_the_protocol_is_ended() {
    let long = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}", "x".repeat(16 << 20));
    let flood =
        (0..=1024).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).collect::<Vec<_>>().join("\n");
    for (line, part) in [
        ("garbage".to_owned(), "a line that is no message"),
        ("\u{0}\u{1}".to_owned(), "a line that is no message"),
        (r#"{"jsonrpc":"2.0","id":99,"result":{}}"#.to_owned(), "it answered 99, which is no open request"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#.to_owned() + "\n" + r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            "in use",
        ),
        ("[".repeat(1000), "nested too deeply"),
        (long, "more than 16 MiB"),
        (flood, "more than 1,024 requests"),
    ] {
        let launcher = ScriptedLauncher::default()
            .then_stdio(|mut server| async move {
                server.receive().await;
                server.send(&line).await;
                std::future::pending().await
            })
            .then_stdio(ScriptedServer::echo);
        let mut client = Client::connect(launcher, options(60)).await;
        client.request(json!(5), "tools/call").await;
        let answer = loop {
            let message = client.receive().await;
            if message["id"] == 5 && message["method"].is_null() {
                break message;
            }
        };
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("The server was ended: ") && text.contains(part), "{text}");
        loop {
            // Requests of the dead server are cancelled.
            let message = if client.input.buffer().is_empty() {
                client.ask(json!(6), "ping").await
            } else {
                client.receive().await
            };
            if message["id"] == 6 && message["method"].is_null() {
                break;
            }
            assert_eq!(message["method"], "notifications/cancelled");
        }
        client.shutdown.cancel();
    }
}

#[tokio::test]
async fn a_server_that_answers_twice_is_ended() {
    let launcher = ScriptedLauncher::default()
        .then_stdio(|mut server| async move {
            let request = server.receive().await.unwrap();
            server.answer(&request).await;
            server.answer(&request).await;
            std::future::pending().await
        })
        .then_stdio(ScriptedServer::echo);
    let mut client = Client::connect(launcher, options(60)).await;
    assert_eq!(client.ask(json!(1), "ping").await["id"], 1);
    client.ask_until_answered("ping").await;
    assert_eq!(client.launcher.kills.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_again_and_again_is_started_again_until_it_cannot_be() {
    let dies = |mut server: ScriptedServer| async move {
        server.receive().await;
        MachineEnd { status: 1, text: "Traceback:\nValueError: bad".to_owned() }
    };
    let launcher = ScriptedLauncher::default().then_stdio(dies).then_stdio(dies).then_stdio(dies).then_stdio(dies);
    let mut client = Client::connect(launcher, options(60)).await;
    for id in 1..=4 {
        let answer = client.ask(json!(id), "tools/call").await;
        assert_eq!(answer, tool_error(id, "The server has died: ValueError: bad."));
    }
    // No script is left.
    for id in 5..=6 {
        let answer = client.ask(json!(id), "tools/call").await;
        assert_eq!(answer, tool_error(id, "The server cannot be started; its log says why."));
    }
    client.request(json!(7), "tools/call").await;
    let (lines, end) = client.end().await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(end.status, 1);
    assert!(end.text.contains("3 times") && end.text.ends_with("no script is left"), "{}", end.text);
}

#[tokio::test(start_paused = true)]
async fn a_batch_whose_server_is_given_up_is_answered_whole() {
    let launcher = ScriptedLauncher::default().then_stdio(|mut server| async move {
        server.receive().await;
        exited(1)
    });
    let mut client = Client::connect(launcher, options(60)).await;
    client.ask(json!(1), "tools/call").await;
    // The third request meets the third start that fails. The rest starts nothing.
    let call = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call" });
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } });
    client.line(&json!([call(2), call(3), call(4), cancelled, call(5), call(6)]).to_string()).await;
    for id in 2..=6 {
        assert_eq!(client.receive().await, tool_error(id, "The server cannot be started; its log says why."));
    }
    let launcher = Arc::clone(&client.launcher);
    let (lines, end) = client.end().await;
    assert_eq!(lines, Vec::<String>::new());
    assert!(end.status == 1 && end.text.contains("3 times"), "{}", end.text);
    assert_eq!(launcher.launches.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_server_that_ends_by_itself_is_not_started_again() {
    let launcher = ScriptedLauncher::default().then_stdio(|mut server| async move {
        server.receive().await;
        exited(0)
    });
    let mut client = Client::connect(launcher, options(60)).await;
    assert_eq!(client.ask(json!(1), "tools/call").await, tool_error(1, "The server has ended."));
    assert_eq!(client.end().await, (vec![], exited(0)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ignores_the_end_of_its_input_is_killed() {
    for shutdown in [false, true] {
        let launcher = ScriptedLauncher::default().then_stdio(|_server| std::future::pending());
        let client = Client::connect(launcher, options(60)).await;
        let launcher = Arc::clone(&client.launcher);
        let (lines, end) = if shutdown {
            client.shutdown.cancel();
            client.end().await
        } else {
            client.close().await
        };
        assert_eq!((lines, end), (vec![], exited(0)));
        assert_eq!(launcher.kills.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_changed_file_starts_the_server_again() {
    let launcher = ScriptedLauncher::default()
        .then_stdio(|mut server| async move {
            for _ in 0..2 {
                let message = server.receive().await.unwrap();
                server.answer(&message).await;
            }
            // A call that is open at the restart.
            server.receive().await;
            server.receive().await;
            exited(0)
        })
        .then_stdio(ScriptedServer::echo);
    let (changed, reload) = mpsc::channel(1);
    let mut client = Client::connect(launcher, StdioOptions { reload: Some(reload), ..options(60) }).await;
    client.ask(json!(1), "initialize").await;
    client.notify("notifications/initialized", json!({})).await;
    client.request(json!(2), "tools/call").await;
    changed.send(()).await.unwrap();
    let answer = client.receive().await;
    assert_eq!(answer, tool_error(2, "The server was started again, because its file has changed."));
    for list in ["tools", "prompts", "resources"] {
        assert_eq!(client.receive().await["method"], format!("notifications/{list}/list_changed"));
    }
    assert_eq!(client.ask(json!(3), "ping").await["result"]["method"], "ping");
    assert_eq!(client.close().await, (vec![], exited(0)));
}

#[tokio::test]
async fn a_flood_does_not_grow_memory_when_nobody_reads() {
    let launcher = ScriptedLauncher::default().then_stdio(|mut server| async move {
        let line =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":"{}"}}"#, "x".repeat(1 << 20));
        for count in 0..200 {
            tokio::select! {
                () = server.send(&line) => {}
                // The host reads no further.
                () = tokio::time::sleep(Duration::from_secs(2)) => {
                    assert!((10..40).contains(&count), "{count} MiB were taken");
                    return exited(0);
                }
            }
        }
        panic!("200 MiB were taken although nobody reads")
    });
    let client = Client::connect(launcher, options(60)).await;
    let Client { output: _output, mut input, serving, shutdown, .. } = client;
    tokio::time::sleep(Duration::from_secs(3)).await;
    shutdown.cancel();
    let mut line = String::new();
    while input.read_line(&mut line).await.unwrap() > 0 {
        line.clear();
    }
    assert_eq!(serving.await.unwrap(), exited(0));
}
