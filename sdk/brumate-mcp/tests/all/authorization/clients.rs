//! Clients that register or are known by their document, metadata, limits, and clients and servers elsewhere.

use super::world::{
    BACK, ISSUER, RESOURCE, VERIFIER, World, agree, app, browser, directory, encode, parameter, request, serve,
};
use crate::support::{Http, read};
use axum::body::Body;
use brumate_mcp::auth::{Introspection, Protect, Secret, TokenVerifier};
use brumate_mcp::auth_server::{AuthServer, OAuthClient, SqliteAuth};
use brumate_mcp::client::OAuth;
use brumate_mcp::{App, Client, HttpOptions, Server, tool};
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use url::Url;

#[tokio::test]
async fn clients_register_and_are_told_what_they_may_not() {
    let world = World::anybody().await;
    let register = async |body: Value| {
        let answer = read(world.http.send("POST", "/register", Body::from(body.to_string())).await).await;
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap_or_default())
    };
    let (status, client) =
        register(json!({"redirect_uris": [BACK], "token_endpoint_auth_method": "none", "scope": "read"})).await;
    assert_eq!(status, StatusCode::CREATED, "{client}");
    let id = client["client_id"].as_str().unwrap();
    let tokens = world.exchange(&world.code(id, &[]).await, &[("client_id", id)]).await.unwrap();
    assert!(world.call(&tokens).await.is_ok());
    // What a client has registered for is no limit: it may have to ask for more later.
    let tokens =
        world.exchange(&world.code(id, &[("scope", "read delete")]).await, &[("client_id", id)]).await.unwrap();
    assert_eq!(tokens["scope"], "read delete");
    let (status, error) = register(json!({"redirect_uris": ["http://evil.example/"]})).await;
    assert_eq!((status, &error["error"]), (StatusCode::BAD_REQUEST, &json!("invalid_redirect_uri")));
    let (status, _) = register(json!({"redirect_uris": [BACK], "x": "x".repeat(70_000)})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

/// Serves `document` at `/client.json`. Returns its address.
async fn publish(document: impl Fn(&str) -> Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let id = format!("http://{}/client.json", listener.local_addr().unwrap());
    let document = document(&id).to_string();
    let router = axum::Router::new().route("/client.json", axum::routing::get(move || async move { document }));
    tokio::spawn(async move { axum::serve(listener, router).await });
    id
}

#[tokio::test]
async fn a_client_is_known_by_its_document() {
    let world = World::anybody().await;
    let id = publish(|id| json!({"client_id": id, "client_name": "Documented", "redirect_uris": [BACK]})).await;
    let (_, page) = world.page(&id, &[]).await;
    assert!(page.body.contains("Documented"));
    let tokens = world.exchange(&world.code(&id, &[]).await, &[("client_id", &id)]).await.unwrap();
    assert!(world.call(&tokens).await.is_ok());
    for id in [
        publish(|_| json!({"client_id": "https://other.example/client.json", "redirect_uris": [BACK]})).await,
        publish(|id| json!({"client_id": id, "redirect_uris": ["https://evil.example/"]})).await,
        "http://127.0.0.1:1/client.json".to_owned(),
        "https://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let answer = world.browse("GET", &format!("/authorize?{}", encode(&request(&id, &[]))), &[]).await;
        assert!(answer.status.is_client_error() && !answer.headers.contains_key("location"), "{id}: {}", answer.status);
    }
}

#[tokio::test]
async fn tokens_outlive_the_process_and_lie_in_the_file_as_hashes() {
    let directory = directory();
    let world = World::at(directory.path(), |auth| auth.single_user("ada")).await;
    let tokens = world.exchange(&world.code("public", &[]).await, &[]).await.unwrap();
    assert!(SqliteAuth::open(directory.path()).unwrap_err().to_string().contains("another server uses it"));
    drop(world);
    let world = World::at(directory.path(), |auth| auth.single_user("ada")).await;
    assert!(world.call(&tokens).await.is_ok());
    let next = world.refresh(&tokens, &[]).await.unwrap();
    for file in std::fs::read_dir(directory.path()).unwrap() {
        let content = std::fs::read(file.unwrap().path()).unwrap();
        for secret in ["access_token", "refresh_token"].iter().flat_map(|kind| [&tokens[*kind], &next[*kind]]) {
            let secret = secret.as_str().unwrap().as_bytes();
            assert!(!content.windows(secret.len()).any(|part| part == secret));
        }
        assert!(!content.windows(6).any(|part| part == b"s3cret"));
    }
}

#[tokio::test]
async fn metadata_say_what_there_is_and_wrong_settings_do_not_start() {
    let world = World::anybody().await;
    let answer = read(world.http.send("GET", "/.well-known/oauth-authorization-server", Body::empty()).await).await;
    let metadata: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(metadata["issuer"], ISSUER);
    assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256"]));
    for (name, path) in
        [("authorization", "authorize"), ("token", "token"), ("registration", "register"), ("revocation", "revoke")]
    {
        assert_eq!(metadata[format!("{name}_endpoint")], format!("{ISSUER}/{path}"));
    }
    assert_eq!(metadata["client_id_metadata_document_supported"], true);
    assert_eq!(metadata["authorization_response_iss_parameter_supported"], true);
    let evil = world.http.clone().with("host", "evil.example");
    assert_eq!(
        evil.send("GET", "/.well-known/oauth-authorization-server", Body::empty()).await.status(),
        StatusCode::FORBIDDEN
    );
    for (issuer, part) in [
        ("http://example.com", "`https`"),
        ("https://example.com/?x", "no query"),
        ("https://example.com/#x", "no query"),
        ("example.com", "relative URL"),
    ] {
        let directory = directory();
        let auth = AuthServer::new(issuer, SqliteAuth::open(directory.path()).unwrap()).resource(RESOURCE);
        let error = App::new().authorization_server(auth).start().await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let directory = directory();
    let auth = AuthServer::new(ISSUER, SqliteAuth::open(directory.path()).unwrap());
    let error = App::new().authorization_server(auth).start().await.unwrap_err().to_string();
    assert!(error.contains("AuthServer::resource"), "{error}");
    let directory = self::directory();
    let auth = AuthServer::new(ISSUER, SqliteAuth::open(directory.path()).unwrap()).resource(RESOURCE);
    let error = App::new().authorization_server(auth).start().await.unwrap_err().to_string();
    assert!(error.contains("nobody can sign in: SqliteAuth::password_sign_in"), "{error}");
}

#[tokio::test]
async fn what_an_authorization_server_cannot_grant_is_said_at_the_start() {
    /// Deletes something.
    #[tool(scopes = "delete")]
    async fn delete() -> &'static str {
        "deleted"
    }
    let start = async |scopes: &[&str], granted: &str, wanted: &str| {
        let directory = directory();
        let provider = SqliteAuth::open(directory.path()).unwrap().single_user("ada");
        let auth = AuthServer::new(ISSUER, provider).resource(granted).scopes(scopes.iter().copied());
        let protect = Protect::new(wanted).verifier(auth.verifier()).scopes(["read"]);
        let options = HttpOptions::new().protect(protect).unwrap();
        let app = App::new().mount("", Server::new("notes").tool(delete), options).authorization_server(auth);
        app.start().await.map_err(|error| error.to_string())
    };
    let other = "http://127.0.0.1:1/mcp";
    assert_eq!(start(&["read", "delete"], RESOURCE, RESOURCE).await, Ok(()));
    let error = start(&["read"], RESOURCE, RESOURCE).await.unwrap_err();
    assert_eq!(error, "AuthServer::scopes lacks `delete`, which the tool `delete` needs");
    let error = start(&["delete"], RESOURCE, RESOURCE).await.unwrap_err();
    assert_eq!(error, "AuthServer::scopes lacks `read`, which Protect::scopes names");
    let error = start(&["read", "delete"], other, RESOURCE).await.unwrap_err();
    assert_eq!(error, format!("AuthServer::resource lacks `{RESOURCE}`, which Protect::new names"));
}

#[tokio::test]
async fn an_address_has_its_share_of_requests() {
    let directory = directory();
    let provider = SqliteAuth::open(directory.path()).unwrap().single_user("ada");
    let auth = AuthServer::new(ISSUER, provider).resource(RESOURCE).requests_per_minute(3);
    let http = Http::of(App::new().authorization_server(auth).router());
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses
            .push(http.send("GET", "/.well-known/oauth-authorization-server", Body::empty()).await.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 429]);
}

