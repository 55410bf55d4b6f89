//! What a client's OAuth sends where: nothing to hostile addresses, and each secret to whom it is for.

use crate::client_auth::connect;
use crate::log::Log;
use crate::oauth_server::{Behaviour, REDIRECT, Servers};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brumate_mcp::Client;
use brumate_mcp::client::{AuthError, ClientCredentials, ClientRegistration, FileTokenStore, MemoryTokenStore, OAuth};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tracing_subscriber::util::SubscriberInitExt as _;

/// A listener that nothing may reach: all addresses of this machine, and how many connections came.
async fn trap() -> (u16, Arc<AtomicUsize>) {
    let listener = match tokio::net::TcpListener::bind("[::]:0").await {
        Ok(listener) => listener,
        Err(_) => tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap(),
    };
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, connections)
}

#[tokio::test]
async fn hostile_addresses_in_metadata_reach_nobody() {
    let (port, connections) = trap().await;
    let hostile = [
        format!("http://user:password@127.0.0.1:{port}/x"),
        format!("http://0.0.0.0:{port}/x"),
        format!("https://0.0.0.0:{port}/x"),
        format!("https://[::]:{port}/x"),
        format!("ftp://127.0.0.1:{port}/x"),
        format!("javascript://127.0.0.1:{port}/x"),
        "file:///etc/passwd".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "https://169.254.169.254/latest/meta-data/".to_owned(),
        "https://[::ffff:169.254.169.254]/".to_owned(),
        "https://10.0.0.1/".to_owned(),
        "https://[fd00::1]/".to_owned(),
    ];
    let servers = Servers::start(Behaviour::default()).await;
    for url in &hostile {
        let metadata = |name: &str| Behaviour { metadata: json!({name: url}), ..Behaviour::default() };
        for behaviour in [
            Behaviour { named: Some(url.clone()), ..Behaviour::default() },
            Behaviour { resource: json!({"authorization_servers": [url]}), ..Behaviour::default() },
            metadata("authorization_endpoint"),
            metadata("token_endpoint"),
            metadata("registration_endpoint"),
        ] {
            servers.behave(behaviour);
            let error = connect(&servers, servers.oauth()).await.unwrap_err();
            assert!(error.to_string().contains("may not be reached"), "{url}: {error}");
        }
    }
    assert_eq!(servers.seen("GET /authorize").len(), 0);
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn redirects_to_other_origins_are_not_followed() {
    let (port, connections) = trap().await;
    for path in [
        "/mcp",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/register",
        "/token",
    ] {
        let redirects = vec![(path, format!("http://127.0.0.1:{port}{path}"))];
        let servers = Servers::start(Behaviour { redirects, ..Behaviour::default() }).await;
        connect(&servers, servers.oauth()).await.expect_err(path);
        // With a token in the hand, too.
        servers.behave(Behaviour::default());
        let client = connect(&servers, servers.oauth()).await.unwrap();
        let redirects = vec![("/mcp", format!("http://127.0.0.1:{port}/mcp"))];
        servers.behave(Behaviour { redirects, ..Behaviour::default() });
        client.call("add").arg("a", 1).arg("b", 2).await.unwrap_err();
    }
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_proxy_sees_nothing_of_servers_on_this_machine() {
    const URL: &str = "BRUMATE_TEST_UNPROXIED_URL";
    if let Ok(url) = std::env::var(URL) {
        let oauth = OAuth::new("Test")
            .on_authorize(REDIRECT, |page| async move { Err(AuthError::new(format!("the way to {page} was found"))) });
        let error = Client::http(url).auth(oauth).connect().await.unwrap_err().to_string();
        assert!(error.contains("was found"), "{error}");
        return;
    }
    let (port, connections) = trap().await;
    let servers = Servers::start(Behaviour::default()).await;
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "client_auth_secrets::a_proxy_sees_nothing_of_servers_on_this_machine", "--nocapture"]);
    for variable in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env(variable, format!("http://127.0.0.1:{port}"));
    }
    let output = command.env_remove("no_proxy").env_remove("NO_PROXY").env(URL, servers.url()).output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn each_secret_is_seen_by_whom_it_is_for() {
    let servers = Servers::start(Behaviour::default()).await;
    let client = connect(&servers, servers.oauth()).await.unwrap();
    servers.end_access();
    assert_eq!(client.call("write").await.unwrap().text(), "written");
    for seen in servers.all() {
        let all = format!("{} {}", seen.authorization.clone().unwrap_or_default(), seen.text);
        let is_mcp = seen.by == "server" && seen.line.ends_with(" /mcp");
        let is_token = seen.by == "issuer" && seen.line == "POST /token";
        assert!(is_mcp || !all.contains("planted-access"), "{seen:?}");
        assert!(!seen.text.contains("planted-access"), "in the header and nowhere else: {seen:?}");
        let is_basic = seen.authorization.is_some_and(|value| value.starts_with("Basic "));
        let others = ["planted-refresh", "planted-code", "code_verifier"];
        assert!(is_token || (!is_basic && !others.iter().any(|secret| all.contains(secret))), "{} {all}", seen.line);
    }
}

/// Returns whether a server has seen a text: in a query, in a body, or in a header, encoded or not.
fn has_seen(servers: &Servers, text: &str) -> bool {
    servers.all().iter().any(|seen| {
        let header = seen.authorization.clone().unwrap_or_default();
        let basic = header.strip_prefix("Basic ").and_then(|value| STANDARD.decode(value).ok()).unwrap_or_default();
        let all = format!("{header} {} {}", String::from_utf8_lossy(&basic), seen.text);
        percent_decoded(&all).contains(text)
    })
}

