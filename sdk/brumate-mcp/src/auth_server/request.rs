//! Requests to the endpoints: the parameters, and the credentials of the client that sends the request.

use super::AuthServerInner;
use super::client::ClientAuthMethod;
use super::error::OAuthError;
use super::rate_limiter::network;
use crate::http::client_address;
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// The largest body, in bytes.
const MAX_BODY: usize = 64 << 10;

/// Time in which a body must arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

impl AuthServerInner {
    /// Returns the address for the rate limits of a request. It is the address of the client's network, because one
    /// customer has many IPv6 addresses.
    pub(super) fn address(&self, head: &Parts) -> Option<IpAddr> {
        client_address(head, &self.proxies).map(network)
    }
}

/// Reads a body.
pub(super) async fn body(body: Body, limit: usize) -> Result<Bytes, OAuthError> {
    match tokio::time::timeout(BODY_TIMEOUT, axum::body::to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(OAuthError::invalid_request(format!("the body has more than {limit} bytes, or ended early"))),
        Err(_) => Err(OAuthError::invalid_request("the body did not arrive in time")),
    }
}

/// The parameters of a request. Each has one value; empty ones are ignored (RFC 6749, section 3.1).
#[derive(Debug, Default)]
pub(super) struct Parameters(HashMap<String, String>);

impl Parameters {
    /// Reads a query or a form.
    ///
    /// # Errors
    ///
    /// Returns an error if a parameter occurs more than once.
    pub(super) fn parse(text: &[u8]) -> Result<Self, OAuthError> {
        let mut all = HashMap::new();
        for (name, value) in url::form_urlencoded::parse(text) {
            if value.is_empty() {
                continue;
            }
            let shown: String = name.chars().take(50).collect();
            if all.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(OAuthError::invalid_request(format!("the parameter `{shown}` occurs more than once")));
            }
        }
        Ok(Self(all))
    }

    /// Reads the form in the body of a request.
    pub(super) async fn form(head: &Parts, sent: Body) -> Result<Self, OAuthError> {
        let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded") {
            return Err(OAuthError::invalid_request("the body must be application/x-www-form-urlencoded"));
        }
        Self::parse(&body(sent, MAX_BODY).await?)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns a parameter.
    ///
    /// # Errors
    ///
    /// Returns an error if the parameter is missing.
    pub(super) fn require(&self, name: &str) -> Result<&str, OAuthError> {
        self.get(name).ok_or_else(|| OAuthError::invalid_request(format!("the parameter `{name}` is missing")))
    }

    /// Returns the words of a parameter, such as scopes.
    pub(super) fn words(&self, name: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for word in self.get(name).unwrap_or_default().split_ascii_whitespace() {
            if !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        }
        words
    }
}

/// The credentials that a client presents at the token endpoint.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PresentedCredentials {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) method: ClientAuthMethod,
}

impl PresentedCredentials {
    /// Reads the client's credentials (RFC 6749, section 2.3.1).
    ///
    /// # Errors
    ///
    /// Returns an error if the client presents no credentials, or presents them in two ways.
    pub(super) fn read(head: &Parts, form: &Parameters) -> Result<Self, OAuthError> {
        let two = || OAuthError::invalid_request("the client presents credentials in two ways");
        let mut headers = head.headers.get_all(AUTHORIZATION).iter();
        let header = headers.next();
        if headers.next().is_some() {
            return Err(two());
        }
        let Some(header) = header else {
            let id = form.get("client_id").ok_or_else(OAuthError::invalid_client)?.to_owned();
            let secret = form.get("client_secret").map(str::to_owned);
            let method = if secret.is_some() { ClientAuthMethod::SecretPost } else { ClientAuthMethod::None };
            return Ok(Self { id, secret, method });
        };
        let (id, secret) = header.to_str().ok().and_then(basic).ok_or_else(OAuthError::invalid_client)?;
        if form.get("client_secret").is_some() || form.get("client_id").is_some_and(|other| other != id) {
            return Err(two());
        }
        Ok(Self { id, secret: Some(secret), method: ClientAuthMethod::SecretBasic })
    }
}

/// Reads the header `Basic BASE64`. Returns the id and the secret, which are both encoded as in a form. `None` if the
/// header is invalid.
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = pair.split_once(':')?;
    let decode = |text: &str| {
        let mut pairs = url::form_urlencoded::parse(format!("x={}", text.replace('&', "%26")).as_bytes())
            .into_owned()
            .collect::<Vec<_>>();
        pairs.pop().map(|(_, value)| value).unwrap_or_default()
    };
    Some((decode(id), decode(secret))).filter(|(id, secret)| !id.is_empty() && !secret.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(authorization: &[&str], form: &str) -> Result<PresentedCredentials, OAuthError> {
        let mut request = http::Request::builder();
        for value in authorization {
            request = request.header(AUTHORIZATION, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        PresentedCredentials::read(&head, &Parameters::parse(form.as_bytes()).unwrap())
    }

    #[test]
    fn a_client_shows_who_it_is_in_one_way() {
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        let expect = |id: &str, secret: Option<&str>, method| {
            Ok(PresentedCredentials { id: id.to_owned(), secret: secret.map(str::to_owned), method })
        };
        assert_eq!(shown(&[], "client_id=a"), expect("a", None, ClientAuthMethod::None));
        assert_eq!(shown(&[], "client_id=a&client_secret=s"), expect("a", Some("s"), ClientAuthMethod::SecretPost));
        let given = shown(&[&basic("a%3Ab:p%26s+s%25")], "client_id=a:b");
        assert_eq!(given, expect("a:b", Some("p&s s%"), ClientAuthMethod::SecretBasic));
        assert_eq!(shown(&[&basic("a:p&q")], ""), expect("a", Some("p&q"), ClientAuthMethod::SecretBasic));
        for (authorization, form) in [
            (vec![basic("a:s")], "client_id=b"),
            (vec![basic("a:s")], "client_secret=s"),
            (vec![basic("a:s"), basic("a:s")], ""),
            (vec![basic("a")], ""),
            (vec![basic(":s")], ""),
            (vec!["Basic ???".to_owned()], ""),
            (vec!["Bearer x".to_owned()], "client_id=a"),
            (vec![], ""),
        ] {
            let headers: Vec<&str> = authorization.iter().map(String::as_str).collect();
            shown(&headers, form).expect_err(form);
        }
    }

    #[test]
    fn a_parameter_is_there_once() {
        let parameters = Parameters::parse(b"scope=a+b++a&empty=&x=%20").unwrap();
        assert_eq!((parameters.words("scope"), parameters.get("empty")), (vec!["a".to_owned(), "b".to_owned()], None));
        assert_eq!(parameters.require("missing").unwrap_err().code(), "invalid_request");
        Parameters::parse(b"code=a&code=b").unwrap_err();
        Parameters::parse(b"code=a&code=a").unwrap_err();
    }
}
