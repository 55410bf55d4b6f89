//! An authorization server beside the server that it gives tokens for: what it gives, and what it refuses.

use crate::client_auth_secrets::Log;
use crate::support::{Answer, Http, read};
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brumate_mcp::auth::{Access, Introspection, Protect, Secret, TokenVerifier};
use brumate_mcp::auth_server::{AuthServer, ClientAuthMethod, OAuthClient, SqliteAuth};
use brumate_mcp::client::{AuthError, OAuth};
use brumate_mcp::{App, Client, HttpOptions, Server, tool};
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use url::Url;

const ISSUER: &str = "http://localhost:8000";
const RESOURCE: &str = "http://localhost:8000/mcp";
const BACK: &str = "http://127.0.0.1:7/back";
/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Says who calls.
#[tool]
async fn who(access: Access) -> String {
    format!("{} by {:?} may {}", access.subject, access.client_id, access.scopes.join(" "))
}

/// Deletes something.
#[tool(scopes = "delete")]
async fn delete() -> &'static str {
    "deleted"
}

fn auth_server(issuer: &str, provider: SqliteAuth) -> AuthServer {
    AuthServer::new(issuer, provider)
        .resource(format!("{issuer}/mcp"))
        .scopes(["read", "delete"])
        .default_scopes(["read"])
        .registration()
        .client_metadata_documents()
        .introspection("resource", Secret::new("resource secret"))
        .requests_a_minute(10_000)
}

fn app(issuer: &str, provider: SqliteAuth) -> App {
    let auth = auth_server(issuer, provider);
    let protect = Protect::new(format!("{issuer}/mcp")).verifier(auth.verifier()).scopes(["read"]);
    let options = HttpOptions::new().stateless().protect(protect).expect("settings");
    App::new().mount("", Server::new("notes").tool(who).tool(delete), options).authorization_server(auth)
}

fn directory() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).expect("a mode");
    directory
}

/// An authorization server with a public and a confidential client, and a browser.
struct World {
    http: Http,
    cookies: Mutex<HashMap<String, String>>,
    _directory: Option<tempfile::TempDir>,
}

impl World {
    async fn new(set: impl FnOnce(SqliteAuth) -> SqliteAuth) -> Self {
        let directory = directory();
        let world = Self::at(directory.path(), set).await;
        Self { _directory: Some(directory), ..world }
    }

    async fn at(directory: &std::path::Path, set: impl FnOnce(SqliteAuth) -> SqliteAuth) -> Self {
        let provider = set(SqliteAuth::open(directory).expect("a database").name("Notes"));
        provider.add_client(OAuthClient::public("public", [BACK]).with_name("Public <b>")).await.expect("a client");
        for (id, method) in [("basic", ClientAuthMethod::SecretBasic), ("post", ClientAuthMethod::SecretPost)] {
            let client = OAuthClient::confidential(id, &Secret::new("s3cret"), method, [BACK]);
            provider.add_client(client).await.expect("a client");
        }
        Self { http: Http::of(app(ISSUER, provider).router()), cookies: Mutex::default(), _directory: None }
    }

    async fn anybody() -> Self {
        Self::new(|auth| auth.anybody("ada")).await
    }

    /// Sends what a browser sends, with its cookies.
    async fn browse(&self, method: &str, url: &str, form: &[(&str, &str)]) -> Answer {
        let url = Url::options().base_url(Some(&Url::parse(ISSUER).unwrap())).parse(url).unwrap();
        let path = url.as_str().strip_prefix(ISSUER).expect("a page of the server").to_owned();
        let cookies: Vec<String> =
            self.cookies.lock().unwrap().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let http = self.http.clone().with("content-type", "application/x-www-form-urlencoded");
        let http = if cookies.is_empty() { http } else { http.with("cookie", &cookies.join("; ")) };
        let answer = read(http.send(method, &path, Body::from(encode(form))).await).await;
        for cookie in answer.headers.get_all("set-cookie") {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.cookies.lock().unwrap().insert(name.to_owned(), value.to_owned());
        }
        answer
    }

