//! Verifies signed tokens with the keys that their issuer publishes.

use super::VerifyError;
use super::jwk::{JwkSet, VerificationKeys};
use super::jwt::Jwt;
use crate::access::Access;
use crate::client::metadata::authorization_server;
use crate::outbound::{AddressPolicy, Outbound};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Mutex as AsyncMutex;
use url::Url;

/// The interval at which keys are fetched again, so that withdrawn keys are not used for long.
const REFRESH_EVERY: Duration = Duration::from_secs(10 * 60);

/// Tokens wait for the fetch when the keys are older than this. Younger keys are used while it runs.
const WAIT_AFTER: Duration = Duration::from_secs(20 * 60);

/// The least time between two fetches, whatever keys tokens name.
const PAUSE: Duration = Duration::from_secs(60);

/// The least time after a failed fetch.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// For how long keys are used that cannot be fetched again.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Verifies signed access tokens (RFC 9068) with the issuer's published keys.
///
/// ```
/// use brumate_mcp::auth::{JwtVerifier, Protect};
///
/// let protect = Protect::new("https://mcp.example.com/mcp").verifier(JwtVerifier::discover("https://auth.example.com"));
/// ```
///
/// Signatures: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA (Ed25519). The keys are fetched for the
/// first token, again every ten minutes, and when a token names an unknown key, at most once a minute. Tokens of known
/// keys do not wait for an issuer that answers slowly or not at all.
pub struct JwtVerifier {
    source: Arc<KeySource>,
    /// [`PAUSE`] and [`REFRESH_EVERY`], but for tests.
    pause: Duration,
    refresh_every: Duration,
}

/// The issuer's keys and how they are fetched.
struct KeySource {
    issuer: String,
    keys_url: Option<String>,
    fetched: Mutex<KeyCache>,
    /// Held by the fetch that runs.
    connection: AsyncMutex<KeyEndpoint>,
}

/// The issuer's keys, as they were last fetched.
#[derive(Clone, Default)]
struct KeyCache {
    keys: Option<(Arc<VerificationKeys>, Instant)>,
    /// When the last fetch ended, and whether it succeeded.
    last: Option<(Instant, bool)>,
}

/// What is discovered once and used by each fetch.
#[derive(Default)]
struct KeyEndpoint {
    /// The URL of the keys, once it is discovered.
    url: Option<Url>,
    outbound: Option<Outbound>,
}

impl fmt::Debug for JwtVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtVerifier").field("issuer", &self.source.issuer).finish_non_exhaustive()
    }
}

impl JwtVerifier {
    /// Verifies the tokens of `issuer`, whose metadata (RFC 8414, OpenID Connect Discovery) say where its keys are.
    pub fn discover(issuer: impl Into<String>) -> Self {
        Self::new(issuer.into(), None)
    }

    /// Verifies the tokens of `issuer` with the keys at `jwks_url`.
    pub fn with_keys_at(issuer: impl Into<String>, jwks_url: impl Into<String>) -> Self {
        Self::new(issuer.into(), Some(jwks_url.into()))
    }

    fn new(issuer: String, keys_url: Option<String>) -> Self {
        let (fetched, connection) = (Mutex::default(), AsyncMutex::default());
        let source = Arc::new(KeySource { issuer, keys_url, fetched, connection });
        Self { source, pause: PAUSE, refresh_every: REFRESH_EVERY }
    }

    /// Returns keys that are young enough and include the key `id`, if the issuer has it.
    async fn keys(&self, id: Option<&str>) -> Result<Arc<VerificationKeys>, VerifyError> {
        let known = self.source.fetched.lock().clone();
        if let Some(keys) = self.usable(&known, id) {
            return Ok(keys);
        }
        if let Some((keys, since)) = &known.keys
            && id.is_none_or(|id| keys.has(id))
            && (since.elapsed() < WAIT_AFTER || failed(&known) && since.elapsed() < MAX_AGE)
        {
            self.refresh();
            return Ok(keys.clone());
        }
        // Concurrent callers wait for one fetch and use its result.
        let mut connection = self.source.connection.lock().await;
        let known = self.source.fetched.lock().clone();
        match self.usable(&known, id) {
            Some(keys) => Ok(keys),
            None if known.keys.is_none() && recent(&known, RETRY_AFTER) => {
                Err(VerifyError(format!("the keys of `{}` could not be fetched", self.source.issuer)))
            }
            None => self.source.update(&mut connection).await,
        }
    }

