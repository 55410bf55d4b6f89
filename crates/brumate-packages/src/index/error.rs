//! Errors of package sources.

use brumate_setting::Setting;
use thiserror::Error;
use url::Url;

use crate::source::BuildError;

/// Error of a file or page. URLs are shown without credentials, queries and fragments.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The network is off, and the cache has no copy.
    #[error("{url} is not in the cache, and the network is off ({})", Setting::Offline.brief())]
    Offline {
        /// URL of the request.
        url: String,
    },
    /// The server does not have it (404, 410).
    #[error("{url} does not exist (HTTP {status})")]
    NotFound {
        /// URL of the request.
        url: String,
        /// 404 or 410.
        status: u16,
    },
    /// The server requires other credentials (401, 403).
    #[error(
        "{url} is not open to us (HTTP {status}): put the index's credentials into its URL, into the netrc file, or \
         into UV_INDEX_<NAME>_USERNAME and UV_INDEX_<NAME>_PASSWORD"
    )]
    Forbidden {
        /// URL of the request.
        url: String,
        /// 401 or 403.
        status: u16,
    },
    /// The server answered with another error status.
    #[error("the server of {url} answered HTTP {status}{}", tried(*.attempts))]
    Status {
        /// URL of the request.
        url: String,
        /// The status.
        status: u16,
        /// Number of attempts.
        attempts: u32,
    },
    /// The server redirects too often, or it redirects or links to a place that is not allowed.
    #[error("{url} cannot be reached: {reason}")]
    Redirect {
        /// URL of the request.
        url: String,
        /// Reason.
        reason: String,
    },
    /// The server did not answer completely in time.
    #[error("{url} did not answer within {seconds} s{}; a longer limit can be set with UV_HTTP_TIMEOUT", tried(*.attempts))]
    Timeout {
        /// URL of the request.
        url: String,
        /// The limit.
        seconds: u64,
        /// Number of attempts.
        attempts: u32,
    },
    /// The connection failed.
    #[error("{url} cannot be read: {reason}{}", tried(*.attempts))]
    Transport {
        /// URL of the request.
        url: String,
        /// Chain of causes.
        reason: String,
        /// Number of attempts.
        attempts: u32,
    },
    /// The response exceeds its limit.
    #[error("{url} is larger than {limit} bytes; nothing of this kind should be")]
    TooLarge {
        /// URL of the request.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file does not have the digest that its index states.
    #[error("{url} has the SHA-256 {actual}; its index promised {expected}. The file was changed or damaged")]
    Hash {
        /// URL of the request.
        url: String,
        /// Digest of the index.
        expected: String,
        /// Digest of the file.
        actual: String,
    },
    /// The content cannot be used.
    #[error("{url} is unusable: {reason}")]
    Malformed {
        /// URL of the request.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A source distribution does not become a wheel.
    #[error(transparent)]
    Build(Box<BuildError>),
    /// A local file or directory cannot be read.
    #[error("{path} cannot be read: {reason}")]
    File {
        /// The path.
        path: String,
        /// The system's error.
        reason: String,
    },
    /// The settings cannot be used.
    #[error("the settings of the package index cannot be used: {0}")]
    Settings(String),
}

fn tried(attempts: u32) -> String {
    if attempts > 1 { format!(" (tried {attempts} times)") } else { String::new() }
}

/// Formats `url` for messages: without credentials, query (it can be signed) and fragment.
pub(crate) fn url_for_error(url: &Url) -> String {
    let mut url = url.clone();
    // Fails only for URLs that cannot have credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_secrets() {
        let url = Url::parse("https://user:secret@index.example/simple/?token=x#y").expect("a URL");
        assert_eq!(url_for_error(&url), "https://index.example/simple/");
    }
}
