//! Clients of an authorization server, and their addresses for answers.

use super::error::OAuthError;
use crate::auth::Secret;
use brumate_mcp_oauth::internal::is_loopback;
use brumate_mcp_oauth::internal::sha256_hex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use subtle::ConstantTimeEq as _;
use url::Url;

/// The most redirect addresses of a client.
const MAX_REDIRECTS: usize = 16;

/// The longest redirect address, in bytes.
const MAX_REDIRECT_BYTES: usize = 2048;

/// How a client authenticates at the token endpoint (RFC 7591, `token_endpoint_auth_method`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ClientAuthMethod {
    /// Not at all: a public client, such as an application on somebody's machine.
    #[serde(rename = "none")]
    None,
    /// A secret, by HTTP Basic.
    #[serde(rename = "client_secret_basic")]
    SecretBasic,
    /// A secret, in the form.
    #[serde(rename = "client_secret_post")]
    SecretPost,
}

impl ClientAuthMethod {
    /// The methods that are known here, by their registered names.
    pub(crate) const NAMES: [&'static str; 3] = ["none", "client_secret_basic", "client_secret_post"];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        serde_json::from_value(Value::from(name)).ok()
    }
}

/// A client of an authorization server. Its secret is stored as a hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OAuthClient {
    /// The identifier: chosen by the server, or the URL of its metadata document.
    pub id: String,
    /// The name that people see.
    pub name: Option<String>,
    /// The URIs that answers may be sent to.
    pub redirect_uris: Vec<String>,
    /// How it authenticates.
    pub auth_method: ClientAuthMethod,
    /// The scopes that it may request; `None`: all.
    pub scopes: Option<Vec<String>>,
    /// When its secret expires, in seconds since 1970.
    pub secret_expires_at: Option<u64>,
    /// Whether it has registered itself, or is known by its document alone: nobody has checked its name and its redirect URIs. So no
    /// browser is redirected to it before a person has acted (RFC 9700, section 4.11.2).
    #[serde(default = "unchecked")]
    pub self_registered: bool,
    /// All metadata of its registration.
    pub metadata: Map<String, Value>,
    /// SHA-256 of the secret, in hexadecimal digits.
    pub(crate) secret_hash: Option<String>,
}

impl OAuthClient {
    /// Makes a client without a secret.
    pub fn public<S: Into<String>>(id: impl Into<String>, redirect_uris: impl IntoIterator<Item = S>) -> Self {
        Self {
            id: id.into(),
            name: None,
            redirect_uris: redirect_uris.into_iter().map(Into::into).collect(),
            auth_method: ClientAuthMethod::None,
            scopes: None,
            secret_expires_at: None,
            self_registered: false,
            metadata: Map::new(),
            secret_hash: None,
        }
    }

    /// Makes a client with a secret, which it sends by `method`. The secret must be random: the hash of a password
    /// could be guessed.
    pub fn confidential<S: Into<String>>(
        id: impl Into<String>,
        secret: &Secret,
        method: ClientAuthMethod,
        redirect_uris: impl IntoIterator<Item = S>,
    ) -> Self {
        Self { auth_method: method, secret_hash: Some(sha256_hex(secret.expose())), ..Self::public(id, redirect_uris) }
    }

    /// Sets the name that people see.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Marks the client as one that has registered itself.
    #[must_use]
    pub fn self_registered(mut self) -> Self {
        self.self_registered = true;
        self
    }

    /// Returns whether `secret` is the client's, at `now` in seconds since 1970. Takes the same time for all secrets.
    pub(crate) fn has_secret(&self, secret: &str, now: u64) -> bool {
        let known = self.secret_hash.as_deref().unwrap_or_default();
        let same: bool = known.as_bytes().ct_eq(sha256_hex(secret).as_bytes()).into();
        same && self.secret_expires_at.is_none_or(|ends| ends == 0 || ends > now)
    }

    /// Returns whether answers may be sent to `uri`. It must be a URI of the client, byte for byte. On the client's own
    /// machine the port may differ (RFC 8252, section 7.3).
    pub(crate) fn may_redirect_to(&self, uri: &str) -> bool {
        self.redirect_uris.iter().any(|known| known == uri || same_but_for_the_port(known, uri))
    }
}

/// Returns the default for clients that older versions have stored: they count as self-registered.
fn unchecked() -> bool {
    true
}

/// Returns whether both are plain HTTP on this machine, and are written alike but for the port.
fn same_but_for_the_port(known: &str, uri: &str) -> bool {
    let is_plain = |uri: &str| Url::parse(uri).is_ok_and(|url| url.scheme() == "http" && is_loopback(&url));
    is_plain(known) && is_plain(uri) && without_port(known) == without_port(uri)
}