    /// Returns the keys unless they must be fetched again and may be now.
    fn usable(&self, known: &KeyCache, id: Option<&str>) -> Option<Arc<VerificationKeys>> {
        let (keys, since) = known.keys.as_ref()?;
        let fresh = since.elapsed() < self.refresh_every && id.is_none_or(|id| keys.has(id));
        let early = recent(known, if failed(known) { RETRY_AFTER } else { self.pause });
        (fresh || early).then(|| keys.clone())
    }

    /// Fetches the keys in the background, unless that is under way.
    fn refresh(&self) {
        let source = self.source.clone();
        tokio::spawn(async move {
            if let Ok(mut connection) = source.connection.try_lock() {
                // `update` logs a failure. The known keys stay in use.
                let _ = source.update(&mut connection).await;
            }
        });
    }
}

/// Returns whether the last fetch failed.
fn failed(known: &KeyCache) -> bool {
    known.last.is_some_and(|(_, succeeded)| !succeeded)
}

/// Returns whether the last fetch ended within this time.
fn recent(known: &KeyCache, time: Duration) -> bool {
    known.last.is_some_and(|(last, _)| last.elapsed() < time)
}

impl KeySource {
    /// Fetches the keys and notes the result. If the fetch fails, keys of at most [`MAX_AGE`] are returned.
    async fn update(&self, connection: &mut KeyEndpoint) -> Result<Arc<VerificationKeys>, VerifyError> {
        let result = self.fetch(connection).await;
        let mut fetched = self.fetched.lock();
        fetched.last = Some((Instant::now(), result.is_ok()));
        match (result, fetched.keys.clone()) {
            (Ok(keys), _) => {
                let keys = Arc::new(keys);
                fetched.keys = Some((keys.clone(), Instant::now()));
                Ok(keys)
            }
            (Err(error), Some((keys, since))) if since.elapsed() < MAX_AGE => {
                tracing::warn!(issuer = self.issuer, %error, "keys cannot be fetched: those from before are used");
                Ok(keys)
            }
            (Err(error), _) => Err(error),
        }
    }

    async fn fetch(&self, connection: &mut KeyEndpoint) -> Result<VerificationKeys, VerifyError> {
        let outbound = match &connection.outbound {
            Some(outbound) => outbound.clone(),
            None => {
                let issuer = Url::parse(&self.issuer)
                    .map_err(|error| VerifyError(format!("issuer `{}`: {error}", self.issuer)))?;
                connection
                    .outbound
                    .insert(Outbound::new(AddressPolicy::of_server(&issuer)).map_err(VerifyError)?)
                    .clone()
            }
        };
        let url = match (&connection.url, &self.keys_url) {
            (Some(url), _) => url.clone(),
            (None, Some(url)) => Url::parse(url).map_err(|error| VerifyError(format!("keys at `{url}`: {error}")))?,
            (None, None) => {
                let metadata = authorization_server(&outbound, &self.issuer).await?;
                let missing = || VerifyError(format!("the metadata of `{}` name no keys (`jwks_uri`)", self.issuer));
                metadata.jwks_uri.ok_or_else(missing)?
            }
        };
        let published: JwkSet = outbound.get_json(&url).await?;
        connection.url = Some(url);
        Ok(published.into())
    }
}

impl JwtVerifier {
    /// Returns the access that a token grants; `None` if the token is not valid.
    ///
    /// # Errors
    ///
    /// Returns an error if the token cannot be checked now.
    pub async fn check_token(&self, token: &str) -> Result<Option<Access>, VerifyError> {
        let verified = self.check_with_reason(token).await?;
        Ok(verified.inspect_err(|reason| tracing::info!(reason, "a token was refused")).ok())
    }

    /// Returns the access that a token grants, or the reason why the token is not valid.
    ///
    /// # Errors
    ///
    /// Returns an error if the token cannot be checked now.
    pub async fn check_with_reason(&self, token: &str) -> Result<Result<Access, &'static str>, VerifyError> {
        let token = match Jwt::parse(token) {
            Ok(token) => token,
            Err(reason) => return Ok(Err(reason)),
        };
        let keys = self.keys(token.key_id()).await?;
        Ok(token.verify(&keys, &self.source.issuer, SystemTime::now()))
    }

    /// Returns the authorization server whose tokens it verifies.
    pub fn token_issuer(&self) -> &str {
        &self.source.issuer
    }
}

#[cfg(test)]
mod tests {
    use super::super::jwt::tests::Issuer;
    use super::*;
    use axum::Router;
    use axum::routing::get;
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// An authorization server that publishes keys, and how often they were asked for.
    struct JwkSet {
        url: String,
        keys: Arc<parking_lot::Mutex<Vec<Value>>>,
        asked: Arc<AtomicUsize>,
    }

