//! The client's OAuth against an authorization server of the test's own: what it goes through, what it refuses, and who
//! sees what.

use crate::oauth_server::{Behaviour, REDIRECT, Servers, visit};
use brumate_mcp::Client;
use brumate_mcp::client::{AuthError, Bearer, ClientCredentials, ClientError, FileTokenStore, OAuth, TokenStore};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) async fn connect(servers: &Servers, oauth: OAuth) -> Result<Client, ClientError> {
    Client::http(servers.url()).auth(oauth).connect().await
}

async fn adds(client: &Client) {
    assert_eq!(client.call("add").arg("a", 1).arg("b", 2).await.unwrap().text(), "3");
}

/// An authorization without anybody who could agree.
fn nobody() -> OAuth {
    OAuth::new("Test").on_authorize(REDIRECT, |_| async { Err(AuthError::new("nobody is there to agree")) })
}

#[tokio::test]
async fn a_confidential_client_refreshes_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    restarts(|| FileTokenStore::new(directory.path()).unwrap()).await;
}

#[cfg(feature = "keyring")]
#[tokio::test]
async fn a_confidential_client_with_a_keyring_refreshes_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = keyring_core::mock::Store::new().unwrap();
    restarts(|| brumate_mcp::client::KeyringTokenStore::in_store(store.clone(), "test", directory.path()).unwrap())
        .await;
}

async fn restarts<T: TokenStore>(tokens: impl Fn() -> T) {
    let servers = Servers::start(Behaviour::default()).await;
    let client = connect(&servers, servers.oauth().token_store(tokens())).await.unwrap();
    adds(&client).await;
    client.close().await;
    assert_eq!((servers.seen("POST /register").len(), servers.grants("authorization_code")), (1, 1));

    // Twice: a refresh that was of use does not forbid the next one.
    servers.end_access();
    let client = connect(&servers, nobody().token_store(tokens())).await.unwrap();
    adds(&client).await;
    servers.end_access();
    adds(&client).await;
    client.close().await;
    assert_eq!((servers.seen("POST /register").len(), servers.grants("authorization_code")), (1, 1));
    assert_eq!(servers.grants("refresh_token"), 2);
    for refresh in servers.seen("POST /token") {
        assert!(refresh.authorization.is_some_and(|value| value.starts_with("Basic ")), "with its secret");
    }
}

#[tokio::test]
async fn a_token_is_refreshed_before_it_ends() {
    // A number as a text and a fraction are no numbers of seconds, and are taken for what they mean.
    for expires_in in [json!(10), json!("10"), json!(10.5)] {
        let servers = Servers::start(Behaviour { expires_in: Some(expires_in), ..Behaviour::default() }).await;
        let client = connect(&servers, servers.oauth()).await.unwrap();
        adds(&client).await;
        assert!(servers.grants("refresh_token") >= 1);
        assert_eq!(servers.grants("authorization_code"), 1);
    }
}

/// The process that the test below starts twice.
async fn another_process(directory: &str, url: &str) {
    let oauth = nobody().token_store(FileTokenStore::new(directory).unwrap());
    let client = Client::http(url).auth(oauth).connect().await.unwrap();
    adds(&client).await;
    client.close().await;
}

#[tokio::test]
async fn two_processes_refresh_at_once() {
    const DIRECTORY: &str = "BRUMATE_TEST_TOKENS";
    const URL: &str = "BRUMATE_TEST_PROTECTED_URL";
    if let (Ok(directory), Ok(url)) = (std::env::var(DIRECTORY), std::env::var(URL)) {
        return another_process(&directory, &url).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let servers = Servers::start(Behaviour::default()).await;
    let oauth = servers.oauth().token_store(FileTokenStore::new(directory.path()).unwrap());
    connect(&servers, oauth).await.unwrap().close().await;
    servers.end_access();
    // The first refresh is answered when both have been refused.
    servers.behave(Behaviour { refresh_after: 2, ..Behaviour::default() });
    let start = || {
        let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "client_auth::two_processes_refresh_at_once", "--nocapture"]);
        command.env(DIRECTORY, directory.path()).env(URL, servers.url());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).output()
    };
    let (one, other) = tokio::join!(start(), start());
    for output in [one.unwrap(), other.unwrap()] {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    }
    assert_eq!(servers.grants("refresh_token"), 1);
}

