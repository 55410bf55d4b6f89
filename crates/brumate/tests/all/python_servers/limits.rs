//! Limits of a server and of its calls.

use serde_json::{Value, json};

use super::server::Server;

/// Largest growth of the host's memory while a server logs, in KiB.
const LOG_GROWTH: u64 = 64 << 10;
/// Largest log within a minute, and what is said about it, in bytes.
const LOG_BYTES: usize = (1 << 20) + 1000;

#[test]
fn a_call_without_end_is_stopped_and_the_next_one_works() {
    let mut server = Server::start(&["--timeout", "2s"]);
    for tool in ["spin", "wait"] {
        let text = server.failure(tool, &json!({}));
        assert!(text.contains("time limit of 2 seconds"), "{text}");
        server.check();
    }
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn a_waiting_call_is_cancelled() {
    let mut server = Server::start(&[]);
    let waiting = server.begin_call("wait", &json!({}));
    let until = |server: &mut Server, key: &str| {
        while server.value("waited", &json!({}))[key] != 1 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    until(&mut server, "begun");
    let params = json!({"requestId": waiting, "reason": "test"});
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    until(&mut server, "cancelled");
    server.check();
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn a_flood_of_output_is_cut() {
    // Nothing else may use memory meanwhile.
    let mut server = Server::start(&["--timeout", "3s", "--no-learned-images"]);
    server.check();
    let before = peak(server.id());
    let text = server.failure("flood", &json!({}));
    assert!(text.contains("time limit"), "{text}");
    let growth = peak(server.id()) - before;
    assert!(growth < LOG_GROWTH, "{growth} KiB");
    server.check();
    let end = server.end();
    assert!(end.log.len() < LOG_BYTES, "{} bytes", end.log.len());
    let notice = "the server has logged 1048576 bytes within a minute; the rest is left out";
    assert_eq!(end.log.matches(notice).count(), 1);
}

/// Returns the largest memory that a process has used, in KiB.
fn peak(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn tasks_without_end_reach_the_memory_limit() {
    let mut server = Server::start(&["--memory", "128MiB"]);
    server.failure("tasks", &json!({}));
    // The tasks live on. Where they leave no memory for the next call, that one ends the machine.
    let result = server.call("add", &json!({"a": 1, "b": 2}));
    if result["isError"] == true {
        assert!(result["content"][0]["text"].as_str().unwrap().contains("128 MiB"), "{result}");
        server.check();
    }
}

#[test]
fn a_thousand_calls_at_once_are_answered() {
    let mut server = Server::start(&[]);
    let calls: Vec<u64> = (0..1000).map(|_| server.begin_call("nap", &json!({"seconds": 0.05}))).collect();
    for id in calls {
        let answer = server.answer(id);
        assert_eq!(answer["result"]["content"][0]["text"], "slept", "{answer}");
    }
    // More are refused, and nothing is lost.
    let mut refused = 0;
    let calls: Vec<u64> = (0..1100).map(|_| server.begin_call("nap", &json!({"seconds": 1}))).collect();
    for id in calls {
        let answer = server.answer(id);
        match answer.get("error") {
            Some(error) => {
                assert!(error["message"].as_str().unwrap().contains("1024 requests are not answered yet"), "{error}");
                refused += 1;
            }
            None => assert_eq!(answer["result"]["content"][0]["text"], Value::from("slept"), "{answer}"),
        }
    }
    assert!(refused <= 76, "{refused}");
    server.check();
    assert_eq!(server.end().status, Some(0));
}
