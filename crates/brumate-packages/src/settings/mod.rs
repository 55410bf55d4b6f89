//! Settings of package sources and downloads.
//!
//! [`Settings::from_environment`] reads the settings that Python's tools have on a machine: pip's and uv's variables
//! and files, `netrc`, proxies and certificates. Each field can be set as well.

mod credentials;
mod environment;
mod files;
mod keyring;
mod netrc;
mod only_binary;
mod read;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Moment in time.
pub use jiff::Timestamp;
use url::Url;

pub use credentials::Credentials;
pub use environment::Environment;
pub use keyring::KeyringProvider;
pub use only_binary::OnlyBinary;

use crate::index::IndexError;

/// Index that is used if no setting names one.
pub const DEFAULT_INDEX: &str = "https://pypi.org/simple/";

/// Settings of package sources and downloads.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Indexes (PEP 503, 691), the most trusted first.
    pub indexes: Vec<Index>,
    /// Find-links directories and pages; their files come before those of the indexes.
    pub find_links: Vec<FindLinks>,
    /// Base URL of a Pyodide distribution: the directory with `pyodide-lock.json`. Asked last.
    pub pyodide: Option<Url>,
    /// Uses caches and local directories only.
    pub offline: bool,
    /// Ignores files that were uploaded at or after this moment, and files whose time is not known.
    pub exclude_newer: Option<Timestamp>,
    /// Prereleases that are used.
    pub prerelease: Prerelease,
    /// Packages that are not built from source code.
    pub only_binary: OnlyBinary,
    /// Indexes that are asked for one package.
    pub index_strategy: IndexStrategy,
    /// Proxy for all requests. `None` uses `HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY`. `NO_PROXY` counts in both
    /// cases.
    pub proxy: Option<String>,
    /// Trusted certificates.
    pub tls: Tls,
    /// Refuses files and redirects in networks that no source is in: of this machine, link-local ones, and private ones if all sources
    /// are on the internet. The hosts of the sources may be anywhere.
    pub confines_links: bool,
    /// User names and passwords by URL.
    pub credentials: Credentials,
    /// Provider of missing passwords; see [`Settings::ask_keyring`].
    pub keyring: KeyringProvider,
    /// Longest silence of a server.
    pub timeout: Duration,
    /// Longest time to open a connection.
    pub connect_timeout: Duration,
    /// Number of retries after a temporary failure.
    pub retries: u32,
    /// Wait before the first retry; it doubles each time.
    pub retry_wait: Duration,
    /// Most simultaneous requests.
    pub concurrency: usize,
    /// Directory for the cache of responses; `None` disables it.
    pub cache_directory: Option<PathBuf>,
}

impl Default for Settings {
    /// Returns the default index, the system's certificates, and no cache.
    fn default() -> Self {
        Self {
            indexes: vec![Index::default()],
            find_links: Vec::new(),
            pyodide: None,
            offline: false,
            exclude_newer: None,
            prerelease: Prerelease::IfNecessary,
            only_binary: OnlyBinary::default(),
            index_strategy: IndexStrategy::FirstIndex,
            proxy: None,
            tls: Tls::default(),
            confines_links: false,
            credentials: Credentials::default(),
            keyring: KeyringProvider::Disabled,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            retries: 3,
            retry_wait: Duration::from_millis(250),
            concurrency: 50,
            cache_directory: None,
        }
    }
}

impl Settings {
    /// Asks the keyring, if it is enabled, for the passwords of URLs with a known user name. May take a minute for
    /// each.
    pub fn ask_keyring(&mut self) {
        if self.keyring == KeyringProvider::Subprocess && !self.offline {
            self.credentials.complete(keyring::password);
        }
    }
}

/// Package index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Name in settings and messages.
    pub name: Option<String>,
    /// Base URL without credentials; ends with `/`.
    pub url: Url,
}

impl Index {
    /// Makes an index at `url`; credentials in the URL are moved to `credentials`.
    ///
    /// # Errors
    ///
    /// [`IndexError::Settings`] when `url` is not an `http`, `https` or `file` URL.
    pub fn new(url: &str, credentials: &mut Credentials) -> Result<Self, IndexError> {
        let mut url = parse_url(url)?;
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(Self { name: None, url: credentials.take(url) })
    }
}

impl Default for Index {
    fn default() -> Self {
        Self { name: None, url: Url::parse(DEFAULT_INDEX).expect("a URL of our own") }
    }
}

/// Source of distribution files that are not sorted by package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindLinks {
    /// Directory of this machine.
    Directory(PathBuf),
    /// Page of links.
    Page(Url),
}