#[tokio::test]
async fn requests_at_once_authorize_once() {
    let servers = Servers::start(Behaviour::default()).await;
    let visits = Arc::new(AtomicUsize::new(0));
    let count = visits.clone();
    let oauth = OAuth::new("Test").on_authorize(REDIRECT, move |page| {
        count.fetch_add(1, Ordering::SeqCst);
        visit(page)
    });
    let client = connect(&servers, oauth).await.unwrap();
    servers.end_access();
    // No refresh token holds either.
    servers.behave(Behaviour { refuses: Some((400, "invalid_grant")), ..Behaviour::default() });
    futures::future::join_all((0..8).map(|_| adds(&client))).await;
    assert_eq!(visits.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_call_without_the_scope_gets_it() {
    let servers = Servers::start(Behaviour::default()).await;
    let client = connect(&servers, servers.oauth()).await.unwrap();
    adds(&client).await;
    assert_eq!(client.call("write").await.unwrap().text(), "written");
    let asked: Vec<String> = servers.seen("GET /authorize").into_iter().map(|seen| seen.text).collect();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].contains("scope=read&") || asked[0].ends_with("scope=read"), "{}", asked[0]);
    assert!(asked[1].contains("scope=read+write"), "what there was stays: {}", asked[1]);
}

#[tokio::test]
async fn a_program_without_the_scope_gets_it() {
    let servers = Servers::start(Behaviour::default()).await;
    let (id, secret) = servers.program();
    let credentials = ClientCredentials::secret(id, secret).issuer(&servers.0.issuer);
    let client = Client::http(servers.url()).auth(credentials).connect().await.unwrap();
    adds(&client).await;
    assert_eq!(client.call("write").await.unwrap().text(), "written");
    let asked = servers.seen("POST /token");
    assert_eq!(asked.len(), 2);
    assert!(asked[1].text.contains("scope=read+write"), "what there was stays: {}", asked[1].text);
}

#[tokio::test]
async fn the_older_transport_is_authorized_too() {
    let servers = Servers::start(Behaviour::default()).await;
    let url = servers.url().replace("/mcp", "/sse");
    // One resource for all its paths.
    let resource = json!({"resource": servers.url().trim_end_matches("/mcp")});
    servers.behave(Behaviour { resource: resource.clone(), ..Behaviour::default() });
    let client = Client::sse(&url).auth(servers.oauth()).connect().await.unwrap();
    adds(&client).await;
    servers.end_access();
    adds(&client).await;
    assert_eq!(client.call("write").await.unwrap().text(), "written");
    client.close().await;
    servers.behave(Behaviour {
        resource,
        answer: Some(|pairs| pairs.retain(|(name, _)| name != "iss")),
        ..Behaviour::default()
    });
    let error = Client::sse(&url).auth(servers.oauth()).connect().await.unwrap_err();
    assert!(matches!(error, ClientError::Authorization(_)), "{error}");
}

#[tokio::test]
async fn a_refused_token_is_told_as_such() {
    let servers = Servers::start(Behaviour::default()).await;
    let wrong = Bearer::new(|| async { Ok::<_, AuthError>("wrong".to_owned()) });
    let error = Client::http(servers.url()).auth(wrong).connect().await.unwrap_err();
    assert!(matches!(error, ClientError::Authorization(_)), "{error}");
    assert_eq!(error.to_string(), "authorization: the server refuses the token: HTTP 401: it is unknown");
    // In the middle of a connection, too.
    let client = connect(&servers, servers.oauth()).await.unwrap();
    servers.end_access();
    servers.behave(Behaviour { refuses: Some((503, "temporarily_unavailable")), ..Behaviour::default() });
    let error = client.call("add").arg("a", 1).arg("b", 2).await.unwrap_err();
    assert!(matches!(error, ClientError::Authorization(_)), "{error}");
}

#[tokio::test]
async fn a_client_that_the_server_has_forgotten_registers_again() {
    let servers = Servers::start(Behaviour::default()).await;
    let client = connect(&servers, servers.oauth()).await.unwrap();
    servers.end_access();
    servers.forget_clients();
    adds(&client).await;
    assert_eq!(servers.seen("POST /register").len(), 2);
}

