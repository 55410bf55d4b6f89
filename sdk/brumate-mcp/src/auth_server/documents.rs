//! Clients whose identifier is the URL of their metadata (Client ID Metadata Documents).

use super::client::{ClientAuthMethod, OAuthClient, check_redirects};
use super::error::OAuthError;
use super::rate_limiter::RateLimiter;
use super::register::{client_name, words};
use crate::sync::lock;
use brumate_mcp_oauth::internal::Outbound;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use url::Url;

/// How long a document is used.
const MAX_AGE: Duration = Duration::from_secs(10 * 60);

/// How long the answer is cached that a document cannot be used.
const CACHE_FAILURE_FOR: Duration = Duration::from_secs(30);

/// The largest document, in bytes, written as JSON without spaces.
const MAX_DOCUMENT_BYTES: usize = 16 << 10;

/// How long a document that was good is used when there were too many fetches.
const MAX_STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// The most documents that are fetched from one host in a minute.
const MAX_FETCHES_PER_MINUTE: u32 = 30;

/// The most documents that are fetched for one address in a minute: below a host's, so that one stranger leaves some to others.
const MAX_FETCHES_PER_ADDRESS: u32 = 10;

/// The answer for every document that cannot be used. It tells nothing about the content of an address that a stranger
/// has chosen.
const UNUSABLE: &str = "the client's metadata document cannot be used: it is JSON of at most 16 KiB, at an `https` address on the internet \
    that it names as its `client_id`, with `redirect_uris` and without a secret; the server's log has the reason";

/// The most cached documents. Beyond, failures are dropped, and then all.
const MAX_CACHED: usize = 1000;

/// The most documents that are fetched at once. Others wait.
const MAX_FETCHED: usize = 16;

/// The longest identifier, in bytes.
const MAX_ID_BYTES: usize = 1024;

/// The client that a document describes, and until when it is used.
type CachedClient = (Result<OAuthClient, OAuthError>, Instant);

/// Fetches documents, with the checks for URLs that a stranger names.
#[derive(Debug)]
pub(super) struct ClientDocuments {
    outbound: Outbound,
    fetching: Semaphore,
    by_host: RateLimiter<String>,
    by_address: RateLimiter<Option<IpAddr>>,
    known: Mutex<HashMap<String, CachedClient>>,
}

impl ClientDocuments {
    pub(super) fn new(outbound: Outbound) -> Self {
        let minute = Duration::from_secs(60);
        Self {
            outbound,
            fetching: Semaphore::new(MAX_FETCHED),
            by_host: RateLimiter::new(MAX_FETCHES_PER_MINUTE, minute),
            by_address: RateLimiter::new(MAX_FETCHES_PER_ADDRESS, minute),
            known: Mutex::default(),
        }
    }

    /// Returns whether an identifier is the address of a document: `https` (or on this machine) with a path.
    pub(super) fn is_document(id: &str) -> bool {
        let url = Url::parse(id);
        id.len() <= MAX_ID_BYTES
            && url.is_ok_and(|url| {
                matches!(url.scheme(), "https" | "http")
                    && url.path().len() > 1
                    && url.fragment().is_none()
                    && url.as_str() == id
            })
    }

    /// Returns the client that its document describes. A fetch counts for the address of the request and for the
    /// document's host.
    ///
    /// # Errors
    ///
    /// Returns an error if the document cannot be fetched, or if there were too many fetches. The document must
    /// describe a client of that identifier without a secret.
    pub(super) async fn client(&self, id: &str, address: Option<IpAddr>) -> Result<OAuthClient, OAuthError> {
        if let Some((known, until)) = lock(&self.known).get(id)
            && *until > Instant::now()
        {
            return known.clone();
        }
        let host = Url::parse(id).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let now = Instant::now();
        if !self.by_address.admits(address, now) || !self.by_host.admits(host, now) {
            // Strangers who use up the fetches of a host must not take away a document that was good.
            if let Some((Ok(client), until)) = lock(&self.known).get(id)
                && now < *until + MAX_STALE
            {
                return Ok(client.clone());
            }
            let text = "too many metadata documents were fetched: try again in a minute";
            return Err(OAuthError::temporarily_unavailable(text));
        }
        let result = {
            let _fetching = self.fetching.acquire().await?;
            self.fetch(id).await
        };
        let result = result.map_err(|reason| {
            tracing::info!(client = id, reason, "a client's metadata document cannot be used");
            OAuthError::new("invalid_client", UNUSABLE)
        });
        let time = if result.is_ok() { MAX_AGE } else { CACHE_FAILURE_FOR };
        let mut known = lock(&self.known);
        if known.len() >= MAX_CACHED {
            known.retain(|_, (result, _)| result.is_ok());
        }
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(id.to_owned(), (result.clone(), Instant::now() + time));
        result
    }

