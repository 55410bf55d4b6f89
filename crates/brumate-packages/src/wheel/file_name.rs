//! File names of wheels (PEP 427, PEP 425, and the binary distribution format specification that carries them on).

use std::fmt;
use std::str::FromStr;

use pep440_rs::Version;

use super::error::{WheelError, WheelProblem, quote_for_error};
use super::limits::{MAX_FILE_NAME_BYTES, MAX_TAGS};
use super::tags;
use crate::name::DistributionName;

/// Extensions of source distributions, the two standard ones first.
pub(crate) const SOURCE_ENDINGS: &[&str] =
    &[".tar.gz", ".zip", ".tar.bz2", ".tar.xz", ".tar.lzma", ".tar.Z", ".tgz", ".tar"];
/// Extensions of other files that indexes have or had.
const OTHER_ENDINGS: &[&str] = &[".egg", ".exe", ".msi", ".rpm", ".deb", ".dmg", ".conda"];

/// Compatibility tag: Python, ABI and platform (PEP 425).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag {
    /// `py3`, `cp314`.
    pub python: String,
    /// `none`, `abi3`, `cp314`.
    pub abi: String,
    /// `any`, `manylinux_2_17_x86_64`, `pyemscripten_2026_0_wasm32`.
    pub platform: String,
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}-{}", self.python, self.abi, self.platform)
    }
}

/// Build tag. Sorts as the specification says: by the number, then by the rest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BuildTag {
    /// The leading digits.
    pub number: u64,
    /// Characters after them.
    pub rest: String,
}

impl fmt::Display for BuildTag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.number, self.rest)
    }
}

/// Parsed file name of a wheel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelFileName {
    /// Normalised name of the distribution.
    pub name: DistributionName,
    /// Version of the distribution.
    pub version: Version,
    /// Build tag, which decides between wheels that are otherwise equal.
    pub build: Option<BuildTag>,
    text: String,
    /// The last three parts, each a set whose members are joined by dots.
    sets: [String; 3],
}

impl WheelFileName {
    /// Returns every tag that the name stands for: the product of its three sets.
    pub fn tags(&self) -> impl Iterator<Item = Tag> {
        let [pythons, abis, platforms] = &self.sets;
        pythons.split('.').flat_map(move |python| {
            abis.split('.').flat_map(move |abi| {
                platforms.split('.').map(move |platform| Tag {
                    python: python.to_owned(),
                    abi: abi.to_owned(),
                    platform: platform.to_owned(),
                })
            })
        })
    }

    /// Returns how well the wheel fits the sandbox: smaller is better, `None` if it cannot be loaded.
    pub fn priority(&self) -> Option<u32> {
        let [pythons, abis, platforms] = &self.sets;
        tags::priority(pythons, abis, platforms)
    }

    /// Returns the file name as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for WheelFileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for WheelFileName {
    type Err = WheelError;

    /// Parses a bare file name: without directory and query, with percent signs decoded.
    ///
    /// # Errors
    ///
    /// [`WheelProblem::SourceDistribution`] and [`WheelProblem::OtherFormat`] for what is no wheel,
    /// [`WheelProblem::FileName`] for the rest.
    fn from_str(text: &str) -> Result<Self, WheelError> {
        parse(text).map_err(|problem| problem.at(text, None))
    }
}

