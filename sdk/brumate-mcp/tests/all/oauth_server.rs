//! An authorization server, and an MCP server that it protects, for tests of clients. They keep what reaches them.

use axum::Router;
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use brumate_mcp::client::{AuthError, OAuth};
use brumate_mcp::{App, HttpOptions, Server, tool};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tower::ServiceExt as _;
use url::Url;

/// Time for another process to come as far as it should.
const PATIENCE: Duration = Duration::from_secs(60);

/// The address that browsers are sent back to.
pub(crate) const REDIRECT: &str = "http://127.0.0.1:1/callback";

/// A request that reached one of the servers.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// `server` or `issuer`.
    pub(crate) by: &'static str,
    /// Method and path.
    pub(crate) line: String,
    pub(crate) authorization: Option<String>,
    /// The query and the body.
    pub(crate) text: String,
}

type Pairs = Vec<(String, String)>;

/// What the servers do otherwise than they should.
#[derive(Clone, Default)]
pub(crate) struct Behaviour {
    /// Registers clients without a secret.
    pub(crate) public: bool,
    /// The lifetime of tokens, as the token endpoint says it.
    pub(crate) expires_in: Option<Value>,
    /// Goes over the metadata of the resource, and of the authorization server; `null` removes a member.
    pub(crate) resource: Value,
    pub(crate) metadata: Value,
    /// The address of the metadata in challenges.
    pub(crate) named: Option<String>,
    /// Paths that redirect, and where to.
    pub(crate) redirects: Vec<(&'static str, String)>,
    /// Changes what the browser brings back.
    pub(crate) answer: Option<fn(&mut Pairs)>,
    /// A refresh is answered after so many requests with a token that has ended.
    pub(crate) refresh_after: usize,
    /// The token endpoint refuses refresh tokens with this status and error.
    pub(crate) refuses: Option<(u16, &'static str)>,
}

#[derive(Default)]
struct Grants {
    made: usize,
    /// The codes, with the parameters of their requests.
    codes: HashMap<String, HashMap<String, String>>,
    /// The tokens that hold, with their scopes.
    access: HashMap<String, String>,
    refresh: HashMap<String, String>,
    /// Refresh tokens that were used.
    spent: Vec<String>,
    secrets: HashMap<String, Option<String>>,
}

pub(crate) struct State {
    pub(crate) server: String,
    pub(crate) issuer: String,
    pub(crate) behaviour: Mutex<Behaviour>,
    seen: Mutex<Vec<Seen>>,
    grants: Mutex<Grants>,
    mcp: Router,
}

/// Both servers; they run until the test ends.
#[derive(Clone)]
pub(crate) struct Servers(pub(crate) Arc<State>);

#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Needs the scope `write`.
#[tool]
async fn write() -> &'static str {
    "written"
}

impl Servers {
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let listen = || async { tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap() };
        let (server, issuer) = (listen().await, listen().await);
        let base = |listener: &tokio::net::TcpListener| format!("http://{}", listener.local_addr().unwrap());
        let mcp = App::new().mount("", Server::new("protected").tools((add, write)), HttpOptions::new().legacy_sse());
        let state = Arc::new(State {
            server: base(&server),
            issuer: base(&issuer),
            behaviour: Mutex::new(behaviour),
            seen: Mutex::default(),
            grants: Mutex::default(),
            mcp: mcp.router(),
        });
        for (by, listener) in [("server", server), ("issuer", issuer)] {
            let state = state.clone();
            let answer = move |request| {
                let state = state.clone();
                async move { state.answer(by, request).await }
            };
            let router = Router::new().fallback(answer);
            tokio::spawn(async move { axum::serve(listener, router).await });
        }
        Self(state)
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.0.server)
    }

    /// An authorization whose browser agrees to everything.
    pub(crate) fn oauth(&self) -> OAuth {
        OAuth::new("Test").on_authorize(REDIRECT, visit)
    }

    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.0.behaviour.lock().unwrap() = behaviour;
    }

    pub(crate) fn all(&self) -> Vec<Seen> {
        self.0.seen.lock().unwrap().clone()
    }

    /// The requests with this method and path.
    pub(crate) fn seen(&self, line: &str) -> Vec<Seen> {
        self.all().into_iter().filter(|seen| seen.line == line).collect()
    }

    /// The requests to the token endpoint with this grant.
    pub(crate) fn grants(&self, kind: &str) -> usize {
        let wanted = format!("grant_type={kind}");
        self.seen("POST /token").iter().filter(|seen| seen.text.contains(&wanted)).count()
    }

    /// Ends all access tokens.
    pub(crate) fn end_access(&self) {
        self.0.grants.lock().unwrap().access.clear();
    }

    /// Makes a client for a program: its identifier and its secret.
    pub(crate) fn program(&self) -> (&'static str, &'static str) {
        let (id, secret) = ("program", "planted:secret/program");
        self.0.grants.lock().unwrap().secrets.insert(id.to_owned(), Some(secret.to_owned()));
        (id, secret)
    }

    /// Forgets all clients.
    pub(crate) fn forget_clients(&self) {
        self.0.grants.lock().unwrap().secrets.clear();
    }
}

