//! Verifies tokens by asking the authorization server about them (RFC 7662).

use super::VerifyError;
use super::jwt::texts;
use crate::access::Access;
use crate::client::Secret;
use crate::oauth::basic;
use crate::outbound::{AddressPolicy, Outbound};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant, UNIX_EPOCH};
use tokio::sync::Semaphore;
use url::Url;

/// The most cached answers. Beyond, all expired ones are dropped, else all.
const MAX_CACHED: usize = 10_000;

/// The most concurrent requests. Others wait.
const MAX_CONCURRENT_REQUESTS: usize = 64;

/// How long the answer is cached that a token is not valid.
const CACHE_INVALID_FOR: Duration = Duration::from_secs(10);

/// Verifies access tokens by asking the authorization server about each (RFC 7662).
///
/// ```
/// use brumate_mcp::auth::{Introspection, Protect, Secret};
///
/// let verifier = Introspection::new("https://auth.example.com/introspect")
///     .client("mcp-server", Secret::new("the secret"))
///     .issuer("https://auth.example.com");
/// let protect = Protect::new("https://mcp.example.com/mcp").verifier(verifier);
/// ```
///
/// An answer is cached for a minute, by the token's hash. A revoked token is refused by then.
pub struct Introspection {
    url: String,
    client: Option<(String, Secret)>,
    issuer: Option<String>,
    cache_for: Duration,
    outbound: OnceLock<Outbound>,
    cached: Mutex<HashMap<[u8; 32], CachedAccess>>,
    requests: Semaphore,
}

/// An answer, and until when it is used.
struct CachedAccess {
    access: Option<Access>,
    until: Instant,
}

impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Introspection {
    /// Asks at `url`, the introspection endpoint.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            client: None,
            issuer: None,
            cache_for: Duration::from_secs(60),
            outbound: OnceLock::new(),
            cached: Mutex::default(),
            requests: Semaphore::new(MAX_CONCURRENT_REQUESTS),
        }
    }

    /// Sets the identifier and the secret of this server at the endpoint. They are sent by HTTP Basic.
    #[must_use]
    pub fn client(mut self, id: impl Into<String>, secret: Secret) -> Self {
        self.client = Some((id.into(), secret));
        self
    }

    /// Sets the authorization server whose tokens these are.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Sets how long an answer is cached; a minute by default.
    #[must_use]
    pub fn cache_for(mut self, time: Duration) -> Self {
        self.cache_for = time;
        self
    }

    async fn ask(&self, token: &str) -> Result<Option<Access>, VerifyError> {
        let url =
            Url::parse(&self.url).map_err(|error| VerifyError(format!("introspection at `{}`: {error}", self.url)))?;
        let outbound = match self.outbound.get() {
            Some(outbound) => outbound,
            None => {
                let made = Outbound::new(AddressPolicy::of_server(&url)).map_err(VerifyError)?;
                self.outbound.get_or_init(|| made)
            }
        };
        let form = [("token", token), ("token_type_hint", "access_token")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let authorization = self.client.as_ref().map(|(id, secret)| basic(id, secret.expose()));
        let answer: Map<String, Value> = outbound.post_form(&url, &form, authorization.as_deref()).await?;
        Ok(read(answer))
    }
}

/// Reads an answer (RFC 7662, section 2.2).
fn read(mut answer: Map<String, Value>) -> Option<Access> {
    if answer.get("active") != Some(&Value::Bool(true)) {
        return None;
    }
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(str::to_owned);
    let client_id = text("client_id");
    let mut access = Access::new(text("sub").or_else(|| text("username")).or_else(|| client_id.clone())?);
    access.scopes = text("scope").unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect();
    access.audience = texts(answer.get("aud"));
    access.issuer = text("iss");
    access.client_id = client_id;
    if let Some(ends) = answer.get("exp") {
        let seconds = Duration::try_from_secs_f64(ends.as_f64()?).ok()?;
        access.expires_at = Some(UNIX_EPOCH.checked_add(seconds)?);
    }
    for read in ["active", "sub", "scope", "aud", "iss", "exp", "client_id"] {
        answer.remove(read);
    }
    access.claims = answer;
    Some(access)
}