    async fn publish(keys: Vec<Value>) -> JwkSet {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let keys = Arc::new(parking_lot::Mutex::new(keys));
        let asked = Arc::new(AtomicUsize::new(0));
        let metadata =
            json!({"issuer": url, "token_endpoint": format!("{url}/token"), "jwks_uri": format!("{url}/keys")});
        let (published, counted) = (keys.clone(), asked.clone());
        let router = Router::new()
            .route("/.well-known/oauth-authorization-server", get(move || async move { metadata.to_string() }))
            .route(
                "/keys",
                get(move || async move {
                    counted.fetch_add(1, Ordering::SeqCst);
                    json!({"keys": *published.lock()}).to_string()
                }),
            );
        tokio::spawn(async move { axum::serve(listener, router).await });
        JwkSet { url, keys, asked }
    }

    fn token(issuer: &Issuer, url: &str, key: &str) -> String {
        let exp = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() + 60;
        issuer.sign(&json!({"alg": "ES256", "kid": key}), &json!({"iss": url, "sub": "ada", "exp": exp}))
    }

    #[tokio::test]
    async fn keys_are_discovered_and_fetched_again_when_one_is_new_but_not_at_will() {
        let (one, two) = (Issuer::new(), Issuer::new());
        let server = publish(vec![one.public("one")]).await;
        let mut verifier = JwtVerifier::discover(&server.url);
        let verify =
            async |verifier: &JwtVerifier, token: String| verifier.check_token(&token).await.unwrap().is_some();
        assert!(verify(&verifier, token(&one, &server.url, "one")).await);
        assert!(verify(&verifier, token(&one, &server.url, "one")).await);
        server.keys.lock().push(two.public("two"));
        // Strangers do not make the server ask.
        for _ in 0..5 {
            assert!(!verify(&verifier, token(&two, &server.url, "two")).await);
        }
        assert_eq!(server.asked.load(Ordering::SeqCst), 1);
        verifier.pause = Duration::ZERO;
        assert!(verify(&verifier, token(&two, &server.url, "two")).await);
        assert!(!verify(&verifier, token(&two, &server.url, "one")).await, "another key's name");
        assert!(!verify(&verifier, token(&one, "https://other.example", "one")).await, "another issuer");
        assert!(!verify(&verifier, "nonsense".to_owned()).await);
        assert_eq!(server.asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn keys_that_cannot_be_fetched_are_an_error_and_those_from_before_are_used() {
        let one = Issuer::new();
        let away = JwtVerifier::with_keys_at("https://auth.example", "http://127.0.0.1:1/keys");
        let error = away.check_token(&token(&one, "https://auth.example", "one")).await.unwrap_err();
        assert!(error.to_string().contains("may not be reached"), "{error}");
        let server = publish(vec![one.public("one")]).await;
        let missing = JwtVerifier::with_keys_at(&server.url, format!("{}/nothing", server.url));
        missing.check_token(&token(&one, &server.url, "one")).await.unwrap_err();
        let mut verifier = JwtVerifier::with_keys_at(&server.url, format!("{}/keys", server.url));
        assert!(verifier.check_token(&token(&one, &server.url, "one")).await.unwrap().is_some());
        verifier.pause = Duration::ZERO;
        verifier.source.connection.lock().await.url = Some(Url::parse(&format!("{}/nothing", server.url)).unwrap());
        assert!(verifier.check_token(&token(&one, &server.url, "other")).await.unwrap().is_none());
        assert!(verifier.check_token(&token(&one, &server.url, "one")).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn tokens_of_known_keys_do_not_wait_for_an_issuer_that_hangs() {
        let one = Issuer::new();
        let server = publish(vec![one.public("one")]).await;
        let mut verifier = JwtVerifier::with_keys_at(&server.url, format!("{}/keys", server.url));
        assert!(verifier.check_token(&token(&one, &server.url, "one")).await.unwrap().is_some());
        (verifier.pause, verifier.refresh_every) = (Duration::ZERO, Duration::ZERO);
        // It accepts connections, and answers none.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = silent.local_addr().unwrap();
        verifier.source.connection.lock().await.url = Some(Url::parse(&format!("http://{address}/keys")).unwrap());
        assert!(verifier.check_token(&token(&one, &server.url, "one")).await.unwrap().is_some());
        let _asked = silent.accept().await.unwrap();
        assert!(verifier.source.connection.try_lock().is_err(), "the fetch is under way");
        assert!(verifier.check_token(&token(&one, &server.url, "one")).await.unwrap().is_some());
    }
}
