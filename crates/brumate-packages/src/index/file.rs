//! Files that an index offers.

use std::sync::Arc;

use jiff::Timestamp;
use pep440_rs::VersionSpecifiers;
use url::Url;

use crate::index::metadata::Metadata;

/// Source of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The bundle, with the wheel's key.
    Bundle(String),
    /// An index, with its base URL without credentials.
    Index(String),
    /// A find-links directory or page.
    FindLinks(String),
    /// The lock of a Pyodide distribution, with its base URL without credentials.
    Pyodide(String),
    /// The URL of a requirement.
    Direct,
}

/// File of a distribution, as its index describes it.
#[derive(Debug, Clone)]
pub struct IndexFile {
    /// Name of the file.
    pub filename: String,
    /// URL of the file; `file:` for files of directories.
    pub url: Url,
    /// SHA-256 of the file, lower-case hexadecimal.
    pub sha256: Option<String>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Pythons that the file is for.
    pub requires_python: Option<VersionSpecifiers>,
    /// Reason for its withdrawal (PEP 592), empty when none is given; `None` if it is not withdrawn.
    pub yanked: Option<String>,
    /// Time of the upload (PEP 700).
    pub uploaded: Option<Timestamp>,
    /// Whether the index serves its metadata beside it (PEP 658, 714).
    pub metadata: MetadataFile,
    /// Source of the file.
    pub origin: Arc<Origin>,
    /// Metadata that the source has given already.
    pub known: Option<Arc<Metadata>>,
}

impl IndexFile {
    /// Makes a file from its name and URL. Everything else is unknown.
    pub(crate) fn new(filename: String, url: Url, origin: Arc<Origin>) -> Self {
        Self {
            filename,
            url,
            sha256: None,
            size: None,
            requires_python: None,
            yanked: None,
            uploaded: None,
            metadata: MetadataFile::Absent,
            origin,
            known: None,
        }
    }
}

/// Metadata file beside a wheel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataFile {
    /// There is no such file.
    Absent,
    /// The file is at the wheel's URL with `.metadata` appended.
    Present {
        /// SHA-256 of the metadata file, lower-case hexadecimal.
        sha256: Option<String>,
    },
}

/// Returns `text` in lower case if it is a SHA-256 in hexadecimal.
pub(crate) fn sha256(text: &str) -> Option<String> {
    let valid = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    valid.then(|| text.to_ascii_lowercase())
}