    async fn authorize(&self, more: &[(&str, &str)]) -> Answer {
        self.browse("GET", &format!("/authorize?{}", encode(&request("public", more))), &[]).await
    }

    /// Opens the page of an authorization request. Returns the fields of its form, and the page.
    async fn page(&self, client: &str, more: &[(&str, &str)]) -> (Vec<(String, String)>, Answer) {
        let answer = self.browse("GET", &format!("/authorize?{}", encode(&request(client, more))), &[]).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        let page = self.browse("GET", location(&answer).as_str(), &[]).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        (fields(&page.body), page)
    }

    /// Agrees on the page. Returns where the browser is sent.
    async fn submit(&self, fields: &[(String, String)], more: &[(&str, &str)]) -> Answer {
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let form: Vec<(&str, &str)> = fields.chain(more.iter().copied()).collect();
        self.browse("POST", "/authorize/consent", &form).await
    }

    /// Gets a code.
    async fn code(&self, client: &str, more: &[(&str, &str)]) -> String {
        let (fields, _) = self.page(client, more).await;
        parameter(&location(&self.submit(&fields, &[("answer", "allow")]).await), "code").expect("a code")
    }

    async fn post(&self, path: &str, authorization: Option<&str>, form: &[(&str, &str)]) -> (StatusCode, Value) {
        let http = self.http.clone().with("content-type", "application/x-www-form-urlencoded");
        let http = authorization.into_iter().fold(http, |http, value| http.with("authorization", value));
        let answer = read(http.send("POST", path, Body::from(encode(form))).await).await;
        if path == "/token" {
            assert_eq!(answer.headers["cache-control"], "no-store");
        }
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }

    async fn exchange(&self, code: &str, more: &[(&str, &str)]) -> Result<Value, String> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("client_id", "public"),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", BACK),
        ];
        replace(&mut form, more);
        outcome(self.post("/token", None, &form).await)
    }

    async fn refresh(&self, token: &Value, more: &[(&str, &str)]) -> Result<Value, String> {
        let mut form = vec![
            ("grant_type", "refresh_token"),
            ("client_id", "public"),
            ("refresh_token", token["refresh_token"].as_str().expect("a refresh token")),
        ];
        replace(&mut form, more);
        outcome(self.post("/token", None, &form).await)
    }

    /// Calls the tool `who` with an access token.
    async fn call(&self, token: &Value) -> Result<String, StatusCode> {
        let token = token["access_token"].as_str().expect("an access token");
        let http = self.http.clone().with("authorization", &format!("Bearer {token}"));
        let answer = http.call(1, "who", json!({})).await;
        if answer.status != StatusCode::OK {
            return Err(answer.status);
        }
        Ok(answer.last()["result"]["content"][0]["text"].as_str().expect("text").to_owned())
    }
}

fn outcome((status, body): (StatusCode, Value)) -> Result<Value, String> {
    if status == StatusCode::OK { Ok(body) } else { Err(body["error"].as_str().unwrap_or_default().to_owned()) }
}

fn replace<'a>(form: &mut Vec<(&'a str, &'a str)>, more: &[(&'a str, &'a str)]) {
    form.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    form.extend(more.iter().filter(|(_, value)| !value.is_empty()));
}

fn request<'a>(client: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut query = vec![
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", BACK),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "st&te"),
        ("resource", RESOURCE),
    ];
    replace(&mut query, more);
    query
}

