//! HTML pages of links (PEP 503, with the attributes of PEP 592, 658 and 714).

use std::sync::Arc;

use tl::ParserOptions;
use url::Url;

use crate::index::file::{IndexFile, MetadataFile, Origin, sha256};
use crate::index::simple::MAX_FILES;
use crate::lenient;

/// Parses the links of a page that was found at `base`.
///
/// # Errors
///
/// A sentence that says why the page cannot be used.
pub(crate) fn parse(body: &[u8], base: &Url, origin: &Arc<Origin>) -> Result<Vec<IndexFile>, String> {
    let text = String::from_utf8_lossy(body);
    let document = tl::parse(&text, ParserOptions::default()).map_err(|error| format!("its HTML: {error}"))?;
    let mut base = base.clone();
    let mut files = Vec::new();
    for tag in document.nodes().iter().filter_map(|node| node.as_tag()) {
        // Names of elements and attributes have no case.
        let attribute = |name: &str| {
            let (_, value) = tag.attributes().iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
            Some(value.map_or_else(String::new, |text| html_escape::decode_html_entities(&text).into_owned()))
        };
        match tag.name().as_bytes().to_ascii_lowercase().as_slice() {
            b"base" => {
                if let Some(joined) = attribute("href").and_then(|reference| base.join(reference.trim()).ok()) {
                    base = joined;
                }
            }
            b"a" => {
                let Some(mut url) = attribute("href").and_then(|reference| base.join(reference.trim()).ok()) else {
                    continue;
                };
                if files.len() == MAX_FILES {
                    return Err(format!("it lists more than {MAX_FILES} files"));
                }
                let digest = url.fragment().and_then(|fragment| fragment.strip_prefix("sha256=").and_then(sha256));
                url.set_fragment(None);
                let Some(filename) = filename(&url) else { continue };
                let requires_python = match attribute("data-requires-python") {
                    Some(text) if !text.trim().is_empty() => match lenient::specifiers(text.trim()) {
                        Some(specifiers) => Some(specifiers),
                        None => continue,
                    },
                    _ => None,
                };
                let metadata = attribute("data-core-metadata").or_else(|| attribute("data-dist-info-metadata"));
                files.push(IndexFile {
                    sha256: digest,
                    requires_python,
                    yanked: attribute("data-yanked"),
                    metadata: match metadata.as_deref() {
                        None | Some("false") => MetadataFile::Absent,
                        Some(value) => MetadataFile::Present { sha256: value.strip_prefix("sha256=").and_then(sha256) },
                    },
                    ..IndexFile::new(filename, url, origin.clone())
                });
            }
            _ => {}
        }
    }
    Ok(files)
}

/// Returns the last segment of a URL's path, decoded; `None` if it is not a plain file name.
pub(crate) fn filename(url: &Url) -> Option<String> {
    let last = url.path_segments()?.next_back()?;
    let name = percent_encoding::percent_decode_str(last).decode_utf8().ok()?.into_owned();
    let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0']);
    plain.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Vec<IndexFile> {
        let base = Url::parse("https://index.example/simple/foo/").expect("a URL");
        parse(body.as_bytes(), &base, &Arc::new(Origin::Direct)).expect("valid")
    }

    #[test]
    fn reads_links_and_their_attributes() {
        let digest = "b".repeat(64);
        let files = read(&format!(
            "<!DOCTYPE html><html><body><h1>Links</h1>\
             <a href=\"../../files/foo-1-py3-none-any.whl#sha256={digest}\" data-requires-python=\"&gt;=3.8,&lt;4\" \
             data-yanked data-core-metadata='sha256={digest}'>foo</a><br/>\n\
             <A HREF='https://files.example/foo%2B1/foo-2%2Blocal-py3-none-any.whl'>x</A><a>nothing</a></body></html>"
        ));
        assert_eq!(files[0].url.as_str(), "https://index.example/files/foo-1-py3-none-any.whl");
        assert_eq!(files[0].sha256.as_deref(), Some(digest.as_str()));
        assert_eq!(files[0].requires_python.as_ref().expect("given").to_string(), ">=3.8, <4");
        assert_eq!(files[0].yanked.as_deref(), Some(""));
        assert_eq!(files[0].metadata, MetadataFile::Present { sha256: Some(digest) });
        assert_eq!(files[1].filename, "foo-2+local-py3-none-any.whl");
        assert_eq!(files.len(), 2);
    }

    #[test]
    fn a_base_element_moves_the_links() {
        let files = read("<base href=\"https://mirror.example/a/\"><a href=\"foo-1-py3-none-any.whl\">foo</a>");
        assert_eq!(files[0].url.as_str(), "https://mirror.example/a/foo-1-py3-none-any.whl");
    }

    #[test]
    fn nonsense_gives_no_files() {
        for text in ["", "<", "<a", "<a href", "<a href=\">", "\u{0}<a href='\u{0}'>", "<a href='..'>"] {
            assert!(read(text).is_empty(), "{text:?}");
        }
    }
}
