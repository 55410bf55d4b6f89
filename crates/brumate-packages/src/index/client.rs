//! Client of all package sources, in their order.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::OnceCell;
use url::Url;

use crate::cache::Sha256Hash;
use crate::index::blocking::blocking;
use crate::index::body::ResponseBody;
use crate::index::error::{IndexError, url_for_error};
use crate::index::file::{IndexFile, MetadataFile, Origin};
use crate::index::find_links::{self, FindLinksFiles};
use crate::index::http::Http;
use crate::index::metadata::Metadata;
use crate::index::pyodide::{self, PyodideLock};
use crate::index::transfer::DownloadSink;
use crate::index::{MAX_LOCK_BYTES, MAX_METADATA_BYTES, MAX_PAGE_BYTES, MAX_WHEEL_BYTES, html, simple, sparse};
use crate::name::DistributionName;
use crate::settings::{FindLinks, IndexStrategy, Settings};

/// `Accept` for files of any media type.
const ANY: &str = "*/*";
/// Cache key of extracted metadata; no request has this `Accept`.
const EXTRACTED: &str = "brumate/metadata";

/// Files of one distribution.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// In the order of the sources.
    pub(crate) files: Vec<IndexFile>,
    /// Whether a source was not asked because the network is off.
    pub(crate) offline: bool,
}

/// Client of every source that the settings name.
#[derive(Debug)]
pub(crate) struct IndexClient {
    http: Http,
    settings: Settings,
    flat: OnceCell<FindLinksFiles>,
    pyodide: OnceCell<PyodideLock>,
}