fn encode(form: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

fn location(answer: &Answer) -> Url {
    let text = answer.headers.get("location").unwrap_or_else(|| panic!("{}: {}", answer.status, answer.body));
    Url::parse(text.to_str().expect("text")).expect("a URL")
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut found = url.query_pairs().filter(|(known, _)| known == name);
    let value = found.next().map(|(_, value)| value.into_owned());
    assert!(found.next().is_none(), "`{name}` is there twice: {url}");
    value
}

/// The hidden fields of a page's form.
fn fields(page: &str) -> Vec<(String, String)> {
    let field = |text: &str| {
        let (name, rest) = text.split_once(" value=\"")?;
        Some((name.to_owned(), rest.split_once('"')?.0.to_owned()))
    };
    page.split("<input type=hidden name=").skip(1).filter_map(field).collect()
}

#[tokio::test]
async fn a_code_becomes_tokens_for_the_server() {
    let world = World::anybody().await;
    let (fields, page) = world.page("public", &[("scope", "read delete")]).await;
    // What is shown is escaped, and no other page can show it in a frame.
    assert!(page.body.contains("Public &lt;b&gt;") && page.body.contains("127.0.0.1:7"), "{}", page.body);
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self' http://127.0.0.1:7"),
        "{policy}"
    );
    let back = location(&world.submit(&fields, &[("answer", "allow")]).await);
    assert!(back.as_str().starts_with(BACK), "{back}");
    assert_eq!(parameter(&back, "state").as_deref(), Some("st&te"));
    assert_eq!(parameter(&back, "iss").as_deref(), Some(ISSUER));
    let tokens = world.exchange(&parameter(&back, "code").unwrap(), &[("resource", RESOURCE)]).await.unwrap();
    assert_eq!((&tokens["token_type"], &tokens["scope"]), (&json!("Bearer"), &json!("read delete")));
    assert_eq!(world.call(&tokens).await.unwrap(), "ada by Some(\"public\") may read delete");
    // A form counts once.
    let again = world.submit(&fields, &[("answer", "allow")]).await;
    assert_eq!(again.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_code_counts_once_and_its_second_use_ends_what_it_gave() {
    let world = World::anybody().await;
    let code = world.code("public", &[]).await;
    // Another client that has found the code learns nothing, and ends nothing.
    assert_eq!(
        world.exchange(&code, &[("client_id", "post"), ("client_secret", "s3cret")]).await.unwrap_err(),
        "invalid_grant"
    );
    let tokens = world.exchange(&code, &[]).await.unwrap();
    assert!(world.call(&tokens).await.is_ok());
    assert_eq!(world.exchange(&code, &[]).await.unwrap_err(), "invalid_grant");
    assert_eq!(world.call(&tokens).await, Err(StatusCode::UNAUTHORIZED));
    assert_eq!(world.refresh(&tokens, &[]).await.unwrap_err(), "invalid_grant");
    // Of many at once, one gets tokens.
    let code = world.code("public", &[]).await;
    let many = futures::future::join_all((0..8).map(|_| world.exchange(&code, &[]))).await;
    assert!(many.iter().filter(|result| result.is_ok()).count() <= 1, "{many:?}");
}

#[tokio::test]
async fn a_code_is_bound_to_its_request() {
    let world = World::anybody().await;
    for (more, error) in [
        (&[("code_verifier", CHALLENGE)][..], "invalid_grant"),
        (&[("code_verifier", "")], "invalid_request"),
        (&[("redirect_uri", "http://127.0.0.1:7/bac")], "invalid_grant"),
        (&[("redirect_uri", "http://127.0.0.1:8/back")], "invalid_grant"),
        (&[("resource", "http://localhost:8000/other")], "invalid_target"),
        (&[("code", "guessed")], "invalid_grant"),
        (&[("client_id", "nobody")], "invalid_client"),
        (&[("grant_type", "password")], "unsupported_grant_type"),
        (
            &[("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", "x")],
            "unsupported_grant_type",
        ),
    ] {
        let code = world.code("public", &[]).await;
        assert_eq!(world.exchange(&code, more).await.unwrap_err(), error, "{more:?}");
    }
}

#[tokio::test]
async fn refresh_tokens_are_replaced_and_the_second_use_of_one_ends_all() {
    let world = World::anybody().await;
    let first = world.exchange(&world.code("public", &[("scope", "read delete")]).await, &[]).await.unwrap();
    let second = world.refresh(&first, &[("resource", RESOURCE)]).await.unwrap();
    assert_eq!(second["scope"], "read delete");
    // Fewer scopes are possible, more are not, and what was granted stays.
    let third = world.refresh(&second, &[("scope", "read")]).await.unwrap();
    assert_eq!(world.call(&third).await.unwrap(), "ada by Some(\"public\") may read");
    assert_eq!(world.refresh(&third, &[("scope", "admin")]).await.unwrap_err(), "invalid_scope");
    assert_eq!(world.refresh(&third, &[("resource", "http://localhost:8000/x")]).await.unwrap_err(), "invalid_target");
    let fourth = world.refresh(&third, &[]).await.unwrap();
    assert_eq!(fourth["scope"], "read delete");
    let stranger = world.refresh(&fourth, &[("client_id", "post"), ("client_secret", "s3cret")]).await;
    assert_eq!(stranger.unwrap_err(), "invalid_grant");
    assert!(world.call(&fourth).await.is_ok());
    assert_eq!(world.refresh(&first, &[]).await.unwrap_err(), "invalid_grant");
    for tokens in [&first, &second, &fourth] {
        assert_eq!(world.call(tokens).await, Err(StatusCode::UNAUTHORIZED));
    }
    assert_eq!(world.refresh(&fourth, &[]).await.unwrap_err(), "invalid_grant");
}

#[tokio::test]
async fn before_client_and_address_are_known_nothing_is_redirected() {
    let world = World::anybody().await;
    for more in [
        &[("client_id", "nobody")][..],
        &[("client_id", "")],
        &[("redirect_uri", "http://127.0.0.1:7/bac")],
        &[("redirect_uri", "http://127.0.0.1:7/back/")],
        &[("redirect_uri", "http://127.0.0.1:7/back?x")],
        &[("redirect_uri", "https://evil.example/back")],
        &[("redirect_uri", "javascript:alert(1)")],
    ] {
        let answer = world.authorize(more).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{more:?}");
        assert!(!answer.headers.contains_key("location"), "{more:?}");
    }
    let twice = world.browse("GET", &format!("/authorize?{}&state=x", encode(&request("public", &[]))), &[]).await;
    assert_eq!(twice.status, StatusCode::BAD_REQUEST);
    // A port of the client's machine may be another one; the one address there is need not be named.
    let other = world.authorize(&[("redirect_uri", "http://127.0.0.1:7777/back")]).await;
    assert_eq!(other.status, StatusCode::SEE_OTHER);
    assert!(location(&world.authorize(&[("redirect_uri", "")]).await).path().starts_with("/authorize/consent"));
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_told_to_its_client() {
    let world = World::anybody().await;
    for (more, error) in [
        (&[("response_type", "token")][..], "unsupported_response_type"),
        (&[("response_type", "")], "invalid_request"),
        (&[("code_challenge", "")], "invalid_request"),
        (&[("code_challenge_method", "")], "invalid_request"),
        (&[("code_challenge_method", "plain")], "invalid_request"),
        (&[("code_challenge", "short")], "invalid_request"),
        (&[("scope", "read admin")], "invalid_scope"),
        (&[("resource", "https://evil.example/mcp")], "invalid_target"),
        (&[("request_uri", "https://evil.example/")], "request_not_supported"),
    ] {
        let back = location(&world.authorize(more).await);
        assert!(back.as_str().starts_with(BACK), "{back}");
        assert_eq!(parameter(&back, "error").as_deref(), Some(error), "{more:?}");
        assert_eq!(parameter(&back, "state").as_deref(), Some("st&te"));
        assert_eq!(parameter(&back, "iss").as_deref(), Some(ISSUER));
        assert_eq!(parameter(&back, "code"), None);
    }
    let post = world.browse("POST", "/authorize", &request("public", &[("scope", "admin")])).await;
    assert_eq!(parameter(&location(&post), "error").as_deref(), Some("invalid_scope"));
}

#[tokio::test]
async fn clients_show_who_they_are_as_they_have_registered() {
    let world = World::anybody().await;
    let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
    let form = async |client: &str| {
        let code = world.code(client, &[]).await;
        vec![("grant_type", "authorization_code".to_owned()), ("code", code), ("code_verifier", VERIFIER.to_owned())]
    };
    let post = async |authorization: Option<String>, form: &[(&str, String)], more: &[(&str, &str)]| {
        let mut form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        form.extend(more);
        outcome(world.post("/token", authorization.as_deref(), &form).await)
    };
    let (of_basic, of_post) = (form("basic").await, form("post").await);
    for (authorization, form, more, error) in [
        (Some(basic("basic:wrong")), &of_basic, &[][..], "invalid_client"),
        (None, &of_basic, &[("client_id", "basic")], "invalid_client"),
        (None, &of_basic, &[("client_id", "basic"), ("client_secret", "s3cret")], "invalid_client"),
        (Some(basic("basic:s3cret")), &of_basic, &[("client_secret", "s3cret")], "invalid_request"),
        (Some(basic("post:s3cret")), &of_post, &[], "invalid_client"),
        (None, &of_post, &[("client_id", "post"), ("client_secret", "s3cre")], "invalid_client"),
        (None, &of_post, &[], "invalid_client"),
    ] {
        assert_eq!(post(authorization, form, more).await.unwrap_err(), error, "{more:?}");
    }
    post(Some(basic("basic:s3cret")), &of_basic, &[("client_id", "basic")]).await.unwrap();
    post(None, &of_post, &[("client_id", "post"), ("client_secret", "s3cret")]).await.unwrap();
}

#[tokio::test]
async fn tokens_are_revoked_by_their_client() {
    let world = World::anybody().await;
    for kind in ["access_token", "refresh_token"] {
        let tokens = world.exchange(&world.code("public", &[]).await, &[]).await.unwrap();
        let token = tokens[kind].as_str().unwrap();
        let revoke = async |client: &[(&str, &str)], token: &str| {
            let form = [client, &[("token", token)]].concat();
            world.post("/revoke", None, &form).await.0
        };
        assert_eq!(revoke(&[("client_id", "post"), ("client_secret", "s3cret")], token).await, StatusCode::OK);
        assert!(world.call(&tokens).await.is_ok(), "it was another client's");
        assert_eq!(revoke(&[("client_id", "nobody")], token).await, StatusCode::UNAUTHORIZED);
        assert_eq!(revoke(&[("client_id", "public")], "unknown").await, StatusCode::OK);
        assert_eq!(revoke(&[("client_id", "public")], token).await, StatusCode::OK);
        assert_eq!(world.call(&tokens).await, Err(StatusCode::UNAUTHORIZED));
        assert_eq!(world.refresh(&tokens, &[]).await.unwrap_err(), "invalid_grant");
    }
}

#[tokio::test]
async fn nobody_agrees_for_somebody_else() {
    let world = World::anybody().await;
    let (fields, _) = world.page("public", &[]).await;
    // A page of another origin has no cookie, or sends its own origin.
    let cookies = std::mem::take(&mut *world.cookies.lock().unwrap());
    assert_eq!(world.submit(&fields, &[("answer", "allow")]).await.status, StatusCode::FORBIDDEN);
    *world.cookies.lock().unwrap() = cookies;
    let without_token: Vec<_> = fields.iter().filter(|(name, _)| name != "token").cloned().collect();
    assert_eq!(world.submit(&without_token, &[("answer", "allow")]).await.status, StatusCode::FORBIDDEN);
    let (other, _) = world.page("public", &[]).await;
    let mixed = [&fields[..1], &other[1..]].concat();
    assert_eq!(world.submit(&mixed, &[("answer", "allow")]).await.status, StatusCode::FORBIDDEN);
    let foreign = World {
        http: world.http.clone().with("origin", "https://evil.example"),
        cookies: Mutex::default(),
        _directory: None,
    };
    *foreign.cookies.lock().unwrap() = world.cookies.lock().unwrap().clone();
    assert_eq!(foreign.submit(&fields, &[("answer", "allow")]).await.status, StatusCode::FORBIDDEN);
    // Whoever does not want it says so, and anything but `allow` is no.
    let back = location(&world.submit(&fields, &[]).await);
    assert_eq!(parameter(&back, "error").as_deref(), Some("access_denied"));
    assert_eq!(world.submit(&fields, &[("answer", "allow")]).await.status, StatusCode::BAD_REQUEST);
    let unknown = world.browse("GET", "/authorize/consent?request=unknown", &[]).await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn people_sign_in_with_a_password_in_a_few_tries() {
    let world = World::new(|auth| {
        auth.passwords(|name, password| async move { (password == "right").then(|| format!("user of {name}")) })
    })
    .await;
    let (fields, page) = world.page("public", &[]).await;
    assert!(page.body.contains("name=password"));
    let wrong = world.submit(&fields, &[("answer", "allow"), ("name", "ada"), ("password", "wrong")]).await;
    assert!(wrong.status == StatusCode::OK && wrong.body.contains("is wrong"), "{}", wrong.body);
    let back = world.submit(&fields, &[("answer", "allow"), ("name", "ada"), ("password", "right")]).await;
    let tokens = world.exchange(&parameter(&location(&back), "code").unwrap(), &[]).await.unwrap();
    assert!(world.call(&tokens).await.unwrap().starts_with("user of ada"));
    let (fields, _) = world.page("public", &[]).await;
    let mut answers = Vec::new();
    for _ in 0..10 {
        answers.push(world.submit(&fields, &[("answer", "allow"), ("name", "ada"), ("password", "no")]).await);
    }
    assert!(answers[..9].iter().all(|answer| answer.status == StatusCode::OK));
    assert_eq!(parameter(&location(&answers[9]), "error").as_deref(), Some("access_denied"));
    // Where something in front says who it is.
    let world =
        World::new(|auth| auth.signed_in(|head| Some(head.headers.get("x-user")?.to_str().ok()?.to_owned()))).await;
    let answer = world.authorize(&[]).await;
    assert_eq!(world.browse("GET", location(&answer).as_str(), &[]).await.status, StatusCode::FORBIDDEN);
    let world = World { http: world.http.clone().with("x-user", "eve"), ..world };
    let tokens = world.exchange(&world.code("public", &[]).await, &[]).await.unwrap();
    assert!(world.call(&tokens).await.unwrap().starts_with("eve by"));
}

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
    let world = World::at(directory.path(), |auth| auth.anybody("ada")).await;
    let tokens = world.exchange(&world.code("public", &[]).await, &[]).await.unwrap();
    assert!(SqliteAuth::open(directory.path()).unwrap_err().to_string().contains("another server uses it"));
    drop(world);
    let world = World::at(directory.path(), |auth| auth.anybody("ada")).await;
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
    assert!(error.contains("nobody can sign in: SqliteAuth::passwords"), "{error}");
}

#[tokio::test]
async fn an_address_has_its_share_of_requests() {
    let directory = directory();
    let provider = SqliteAuth::open(directory.path()).unwrap().anybody("ada");
    let auth = AuthServer::new(ISSUER, provider).resource(RESOURCE).requests_a_minute(3);
    let http = Http::of(App::new().authorization_server(auth).router());
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses
            .push(http.send("GET", "/.well-known/oauth-authorization-server", Body::empty()).await.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 429]);
}

/// Serves an app at a port of this machine. Returns its address.
async fn serve(make: impl FnOnce(&str) -> App) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = make(&url);
    tokio::spawn(app.serve(listener, std::future::pending()));
    url
}

/// An HTTP client that follows no redirects.
pub(crate) fn browser() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("a client")
}

