//! Cache of index responses on disk (RFC 9111, the part that indexes use: `max-age`, `no-store`, ETag, Last-Modified).

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{self, HeaderMap};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

use crate::cache::Sha256Hash;
use crate::index::body::ResponseBody;

/// Most bytes of the description in front of a cached body.
const MAX_HEAD_BYTES: u64 = 64 * 1024;
/// Longest time for which a response counts as fresh, whatever its server says, so that a server's mistake ends some
/// day.
const MAX_FRESH: Duration = Duration::from_secs(365 * 24 * 3600);

/// Directory of responses, one file for each. Processes can share it: files appear complete or not at all.
#[derive(Debug, Clone)]
pub(crate) struct HttpCache {
    directory: PathBuf,
}

/// Description of a cached response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CachedHead {
    url: String,
    final_url: String,
    content_type: String,
    etag: Option<String>,
    last_modified: Option<String>,
    /// Seconds since 1970.
    fresh_until: u64,
    size: u64,
}

/// Cached response.
#[derive(Debug)]
pub(crate) struct CachedResponse {
    pub(crate) head: CachedHead,
    pub(crate) body: ResponseBody,
}

impl HttpCache {
    /// Opens a cache below `directory`, which is made when a response is stored.
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.join("index-http-1") }
    }

    fn path(&self, url: &Url, accept: &str) -> PathBuf {
        let mut digest = Sha256::new();
        digest.update(url.as_str());
        digest.update([0]);
        digest.update(accept);
        let name = Sha256Hash(digest.finalize().into()).to_string();
        self.directory.join(&name[..2]).join(&name[2..])
    }

    /// Returns the response to `url`, of any age. A file that cannot be read counts as missing.
    #[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
    pub(crate) fn get(&self, url: &Url, accept: &str, limit: u64) -> Option<CachedResponse> {
        let file = std::fs::File::open(self.path(url, accept)).ok()?;
        let mut reader = std::io::BufReader::new(file);
        let mut length = [0; 4];
        reader.read_exact(&mut length).ok()?;
        let length = u64::from(u32::from_le_bytes(length));
        if length > MAX_HEAD_BYTES {
            return None;
        }
        let mut head = vec![0; usize::try_from(length).ok()?];
        reader.read_exact(&mut head).ok()?;
        let head: CachedHead = serde_json::from_slice(&head).ok()?;
        if head.url != url.as_str() || head.size > limit {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(head.size).ok()?);
        reader.take(limit).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 != head.size {
            return None;
        }
        let body = ResponseBody {
            final_url: Url::parse(&head.final_url).ok()?,
            content_type: head.content_type.clone(),
            bytes: bytes.into(),
        };
        Some(CachedResponse { head, body })
    }

    /// Stores a response if its server allows that. Write errors are only logged: the cache just saves time.
    pub(crate) fn put(&self, url: &Url, accept: &str, headers: &HeaderMap, body: &ResponseBody) {
        let control = CacheControl::read(headers);
        if control.no_store {
            return;
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let head = CachedHead {
            url: url.as_str().to_owned(),
            final_url: body.final_url.as_str().to_owned(),
            content_type: body.content_type.clone(),
            etag: text(header::ETAG),
            last_modified: text(header::LAST_MODIFIED),
            fresh_until: now().saturating_add(control.fresh.as_secs()),
            size: body.bytes.len() as u64,
        };
        if let Err(error) = self.write(&self.path(url, accept), &head, &body.bytes) {
            tracing::debug!(%error, "the index cache cannot be written");
        }
    }

    /// Renews a response that its server confirmed (304).
    pub(crate) fn refresh(
        &self,
        url: &Url,
        accept: &str,
        headers: &HeaderMap,
        mut entry: CachedResponse,
    ) -> ResponseBody {
        entry.head.fresh_until = now().saturating_add(CacheControl::read(headers).fresh.as_secs());
        if let Err(error) = self.write(&self.path(url, accept), &entry.head, &entry.body.bytes) {
            tracing::debug!(%error, "the index cache cannot be written");
        }
        entry.body
    }

    fn write(&self, path: &Path, head: &CachedHead, body: &[u8]) -> std::io::Result<()> {
        let directory = path.parent().unwrap_or(&self.directory);
        std::fs::create_dir_all(directory)?;
        let head = serde_json::to_vec(head)?;
        let length = u32::try_from(head.len()).map_err(std::io::Error::other)?;
        // Temporary files are readable by their owner alone, and stay so: responses may have needed credentials.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(&length.to_le_bytes())?;
        file.write_all(&head)?;
        file.write_all(body)?;
        file.persist(path)?;
        Ok(())
    }
}

