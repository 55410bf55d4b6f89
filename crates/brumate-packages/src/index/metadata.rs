//! Core metadata of a distribution: the headers of a `METADATA` file that matter for resolution.

use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use crate::index::lenient;
use crate::name::DistributionName;
use crate::requirement::Requirement;

/// Requirements that one distribution may state; the largest on PyPI have a few thousand.
const MAX_REQUIRES: usize = 16_384;
/// Extras that one distribution may provide.
const MAX_EXTRAS: usize = 4096;

/// What resolution needs of a distribution's metadata (core metadata specification, PEP 566 and successors).
#[derive(Debug, Clone)]
pub struct Metadata {
    /// Normalised name.
    pub name: DistributionName,
    /// Version (PEP 440).
    pub version: Version,
    /// `Requires-Dist` entries.
    pub requires: Vec<Requirement>,
    /// `Requires-Python`.
    pub requires_python: Option<VersionSpecifiers>,
    /// `Provides-Extra`, normalised.
    pub extras: Vec<DistributionName>,
}

impl Metadata {
    /// Reads the headers of `METADATA`; the description after the first empty line is not looked at.
    ///
    /// # Errors
    ///
    /// A sentence that says what is missing or unreadable.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let mut name = None;
        let mut version = None;
        let mut requires = Vec::new();
        let mut requires_python = None;
        let mut extras = Vec::new();
        for (key, value) in headers(&String::from_utf8_lossy(text)) {
            match key.as_str() {
                "name" if name.is_none() => {
                    name = Some(DistributionName::new(&value).ok_or("its name is not valid")?);
                }
                "version" if version.is_none() => {
                    version = Some(Version::from_str(&value).map_err(|_| "its version is not valid")?);
                }
                "requires-dist" => {
                    if requires.len() == MAX_REQUIRES {
                        return Err(format!("it states more than {MAX_REQUIRES} requirements"));
                    }
                    requires.push(lenient::requirement(&value).map_err(|error| error.to_string())?);
                }
                "requires-python" if requires_python.is_none() => {
                    requires_python =
                        Some(lenient::specifiers(&value).ok_or("its `Requires-Python` is not a version specifier")?);
                }
                "provides-extra" => {
                    if extras.len() == MAX_EXTRAS {
                        return Err(format!("it provides more than {MAX_EXTRAS} extras"));
                    }
                    // An extra that nobody can name is as good as absent.
                    extras.extend(DistributionName::new(&value));
                }
                _ => {}
            }
        }
        Ok(Self {
            name: name.ok_or("it states no name")?,
            version: version.ok_or("it states no version")?,
            requires,
            requires_python,
            extras,
        })
    }
}

/// Header fields (RFC 822): keys in lower case, continuation lines joined.
fn headers(text: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            break;
        }
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':') {
            fields.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_headers_and_not_the_description() {
        let text = b"Metadata-Version: 2.1\r\nName: Foo.Bar\r\nVersion: 1.0\r\nRequires-Python: >=3.8\r\n\
            Requires-Dist: a (>=1)\r\nRequires-Dist: b[x]>=2 ;\r\n  extra == 'c'\r\nProvides-Extra: c\r\n\r\nName: no\n";
        let metadata = Metadata::parse(text).expect("valid");
        assert_eq!((metadata.name.as_str(), metadata.version.to_string().as_str()), ("foo-bar", "1.0"));
        let requires: Vec<String> = metadata.requires.iter().map(ToString::to_string).collect();
        assert_eq!(requires, ["a (>=1)", "b[x]>=2 ; extra == 'c'"]);
        assert_eq!(metadata.extras.len(), 1);
        assert_eq!(metadata.requires_python.expect("given").to_string(), ">=3.8");
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, part) in [
            ("", "no name"),
            ("Name: a\n", "no version"),
            ("Name: a\nVersion: x\n", "version is not valid"),
            ("Name: a\nVersion: 1\nRequires-Dist: !\n", "not a valid requirement"),
            ("Name: a\nVersion: 1\nRequires-Python: three\n", "Requires-Python"),
        ] {
            let error = Metadata::parse(text.as_bytes()).expect_err("invalid");
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