impl FindLinks {
    /// Reads a path, a `file:` URL or the URL of a page; credentials in the URL are moved to `credentials`.
    ///
    /// # Errors
    ///
    /// [`IndexError::Settings`] when it is a URL of another kind.
    pub fn new(text: &str, credentials: &mut Credentials) -> Result<Self, IndexError> {
        if !text.contains("://") {
            return Ok(Self::Directory(PathBuf::from(text)));
        }
        let url = parse_url(text)?;
        match url.to_file_path() {
            Ok(path) if url.scheme() == "file" => Ok(Self::Directory(path)),
            _ => Ok(Self::Page(credentials.take(url))),
        }
    }
}

/// Prereleases (PEP 440: `a`, `b`, `rc`, `.dev`) that are used, in uv's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prerelease {
    /// No prerelease.
    Disallow,
    /// All prereleases, like other versions.
    Allow,
    /// Prereleases if no final release fits.
    #[default]
    IfNecessary,
}

impl FromStr for Prerelease {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "disallow" => Ok(Self::Disallow),
            "allow" => Ok(Self::Allow),
            "if-necessary" | "if-necessary-or-explicit" => Ok(Self::IfNecessary),
            _ => Err(format!("`{text}` is not one of disallow, allow, if-necessary")),
        }
    }
}

/// Indexes that are asked for one package, in uv's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexStrategy {
    /// The first index that has the package. A package of the same name on a later index is ignored.
    #[default]
    FirstIndex,
    /// All indexes; the best version wins.
    UnsafeBestMatch,
}

impl FromStr for IndexStrategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "first-index" => Ok(Self::FirstIndex),
            "unsafe-best-match" | "unsafe-first-match" => Ok(Self::UnsafeBestMatch),
            _ => Err(format!("`{text}` is not one of first-index, unsafe-best-match")),
        }
    }
}

/// Trusted certificates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// File of certificates (PEM) that replaces the system's (`PIP_CERT`).
    pub bundle: Option<PathBuf>,
}

/// Parses `--exclude-newer`: a moment (RFC 3339), a date (the whole day is included, in UTC) or a span before `now`.
///
/// # Errors
///
/// A sentence that shows the accepted forms.
pub fn parse_exclude_newer(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let text = text.trim();
    if let Ok(timestamp) = text.parse() {
        return Ok(timestamp);
    }
    let date: Option<jiff::civil::Date> = text.parse().ok();
    let end_of_day = date.and_then(|date| date.tomorrow().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok());
    if let Some(end) = end_of_day {
        return Ok(end.timestamp());
    }
    let before = text
        .parse::<jiff::Span>()
        .ok()
        .and_then(|span| now.to_zoned(jiff::tz::TimeZone::UTC).checked_sub(span.abs()).ok());
    before.map(|moment| moment.timestamp()).ok_or_else(|| {
        format!("`{text}` is neither a moment (2026-01-31T12:00:00Z), nor a date (2026-01-31), nor a span (30 days)")
    })
}

fn parse_url(text: &str) -> Result<Url, IndexError> {
    let wrong = |reason: &str| {
        // The text may contain a password.
        let shown = text.rsplit_once('@').map_or(text, |(_, host)| host);
        IndexError::Settings(format!("`{shown}`: {reason}"))
    };
    let url = Url::parse(text.trim()).map_err(|error| wrong(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" | "file" => Ok(url),
        scheme => Err(wrong(&format!("`{scheme}:` is not http, https or file"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_dates_and_spans() {
        let now: Timestamp = "2026-02-01T12:00:00Z".parse().expect("a moment");
        let read = |text| parse_exclude_newer(text, now).map(|moment| moment.to_string());
        assert_eq!(read("2026-01-31T12:00:00+02:00").as_deref(), Ok("2026-01-31T10:00:00Z"));
        assert_eq!(read("2026-01-31").as_deref(), Ok("2026-02-01T00:00:00Z"));
        assert_eq!(read("7 days").as_deref(), Ok("2026-01-25T12:00:00Z"));
        assert_eq!(read("P1M").as_deref(), Ok("2026-01-01T12:00:00Z"));
        assert!(read("tomorrow").is_err());
    }

    #[test]
    fn an_index_keeps_no_credentials() {
        let mut credentials = Credentials::default();
        let index = Index::new("https://user:pass@index.example/simple", &mut credentials).expect("valid");
        assert_eq!(index.url.as_str(), "https://index.example/simple/");
        assert!(credentials.authorization(&index.url).is_some());
        let error = Index::new("ftp://user:pass@index.example/", &mut credentials).expect_err("not HTTP");
        assert!(!error.to_string().contains("pass"), "{error}");
    }
}
