//! Names of distribution files.

use std::str::FromStr;

use pep440_rs::Version;

use crate::name::DistributionName;
use crate::wheel::{SOURCE_ENDINGS, WheelFileName};

/// Name of a file of a distribution, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Filename {
    /// A wheel.
    Wheel(WheelFileName),
    /// A source distribution.
    Source {
        /// The version in the name.
        version: Version,
    },
}

impl Filename {
    /// Parses the name of a file of the distribution `name`. Returns `None` for other kinds of files, and for other
    /// distributions.
    pub(crate) fn parse(filename: &str, name: &DistributionName) -> Option<Self> {
        if filename.ends_with(".whl") {
            return filename.parse().ok().filter(|wheel: &WheelFileName| wheel.name == *name).map(Self::Wheel);
        }
        let stem = SOURCE_ENDINGS.iter().find_map(|ending| filename.strip_suffix(ending))?;
        // Names of old source distributions may have dashes. The right dash has `name` on its left.
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
    fn reads_wheels_of_the_distribution() {
        let wheel = Filename::parse("Foo_Bar-1.0+local.1-2abc-py2.py3-none-any.whl", &name("foo.bar"));
        assert!(matches!(wheel, Some(Filename::Wheel(wheel)) if wheel.version.to_string() == "1.0+local.1"));
        for other in ["foo-1.0-py3-none-any.whl", "foo_bar-1.0.whl", "foo_bar-one-py3-none-any.whl"] {
            assert_eq!(Filename::parse(other, &name("foo-bar")), None, "{other}");
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
