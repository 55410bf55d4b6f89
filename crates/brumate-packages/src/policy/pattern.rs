//! Patterns for packages: names with wildcards, and version specifiers.

use std::fmt;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};
use serde::Deserialize;
use thiserror::Error;

use crate::name::DistributionName;

/// Most bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 1024;

/// Pattern for packages: `numpy`, `my-company-*`, `urllib3<2`. It has a name in any spelling, in which `*` stands for
/// any characters and `?` for one, and optionally a version specifier (PEP 440).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct PackagePattern {
    text: String,
    /// Normalised like a name.
    name: String,
    versions: Option<VersionSpecifiers>,
}

/// Error for a text that is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not a name, perhaps with `*`, and perhaps a version specifier: {reason}")]
pub struct PatternError {
    /// The text, shortened.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

impl PackagePattern {
    /// Returns whether the pattern matches a name and a version. A pattern with a specifier does not match an unknown
    /// version.
    pub fn matches(&self, name: &DistributionName, version: Option<&Version>) -> bool {
        let matches_version = match (&self.versions, version) {
            (None, _) => true,
            (Some(versions), Some(version)) => versions.contains(version),
            (Some(_), None) => false,
        };
        matches_version && self.matches_name(name)
    }

    /// Returns whether the pattern matches a name.
    pub fn matches_name(&self, name: &DistributionName) -> bool {
        glob(self.name.as_bytes(), name.as_str().as_bytes())
    }
}

impl fmt::Display for PackagePattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl TryFrom<String> for PackagePattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        text.parse()
    }
}

impl FromStr for PackagePattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let text = text.trim();
        let fail = |reason: &str| PatternError { text: text.chars().take(100).collect(), reason: reason.to_owned() };
        if text.len() > MAX_PATTERN_BYTES {
            return Err(fail("it is too long"));
        }
        let end = text.find(|character: char| "<>=!~ \t(".contains(character)).unwrap_or(text.len());
        let (name, versions) = (&text[..end], text[end..].trim());
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*?".contains(&byte);
        if name.is_empty() || !name.bytes().all(allowed) {
            return Err(fail("names have ASCII letters, digits and `-_.`"));
        }
        let versions = match versions {
            "" => None,
            specifier => {
                let specifiers = VersionSpecifiers::from_str(specifier);
                Some(specifiers.map_err(|_| fail("what follows the name is not a version specifier"))?)
            }
        };
        Ok(Self { text: text.to_owned(), name: normalised(name), versions })
    }
}

/// Normalises like a name: lower case, runs of separators as one `-`.
fn normalised(name: &str) -> String {
    let mut normalised = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '-' | '_' | '.' if normalised.ends_with('-') => {}
            '-' | '_' | '.' => normalised.push('-'),
            other => normalised.push(other.to_ascii_lowercase()),
        }
    }
    normalised
}

/// Matches a glob in time of at most the product of both lengths: only the last `*` is tried again.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star = None;
    while read < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((star_at, from)) = star else { return false };
                star = Some((star_at, from + 1));
                at = star_at + 1;
                read = from + 1;
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}