    async fn fetch(&self, id: &str) -> Result<OAuthClient, String> {
        let url = Url::parse(id).map_err(|error| error.to_string())?;
        let document: Map<String, Value> = self.outbound.get_json(&url).await.map_err(|error| error.to_string())?;
        read(id, document)
    }
}

/// Reads a document.
fn read(id: &str, document: Map<String, Value>) -> Result<OAuthClient, String> {
    let bytes = serde_json::to_string(&document).map_or(usize::MAX, |text| text.len());
    if bytes > MAX_DOCUMENT_BYTES {
        return Err(format!("it has more than {MAX_DOCUMENT_BYTES} bytes"));
    }
    if document.get("client_id").and_then(Value::as_str) != Some(id) {
        return Err("its `client_id` is not the document's own address".to_owned());
    }
    if document.contains_key("client_secret") {
        return Err("it has a secret, which everybody can read".to_owned());
    }
    let method = document.get("token_endpoint_auth_method").and_then(Value::as_str).unwrap_or("none");
    if method != "none" {
        return Err(format!("its `token_endpoint_auth_method` must be `none`, not `{}`", method.escape_debug()));
    }
    let redirect_uris = words(document.get("redirect_uris")).ok_or("its `redirect_uris` are no list of texts")?;
    check_redirects(&redirect_uris).map_err(|error| error.description().to_owned())?;
    let name = client_name(&document).map_err(|error| error.description().to_owned())?;
    let mut client = OAuthClient::public(id, redirect_uris).self_registered();
    (client.name, client.metadata, client.auth_method) = (name, document, ClientAuthMethod::None);
    Ok(client)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_describes_the_client_whose_identifier_it_is() {
        let id = "https://app.example/client.json";
        let of = |document: Value| {
            let Value::Object(document) = document else { panic!("an object") };
            read(id, document)
        };
        let good = json!({"client_id": id, "client_name": "App", "redirect_uris": ["http://127.0.0.1/back"]});
        let client = of(good.clone()).unwrap();
        assert_eq!((client.id.as_str(), client.name.as_deref()), (id, Some("App")));
        for (name, value) in [
            ("client_id", json!("https://app.example/client.json/")),
            ("client_id", json!("https://evil.example/client.json")),
            ("redirect_uris", json!("http://127.0.0.1/back")),
            ("redirect_uris", json!([])),
            ("redirect_uris", json!(["http://app.example/back"])),
            ("token_endpoint_auth_method", json!("private_key_jwt")),
            ("client_secret", json!("x")),
            ("client_name", json!(7)),
            ("client_name", json!("a\u{202e}b")),
            ("logo", json!("x".repeat(MAX_DOCUMENT_BYTES))),
        ] {
            let mut document = good.clone();
            document[name] = value;
            of(document.clone()).expect_err(&document.to_string());
        }
        for (id, expected) in [
            (id, true),
            ("http://127.0.0.1:1/client.json", true),
            ("https://app.example", false),
            ("https://app.example/", false),
            ("https://app.example/a#b", false),
            ("https://APP.example/a", false),
            ("https://app.example/a/../b", false),
            ("ftp://app.example/a", false),
            ("3f2a", false),
        ] {
            assert_eq!(ClientDocuments::is_document(id), expected, "{id}");
        }
    }
}
