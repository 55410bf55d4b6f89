//! Paths of requests.

use brumate_packages::DistributionName;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Bytes of a file's name that are written with `%` in a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'+').remove(b'!');
/// Ending of the path of a wheel's metadata (PEP 658).
const METADATA: &str = ".metadata";

/// Resource that a path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Page(DistributionName),
    File { name: DistributionName, filename: String },
    Metadata { name: DistributionName, filename: String },
    Reasons,
}

impl Resource {
    /// Reads a path. `None`: it names nothing. Names must be normalised (PEP 503).
    pub(super) fn of(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let kind = parts.next()?;
        let (first, second, third) = (parts.next(), parts.next(), parts.next());
        match (kind, first, second, third) {
            ("reasons", None, None, None) => Some(Self::Reasons),
            ("simple", Some(name), None | Some(""), None) => Some(Self::Page(normalised(name)?)),
            ("files", Some(name), Some(filename), None) => {
                let name = normalised(name)?;
                let filename = percent_decode_str(filename).decode_utf8().ok()?;
                Some(match filename.strip_suffix(METADATA) {
                    Some(wheel) => Self::Metadata { name, filename: wheel.to_owned() },
                    None => Self::File { name, filename: filename.into_owned() },
                })
            }
            _ => None,
        }
    }
}

fn normalised(text: &str) -> Option<DistributionName> {
    DistributionName::new(text).filter(|name| name.as_str() == text)
}

/// Returns the path of a file.
pub(super) fn of_file(name: &DistributionName, filename: &str) -> String {
    format!("/files/{name}/{}", utf8_percent_encode(filename, ESCAPED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_pages_files_and_nothing_else() {
        let name = |text| DistributionName::new(text).expect("a name");
        assert_eq!(Resource::of("/simple/six/"), Some(Resource::Page(name("six"))));
        assert_eq!(Resource::of("/reasons"), Some(Resource::Reasons));
        let filename = "a b+1-1.0!~%2f.whl";
        let file = Resource::File { name: name("six"), filename: filename.to_owned() };
        assert_eq!(Resource::of(&of_file(&name("six"), filename)), Some(file));
        let metadata = Resource::Metadata { name: name("six"), filename: "six-1.whl".to_owned() };
        assert_eq!(Resource::of("/files/six/six-1.whl.metadata"), Some(metadata));
        for wrong in [
            "",
            "/",
            "simple/six/",
            "/simple/",
            "/simple//",
            "/simple/Six/",
            "/simple/a_b/",
            "/simple/../",
            "/simple/six/x",
            "/simple/six//",
            "/simple/%2e%2e/",
            "/files/six",
            "/files/../six/x",
            "/files/six/../x",
            "/files/six/x/y",
            "/files/six/%ff",
            "/reasons/",
            "*",
            "http://127.0.0.1/simple/six/",
        ] {
            assert_eq!(Resource::of(wrong), None, "{wrong}");
        }
    }
}