impl IndexClient {
    pub(crate) fn new(settings: Settings) -> Result<Self, IndexError> {
        Ok(Self { http: Http::new(&settings)?, settings, flat: OnceCell::new(), pyodide: OnceCell::new() })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the files of `name`: those of find-links first, then those of the indexes, then those of Pyodide's
    /// lock.
    pub(crate) async fn listing(&self, name: &DistributionName) -> Result<Listing, IndexError> {
        let flat = self.flat.get_or_try_init(|| self.read_find_links()).await?;
        let mut listing = Listing { files: flat.files(name).to_vec(), offline: flat.offline };
        for index in &self.settings.indexes {
            let url = index
                .url
                .join(&format!("{name}/"))
                .map_err(|error| IndexError::Malformed { url: url_for_error(&index.url), reason: error.to_string() })?;
            let origin = Arc::new(Origin::Index(index.url.to_string()));
            match self.page(&url, origin).await {
                Ok(files) => {
                    listing.files.extend(files);
                    if self.settings.index_strategy == IndexStrategy::FirstIndex {
                        break;
                    }
                }
                Err(IndexError::NotFound { .. }) => {}
                Err(IndexError::Offline { .. }) => listing.offline = true,
                Err(error) => return Err(error),
            }
        }
        if let Some(base) = &self.settings.pyodide {
            match self.pyodide.get_or_try_init(|| self.read_pyodide(base)).await {
                Ok(lock) => listing.files.extend(lock.file(name).cloned()),
                Err(IndexError::Offline { .. }) => listing.offline = true,
                Err(error) => return Err(error),
            }
        }
        Ok(listing)
    }

    /// Returns the modules of the wheels in find-links directories with their distributions. If two have the same
    /// module, the first directory counts.
    pub(crate) async fn find_links_modules(&self) -> Result<HashMap<String, DistributionName>, IndexError> {
        let mut modules = HashMap::new();
        for place in &self.settings.find_links {
            if let FindLinks::Directory(path) = place {
                for (module, name) in find_links::modules(path.clone()).await? {
                    modules.entry(module).or_insert(name);
                }
            }
        }
        Ok(modules)
    }

    /// Reads a page of links or a project page.
    async fn page(&self, url: &Url, origin: Arc<Origin>) -> Result<Vec<IndexFile>, IndexError> {
        if url.scheme() == "file" {
            return find_links::local_page(url, origin).await;
        }
        let body = self.http.get(url, simple::ACCEPT, MAX_PAGE_BYTES).await?;
        let url = url_for_error(url);
        blocking(move || {
            parse_page(&body.bytes, &body.content_type, &body.final_url, &origin)
                .map_err(|reason| IndexError::Malformed { url, reason })
        })
        .await
    }

    async fn read_find_links(&self) -> Result<FindLinksFiles, IndexError> {
        let mut flat = FindLinksFiles::default();
        for place in &self.settings.find_links {
            let files = match place {
                FindLinks::Directory(path) => find_links::directory(path.clone()).await,
                FindLinks::Page(url) => self.page(url, Arc::new(Origin::FindLinks(url_for_error(url)))).await,
            };
            match files {
                Ok(files) => flat.add(files),
                Err(IndexError::Offline { .. }) => flat.offline = true,
                Err(error) => return Err(error),
            }
        }
        Ok(flat)
    }

    async fn read_pyodide(&self, base: &Url) -> Result<PyodideLock, IndexError> {
        let malformed = |reason: String| IndexError::Malformed { url: url_for_error(base), reason };
        let mut base = base.clone();
        if !base.path().ends_with('/') {
            let path = format!("{}/", base.path());
            base.set_path(&path);
        }
        let url = base.join(pyodide::FILE).map_err(|error| malformed(error.to_string()))?;
        let bytes = if url.scheme() == "file" {
            find_links::read_local(&url, MAX_LOCK_BYTES).await?
        } else {
            self.http.get(&url, ANY, MAX_LOCK_BYTES).await?.bytes
        };
        blocking(move || PyodideLock::parse(&bytes, &base))
            .await
            .map_err(|reason| IndexError::Malformed { url: url_for_error(&url), reason })
    }

    /// Returns the metadata of the wheel `file`, in the cheapest way that its source offers.
    pub(crate) async fn metadata(&self, file: &IndexFile) -> Result<Metadata, IndexError> {
        let bytes = match self.cheap_metadata(file).await? {
            Some(bytes) => bytes,
            None => {
                let bytes = self.metadata_in_whole_wheel(file).await?;
                self.remember_metadata(file, &bytes).await;
                bytes
            }
        };
        let malformed = |reason: String| IndexError::Malformed { url: url_for_error(&file.url), reason };
        Metadata::parse(&bytes).map_err(|reason| malformed(format!("its metadata: {reason}")))
    }

    /// Returns the bytes of the metadata of the wheel `file`. `None`: only the whole wheel has it.
    pub(crate) async fn cheap_metadata(&self, file: &IndexFile) -> Result<Option<Arc<[u8]>>, IndexError> {
        if file.url.scheme() == "file" {
            return sparse::local_metadata(&file.url).await.map(Some);
        }
        if let MetadataFile::Present { sha256 } = &file.metadata {
            let mut url = file.url.clone();
            url.set_path(&format!("{}.metadata", url.path()));
            match self.http.get(&url, ANY, MAX_METADATA_BYTES).await {
                Ok(body) => {
                    check_sha256(&url, &body.bytes, sha256.as_deref())?;
                    return Ok(Some(body.bytes));
                }
                // Some mirrors announce the file and do not have it.
                Err(IndexError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(key) = extracted_key(file)
            && let Some(body) = self.http.recall(&key, EXTRACTED, MAX_METADATA_BYTES).await
        {
            return Ok(Some(body.bytes));
        }
        let bytes = sparse::remote_metadata(&self.http, &file.url).await?;
        if let Some(bytes) = &bytes {
            self.remember_metadata(file, bytes).await;
        }
        Ok(bytes)
    }

    async fn remember_metadata(&self, file: &IndexFile, bytes: &Arc<[u8]>) {
        if let Some(key) = extracted_key(file) {
            let body = ResponseBody { final_url: key.clone(), content_type: String::new(), bytes: Arc::clone(bytes) };
            self.http.remember(&key, EXTRACTED, body).await;
        }
    }

    /// Returns the SHA-256 of `file`: the source's, or that of the content for a local file.
    pub(crate) async fn sha256(&self, file: &IndexFile) -> Result<Option<String>, IndexError> {
        if file.sha256.is_some() || file.url.scheme() != "file" {
            return Ok(file.sha256.clone());
        }
        let bytes = find_links::read_local(&file.url, MAX_WHEEL_BYTES).await?;
        Ok(Some(blocking(move || digest(&bytes)).await))
    }

    /// Downloads the file at `url` to `sink`.
    pub(crate) async fn download(&self, url: &Url, limit: u64, sink: &mut dyn DownloadSink) -> Result<(), IndexError> {
        if url.scheme() != "file" {
            return self.http.download(url, limit, sink).await;
        }
        sink.begin().await?;
        find_links::pour_local(url, limit, sink).await
    }

    async fn metadata_in_whole_wheel(&self, file: &IndexFile) -> Result<Arc<[u8]>, IndexError> {
        tracing::debug!(url = %url_for_error(&file.url), "the server has neither metadata nor ranges: fetching the wheel");
        let body = self.http.get_uncached(&file.url, ANY, MAX_WHEEL_BYTES).await?;
        let (url, sha256) = (file.url.clone(), file.sha256.clone());
        blocking(move || {
            check_sha256(&url, &body.bytes, sha256.as_deref())?;
            sparse::metadata_of(std::io::Cursor::new(&body.bytes))
                .map_err(|reason| IndexError::Malformed { url: url_for_error(&url), reason })
        })
        .await
    }
}

/// Reads a project page or a page of links.
///
/// `content_type` is the media type without parameters, `base` the URL of the page, `origin` the origin of its files.
///
/// # Errors
///
/// A sentence that says why the page cannot be used.
pub fn parse_page(body: &[u8], content_type: &str, base: &Url, origin: &Arc<Origin>) -> Result<Vec<IndexFile>, String> {
    match content_type {
        simple::JSON | "application/json" => simple::parse(body, base, origin),
        "application/vnd.pypi.simple.v1+html" | "text/html" | "application/xhtml+xml" | "" => {
            html::parse(body, base, origin)
        }
        other => Err(format!("it is `{other}`, neither the simple API's JSON nor HTML")),
    }
}

/// Returns the cache key of metadata that was extracted from the wheel `file`. It is valid for a hash of the wheel.
fn extracted_key(file: &IndexFile) -> Option<Url> {
    let mut key = file.url.clone();
    key.set_fragment(Some(file.sha256.as_ref()?));
    Some(key)
}

/// Checks that `bytes` have the expected SHA-256, if there is one.
pub(crate) fn check_sha256(url: &Url, bytes: &[u8], expected: Option<&str>) -> Result<(), IndexError> {
    let Some(expected) = expected else { return Ok(()) };
    let actual = digest(bytes);
    if actual == expected {
        return Ok(());
    }
    Err(IndexError::Hash { url: url_for_error(url), expected: expected.to_owned(), actual })
}

/// Returns the SHA-256 of `bytes`, as indexes write it.
fn digest(bytes: &[u8]) -> String {
    Sha256Hash::of(bytes).to_string()
}
