//! Names of distributions and extras.

use std::fmt;

/// Most bytes of a name; the longest on PyPI has fewer than 100 characters.
const MAX_NAME_BYTES: usize = 200;

/// Normalised name of a distribution or extra: lower case, runs of `-`, `_` and `.` written as one `-` (name
/// normalisation of the PyPA specifications, formerly PEP 503).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DistributionName(String);

impl DistributionName {
    /// Normalises `name`; `None` if it is not a valid name.
    ///
    /// Valid names are ASCII letters, digits, `-`, `_` and `.`, and start and end with a letter or digit.
    pub fn new(name: &str) -> Option<Self> {
        let bytes = name.as_bytes();
        let (first, last) = (bytes.first()?, bytes.last()?);
        let valid = bytes.len() <= MAX_NAME_BYTES
            && first.is_ascii_alphanumeric()
            && last.is_ascii_alphanumeric()
            && bytes.iter().all(|byte| is_name_byte(*byte));
        if !valid {
            return None;
        }
        let mut normalised = String::with_capacity(name.len());
        for character in name.chars() {
            if character.is_ascii_alphanumeric() {
                normalised.push(character.to_ascii_lowercase());
            } else if !normalised.ends_with('-') {
                normalised.push('-');
            }
        }
        Some(Self(normalised))
    }

    /// Returns the normalised name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DistributionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Returns whether `byte` may be part of a name.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalises_separators_and_case() {
        for spelling in ["Friendly-Bard", "FRIENDLY.bard", "friendly__bard", "friendly-.-bard"] {
            assert_eq!(DistributionName::new(spelling).unwrap().as_str(), "friendly-bard");
        }
    }

    #[test]
    fn refuses_what_no_index_accepts() {
        for spelling in ["", "-a", "a-", "a b", "größe", "../etc", &"a".repeat(MAX_NAME_BYTES + 1)] {
            assert_eq!(DistributionName::new(spelling), None, "{spelling:?}");
        }
    }
}