/// A person who agrees to everything, with a browser that follows redirects to `back`. Returns the address it was sent to at last.
pub(crate) async fn agree(page: String, back: &str) -> Result<String, AuthError> {
    let failed = |error: &dyn std::fmt::Display| AuthError::new(error.to_string());
    let browser = browser();
    let (mut url, mut cookie) = (page, String::new());
    for _ in 0..10 {
        let answer = browser.get(&url).header("cookie", &cookie).send().await.map_err(|error| failed(&error))?;
        if let Some(set) = answer.headers().get("set-cookie") {
            cookie = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        }
        let next = match answer.headers().get("location") {
            Some(next) => next.to_str().unwrap().to_owned(),
            None => {
                let text = answer.text().await.map_err(|error| failed(&error))?;
                let mut form = fields(&text);
                form.push(("answer".to_owned(), "allow".to_owned()));
                let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
                let sent = browser.post(url.split('?').next().unwrap()).header("cookie", &cookie);
                let sent = sent.header("content-type", "application/x-www-form-urlencoded").body(body);
                let answer = sent.send().await.map_err(|error| failed(&error))?;
                let next =
                    answer.headers().get("location").ok_or_else(|| AuthError::new(format!("no answer: {text}")))?;
                next.to_str().unwrap().to_owned()
            }
        };
        if next.starts_with(back) {
            return Ok(next);
        }
        url = next;
    }
    Err(AuthError::new("the browser is sent around"))
}