/// Visits a page as a browser does, and returns the address it is redirected to.
pub(crate) async fn visit(page: String) -> Result<String, AuthError> {
    // The first of a process is the one; another test may have been it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let answer = browser.get(page).send().await.map_err(|error| AuthError::new(error.to_string()))?;
    let target = answer.headers().get("location").and_then(|target| target.to_str().ok());
    target.map(str::to_owned).ok_or_else(|| AuthError::new(format!("the page sends nowhere: {}", answer.status())))
}

fn reply(status: u16, body: &Value) -> Response<Body> {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Body::from(body.to_string())).unwrap()
}

fn sends_to(status: u16, place: &str) -> Response<Body> {
    Response::builder().status(status).header("location", place).body(Body::empty()).unwrap()
}

/// Puts members over those of a document.
fn over(mut document: Value, members: &Value) -> Value {
    for (name, value) in members.as_object().into_iter().flatten() {
        document[name] = value.clone();
    }
    document.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    document
}

fn pairs(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

impl State {
    async fn answer(&self, by: &'static str, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let (path, query) = (head.uri.path().to_owned(), head.uri.query().unwrap_or_default().to_owned());
        let line = format!("{} {path}", head.method);
        let authorization = head.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
        let text = format!("{query}{}", String::from_utf8_lossy(&body));
        let seen = Seen { by, line: line.clone(), authorization: authorization.clone(), text: text.clone() };
        self.seen.lock().unwrap().push(seen);
        let behaviour = self.behaviour.lock().unwrap().clone();
        if let Some((_, place)) = behaviour.redirects.iter().find(|(from, _)| *from == path) {
            return sends_to(307, place);
        }
        match (by, line.as_str()) {
            ("server", "GET /.well-known/oauth-protected-resource/mcp") => {
                let scopes = ["read", "write"];
                let document = json!({
                    "resource": format!("{}/mcp", self.server),
                    "authorization_servers": [self.issuer],
                    "scopes_supported": scopes,
                });
                reply(200, &over(document, &behaviour.resource))
            }
            ("server", _) if !path.starts_with("/.well-known/") => match self.refusal(&behaviour, authorization, &text)
            {
                Some(refusal) => refusal,
                None => {
                    let Ok(answer) = self.mcp.clone().oneshot(Request::from_parts(head, Body::from(body))).await;
                    answer
                }
            },
            ("issuer", "GET /.well-known/oauth-authorization-server") => {
                let place = |path: &str| format!("{}{path}", self.issuer);
                let document = json!({
                    "issuer": self.issuer,
                    "authorization_endpoint": place("/authorize"),
                    "token_endpoint": place("/token"),
                    "registration_endpoint": place("/register"),
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["client_secret_basic", "none"],
                    "authorization_response_iss_parameter_supported": true,
                });
                reply(200, &over(document, &behaviour.metadata))
            }
            ("issuer", "POST /register") => self.register(&behaviour),
            ("issuer", "GET /authorize") => self.authorize(&behaviour, &query),
            ("issuer", "POST /token") => {
                let form = pairs(&text);
                let refreshes = form.get("grant_type").is_some_and(|kind| kind == "refresh_token");
                let began = Instant::now();
                while refreshes && self.ended() < behaviour.refresh_after && began.elapsed() < PATIENCE {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                match (refreshes, behaviour.refuses) {
                    (true, Some((status, code))) => reply(status, &json!({"error": code})),
                    _ => self.token(&behaviour, &form, authorization.as_deref()),
                }
            }
            _ => reply(404, &json!({})),
        }
    }

    /// Text that all secrets of this authorization server contain, and secrets of others do not.
    pub(crate) fn tag(&self) -> String {
        format!("of-{}", self.issuer.rsplit(':').next().unwrap_or_default())
    }

    /// The requests with a token that has ended.
    fn ended(&self) -> usize {
        let seen = self.seen.lock().unwrap();
        let holds = self.grants.lock().unwrap().access.clone();
        let tokens = seen.iter().filter(|seen| seen.by == "server").filter_map(|seen| seen.authorization.as_deref());
        tokens.filter_map(|value| value.strip_prefix("Bearer ")).filter(|token| !holds.contains_key(*token)).count()
    }

    fn refusal(&self, behaviour: &Behaviour, authorization: Option<String>, text: &str) -> Option<Response<Body>> {
        let place = format!("{}/.well-known/oauth-protected-resource/mcp", self.server);
        let named = behaviour.named.clone().unwrap_or(place);
        let refuse = |status: StatusCode, more: &str| {
            let challenge = format!("Basic realm=\"a, b\", Bearer realm=\"x\", {more}, resource_metadata=\"{named}\"");
            let response = Response::builder().status(status).header("www-authenticate", challenge);
            Some(response.body(Body::empty()).unwrap())
        };
        let token = authorization.as_deref().and_then(|value| value.strip_prefix("Bearer "));
        let scope = token.and_then(|token| self.grants.lock().unwrap().access.get(token).cloned());
        let Some(scope) = scope else {
            return refuse(
                StatusCode::UNAUTHORIZED,
                "error=\"invalid_token\", error_description=\"it is unknown\", scope=\"read\"",
            );
        };
        if text.contains("\"name\":\"write\"") && !scope.split(' ').any(|scope| scope == "write") {
            return refuse(StatusCode::FORBIDDEN, "error=\"insufficient_scope\", scope=\"write\"");
        }
        None
    }

    fn register(&self, behaviour: &Behaviour) -> Response<Body> {
        let mut grants = self.grants.lock().unwrap();
        let id = format!("client-{}", grants.secrets.len() + 1);
        let secret = (!behaviour.public).then(|| format!("planted:secret/{}/{id}", self.tag()));
        grants.secrets.insert(id.clone(), secret.clone());
        let method = if behaviour.public { "none" } else { "client_secret_basic" };
        let made = json!({"client_id": id, "client_secret": secret, "token_endpoint_auth_method": method});
        reply(201, &over(made, &Value::Null))
    }

    fn authorize(&self, behaviour: &Behaviour, query: &str) -> Response<Body> {
        let asked = pairs(query);
        let mut grants = self.grants.lock().unwrap();
        grants.made += 1;
        let code = format!("planted-code-{}", grants.made);
        let mut answer = vec![("code", code.clone()), ("state", asked["state"].clone()), ("iss", self.issuer.clone())];
        let mut answer: Pairs = answer.drain(..).map(|(name, value)| (name.to_owned(), value)).collect();
        if let Some(change) = behaviour.answer {
            change(&mut answer);
        }
        let place = Url::parse_with_params(&asked["redirect_uri"], &answer).unwrap();
        grants.codes.insert(code, asked);
        sends_to(302, place.as_str())
    }

    fn token(
        &self,
        behaviour: &Behaviour,
        form: &HashMap<String, String>,
        authorization: Option<&str>,
    ) -> Response<Body> {
        let refuse = |code: &str| reply(400, &json!({"error": code}));
        let get = |name: &str| form.get(name).cloned().unwrap_or_default();
        let mut grants = self.grants.lock().unwrap();
        let shown = authorization.and_then(|value| value.strip_prefix("Basic "));
        let shown = shown.map(|value| String::from_utf8(STANDARD.decode(value).unwrap()).unwrap());
        let shown = shown.map(|pair| pair.split_once(':').map(|(id, secret)| (id.to_owned(), secret.to_owned())));
        let (id, secret) = shown.flatten().unwrap_or((get("client_id"), String::new()));
        let secret: String = url::form_urlencoded::parse(format!("x={secret}").as_bytes())
            .next()
            .map(|(_, secret)| secret.into_owned())
            .unwrap_or_default();
        if grants.secrets.get(&id).is_none_or(|known| known.clone().unwrap_or_default() != secret) {
            return reply(401, &json!({"error": "invalid_client"}));
        }
        let resource = behaviour.resource["resource"].as_str().map(str::to_owned);
        if get("resource") != resource.unwrap_or_else(|| format!("{}/mcp", self.server)) {
            return refuse("invalid_target");
        }
        let scope = match get("grant_type").as_str() {
            "authorization_code" => {
                let Some(asked) = grants.codes.remove(&get("code")) else { return refuse("invalid_grant") };
                let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, get("code_verifier").as_bytes()));
                if asked["code_challenge"] != challenge || asked["redirect_uri"] != get("redirect_uri") {
                    return refuse("invalid_grant");
                }
                asked.get("scope").cloned().unwrap_or_default()
            }
            "refresh_token" => {
                let token = get("refresh_token");
                if grants.spent.contains(&token) {
                    // Somebody else has it: nothing of the family holds any more.
                    grants.access.clear();
                    grants.refresh.clear();
                }
                let Some(scope) = grants.refresh.remove(&token) else { return refuse("invalid_grant") };
                grants.spent.push(token);
                scope
            }
            "client_credentials" => get("scope"),
            _ => return refuse("unsupported_grant_type"),
        };
        grants.made += 1;
        let (made, tag) = (grants.made, self.tag());
        let (access, refresh) = (format!("planted-access-{tag}-{made}"), format!("planted-refresh-{tag}-{made}"));
        grants.access.insert(access.clone(), scope.clone());
        grants.refresh.insert(refresh.clone(), scope.clone());
        let made = json!({"access_token": access, "token_type": "Bearer", "refresh_token": refresh, "scope": scope});
        let expires = json!({"expires_in": behaviour.expires_in});
        reply(200, &over(made, &expires))
    }
}