impl CachedHead {
    pub(crate) fn is_fresh(&self) -> bool {
        now() < self.fresh_until
    }

    /// Returns the header fields that ask the server whether this response is still valid.
    pub(crate) fn validators(&self) -> impl Iterator<Item = (header::HeaderName, &str)> {
        let etag = self.etag.as_deref().map(|value| (header::IF_NONE_MATCH, value));
        let modified = self.last_modified.as_deref().map(|value| (header::IF_MODIFIED_SINCE, value));
        etag.into_iter().chain(modified)
    }
}

/// Directives of `Cache-Control` that are used here.
struct CacheControl {
    no_store: bool,
    fresh: Duration,
}

impl CacheControl {
    fn read(headers: &HeaderMap) -> Self {
        let mut control = Self { no_store: false, fresh: Duration::ZERO };
        let values = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
        let mut must_ask = false;
        for directive in values.flat_map(|value| value.split(',')) {
            let directive = directive.trim().to_ascii_lowercase();
            match directive.split_once('=') {
                None if directive == "no-store" => control.no_store = true,
                None if directive == "no-cache" => must_ask = true,
                Some(("max-age", seconds)) => {
                    let seconds = seconds.trim_matches('"').parse().unwrap_or(0);
                    control.fresh = Duration::from_secs(seconds).min(MAX_FRESH);
                }
                _ => {}
            }
        }
        if must_ask {
            control.fresh = Duration::ZERO;
        }
        control
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(control: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::CACHE_CONTROL, control.parse().expect("a value"));
        headers.insert(header::ETAG, "\"1\"".parse().expect("a value"));
        headers
    }

    #[test]
    fn keeps_what_may_be_kept() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let cache = HttpCache::new(directory.path());
        let url = Url::parse("https://index.example/simple/foo/").expect("a URL");
        let body = ResponseBody {
            final_url: url.clone(),
            content_type: "text/html".to_owned(),
            bytes: b"abc".to_vec().into(),
        };

        cache.put(&url, "a", &headers("no-store"), &body);
        assert!(cache.get(&url, "a", 10).is_none());

        cache.put(&url, "a", &headers("public, max-age=600"), &body);
        let entry = cache.get(&url, "a", 10).expect("kept");
        assert!(entry.head.is_fresh());
        assert_eq!(entry.body.bytes.as_ref(), b"abc");
        assert_eq!(entry.head.validators().next(), Some((header::IF_NONE_MATCH, "\"1\"")));
        assert!(cache.get(&url, "b", 10).is_none(), "another representation");
        assert!(cache.get(&url, "a", 2).is_none(), "larger than allowed");

        cache.put(&url, "a", &headers("max-age=600, no-cache"), &body);
        assert!(!cache.get(&url, "a", 10).expect("kept").head.is_fresh());
    }

    #[test]
    fn damaged_files_count_as_absent() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let cache = HttpCache::new(directory.path());
        let url = Url::parse("https://index.example/simple/foo/").expect("a URL");
        let body = ResponseBody { final_url: url.clone(), content_type: String::new(), bytes: b"abc".to_vec().into() };
        cache.put(&url, "", &headers("max-age=1"), &body);
        let path = cache.path(&url, "");
        let whole = std::fs::read(&path).expect("written");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("written");
            assert!(cache.get(&url, "", 10).is_none(), "{length} bytes");
        }
    }
}
