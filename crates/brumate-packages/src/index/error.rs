//! What can go wrong between us and an index.

use thiserror::Error;
use url::Url;

/// A file or page that could not be had. URLs are shown without credentials, queries and fragments.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The network is off and the cache has no copy.
    #[error("{url} is not in the cache, and the network is off (--offline)")]
    Offline {
        /// What was asked for.
        url: String,
    },
    /// The server does not know it (404, 410).
    #[error("{url} does not exist (HTTP {status})")]
    NotFound {
        /// What was asked for.
        url: String,
        /// 404 or 410.
        status: u16,
    },
    /// The server wants other credentials (401, 403).
    #[error(
        "{url} is not open to us (HTTP {status}): put the index's credentials into its URL, into the netrc file, or \
         into UV_INDEX_<NAME>_USERNAME and UV_INDEX_<NAME>_PASSWORD"
    )]
    Forbidden {
        /// What was asked for.
        url: String,
        /// 401 or 403.
        status: u16,
    },
    /// Any other status that is not a success.
    #[error("the server of {url} answered HTTP {status}{}", tried(*.attempts))]
    Status {
        /// What was asked for.
        url: String,
        /// The status.
        status: u16,
        /// How often it was tried.
        attempts: u32,
    },
    /// Redirected too often or to a place that is not allowed.
    #[error("{url} cannot be reached: {reason}")]
    Redirect {
        /// What was asked for.
        url: String,
        /// What was wrong with the redirects.
        reason: String,
    },
    /// No answer, or none to the end, in time.
    #[error("{url} did not answer within {seconds} s{}; a longer limit can be set with UV_HTTP_TIMEOUT", tried(*.attempts))]
    Timeout {
        /// What was asked for.
        url: String,
        /// The limit.
        seconds: u64,
        /// How often it was tried.
        attempts: u32,
    },
    /// The connection could not be made or broke.
    #[error("{url} cannot be read: {reason}{}", tried(*.attempts))]
    Transport {
        /// What was asked for.
        url: String,
        /// The chain of causes.
        reason: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// Larger than we are willing to read.
    #[error("{url} is larger than {limit} bytes; nothing of this kind should be")]
    TooLarge {
        /// What was asked for.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// Not the file that the index promised.
    #[error("{url} has the SHA-256 {actual}; its index promised {expected}. The file was changed or damaged")]
    Hash {
        /// What was asked for.
        url: String,
        /// The digest of the index.
        expected: String,
        /// The digest of what came.
        actual: String,
    },
    /// It came, but it is not what it should be.
    #[error("{url} is unusable: {reason}")]
    Malformed {
        /// What was asked for.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A local file or directory that cannot be read.
    #[error("{path} cannot be read: {reason}")]
    File {
        /// The path.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// The settings cannot be used.
    #[error("the settings of the package index cannot be used: {0}")]
    Settings(String),
}

fn tried(attempts: u32) -> String {
    if attempts > 1 { format!(" (tried {attempts} times)") } else { String::new() }
}

/// `url` for messages: no credentials, no query (it can be signed), no fragment.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Fails for URLs that cannot have credentials.
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
        assert_eq!(shown(&url), "https://index.example/simple/");
    }
}
