//! An authorization server beside the server that it gives tokens for, its clients, and a person with a browser.

use crate::support::{Answer, Http, read};
use axum::body::Body;
use brumate_mcp::auth::{Access, Protect, Secret};
use brumate_mcp::auth_server::{AuthServer, ClientAuthMethod, OAuthClient, SqliteAuth};
use brumate_mcp::client::AuthError;
use brumate_mcp::{App, HttpOptions, Server, tool};
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;
use tokio::net::TcpListener;
use url::Url;

pub(crate) const ISSUER: &str = "http://localhost:8000";
pub(crate) const RESOURCE: &str = "http://localhost:8000/mcp";
pub(crate) const BACK: &str = "http://127.0.0.1:7/back";
/// RFC 7636, appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

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

pub(crate) fn auth_server(issuer: &str, provider: SqliteAuth) -> AuthServer {
    AuthServer::new(issuer, provider)
        .resource(format!("{issuer}/mcp"))
        .scopes(["read", "delete"])
        .default_scopes(["read"])
        .registration()
        .local_client_metadata_documents()
        .introspection("resource", Secret::new("resource secret"))
        .requests_per_minute(10_000)
}

pub(crate) fn app(issuer: &str, provider: SqliteAuth) -> App {
    let auth = auth_server(issuer, provider);
    let protect = Protect::new(format!("{issuer}/mcp")).verifier(auth.verifier()).scopes(["read"]);
    let options = HttpOptions::new().stateless().protect(protect).expect("settings");
    App::new().mount("", Server::new("notes").tool(who).tool(delete), options).authorization_server(auth)
}

pub(crate) fn directory() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).expect("a mode");
    directory
}

/// An authorization server with a public and a confidential client, and a browser.
pub(crate) struct World {
    pub(crate) http: Http,
    pub(crate) cookies: Mutex<HashMap<String, String>>,
    pub(crate) _directory: Option<tempfile::TempDir>,
}

impl World {
    pub(crate) async fn new(set: impl FnOnce(SqliteAuth) -> SqliteAuth) -> Self {
        let directory = directory();
        let world = Self::at(directory.path(), set).await;
        Self { _directory: Some(directory), ..world }
    }

    pub(crate) async fn at(directory: &std::path::Path, set: impl FnOnce(SqliteAuth) -> SqliteAuth) -> Self {
        let provider = set(SqliteAuth::open(directory).expect("a database").name("Notes"));
        provider.add_client(OAuthClient::public("public", [BACK]).with_name("Public <b>")).await.expect("a client");
        for (id, method) in [("basic", ClientAuthMethod::SecretBasic), ("post", ClientAuthMethod::SecretPost)] {
            let client = OAuthClient::confidential(id, &Secret::new("s3cret"), method, [BACK]);
            provider.add_client(client).await.expect("a client");
        }
        Self { http: Http::of(app(ISSUER, provider).router()), cookies: Mutex::default(), _directory: None }
    }

    pub(crate) async fn anybody() -> Self {
        Self::new(|auth| auth.single_user("ada")).await
    }

    /// Sends what a browser sends, with its cookies.
    pub(crate) async fn browse(&self, method: &str, url: &str, form: &[(&str, &str)]) -> Answer {
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

    pub(crate) async fn authorize(&self, more: &[(&str, &str)]) -> Answer {
        self.browse("GET", &format!("/authorize?{}", encode(&request("public", more))), &[]).await
    }

    /// Opens the page of an authorization request. Returns the fields of its form, and the page.
    pub(crate) async fn page(&self, client: &str, more: &[(&str, &str)]) -> (Vec<(String, String)>, Answer) {
        let answer = self.browse("GET", &format!("/authorize?{}", encode(&request(client, more))), &[]).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
        let page = self.browse("GET", location(&answer).as_str(), &[]).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        (fields(&page.body), page)
    }

    /// Agrees on the page. Returns where the browser is sent.
    pub(crate) async fn submit(&self, fields: &[(String, String)], more: &[(&str, &str)]) -> Answer {
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let form: Vec<(&str, &str)> = fields.chain(more.iter().copied()).collect();
        self.browse("POST", "/authorize/consent", &form).await
    }

    /// Gets a code.
    pub(crate) async fn code(&self, client: &str, more: &[(&str, &str)]) -> String {
        let (fields, _) = self.page(client, more).await;
        parameter(&location(&self.submit(&fields, &[("answer", "allow")]).await), "code").expect("a code")
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        authorization: Option<&str>,
        form: &[(&str, &str)],
    ) -> (StatusCode, Value) {
        let http = self.http.clone().with("content-type", "application/x-www-form-urlencoded");
        let http = authorization.into_iter().fold(http, |http, value| http.with("authorization", value));
        let answer = read(http.send("POST", path, Body::from(encode(form))).await).await;
        if path == "/token" {
            assert_eq!(answer.headers["cache-control"], "no-store");
        }
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }

    pub(crate) async fn exchange(&self, code: &str, more: &[(&str, &str)]) -> Result<Value, String> {
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

    pub(crate) async fn refresh(&self, token: &Value, more: &[(&str, &str)]) -> Result<Value, String> {
        let mut form = vec![
            ("grant_type", "refresh_token"),
            ("client_id", "public"),
            ("refresh_token", token["refresh_token"].as_str().expect("a refresh token")),
        ];
        replace(&mut form, more);
        outcome(self.post("/token", None, &form).await)
    }

    /// Calls the tool `who` with an access token.
    pub(crate) async fn call(&self, token: &Value) -> Result<String, StatusCode> {
        let token = token["access_token"].as_str().expect("an access token");
        let http = self.http.clone().with("authorization", &format!("Bearer {token}"));
        let answer = http.call(1, "who", json!({})).await;
        if answer.status != StatusCode::OK {
            return Err(answer.status);
        }
        Ok(answer.last()["result"]["content"][0]["text"].as_str().expect("text").to_owned())
    }
}

pub(crate) fn outcome((status, body): (StatusCode, Value)) -> Result<Value, String> {
    if status == StatusCode::OK { Ok(body) } else { Err(body["error"].as_str().unwrap_or_default().to_owned()) }
}

pub(crate) fn replace<'a>(form: &mut Vec<(&'a str, &'a str)>, more: &[(&'a str, &'a str)]) {
    form.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    form.extend(more.iter().filter(|(_, value)| !value.is_empty()));
}

pub(crate) fn request<'a>(client: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
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

pub(crate) fn encode(form: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

pub(crate) fn location(answer: &Answer) -> Url {
    let text = answer.headers.get("location").unwrap_or_else(|| panic!("{}: {}", answer.status, answer.body));
    Url::parse(text.to_str().expect("text")).expect("a URL")
}

pub(crate) fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut found = url.query_pairs().filter(|(known, _)| known == name);
    let value = found.next().map(|(_, value)| value.into_owned());
    assert!(found.next().is_none(), "`{name}` is there twice: {url}");
    value
}

/// The hidden fields of a page's form.
pub(crate) fn fields(page: &str) -> Vec<(String, String)> {
    let field = |text: &str| {
        let (name, rest) = text.split_once(" value=\"")?;
        Some((name.to_owned(), rest.split_once('"')?.0.to_owned()))
    };
    page.split("<input type=hidden name=").skip(1).filter_map(field).collect()
}

/// Serves an app at a port of this machine. Returns its address.
pub(crate) async fn serve(make: impl FnOnce(&str) -> App) -> String {
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

/// A person who agrees to everything, with a browser that follows redirects to `back`. Returns the address it was sent
/// to at last.
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