impl Introspection {
    /// Returns the access that a token grants; `None` if the token is not valid.
    ///
    /// # Errors
    ///
    /// Returns an error if the token cannot be checked now.
    pub async fn check_token(&self, token: &str) -> Result<Option<Access>, VerifyError> {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        if let Some(known) = self.cached.lock().get(&key).filter(|known| known.until > Instant::now()) {
            return Ok(known.access.clone());
        }
        let access = {
            let _permit = self.requests.acquire().await.map_err(|error| VerifyError(error.to_string()))?;
            self.ask(token).await?
        };
        let time = if access.is_some() { self.cache_for } else { CACHE_INVALID_FOR.min(self.cache_for) };
        let mut cached = self.cached.lock();
        if cached.len() >= MAX_CACHED {
            let now = Instant::now();
            cached.retain(|_, known| known.until > now);
            if cached.len() >= MAX_CACHED {
                cached.clear();
            }
        }
        cached.insert(key, CachedAccess { access: access.clone(), until: Instant::now() + time });
        Ok(access)
    }

    /// Returns the authorization server whose tokens these are, if it was set.
    pub fn token_issuer(&self) -> Option<&str> {
        self.issuer.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    fn of(answer: Value) -> Option<Access> {
        let Value::Object(answer) = answer else { panic!("an object") };
        read(answer)
    }

    #[test]
    fn answers_are_read() {
        let access = of(json!({
            "active": true, "client_id": "app", "username": "ada", "scope": "read write", "aud": "https://a", "exp": 2000, "x": 1,
        }))
        .unwrap();
        assert_eq!((access.subject.as_str(), access.client_id.as_deref()), ("ada", Some("app")));
        assert_eq!((access.scopes.len(), access.audience.len(), &access.claims["x"]), (2, 1, &json!(1)));
        for answer in [
            json!({"active": false, "sub": "ada"}),
            json!({"sub": "ada"}),
            json!({"active": "true", "sub": "ada"}),
            json!({"active": true}),
            json!({"active": true, "sub": "ada", "exp": "soon"}),
            json!({"active": true, "sub": "ada", "exp": -1}),
        ] {
            assert_eq!(of(answer.clone()), None, "{answer}");
        }
    }

    /// Each token is asked for once, by a client that says who it is.
    #[tokio::test]
    async fn answers_are_used_again_for_a_while() {
        use axum::routing::post;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/introspect", listener.local_addr().unwrap());
        let asked = std::sync::Arc::new(Mutex::new(Vec::new()));
        let noted = asked.clone();
        let answer = move |headers: http::HeaderMap, body: String| async move {
            let authorization = headers["authorization"].to_str().unwrap().to_owned();
            noted.lock().push((authorization, body.clone()));
            if body.contains("token=away") {
                return (http::StatusCode::INTERNAL_SERVER_ERROR, String::new());
            }
            (http::StatusCode::OK, json!({"active": body.contains("token=good"), "sub": "ada"}).to_string())
        };
        let router = axum::Router::new().route("/introspect", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let verifier = Introspection::new(&url).client("server", Secret::new("p&ss"));
        for _ in 0..2 {
            assert_eq!(verifier.check_token("good").await.unwrap().unwrap().subject, "ada");
            assert_eq!(verifier.check_token("bad").await.unwrap(), None);
        }
        let expected = format!("Basic {}", STANDARD.encode("server:p%26ss"));
        let body = |token: &str| (expected.clone(), format!("token={token}&token_type_hint=access_token"));
        assert_eq!(*asked.lock(), [body("good"), body("bad")]);
        for _ in 0..2 {
            verifier.check_token("away").await.unwrap_err();
        }
        assert_eq!(asked.lock().len(), 4, "failures are not cached");
        let forgetful = Introspection::new(&url).client("server", Secret::new("p&ss")).cache_for(Duration::ZERO);
        for _ in 0..2 {
            assert!(forgetful.check_token("good").await.unwrap().is_some());
        }
        assert_eq!(asked.lock().len(), 6);
    }
}