/// The whole way with the crate's own client: it finds the authorization server, registers, authorizes, and steps up
/// for a tool.
#[tokio::test]
async fn our_client_registers_authorizes_and_steps_up() {
    let directory = directory();
    let provider = SqliteAuth::open(directory.path()).unwrap().single_user("ada");
    let url = serve(|url| app(url, provider)).await;
    let pages = Arc::new(Mutex::new(Vec::new()));
    let seen = pages.clone();
    let oauth = OAuth::new("Test").on_authorize(BACK, move |page| {
        seen.lock().unwrap().push(page.clone());
        agree(page, BACK)
    });
    let client = Client::http(format!("{url}/mcp")).auth(oauth).connect().await.expect("a client");
    let text = client.call("who").await.expect("a result").text();
    assert!(text.starts_with("ada by Some(") && text.ends_with("may read"), "{text}");
    assert_eq!(client.call("delete").await.expect("a result").text(), "deleted");
    assert!(client.call("who").await.expect("a result").text().ends_with("may delete read"));
    let scopes = |page: &String| parameter(&Url::parse(page).unwrap(), "scope").unwrap();
    let scopes: Vec<String> = pages.lock().unwrap().iter().map(scopes).collect();
    assert_eq!(scopes, ["read", "delete read"]);
}

/// A resource server elsewhere asks the authorization server about tokens.
#[tokio::test]
async fn tokens_are_introspected_from_elsewhere() {
    let directory = directory();
    let provider = SqliteAuth::open(directory.path()).unwrap().single_user("ada");
    provider.add_client(OAuthClient::public("public", [BACK])).await.unwrap();
    let url = serve(|url| app(url, provider)).await;
    let resource = format!("{url}/mcp");
    let query = encode(&request("public", &[("resource", &resource)]));
    let back = agree(format!("{url}/authorize?{query}"), BACK).await.unwrap();
    let code = parameter(&Url::parse(&back).unwrap(), "code").unwrap();
    let form =
        [("grant_type", "authorization_code"), ("client_id", "public"), ("code", &code), ("code_verifier", VERIFIER)];
    let sent = browser().post(format!("{url}/token")).header("content-type", "application/x-www-form-urlencoded");
    let tokens: Value =
        serde_json::from_str(&sent.body(encode(&form)).send().await.unwrap().text().await.unwrap()).unwrap();
    let token = tokens["access_token"].as_str().unwrap_or_else(|| panic!("{tokens}"));
    let verifier = |secret: &str| {
        Introspection::new(format!("{url}/introspect")).issuer(url.clone()).client("resource", Secret::new(secret))
    };
    let access = verifier("resource secret").verify(token).await.unwrap().expect("it is active");
    assert_eq!((access.subject.as_str(), access.audience), ("ada", vec![resource]));
    assert_eq!(access.issuer.as_deref(), Some(url.as_str()));
    assert_eq!(verifier("resource secret").verify("another").await.unwrap(), None);
    verifier("wrong").verify(token).await.unwrap_err();
}
