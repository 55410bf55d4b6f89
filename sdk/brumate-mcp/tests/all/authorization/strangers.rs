//! Clients that nobody has checked: the bounds of showing, sending, fetching and keeping for them.

use super::world::{BACK, ISSUER, RESOURCE, World, browser, directory, encode, parameter, request, serve};
use crate::support::{Http, read};
use axum::body::Body;
use brumate_mcp::App;
use brumate_mcp::auth_server::{AuthServer, SqliteAuth};
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use url::Url;

async fn register(world: &World, body: &Value) -> Result<String, String> {
    let answer = read(world.http.send("POST", "/register", Body::from(body.to_string())).await).await;
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    body["client_id"].as_str().map(str::to_owned).ok_or_else(|| body["error"].as_str().unwrap_or_default().to_owned())
}

/// RFC 9700, section 4.11.2: whoever registers must not get a link of this server that leads to them.
#[tokio::test]
async fn errors_send_no_browser_to_a_client_that_registered_itself() {
    const PLACE: &str = "https://phishing.example/sign-in";
    let world = World::anybody().await;
    let id = register(&world, &json!({"redirect_uris": [PLACE], "token_endpoint_auth_method": "none"})).await.unwrap();
    let document = Published::start(|id| json!({"client_id": id, "redirect_uris": [PLACE]})).await;
    for id in [id, document.id] {
        for more in [
            &[("scope", "admin")][..],
            &[("response_type", "token")],
            &[("code_challenge", "")],
            &[("resource", "https://evil.example/mcp")],
        ] {
            let more = [&[("redirect_uri", PLACE)][..], more].concat();
            let answer = world.browse("GET", &format!("/authorize?{}", encode(&request(&id, &more))), &[]).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{more:?}: {}", answer.body);
            assert!(!answer.headers.contains_key("location") && !answer.body.contains("http-equiv"), "{more:?}");
            // The person may go there, with the answer for the client.
            assert!(answer.body.contains("<a href=\"https://phishing.example/sign-in?error="), "{}", answer.body);
            assert!(answer.body.contains(">phishing.example</a>"), "{}", answer.body);
            let policy = answer.headers["content-security-policy"].to_str().unwrap();
            assert!(policy.contains("default-src 'none'") && policy.contains("form-action 'none'"), "{policy}");
        }
        // Who has refused has acted.
        let (fields, page) = world.page(&id, &[("redirect_uri", PLACE)]).await;
        assert!(page.body.contains("nobody has checked it"), "{}", page.body);
        let back = super::world::location(&world.submit(&fields, &[("answer", "deny")]).await);
        assert_eq!(parameter(&back, "error").as_deref(), Some("access_denied"));
    }
}

#[tokio::test]
async fn a_page_shows_where_the_answer_goes_and_names_as_they_are() {
    let world = World::anybody().await;
    for (uri, shown, source) in [
        ("com.example.app://your-bank.example/x", "com.example.app:", "com.example.app:"),
        ("com.example.app:/your-bank.example", "com.example.app:", "com.example.app:"),
        ("https://app.example:8443/your-bank.example", "app.example:8443", "https://app.example:8443"),
    ] {
        let id = register(&world, &json!({"redirect_uris": [uri], "client_name": "אבג"})).await.unwrap();
        let (_, page) = world.page(&id, &[("redirect_uri", uri)]).await;
        assert!(page.body.contains(&format!("The answer goes to <code>{shown}</code>")), "{uri}: {}", page.body);
        assert!(!page.body.contains("your-bank"), "{uri}: {}", page.body);
        assert!(page.body.contains("<bdi>אבג</bdi>"), "{}", page.body);
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains(&format!("form-action 'self' {source};")), "{policy}");
    }
    for name in [
        "Notes\u{202e}elgooG",
        "\u{2067}Notes",
        "No\u{200b}tes",
        "\u{e0041}Notes",
        "Notes\u{9b}",
        " ",
        "\u{3164}",
        "\u{200d}\u{fe0f}",
    ] {
        let error = register(&world, &json!({"redirect_uris": [BACK], "client_name": name})).await.unwrap_err();
        assert_eq!(error, "invalid_client_metadata", "{name:?}");
    }
}

/// A document at a port of this machine, and how often it was fetched.
struct Published {
    id: String,
    fetched: Arc<AtomicUsize>,
}

