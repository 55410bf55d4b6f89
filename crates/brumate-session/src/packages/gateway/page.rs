//! Pages of distributions.

use std::fmt::Write as _;

use brumate_packages::index::{IndexFile, MetadataFile};
use brumate_packages::{DistributionName, Offer};
use serde_json::{Map, Value, json};

use super::path;

/// Media type of pages in JSON (PEP 691).
pub(super) const JSON: &str = "application/vnd.pypi.simple.v1+json";
/// Media type of pages in HTML.
pub(super) const HTML: &str = "text/html; charset=utf-8";

/// Returns the page in JSON.
pub(super) fn json(name: &DistributionName, offers: &[Offer]) -> String {
    let files: Vec<Value> = offers.iter().map(|offer| file(name, &offer.file)).collect();
    json!({"meta": {"api-version": "1.0"}, "name": name.as_str(), "files": files}).to_string()
}

fn file(name: &DistributionName, file: &IndexFile) -> Value {
    let mut entry = Map::new();
    entry.insert("filename".to_owned(), json!(file.filename));
    entry.insert("url".to_owned(), json!(path::of_file(name, &file.filename)));
    let hashes = |sha256: Option<&String>| sha256.map_or_else(|| json!({}), |sha256| json!({"sha256": sha256}));
    entry.insert("hashes".to_owned(), hashes(file.sha256.as_ref()));
    if let Some(python) = &file.requires_python {
        entry.insert("requires-python".to_owned(), json!(python.to_string()));
    }
    if let Some(reason) = &file.yanked {
        entry.insert("yanked".to_owned(), if reason.is_empty() { json!(true) } else { json!(reason) });
    }
    if let Some(size) = file.size {
        entry.insert("size".to_owned(), json!(size));
    }
    if let Some(at) = file.uploaded {
        entry.insert("upload-time".to_owned(), json!(at.to_string()));
    }
    if let MetadataFile::Present { sha256 } = &file.metadata {
        let metadata = sha256.as_ref().map_or(json!(true), |sha256| json!({"sha256": sha256}));
        // The second name is the older one.
        for key in ["core-metadata", "dist-info-metadata"] {
            entry.insert(key.to_owned(), metadata.clone());
        }
    }
    Value::Object(entry)
}

/// Returns the page in HTML, for installers that do not read JSON.
pub(super) fn html(name: &DistributionName, offers: &[Offer]) -> String {
    let mut page = format!("<!DOCTYPE html>\n<html><head><title>{name}</title></head><body>\n");
    for file in offers.iter().map(|offer| &offer.file) {
        let mut link = path::of_file(name, &file.filename);
        if let Some(sha256) = &file.sha256 {
            link = format!("{link}#sha256={sha256}");
        }
        let mut attribute = |key: &str, value: &str| {
            let _ = write!(link, "\" {key}=\"{}", escaped(value));
        };
        if let Some(python) = &file.requires_python {
            attribute("data-requires-python", &python.to_string());
        }
        if let Some(reason) = &file.yanked {
            attribute("data-yanked", reason);
        }
        if let MetadataFile::Present { sha256 } = &file.metadata {
            let value = sha256.as_ref().map_or("true".to_owned(), |sha256| format!("sha256={sha256}"));
            attribute("data-core-metadata", &value);
            attribute("data-dist-info-metadata", &value);
        }
        let _ = writeln!(page, "<a href=\"{link}\">{}</a><br>", escaped(&file.filename));
    }
    page + "</body></html>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use brumate_packages::index::{Origin, parse_page};
    use url::Url;

    use super::*;

    /// Reads a page as our own client of indexes does.
    fn read(text: &str, content_type: &str, base: &str) -> Vec<IndexFile> {
        let origin = Arc::new(Origin::Index(base.to_owned()));
        parse_page(text.as_bytes(), content_type, &Url::parse(base).expect("a URL"), &origin).expect("a page")
    }

    #[test]
    fn both_forms_keep_all_that_installers_need_and_lead_to_the_gateway() {
        let digest = "a".repeat(64);
        let source = json!({"files": [
            {"filename": "foo-1-py3-none-any.whl", "url": "https://user:secret@elsewhere.example/x?token=1", "hashes": {"sha256": digest},
             "requires-python": ">=3.8,<4", "size": 5, "yanked": "it is \"broken\" & <old>", "core-metadata": {"sha256": digest}},
            {"filename": "foo-2+l.1.tar.gz", "url": "../y", "hashes": {}, "core-metadata": true},
        ]});
        let files = read(&source.to_string(), JSON, "https://index.example/simple/foo/");
        let name = DistributionName::new("foo").expect("a name");
        let offer = |file: &IndexFile| Offer { version: "1".parse().expect("a version"), file: file.clone() };
        let offers: Vec<Offer> = files.iter().map(offer).collect();
        for (page, content_type) in [(json(&name, &offers), JSON), (html(&name, &offers), "text/html")] {
            assert!(!page.contains("example") && !page.contains("secret"), "{page}");
            let seen = read(&page, content_type, "http://127.0.0.1:1/simple/foo/");
            for (file, original) in seen.iter().zip(&files) {
                assert_eq!(file.url.host_str(), Some("127.0.0.1"));
                assert_eq!((&file.filename, &file.sha256), (&original.filename, &original.sha256));
                assert_eq!((&file.yanked, &file.metadata), (&original.yanked, &original.metadata));
                assert_eq!(file.requires_python, original.requires_python);
            }
            assert_eq!(seen.len(), 2);
        }
    }
}