/// The whole way with the crate's own client: it finds the authorization server, registers, authorizes, and steps up for a tool.
#[tokio::test]
async fn our_client_registers_authorizes_and_steps_up() {
    let directory = directory();
    let provider = SqliteAuth::open(directory.path()).unwrap().anybody("ada");
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
    let provider = SqliteAuth::open(directory.path()).unwrap().anybody("ada");
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

/// Codes, tokens, secrets and passwords are in no log, whatever is logged.
#[test]
fn no_log_has_a_secret() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let dispatch = tracing::Dispatch::new(subscriber);
    let of_threads = dispatch.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // The database works on threads of its own.
        .on_thread_start(move || std::mem::forget(tracing::dispatcher::set_default(&of_threads)))
        .build()
        .expect("a runtime");
    let secrets = tracing::dispatcher::with_default(&dispatch, || {
        runtime.block_on(async {
            let world = World::new(|auth| {
                auth.passwords(|_, password| async move { (password == "p4ssword").then(|| "ada".to_owned()) })
            })
            .await;
            let (fields, _) = world.page("post", &[]).await;
            for password in ["wr0ng", "p4ssword"] {
                let form = [("answer", "allow"), ("name", "ada"), ("password", password)];
                let sent = world.submit(&fields, &form).await;
                if password == "wr0ng" {
                    continue;
                }
                let code = parameter(&location(&sent), "code").expect("a code");
                let client = [("client_id", "post"), ("client_secret", "s3cret")];
                let tokens = world.exchange(&code, &client).await.expect("tokens");
                assert!(world.call(&tokens).await.is_ok());
                let next = world.refresh(&tokens, &client).await.expect("tokens");
                world.refresh(&tokens, &client).await.expect_err("it was used");
                world.call(&next).await.expect_err("all was revoked");
                let text = |value: &Value| value.as_str().expect("text").to_owned();
                let of = |tokens: &Value| [text(&tokens["access_token"]), text(&tokens["refresh_token"])];
                let more = ["s3cret", "p4ssword", "wr0ng", VERIFIER].map(str::to_owned);
                return [&of(&tokens)[..], &of(&next), &more, &[code]].concat();
            }
            unreachable!("the second password is right")
        })
    });
    let log = String::from_utf8_lossy(&log.0.lock().expect("no panic")).into_owned();
    assert!(log.contains("it was used twice"), "{log}");
    for secret in secrets {
        assert!(!log.contains(&secret), "{secret}: {log}");
    }
}
