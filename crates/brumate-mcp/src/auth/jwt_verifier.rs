//! Checks signed tokens with the keys that their issuer publishes.

use super::jwk::{Keys, Published};
use super::jwt::Jwt;
use super::{Access, TokenVerifier};
use crate::client::auth::metadata::authorization_server;
use crate::error::Error;
use crate::outbound::{Outbound, Policy};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Mutex;
use url::Url;

/// Keys are fetched again after this time, so that those that an issuer withdraws end.
const REFRESH_EVERY: Duration = Duration::from_secs(10 * 60);

/// Least time between two fetches, whatever tokens ask for.
const PAUSE: Duration = Duration::from_secs(60);

/// Least time after a fetch that failed.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// For how long keys are used that cannot be fetched again.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Verifies signed access tokens (RFC 9068) with the issuer's published keys.
///
/// Signatures: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA (Ed25519). The keys are read when the first token
/// comes, again every ten minutes, and when a token names a key that is not known, at most once a minute.
pub struct JwtVerifier {
    issuer: String,
    keys_url: Option<String>,
    /// [`PAUSE`], but for tests.
    pause: Duration,
    fetched: Mutex<Fetched>,
}

/// The issuer's keys, as they were last fetched.
#[derive(Default)]
struct Fetched {
    keys: Option<(Arc<Keys>, Instant)>,
    /// When they were last asked for, and whether they came.
    last: Option<(Instant, bool)>,
    /// Where they are, once that is discovered.
    url: Option<Url>,
    outbound: Option<Outbound>,
}

impl fmt::Debug for JwtVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtVerifier").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl JwtVerifier {
    /// Verifies the tokens of `issuer`, whose metadata (RFC 8414, OpenID Connect Discovery) say where its keys are.
    pub fn discover(issuer: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), keys_url: None, pause: PAUSE, fetched: Mutex::default() }
    }

    /// Verifies the tokens of `issuer` with the keys at `jwks_url`.
    pub fn with_keys_at(issuer: impl Into<String>, jwks_url: impl Into<String>) -> Self {
        Self { keys_url: Some(jwks_url.into()), ..Self::discover(issuer) }
    }

    /// Returns keys that are young enough and have the key `id`, if the issuer has it.
    async fn keys(&self, id: Option<&str>) -> Result<Arc<Keys>, Error> {
        // Whoever comes meanwhile waits for the fetch, and takes what it brought.
        let mut fetched = self.fetched.lock().await;
        let known = fetched.keys.clone();
        if let Some((keys, since)) = &known {
            let fresh = since.elapsed() < REFRESH_EVERY && id.is_none_or(|id| keys.has(id));
            let early =
                fetched.last.is_some_and(|(last, came)| last.elapsed() < if came { self.pause } else { RETRY_AFTER });
            if fresh || early {
                return Ok(keys.clone());
            }
        } else if fetched.last.is_some_and(|(last, _)| last.elapsed() < RETRY_AFTER) {
            return Err(Error::new(format!("the keys of `{}` could not be fetched", self.issuer)));
        }
        let result = self.fetch(&mut fetched).await;
        fetched.last = Some((Instant::now(), result.is_ok()));
        match (result, known) {
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

    async fn fetch(&self, fetched: &mut Fetched) -> Result<Keys, Error> {
        let outbound = match &fetched.outbound {
            Some(outbound) => outbound.clone(),
            None => {
                let issuer = Url::parse(&self.issuer)
                    .map_err(|error| Error::new(format!("issuer `{}`: {error}", self.issuer)))?;
                fetched.outbound.insert(Outbound::new(Policy::of_server(&issuer)).map_err(Error::new)?).clone()
            }
        };
        let url = match (&fetched.url, &self.keys_url) {
            (Some(url), _) => url.clone(),
            (None, Some(url)) => Url::parse(url).map_err(|error| Error::new(format!("keys at `{url}`: {error}")))?,
            (None, None) => {
                let metadata = authorization_server(&outbound, &self.issuer).await?;
                let missing = || Error::new(format!("the metadata of `{}` name no keys (`jwks_uri`)", self.issuer));
                metadata.jwks_uri.ok_or_else(missing)?
            }
        };
        let published: Published = outbound.get_json(&url).await?;
        fetched.url = Some(url);
        Ok(published.into())
    }
}

#[async_trait]
impl TokenVerifier for JwtVerifier {
    async fn verify(&self, token: &str) -> Result<Option<Access>, Error> {
        let verified = match Jwt::parse(token) {
            Ok(token) => {
                let keys = self.keys(token.key_id()).await?;
                token.verify(&keys, &self.issuer, SystemTime::now())
            }
            Err(reason) => Err(reason),
        };
        Ok(verified.inspect_err(|reason| tracing::info!(reason, "a token was refused")).ok())
    }

    fn issuer(&self) -> Option<&str> {
        Some(&self.issuer)
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
    struct Published {
        url: String,
        keys: Arc<std::sync::Mutex<Vec<Value>>>,
        asked: Arc<AtomicUsize>,
    }

    async fn publish(keys: Vec<Value>) -> Published {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let keys = Arc::new(std::sync::Mutex::new(keys));
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
                    json!({"keys": *published.lock().unwrap()}).to_string()
                }),
            );
        tokio::spawn(async move { axum::serve(listener, router).await });
        Published { url, keys, asked }
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
        let verify = async |verifier: &JwtVerifier, token: String| verifier.verify(&token).await.unwrap().is_some();
        assert!(verify(&verifier, token(&one, &server.url, "one")).await);
        assert!(verify(&verifier, token(&one, &server.url, "one")).await);
        server.keys.lock().unwrap().push(two.public("two"));
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
        let error = away.verify(&token(&one, "https://auth.example", "one")).await.unwrap_err();
        assert!(error.message().contains("may not be reached"), "{error}");
        let server = publish(vec![one.public("one")]).await;
        let missing = JwtVerifier::with_keys_at(&server.url, format!("{}/nothing", server.url));
        missing.verify(&token(&one, &server.url, "one")).await.unwrap_err();
        let mut verifier = JwtVerifier::with_keys_at(&server.url, format!("{}/keys", server.url));
        assert!(verifier.verify(&token(&one, &server.url, "one")).await.unwrap().is_some());
        verifier.pause = Duration::ZERO;
        verifier.fetched.get_mut().url = Some(Url::parse(&format!("{}/nothing", server.url)).unwrap());
        assert!(verifier.verify(&token(&one, &server.url, "other")).await.unwrap().is_none());
        assert!(verifier.verify(&token(&one, &server.url, "one")).await.unwrap().is_some());
    }
}