#[tokio::test]
async fn a_server_in_trouble_takes_no_tokens_away() {
    let directory = tempfile::tempdir().unwrap();
    let servers = Servers::start(Behaviour::default()).await;
    let oauth = servers.oauth().token_store(FileTokenStore::new(directory.path()).unwrap());
    connect(&servers, oauth).await.unwrap().close().await;
    servers.end_access();
    servers.behave(Behaviour { refuses: Some((503, "temporarily_unavailable")), ..Behaviour::default() });
    let error = connect(&servers, nobody().token_store(FileTokenStore::new(directory.path()).unwrap()))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("503"), "{error}");
    servers.behave(Behaviour::default());
    adds(&connect(&servers, nobody().token_store(FileTokenStore::new(directory.path()).unwrap())).await.unwrap()).await;
}

/// What is refused: the server's behaviour, and words of the error.
fn refusals() -> Vec<(Behaviour, &'static str)> {
    let answer = |change| Behaviour { answer: Some(change), ..Behaviour::default() };
    let metadata = |members: Value| Behaviour { metadata: members, ..Behaviour::default() };
    vec![
        (answer(|pairs| pairs.retain(|(name, _)| name != "iss")), "`iss`"),
        (answer(|pairs| pairs[2].1.push('/')), "another authorization server"),
        (answer(|pairs| pairs[1].1 = "other".to_owned()), "`state`"),
        (answer(|pairs| pairs.retain(|(name, _)| name != "state")), "`state`"),
        (answer(|pairs| pairs.retain(|(name, _)| name != "code")), "no code"),
        (
            answer(|pairs| {
                pairs[0] = ("error".to_owned(), "access_denied".to_owned());
                pairs.push(("error_description".to_owned(), "not today".to_owned()));
            }),
            "refuses: access_denied: not today",
        ),
        (metadata(json!({"code_challenge_methods_supported": null})), "PKCE"),
        (metadata(json!({"code_challenge_methods_supported": ["plain"]})), "PKCE"),
        (metadata(json!({"issuer": "https://issuer.example"})), "are those of `https://issuer.example`"),
        (metadata(json!({"registration_endpoint": null})), "registers no clients"),
        (
            Behaviour { resource: json!({"resource": "https://other.example/mcp"}), ..Behaviour::default() },
            "are those of `https://other.example/mcp`",
        ),
        (
            Behaviour { resource: json!({"authorization_servers": []}), ..Behaviour::default() },
            "no authorization server",
        ),
    ]
}

#[tokio::test]
async fn what_is_not_right_is_refused_before_a_token_is_asked_for() {
    for (behaviour, words) in refusals() {
        let servers = Servers::start(behaviour).await;
        let error = connect(&servers, servers.oauth()).await.unwrap_err();
        assert!(matches!(error, ClientError::Authorization(_)), "{words}: {error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
        assert_eq!(servers.seen("POST /token").len(), 0, "{words}");
    }
}

/// A program that stands for the browser: it notes the page.
fn browser(directory: &Path) -> PathBuf {
    let path = directory.join("browser");
    std::fs::write(
        &path,
        "#!/bin/sh\nprintf %s \"$1\" > \"${0%/*}/page.new\"\nmv \"${0%/*}/page.new\" \"${0%/*}/page\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    path
}

#[tokio::test]
async fn the_browser_of_the_system_opens_the_page() {
    const URL: &str = "BRUMATE_TEST_BROWSER_URL";
    if let Ok(url) = std::env::var(URL) {
        let client = Client::http(url).auth(OAuth::new("Test").in_browser()).connect().await.unwrap();
        return adds(&client).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let servers = Servers::start(Behaviour::default()).await;
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "client_auth::the_browser_of_the_system_opens_the_page", "--nocapture"]);
    command.env(URL, servers.url()).env("BROWSER", browser(directory.path())).kill_on_drop(true);
    let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    let person = async {
        let page = loop {
            match std::fs::read_to_string(directory.path().join("page")) {
                Ok(page) => break page,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        let back = visit(page).await.unwrap();
        assert!(back.starts_with("http://127.0.0.1:"), "{back}");
        let shown = reqwest::get(back).await.unwrap().error_for_status().unwrap();
        assert_eq!(shown.headers()["referrer-policy"], "no-referrer");
    };
    let both = async { tokio::join!(process, person).0 };
    let output = tokio::time::timeout(Duration::from_secs(120), both).await.expect("the page is opened").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(servers.grants("authorization_code"), 1);
}
