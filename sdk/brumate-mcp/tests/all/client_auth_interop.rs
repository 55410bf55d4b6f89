//! The client's OAuth against the authorization server of the Python SDK, 1.x and 2.x.

use crate::client_interop::{python, start};
use crate::oauth_server::{REDIRECT, visit};
use brumate_mcp::Client;
use brumate_mcp::client::{AuthError, FileTokenStore, OAuth};
use std::path::Path;

/// The client registers itself, is authorized, calls, refreshes, and does so again after a restart, when nobody agrees
/// any more.
async fn against(variable: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/sdk_auth_server.py");
    let (_server, address) = start(&python(variable), &[script.to_str().unwrap()]);
    let url = format!("{address}/mcp");
    let refused = Client::http(&url).connect().await.unwrap_err().to_string();
    assert!(refused.contains("wants credentials"), "{refused}");

    let directory = tempfile::tempdir().unwrap();
    let oauth = OAuth::new("Test").token_store(FileTokenStore::new(directory.path()).unwrap());
    let client = Client::http(&url).auth(oauth.on_authorize(REDIRECT, visit)).connect().await.unwrap();
    assert_eq!(client.call("add").arg("a", 1).arg("b", 2).await.unwrap().text(), "3");
    client.call("end_tokens").await.unwrap();
    assert_eq!(client.call("grants").await.unwrap().text(), "1 1 1", "one client, one code, one refresh");
    client.call("end_tokens").await.unwrap();
    client.close().await;

    let nobody = |_| async { Err(AuthError::new("nobody is there to agree")) };
    let oauth = OAuth::new("Test").token_store(FileTokenStore::new(directory.path()).unwrap());
    let client = Client::http(&url).auth(oauth.on_authorize(REDIRECT, nobody)).connect().await.unwrap();
    // Its end had no token that holds, and got one.
    let granted = client.call("grants").await.unwrap().text();
    assert!(granted.starts_with("1 1 "), "{granted}");
    client.close().await;
}

#[tokio::test]
async fn the_authorization_server_of_python_1() {
    against("BRUMATE_TEST_PYTHON_MCP1").await;
}

#[tokio::test]
async fn the_authorization_server_of_python_2() {
    against("BRUMATE_TEST_PYTHON_MCP2").await;
}
