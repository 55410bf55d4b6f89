//! Project pages in JSON (PEP 691, 700, 714).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use url::Url;

use crate::index::file::{IndexFile, MetadataFile, Origin, sha256};
use crate::lenient;

/// Preferred media type.
pub(crate) const JSON: &str = "application/vnd.pypi.simple.v1+json";
/// `Accept` for project pages: JSON before HTML.
pub(crate) const ACCEPT: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01";
/// Files that are read from one page; the largest projects have some tens of thousands.
pub(crate) const MAX_FILES: usize = 250_000;

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    meta: Meta,
    #[serde(default, deserialize_with = "files")]
    files: Vec<File>,
}

#[derive(Deserialize, Default)]
struct Meta {
    #[serde(rename = "api-version")]
    api_version: Option<String>,
}

#[derive(Deserialize)]
struct File {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: HashMap<String, String>,
    #[serde(rename = "requires-python")]
    requires_python: Option<String>,
    size: Option<u64>,
    #[serde(default)]
    yanked: Option<Yanked>,
    #[serde(rename = "upload-time")]
    upload_time: Option<String>,
    #[serde(rename = "core-metadata")]
    core_metadata: Option<Hashes>,
    #[serde(rename = "data-dist-info-metadata")]
    dist_info_metadata: Option<Hashes>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Yanked {
    Flag(bool),
    Reason(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Hashes {
    Flag(bool),
    Digests(HashMap<String, String>),
}

/// Parses a page that was found at `base`.
///
/// # Errors
///
/// A sentence that says why the page cannot be used.
pub(crate) fn parse(body: &[u8], base: &Url, origin: &Arc<Origin>) -> Result<Vec<IndexFile>, String> {
    let page: Page = serde_json::from_slice(body).map_err(|error| format!("its JSON cannot be read: {error}"))?;
    if let Some(version) = &page.meta.api_version
        && version.split('.').next() != Some("1")
    {
        return Err(format!("it speaks version {version} of the simple API; only 1.x is known"));
    }
    Ok(page.files.into_iter().filter_map(|file| file.into_index_file(base, origin)).collect())
}

impl File {
    /// Converts to a file; `None` if its URL or `Requires-Python` cannot be read, because it could not be installed.
    fn into_index_file(self, base: &Url, origin: &Arc<Origin>) -> Option<IndexFile> {
        let requires_python = match self.requires_python.as_deref().map(str::trim) {
            None | Some("") => None,
            Some(text) => Some(lenient::specifiers(text)?),
        };
        let metadata = match self.core_metadata.or(self.dist_info_metadata) {
            None | Some(Hashes::Flag(false)) => MetadataFile::Absent,
            Some(Hashes::Flag(true)) => MetadataFile::Present { sha256: None },
            Some(Hashes::Digests(digests)) => {
                MetadataFile::Present { sha256: digests.get("sha256").and_then(|digest| sha256(digest)) }
            }
        };
        Some(IndexFile {
            url: base.join(&self.url).ok()?,
            sha256: self.hashes.get("sha256").and_then(|digest| sha256(digest)),
            filename: self.filename,
            size: self.size,
            requires_python,
            yanked: match self.yanked {
                None | Some(Yanked::Flag(false)) => None,
                Some(Yanked::Flag(true)) => Some(String::new()),
                Some(Yanked::Reason(reason)) => Some(reason),
            },
            uploaded: self.upload_time.and_then(|time| time.parse::<Timestamp>().ok()),
            metadata,
            origin: origin.clone(),
            known: None,
        })
    }
}

/// Deserializes the list of files, with a limit.
fn files<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<File>, D::Error> {
    struct Files;
    impl<'de> Visitor<'de> for Files {
        type Value = Vec<File>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "a list of at most {MAX_FILES} files")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<File>, A::Error> {
            let mut files = Vec::new();
            while let Some(file) = sequence.next_element()? {
                if files.len() == MAX_FILES {
                    return Err(serde::de::Error::custom(format!("it lists more than {MAX_FILES} files")));
                }
                files.push(file);
            }
            Ok(files)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<File>, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Err(serde::de::Error::custom("`files` is not a list"))
        }
    }
    deserializer.deserialize_seq(Files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Vec<IndexFile>, String> {
        let base = Url::parse("https://index.example/simple/foo/").expect("a URL");
        parse(body.as_bytes(), &base, &Arc::new(Origin::Direct))
    }

    #[test]
    fn reads_every_field() {
        let digest = "A".repeat(64);
        let body = format!(
            r#"{{"meta": {{"api-version": "1.4"}}, "name": "foo", "files": [
                {{"filename": "foo-1-py3-none-any.whl", "url": "../../f/foo-1-py3-none-any.whl",
                  "hashes": {{"sha256": "{digest}"}}, "requires-python": ">=3.8", "size": 5,
                  "upload-time": "2024-02-03T04:05:06.7Z", "yanked": "broken",
                  "core-metadata": {{"sha256": "{digest}"}}}},
                {{"filename": "foo-2-py3-none-any.whl", "url": "https://files.example/foo-2.whl", "hashes": {{}},
                  "yanked": false, "core-metadata": false, "requires-python": null}}]}}"#
        );
        let files = read(&body).expect("valid");
        let first = &files[0];
        assert_eq!(first.url.as_str(), "https://index.example/f/foo-1-py3-none-any.whl");
        assert_eq!(first.sha256, Some("a".repeat(64)));
        assert_eq!((first.size, first.yanked.as_deref()), (Some(5), Some("broken")));
        assert_eq!(first.uploaded.expect("given").to_string(), "2024-02-03T04:05:06.7Z");
        assert_eq!(first.metadata, MetadataFile::Present { sha256: Some("a".repeat(64)) });
        assert_eq!((&files[1].yanked, &files[1].metadata), (&None, &MetadataFile::Absent));
    }

    #[test]
    fn refuses_what_it_cannot_read() {
        assert!(read("<html>").expect_err("not JSON").contains("cannot be read"));
        assert!(read(r#"{"meta": {"api-version": "2.0"}, "files": []}"#).expect_err("newer").contains("2.0"));
        assert!(read(r#"{"files": {"a": 1}}"#).is_err());
    }
}