/// Returns an address without its port, as it is written.
fn without_port(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else { return uri.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let host = authority.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(authority, |(host, _)| host);
    format!("{scheme}://{host}{path}")
}

/// Checks the redirect addresses of a client.
///
/// # Errors
///
/// Returns an error if there is no address, or an address that no answer should go to. Such an address has plain HTTP
/// to another machine, a fragment, or a scheme that runs code.
pub(crate) fn check_redirects(uris: &[String]) -> Result<(), OAuthError> {
    let wrong = |reason: String| Err(OAuthError::new("invalid_redirect_uri", reason));
    if uris.is_empty() || uris.len() > MAX_REDIRECTS {
        return wrong(format!("a client has 1 to {MAX_REDIRECTS} redirect URIs"));
    }
    for uri in uris {
        let shown: String = uri.chars().take(100).collect();
        let Ok(url) = Url::parse(uri) else { return wrong(format!("`{shown}` is no URI")) };
        let is_private_scheme = url.scheme().contains('.');
        let is_known = match url.scheme() {
            "https" => url.host_str().is_some(),
            "http" => is_loopback(&url),
            _ => is_private_scheme,
        };
        if !is_known {
            return wrong(format!(
                "`{shown}`: a redirect URI is `https`, `http` on the user's own machine, or has a scheme of the application's \
                 own, such as `com.example.app`"
            ));
        }
        let plain = url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
        if !plain || uri.len() > MAX_REDIRECT_BYTES || uri.contains(char::is_control) {
            return wrong(format!("`{shown}`: a redirect URI has no fragment and no credentials"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_go_to_the_addresses_of_the_client_alone() {
        let client =
            OAuthClient::public("a", ["https://a.example/back?x=1", "http://127.0.0.1:1/back", "http://[::1]/b"]);
        for uri in [
            "https://a.example/back?x=1",
            "http://127.0.0.1:1/back",
            "http://127.0.0.1:54321/back",
            "http://127.0.0.1/back",
            "http://[::1]:9/b",
        ] {
            assert!(client.may_redirect_to(uri), "{uri}");
        }
        for uri in [
            "https://a.example/back?x=2",
            "https://a.example/back",
            "https://a.example/back?x=1#",
            "https://a.example:8443/back?x=1",
            "https://a.example/BACK?x=1",
            "https://A.example/back?x=1",
            "http://a.example/back?x=1",
            "http://127.0.0.1:1/back/",
            "http://127.0.0.1:1/other/../back",
            "http://127.0.0.1:1/./back",
            "http://127.0.0.1:1/back?y",
            "http://127.0.0.1:1/back#y",
            "http://localhost:1/back",
            "http://127.0.0.2:1/back",
            "http://127.0.0.1:1@evil.example/back",
            "http://127.0.0.1:1@localhost/back",
            "http://127.0.0.1:/back",
            "https://127.0.0.1:1/back",
            "",
        ] {
            assert!(!client.may_redirect_to(uri), "{uri}");
        }
    }

    #[test]
    fn redirect_addresses_that_leak_codes_are_refused() {
        for uri in ["https://a.example/", "http://localhost/back", "http://127.0.0.1:1/", "com.example.app:/back"] {
            check_redirects(&[uri.to_owned()]).unwrap();
        }
        for uri in [
            "http://a.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "https://a.example/#x",
            "https://user@a.example/",
            "cursor:/x",
            "back",
            "",
        ] {
            check_redirects(&[uri.to_owned()]).expect_err(uri);
        }
        check_redirects(&[]).unwrap_err();
        check_redirects(&vec!["https://a.example/".to_owned(); MAX_REDIRECTS + 1]).unwrap_err();
    }

    #[test]
    fn a_secret_is_kept_as_its_hash_and_ends() {
        let secret = Secret::new("s3cret");
        let mut client = OAuthClient::confidential("a", &secret, ClientAuthMethod::SecretPost, ["https://a.example/"]);
        assert!(client.has_secret("s3cret", 10) && !client.has_secret("other", 10) && !client.has_secret("", 10));
        client.secret_expires_at = Some(10);
        assert!(!client.has_secret("s3cret", 10));
        client.secret_expires_at = Some(0);
        assert!(client.has_secret("s3cret", 10));
        assert!(!serde_json::to_string(&client).unwrap().contains("s3cret"));
        assert!(!OAuthClient::public("a", ["https://a.example/"]).has_secret("", 10));
    }
}
