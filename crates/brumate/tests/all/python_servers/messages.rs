//! Messages, output and the end of a server.

use serde_json::json;

use super::server::Server;

#[test]
fn the_first_version_of_the_sdk_needs_no_network() {
    let mut server = Server::start(&[]);
    assert_eq!(server.about["serverInfo"]["name"], "Abuse");
    assert!(server.about["serverInfo"]["version"].as_str().unwrap().starts_with("1."), "{}", server.about);
    let listed = server.request("tools/list", &json!({}));
    assert!(listed["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "add"), "{listed}");
    server.check();
    assert_eq!(server.end().status, Some(0));
}

/// Standard output has messages alone: each line is checked.
#[test]
fn what_a_tool_prints_goes_to_the_log() {
    let mut server = Server::start(&[]);
    assert_eq!(server.value("say", &json!({"text": "{\"id\": 1} é"})), "said");
    server.check();
    let end = server.end();
    assert!(end.rest.is_empty(), "{:?}", end.rest);
    for part in ["\n{\"id\": 1} é\n", "raw {\"id\": 1} é\n", "error {\"id\": 1} é\n"] {
        assert!(end.log.contains(part), "{part:?} is not in {}", end.log);
    }
}

#[test]
fn the_lifespan_ends_with_the_input() {
    let mut server = Server::start(&[]);
    server.check();
    let end = server.end();
    assert_eq!(end.status, Some(0), "{}", end.log);
    let (begins, ends) = (end.log.find("lifespan begins"), end.log.find("lifespan ends"));
    assert!(begins.is_some() && begins < ends, "{}", end.log);
}

/// An open call has a few seconds to be answered.
#[test]
fn what_is_open_when_the_input_ends_is_answered() {
    let mut server = Server::start(&[]);
    server.check();
    let id = server.begin_call("nap", &json!({"seconds": 0.5}));
    let end = server.end();
    assert!(
        end.rest.iter().any(|message| message["id"] == id && message["result"]["isError"] == false),
        "{:?}",
        end.rest
    );
    assert!(end.status == Some(0) && end.log.contains("lifespan ends"), "{}", end.log);
}
