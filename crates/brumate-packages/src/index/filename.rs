//! What the names of distribution files say.

use std::str::FromStr;

use pep440_rs::Version;

use crate::index::tags;
use crate::name::DistributionName;

/// A file of a distribution, as its name describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Filename {
    /// A wheel (PEP 427).
    Wheel(WheelFilename),
    /// A source distribution.
    Source {
        /// The version in the name.
        version: Version,
    },
}

/// The parts of a wheel's name that decide whether it is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WheelFilename {
    /// Normalised name.
    pub(crate) name: DistributionName,
    pub(crate) version: Version,
    /// Number and rest of the build tag; higher wins.
    pub(crate) build: (u64, String),
    /// Best tag for the sandbox, smaller is better; `None` when the wheel does not fit.
    pub(crate) priority: Option<u32>,
}

impl WheelFilename {
    /// Reads `name-version(-build)?-interpreters-abis-platforms.whl`.
    pub(crate) fn parse(filename: &str) -> Option<Self> {
        let parts: Vec<&str> = filename.strip_suffix(".whl")?.split('-').collect();
        let (name, version, build, [interpreters, abis, platforms]) = match parts.as_slice() {
            [name, version, rest @ ..] if rest.len() == 3 => (name, version, "", <[&str; 3]>::try_from(rest).ok()?),
            [name, version, build, rest @ ..] if rest.len() == 3 => {
                (name, version, *build, <[&str; 3]>::try_from(rest).ok()?)
            }
            _ => return None,
        };
        let digits = build.len() - build.trim_start_matches(|character: char| character.is_ascii_digit()).len();
        let build = (build[..digits].parse().unwrap_or(0), build[digits..].to_owned());
        Some(Self {
            name: DistributionName::new(name)?,
            version: Version::from_str(&version.replace('_', "-")).ok()?,
            build,
            priority: tags::priority(interpreters, abis, platforms),
        })
    }
}

impl Filename {
    /// Reads the name of a file of the distribution `name`; `None` for files of other kinds or distributions.
    pub(crate) fn parse(filename: &str, name: &DistributionName) -> Option<Self> {
        if filename.ends_with(".whl") {
            return WheelFilename::parse(filename).filter(|wheel| wheel.name == *name).map(Self::Wheel);
        }
        const ARCHIVES: [&str; 7] = [".tar.gz", ".zip", ".tar.bz2", ".tar.xz", ".tgz", ".tar", ".tar.lzma"];
        let stem = ARCHIVES.iter().find_map(|ending| filename.strip_suffix(ending))?;
        // The name itself may hold dashes in old source distributions: take the split that gives the name.
        stem.match_indices('-').find_map(|(at, _)| {
            let (left, right) = (&stem[..at], &stem[at + 1..]);
            (DistributionName::new(left).as_ref() == Some(name))
                .then(|| Version::from_str(right).ok())
                .flatten()
                .map(|version| Self::Source { version })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DistributionName {
        DistributionName::new(text).expect("a name")
    }

    #[test]
    fn reads_wheels() {
        let wheel = WheelFilename::parse("Foo_Bar-1.0+local.1-2abc-py2.py3-none-any.whl").expect("a wheel");
        assert_eq!((wheel.name.as_str(), wheel.version.to_string().as_str()), ("foo-bar", "1.0+local.1"));
        assert_eq!(wheel.build, (2, "abc".to_owned()));
        assert!(wheel.priority.is_some());
        for broken in ["foo-1.0.whl", "foo-1.0-py3-none.whl", "foo-one-py3-none-any.whl", "foo-1-a-b-c-d-e.whl"] {
            assert_eq!(WheelFilename::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn reads_source_distributions() {
        let version = |filename: &str, package: &str| match Filename::parse(filename, &name(package)) {
            Some(Filename::Source { version }) => Some(version.to_string()),
            _ => None,
        };
        assert_eq!(version("a-b-1.0.tar.gz", "a-b").as_deref(), Some("1.0"));
        assert_eq!(version("foo-1.0.post1.zip", "foo").as_deref(), Some("1.0.post1"));
        assert_eq!(version("foo-bar-1.0.tar.gz", "foo"), None);
        assert_eq!(version("foo-1.0.exe", "foo"), None);
    }
}
