//! A file that an index offers.

use std::sync::Arc;

use jiff::Timestamp;
use pep440_rs::VersionSpecifiers;
use url::Url;

use crate::index::metadata::Metadata;

/// Where a file was found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// In the bundle, under this key.
    Bundle(String),
    /// On an index (its base URL, without credentials).
    Index(String),
    /// In a directory or on a page of links.
    FindLinks(String),
    /// In the lock of a Pyodide distribution (its base URL, without credentials).
    Pyodide(String),
    /// At the URL that a requirement gives.
    Direct,
}

/// A distribution file, as its index describes it.
#[derive(Debug, Clone)]
pub struct IndexFile {
    /// Name of the file.
    pub filename: String,
    /// Where to get it; `file:` for files of directories.
    pub url: Url,
    /// SHA-256 of the file, lower-case hexadecimal.
    pub sha256: Option<String>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Pythons it is for.
    pub requires_python: Option<VersionSpecifiers>,
    /// Withdrawn (PEP 592): the reason, empty when none is given.
    pub yanked: Option<String>,
    /// When it was uploaded (PEP 700).
    pub uploaded: Option<Timestamp>,
    /// Does the index serve its metadata beside it (PEP 658, 714)?
    pub metadata: MetadataFile,
    /// Where it was found.
    pub origin: Arc<Origin>,
    /// Its metadata, when the source has said it already.
    pub known: Option<Arc<Metadata>>,
}

/// The metadata file beside a wheel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataFile {
    /// There is none.
    Absent,
    /// At the wheel's URL with `.metadata` appended.
    Present {
        /// SHA-256 of the metadata file, lower-case hexadecimal.
        sha256: Option<String>,
    },
}

/// `text` when it is a SHA-256 in hexadecimal, in lower case.
pub(crate) fn sha256(text: &str) -> Option<String> {
    let valid = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    valid.then(|| text.to_ascii_lowercase())
}
