//! Core metadata that resolution needs.

use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use crate::lenient;
use crate::name::DistributionName;
use crate::requirement::Requirement;
use crate::wheel;

/// Part of a distribution's metadata that resolution needs (core metadata specification, PEP 566 and successors).
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
    /// Parses a `METADATA` file as [`wheel::Metadata::parse`] does, and its requirements.
    ///
    /// # Errors
    ///
    /// A sentence that says what is missing or unreadable.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let written = wheel::Metadata::parse(text).map_err(|problem| problem.to_string())?;
        let requirement = |text: &String| lenient::requirement(text).map_err(|error| error.to_string());
        let specifiers = |text: &String| {
            lenient::specifiers(text).ok_or_else(|| "its `Requires-Python` is not a version specifier".to_owned())
        };
        Ok(Self {
            name: DistributionName::new(&written.name).ok_or("its name is not valid")?,
            version: Version::from_str(&written.version).map_err(|_| "its version is not valid")?,
            requires: written.requires_dist.iter().map(requirement).collect::<Result<_, _>>()?,
            requires_python: written.requires_python.as_ref().map(specifiers).transpose()?,
            // An extra with an invalid name cannot be requested.
            extras: written.provides_extra.iter().filter_map(|extra| DistributionName::new(extra)).collect(),
        })
    }
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
            ("", "`Name` is missing"),
            ("Name: a\n", "`Version` is missing"),
            ("Name: a\nVersion: x\n", "`x` is not a version"),
            ("Name: a\nVersion: 1\nRequires-Dist: !\n", "not a valid requirement"),
            ("Name: a\nVersion: 1\nRequires-Python: three\n", "Requires-Python"),
        ] {
            let text = format!("Metadata-Version: 2.1\n{text}");
            let error = Metadata::parse(text.as_bytes()).expect_err("invalid");
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