impl Published {
    async fn start(document: impl Fn(&str) -> Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let id = format!("http://{}/client.json", listener.local_addr().unwrap());
        let (text, fetched) = (document(&id).to_string(), Arc::new(AtomicUsize::new(0)));
        let count = fetched.clone();
        let router = axum::Router::new().fallback(move || {
            count.fetch_add(1, Ordering::SeqCst);
            let text = text.clone();
            async move { text }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { id, fetched }
    }
}

fn auth_server(directory: &tempfile::TempDir) -> AuthServer {
    AuthServer::new(ISSUER, SqliteAuth::open(directory.path()).unwrap().single_user("ada")).resource(RESOURCE)
}

/// Nobody finds out which ports of the server's network are open.
#[tokio::test]
async fn documents_that_cannot_be_used_look_the_same() {
    let directory = directory();
    let auth = auth_server(&directory).client_metadata_documents();
    let http = Http::of(App::new().authorization_server(auth).router());
    let good = Published::start(|id| json!({"client_id": id, "redirect_uris": [BACK]})).await;
    let bad = Published::start(|_| json!("nothing")).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let mut answers = Vec::new();
    for id in [
        good.id.clone(),
        bad.id.clone(),
        good.id.replace("http:", "https:"),
        good.id.replace("127.0.0.1", "localhost"),
        format!("http://127.0.0.1:{closed}/x"),
        "https://10.0.0.1/x".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://name.invalid/x".to_owned(),
    ] {
        let query = encode(&request(&id, &[]));
        let page = read(http.send("GET", &format!("/authorize?{query}"), Body::empty()).await).await;
        let form = encode(&[("client_id", &id), ("grant_type", "authorization_code"), ("code", "x")]);
        let form_http = http.clone().with("content-type", "application/x-www-form-urlencoded");
        let token = read(form_http.send("POST", "/token", Body::from(form)).await).await;
        assert!(page.body.contains("metadata document cannot be used"), "{id}: {}", page.body);
        answers.push((page.status, page.body, token.status, token.body));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    assert_eq!((good.fetched.load(Ordering::SeqCst), bad.fetched.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn a_host_is_not_flooded_with_fetches() {
    let directory = directory();
    let auth = auth_server(&directory).local_client_metadata_documents().requests_per_minute(1000);
    let http = Http::of(App::new().authorization_server(auth).router());
    let document = Published::start(|id| json!({"client_id": id, "redirect_uris": [BACK]})).await;
    let mut last = StatusCode::OK;
    for number in 0..20 {
        let query = encode(&[("client_id", &format!("{}?{number}", document.id))]);
        last = http.send("GET", &format!("/authorize?{query}"), Body::empty()).await.status();
    }
    assert_eq!((last, document.fetched.load(Ordering::SeqCst)), (StatusCode::SERVICE_UNAVAILABLE, 10));
}

#[tokio::test]
async fn clients_behind_a_proxy_have_shares_of_their_own() {
    for (proxy, second_client) in [(Some("127.0.0.0/8"), 200), (Some("10.0.0.0/8"), 429), (None, 429)] {
        let directory = directory();
        let auth = auth_server(&directory).requests_per_minute(3);
        let auth = proxy.into_iter().fold(auth, |auth, proxy| auth.trust_proxy(proxy).unwrap());
        let url = serve(|_| App::new().authorization_server(auth)).await;
        let place = Url::parse(&url).unwrap().join("/.well-known/oauth-authorization-server").unwrap();
        let mut statuses = Vec::new();
        for client in ["198.51.100.1"; 4].into_iter().chain(["198.51.100.2"]) {
            let forwarded = format!("192.0.2.{}, {client}", statuses.len());
            let sent = browser().get(place.clone()).header("x-forwarded-for", forwarded).send().await.unwrap();
            statuses.push(sent.status().as_u16());
        }
        assert_eq!(statuses, [200, 200, 200, 429, second_client], "{proxy:?}");
    }
    let directory = directory();
    assert!(auth_server(&directory).trust_proxy("the proxy").unwrap_err().contains("no address and no network"));
}

#[tokio::test]
async fn a_registration_is_small() {
    let world = World::anybody().await;
    let body = |bytes| json!({"redirect_uris": [BACK], "x": "x".repeat(bytes)});
    register(&world, &body(10_000)).await.unwrap();
    assert_eq!(register(&world, &body(20_000)).await.unwrap_err(), "invalid_request");
}