fn percent_decoded(text: &str) -> String {
    let text = text.replace('&', "%26").replace('=', "%3D");
    url::form_urlencoded::parse(text.as_bytes()).map(|(name, _)| name.into_owned()).collect()
}

/// Has the MCP server of `servers` name authorization servers.
fn names(servers: &Servers, issuers: &[&str]) {
    servers.behave(Behaviour { resource: json!({"authorization_servers": issuers}), ..Behaviour::default() });
}

/// A server names an authorization server of a thief, from the beginning or one day.
#[tokio::test]
async fn a_clients_secret_goes_to_its_issuer_alone() {
    let (servers, thief) = (Servers::start(Behaviour::default()).await, Servers::start(Behaviour::default()).await);
    let ((id, secret), (own, other)) = (servers.program(), (&servers.0.issuer, &thief.0.issuer));
    thief.program();
    let registered = || ClientRegistration::secret(id, secret);
    let person = |registration| servers.oauth().registration(registration);
    let program = || ClientCredentials::secret(id, secret);
    let refused = "nothing was sent there";
    // The secret's issuer is not set, or it is another one.
    names(&servers, &[other]);
    for registration in [registered(), registered().issuer(own)] {
        let error = connect(&servers, person(registration)).await.unwrap_err().to_string();
        assert!(error.contains(refused) && error.contains(other.as_str()), "{error}");
    }
    for credentials in [program(), program().issuer(own)] {
        let error = Client::http(servers.url()).auth(credentials).connect().await.unwrap_err().to_string();
        assert!(error.contains(refused) && error.contains(other.as_str()), "{error}");
    }
    // The server names both, and its first one is not the issuer.
    names(&servers, &[other, own]);
    connect(&servers, person(registered().issuer(own))).await.unwrap().close().await;
    Client::http(servers.url()).auth(program().issuer(own)).connect().await.unwrap().close().await;
    // The first one that it names is trusted, and no later one: in the process, and through the store.
    let directory = tempfile::tempdir().unwrap();
    let kept = |registration| person(registration).token_store(FileTokenStore::new(directory.path()).unwrap());
    names(&servers, &[own]);
    let one = connect(&servers, kept(registered().trust_named_issuer())).await.unwrap();
    let two = Client::http(servers.url()).auth(program().trust_named_issuer()).connect().await.unwrap();
    names(&servers, &[other]);
    servers.end_access();
    for client in [&one, &two] {
        let error = client.call("add").arg("a", 1).arg("b", 2).await.unwrap_err().to_string();
        assert!(error.contains(refused), "{error}");
    }
    for registration in [registered(), registered().trust_named_issuer(), ClientRegistration::public(id)] {
        let error = connect(&servers, kept(registration)).await.unwrap_err().to_string();
        assert!(error.contains(refused), "{error}");
    }
    assert_eq!(thief.all().iter().filter(|seen| seen.line != "GET /.well-known/oauth-authorization-server").count(), 0);
    assert!(!has_seen(&thief, secret) && has_seen(&servers, secret));
}

/// Registrations and tokens of an authorization server stay with it.
#[tokio::test]
async fn another_issuer_gets_a_registration_of_its_own() {
    let (servers, other) = (Servers::start(Behaviour::default()).await, Servers::start(Behaviour::default()).await);
    let directory = tempfile::tempdir().unwrap();
    let oauth = || servers.oauth().token_store(FileTokenStore::new(directory.path()).unwrap());
    connect(&servers, oauth()).await.unwrap().close().await;
    names(&servers, &[&other.0.issuer]);
    servers.end_access();
    // The server takes no tokens of the other one.
    connect(&servers, oauth()).await.unwrap_err();
    assert_eq!(other.seen("POST /register").len(), 1);
    assert!(other.grants("authorization_code") >= 1);
    assert!(!has_seen(&other, &servers.0.tag()) && has_seen(&servers, &servers.0.tag()));
}

#[tokio::test]
async fn no_log_and_no_debug_output_has_a_secret() {
    let log = Log::default();
    // What is logged by the crate `log`, too.
    let _guard = log.subscriber(tracing::Level::TRACE).set_default();
    let servers = Servers::start(Behaviour::default()).await;
    let client = connect(&servers, servers.oauth()).await.unwrap();
    servers.end_access();
    assert_eq!(client.call("write").await.unwrap().text(), "written");
    let shown = format!("{client:?} {:?}", servers.oauth().token_store(MemoryTokenStore::default()));
    client.close().await;
    let log = log.text();
    // It is a log of everything: of the protocol, and of the connections below it.
    assert!(log.contains("rmcp") && log.contains("hyper") && log.contains("reqwest"), "{log}");
    let mut secrets = vec!["planted".to_owned()];
    for seen in servers.seen("POST /token") {
        secrets.extend(seen.authorization.and_then(|value| Some(value.strip_prefix("Basic ")?.to_owned())));
        let form = url::form_urlencoded::parse(seen.text.as_bytes()).into_owned();
        secrets.extend(form.filter(|(name, _)| name == "code_verifier").map(|(_, value)| value));
    }
    assert!(secrets.len() >= 4, "{secrets:?}");
    for secret in secrets {
        for text in [&log, &shown] {
            let at = text.find(&secret);
            assert!(at.is_none(), "{secret}: {}", &text[at.unwrap_or_default().saturating_sub(500)..][..600]);
        }
    }
}
