//! Groups of clients.

use brumate_mcp::client::{ClientError, ClientGroup, read_config};
use brumate_mcp::{Client, Content, Server, Tool, tool};
use serde_json::{Map, Value, json};
use std::time::Duration;

#[tool]
async fn who() -> &'static str {
    "somebody"
}

fn server(name: &'static str) -> Server {
    let own = Tool::new("name").handler(move |_: Map<String, Value>, _| async move { Content::text(name) });
    Server::new(name).tool(own).tool(who)
}

#[tokio::test]
async fn tools_have_one_name_each() {
    let group = ClientGroup::new();
    let (first, second) = (server("first"), server("second"));
    group.connect(Client::in_process(&first)).await.unwrap();
    let error = group.connect(Client::in_process(&second)).await.unwrap_err().to_string();
    assert!(error.contains("`name`") && error.contains("`first`") && error.contains("second"), "{error}");
    assert_eq!(group.members().len(), 1, "one that cannot be called is no member");

    let group = ClientGroup::new().tool_names(|server, tool| format!("{server}.{tool}"));
    let member = group.connect(Client::in_process(&first)).await.unwrap();
    group.connect(Client::in_process(&second)).await.unwrap();
    let names: Vec<String> = group.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["first.name", "first.who", "second.name", "second.who"]);
    assert_eq!(group.call("second.name").await.unwrap().await.unwrap().text(), "second");
    assert!(matches!(group.call("third.name").await, Err(ClientError::UnknownTool(_))));
    assert_eq!(group.client(member).unwrap().server_info().name, "first");

    // What comes and goes at a server comes and goes in the group.
    second.remove_tool("who");
    for _ in 0..100 {
        if group.tools().await.unwrap().len() == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(group.tools().await.unwrap().len(), 3);
    group.disconnect(member).await;
    assert_eq!(group.tools().await.unwrap().len(), 1);
}

#[tokio::test]
async fn servers_of_a_file_are_connected_and_one_that_ends_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mcp.json");
    let interop = crate::clients::examples().join("interop");
    let config = json!({"mcpServers": {
        "local": {"command": interop, "args": ["stdio"], "env": {"A": "1"}},
        "off": {"command": "nothing", "disabled": true},
        "gone": {"command": "/nowhere/server"},
        "empty": {},
        "odd": {"type": "carrier pigeon", "url": "http://127.0.0.1:9"},
    }});
    std::fs::write(&file, config.to_string()).unwrap();
    let group = ClientGroup::new();
    let mut failed = Vec::new();
    for (name, server) in read_config(&file).unwrap() {
        if let Err(error) = group.connect_configured(&name, &server).await {
            failed.push(error.to_string());
        }
    }
    assert_eq!(failed.len(), 3, "{failed:?}");
    assert!(
        failed[0].contains("neither a `command` nor a `url`") && failed[2].contains("carrier pigeon"),
        "{failed:?}"
    );
    let [(member, name)] = &group.members()[..] else { panic!("one member") };
    assert_eq!(name, "local");
    assert_eq!(group.call("add").await.unwrap().arg("a", 1).await.unwrap().structured, Some(json!({"sum": 2})));
    group.client(*member).unwrap().close().await;
    assert_eq!(group.disconnected().await, (*member, "local".to_owned()));
    assert!(group.members().is_empty() && group.tools().await.unwrap().is_empty());

    std::fs::write(&file, "{}").unwrap();
    let error = read_config(&file).unwrap_err().to_string();
    assert!(error.contains("mcp.json") && error.contains("mcpServers"), "{error}");
}