fn parse(text: &str) -> Result<WheelFileName, WheelProblem> {
    let bad = |reason: &str| WheelProblem::FileName(reason.to_owned());
    let Some(stem) = text.strip_suffix(".whl") else {
        return Err(match OTHER_ENDINGS.iter().find(|ending| text.ends_with(**ending)) {
            Some(ending) => WheelProblem::OtherFormat(ending),
            None if SOURCE_ENDINGS.iter().any(|ending| text.ends_with(ending)) => WheelProblem::SourceDistribution,
            None => bad("it does not end in `.whl`"),
        });
    };
    if text.len() > MAX_FILE_NAME_BYTES {
        return Err(bad("it is too long"));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+!".contains(&byte);
    if !stem.bytes().all(allowed) {
        return Err(bad("only ASCII letters, digits and `-_.+!` are allowed"));
    }
    let parts: Vec<&str> = stem.split('-').collect();
    let (name, version, build, sets) = match parts[..] {
        [name, version, python, abi, platform] => (name, version, None, [python, abi, platform]),
        [name, version, build, python, abi, platform] => (name, version, Some(build), [python, abi, platform]),
        _ => return Err(bad("it must have five parts, or six with a build tag, with `-` between them")),
    };
    let name = DistributionName::new(name).ok_or_else(|| bad("the first part is not a name"))?;
    // File names have `_` instead of `-`.
    let version = Version::from_str(&version.replace('_', "-"))
        .map_err(|_| WheelProblem::FileName(format!("`{}` is not a version", quote_for_error(version))))?;
    let build = build.map(build_tag).transpose()?;
    let member = |tag: &str| !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !sets.iter().all(|set| set.split('.').all(member)) {
        return Err(bad("a tag is empty or has characters that no tag has"));
    }
    if sets.iter().map(|set| set.split('.').count()).product::<usize>() > MAX_TAGS {
        return Err(bad("it stands for too many tags"));
    }
    Ok(WheelFileName { name, version, build, text: text.to_owned(), sets: sets.map(str::to_owned) })
}

fn build_tag(text: &str) -> Result<BuildTag, WheelProblem> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().map_err(|_| {
        WheelProblem::FileName(format!("the build tag `{}` does not start with a number", quote_for_error(text)))
    })?;
    Ok(BuildTag { number, rest: text[digits..].to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> WheelProblem {
        text.parse::<WheelFileName>().unwrap_err().problem
    }

    #[test]
    fn reads_names_as_build_tools_write_them() {
        let name: WheelFileName = "Foo_Bar.baz-1.0.post1-2a-py2.py3-none-any.whl".parse().unwrap();
        assert_eq!((name.name.as_str(), name.version.to_string().as_str()), ("foo-bar-baz", "1.0.post1"));
        assert_eq!(name.build, Some(BuildTag { number: 2, rest: "a".to_owned() }));
        let tags: Vec<String> = name.tags().map(|tag| tag.to_string()).collect();
        assert_eq!(tags, ["py2-none-any", "py3-none-any"]);
        assert!(name.priority().is_some());
        let local: WheelFileName = "torch-2.1.0+cpu.cxx11-cp314-cp314-linux_x86_64.whl".parse().unwrap();
        assert_eq!((local.version.to_string().as_str(), local.priority()), ("2.1.0+cpu.cxx11", None));
        let epoch: WheelFileName = "a-1!2-py3-none-any.whl".parse().unwrap();
        assert_eq!(epoch.version.epoch(), 1);
        let numpy: WheelFileName = "numpy-2.4.6-cp314-cp314-pyemscripten_2026_0_wasm32.whl".parse().unwrap();
        assert_eq!(numpy.tags().next().unwrap().platform, "pyemscripten_2026_0_wasm32");
    }

    #[test]
    fn build_tags_sort_by_number_first() {
        let tag = |text: &str| build_tag(text).unwrap();
        assert!(tag("2") < tag("10") && tag("10") < tag("10a") && tag("9z") < tag("10"));
    }

    #[test]
    fn source_distributions_are_refused_with_the_way_out() {
        for name in ["requests-2.0.tar.gz", "requests-2.0.zip", "requests-2.0.tar.bz2"] {
            let error = name.parse::<WheelFileName>().unwrap_err();
            assert_eq!(error.problem, WheelProblem::SourceDistribution);
            let text = error.to_string();
            assert!(text.contains(name) && text.contains("elsewhere") && text.contains("`pip wheel`"), "{text}");
        }
        assert_eq!(problem("a-1-py3.9.egg"), WheelProblem::OtherFormat(".egg"));
    }

    #[test]
    fn anything_else_is_no_file_name() {
        for name in [
            "",
            ".whl",
            "a.whl",
            "a-1.whl",
            "a-1-py3-none.whl",
            "a-1-a-b-c-d-e.whl",
            "a-1-2-3-py3-none-any.whl",
            "a-x-py3-none-any.whl",
            "a-1-b2-py3-none-any.whl",
            "a-1-py3--any.whl",
            "a-1-py3.-none-any.whl",
            "../a-1-py3-none-any.whl",
            "a-1-py3-none-any.whl\0",
            "a/b-1-py3-none-any.whl",
            "_a-1-py3-none-any.whl",
            "ä-1-py3-none-any.whl",
            "a-1-99999999999999999999999-py3-none-any.whl",
            "a-1-py3-none-any.WHL",
        ] {
            assert!(matches!(problem(name), WheelProblem::FileName(_)), "{name:?}");
        }
        let many = format!("a-1-{}-{}-{}.whl", ["p"; 17].join("."), ["a"; 16].join("."), "any");
        assert!(matches!(problem(&many), WheelProblem::FileName(_)));
        assert!(matches!(problem(&format!("{}-1-py3-none-any.whl", "a".repeat(300))), WheelProblem::FileName(_)));
    }
}
