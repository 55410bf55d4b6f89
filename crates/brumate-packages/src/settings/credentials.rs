//! User names and passwords of indexes.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use reqwest::header::HeaderValue;
use url::Url;

use crate::settings::netrc::Netrc;

/// Credentials by URL. Debug output hides them.
#[derive(Clone, Default)]
pub struct Credentials {
    places: Vec<CredentialScope>,
    netrc: Option<Arc<Netrc>>,
}

#[derive(Clone)]
struct CredentialScope {
    /// Scheme, host and port have to be equal; the longest path that is a prefix wins.
    url: Url,
    user: String,
    password: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Credentials for {} places", self.places.len())
    }
}

impl Credentials {
    /// Removes the user name and password from `url` and keeps them for its server.
    #[must_use]
    pub fn take(&mut self, mut url: Url) -> Url {
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let user = decode(url.username());
        let password = url.password().map(decode);
        // These fail only for URLs without a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        if !user.is_empty() || password.is_some() {
            self.add(&url, user, password);
        }
        url
    }

    /// Keeps `user` and `password` for the server of `url`.
    pub fn add(&mut self, url: &Url, user: String, password: Option<String>) {
        self.places.push(CredentialScope { url: url.clone(), user, password });
    }

    /// Adds missing passwords where a user name is known; `find` receives the URL and the name.
    pub(crate) fn complete(&mut self, find: impl Fn(&Url, &str) -> Option<String>) {
        for place in self.places.iter_mut().filter(|place| place.password.is_none() && !place.user.is_empty()) {
            place.password = find(&place.url, &place.user);
        }
    }

    pub(crate) fn set_netrc(&mut self, netrc: Netrc) {
        self.netrc = Some(Arc::new(netrc));
    }

    /// Returns the `Authorization` header (RFC 7617) for a request to `url`: from the URL, else from the credentials
    /// of its server, else from `netrc`.
    pub fn authorization(&self, url: &Url) -> Option<HeaderValue> {
        let mut own = Self::default();
        let bare = own.take(url.clone());
        if let Some(place) = own.places.first() {
            return Some(basic(&place.user, place.password.as_deref()));
        }
        let best =
            self.places.iter().filter(|place| place.url.origin() == bare.origin()).max_by_key(|place| {
                if bare.path().starts_with(place.url.path()) { place.url.path().len() + 1 } else { 0 }
            });
        if let Some(place) = best {
            return Some(basic(&place.user, place.password.as_deref()));
        }
        let entry = self.netrc.as_ref()?.find(bare.host_str()?)?;
        Some(basic(&entry.login, Some(&entry.password)))
    }
}

fn basic(user: &str, password: Option<&str>) -> HeaderValue {
    let pair = STANDARD.encode(format!("{user}:{}", password.unwrap_or_default()));
    let mut value = HeaderValue::from_str(&format!("Basic {pair}")).expect("base64 is ASCII");
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(credentials: &Credentials, url: &str) -> Option<String> {
        let value = credentials.authorization(&Url::parse(url).expect("a URL"))?;
        let pair = value.to_str().expect("ASCII").strip_prefix("Basic ").expect("basic").to_owned();
        Some(String::from_utf8(STANDARD.decode(pair).expect("base64")).expect("UTF-8"))
    }

    #[test]
    fn the_nearest_place_counts() {
        let mut credentials = Credentials::default();
        let taken = credentials.take(Url::parse("https://a%40b:x%2Fy@one.example/team/simple/").expect("a URL"));
        assert_eq!(taken.as_str(), "https://one.example/team/simple/");
        let _ = credentials.take(Url::parse("https://c:d@one.example/other/").expect("a URL"));
        credentials.set_netrc(Netrc::parse("machine two.example login e password f"));
        assert_eq!(decoded(&credentials, "https://one.example/team/simple/foo/").as_deref(), Some("a@b:x/y"));
        assert_eq!(decoded(&credentials, "https://one.example/other/foo/").as_deref(), Some("c:d"));
        assert!(decoded(&credentials, "https://one.example/files/foo.whl").is_some());
        assert_eq!(decoded(&credentials, "http://one.example/team/simple/"), None, "another scheme");
        assert_eq!(decoded(&credentials, "https://two.example/").as_deref(), Some("e:f"));
        assert_eq!(decoded(&credentials, "https://g:h@two.example/").as_deref(), Some("g:h"));
        assert_eq!(decoded(&credentials, "https://three.example/"), None);
        assert!(!format!("{credentials:?}").contains("x/y"));
    }

    #[test]
    fn missing_passwords_are_asked_for() {
        let mut credentials = Credentials::default();
        let _ = credentials.take(Url::parse("https://me@one.example/simple/").expect("a URL"));
        let _ = credentials.take(Url::parse("https://me:known@two.example/simple/").expect("a URL"));
        credentials.complete(|url, user| Some(format!("{user} at {}", url.host_str()?)));
        assert_eq!(decoded(&credentials, "https://one.example/simple/a/").as_deref(), Some("me:me at one.example"));
        assert_eq!(decoded(&credentials, "https://two.example/simple/a/").as_deref(), Some("me:known"));
    }
}
