//! `METADATA`, `WHEEL` and `entry_points.txt`.

use std::str::FromStr;

use pep440_rs::Version;
use serde::{Deserialize, Serialize};

use super::WheelProblem;
use super::error::quote_for_error;
use super::headers::HeaderFields;
use super::limits::{MAX_FIELD_BYTES, MAX_REPEATED_FIELDS};
use crate::lenient;
use crate::name::DistributionName;

/// Fields of `METADATA` that matter for choosing and running a distribution (core metadata specification).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Version of the format.
    pub metadata_version: String,
    /// Name as the project writes it.
    pub name: String,
    /// Version as the project writes it.
    pub version: String,
    /// `Requires-Python` as written.
    pub requires_python: Option<String>,
    /// `Requires-Dist` entries (PEP 508) as written.
    pub requires_dist: Vec<String>,
    /// Extras as written.
    pub provides_extra: Vec<String>,
    /// One line about the project.
    pub summary: Option<String>,
    /// `License-Expression`, or else `License`.
    pub license: Option<String>,
}

impl Metadata {
    /// Parses a `METADATA` file, from a wheel or beside one (PEP 658). Bytes that are not UTF-8 count as U+FFFD.
    ///
    /// # Errors
    ///
    /// [`WheelProblem::Newer`] for a format from 3.0 on, [`WheelProblem::Syntax`] for missing or invalid fields.
    pub fn parse(bytes: &[u8]) -> Result<Self, WheelProblem> {
        let text = String::from_utf8_lossy(bytes);
        let fields = HeaderFields::read(text.strip_prefix('\u{feff}').unwrap_or(&text));
        let all = |name| Ok::<_, WheelProblem>(fields.all(name)?.into_iter().map(single_line).collect());
        let metadata = Self {
            metadata_version: fields.format_version("Metadata-Version", &[1, 2])?.to_owned(),
            name: fields.required("Name")?.to_owned(),
            version: fields.required("Version")?.to_owned(),
            requires_python: fields.one("Requires-Python")?.filter(|value| !value.is_empty()).map(single_line),
            requires_dist: all("Requires-Dist")?,
            provides_extra: all("Provides-Extra")?,
            // Errors in descriptive fields do no harm.
            summary: fields.all("Summary").ok().and_then(|values| values.first().map(|value| single_line(value))),
            license: ["License-Expression", "License"].into_iter().find_map(|name| {
                fields.all(name).ok().and_then(|values| values.first().map(|value| single_line(value)))
            }),
        };
        if DistributionName::new(&metadata.name).is_none() {
            return Err(WheelProblem::Syntax(format!("`{}` is not a valid name", quote_for_error(&metadata.name))));
        }
        Version::from_str(&metadata.version)
            .map_err(|_| WheelProblem::Syntax(format!("`{}` is not a version", quote_for_error(&metadata.version))))?;
        // Parsed as resolution does: a chosen wheel is not refused for mistakes of old tools.
        if let Some(python) = &metadata.requires_python
            && lenient::specifiers(python).is_none()
        {
            let reason = format!("`Requires-Python: {}` is not a version specifier", quote_for_error(python));
            return Err(WheelProblem::Syntax(reason));
        }
        Ok(metadata)
    }
}

/// Joins a wrapped value into one line.
fn single_line(value: &str) -> String {
    value.replace('\n', " ")
}

/// Fields of `WHEEL` (binary distribution format).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WheelInfo {
    /// Version of the format; its first number is 1.
    pub wheel_version: String,
    /// Program that made the wheel.
    pub generator: Option<String>,
    /// Whether files at the root belong to `purelib` rather than `platlib`. Both are site-packages here.
    pub root_is_purelib: bool,
    /// Compatibility tags, one each.
    pub tags: Vec<String>,
    /// Build tag.
    pub build: Option<String>,
}

impl WheelInfo {
    /// Reads a `WHEEL` file.
    ///
    /// # Errors
    ///
    /// [`WheelProblem::Newer`] for a format from 2.0 on, [`WheelProblem::Syntax`] for missing or invalid fields.
    pub fn parse(bytes: &[u8]) -> Result<Self, WheelProblem> {
        let text = std::str::from_utf8(bytes).map_err(|_| WheelProblem::Syntax("it is not UTF-8".to_owned()))?;
        let fields = HeaderFields::read(text.strip_prefix('\u{feff}').unwrap_or(text));
        let root = fields.required("Root-Is-Purelib")?;
        let root_is_purelib = match root.to_ascii_lowercase().as_str() {
            "true" => true,
            "false" => false,
            _ => {
                let reason = format!("`Root-Is-Purelib: {}` is neither `true` nor `false`", quote_for_error(root));
                return Err(WheelProblem::Syntax(reason));
            }
        };
        Ok(Self {
            wheel_version: fields.format_version("Wheel-Version", &[1])?.to_owned(),
            generator: fields.one("Generator")?.map(single_line),
            root_is_purelib,
            tags: fields.all("Tag")?.into_iter().map(str::to_owned).collect(),
            build: fields.one("Build")?.filter(|build| !build.is_empty()).map(str::to_owned),
        })
    }
}

/// Line of `entry_points.txt` (entry points specification). Its function is never called on the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryPoint {
    /// Group: `console_scripts`, or another program's.
    pub group: String,
    /// Name in the group.
    pub name: String,
    /// Value: `module:attribute`, optionally with extras.
    pub value: String,
}

/// Parses an `entry_points.txt`.
///
/// # Errors
///
/// [`WheelProblem::Syntax`] for lines that are neither a group nor an entry of one.
pub fn parse_entry_points(bytes: &[u8]) -> Result<Vec<EntryPoint>, WheelProblem> {
    let text = std::str::from_utf8(bytes).map_err(|_| WheelProblem::Syntax("it is not UTF-8".to_owned()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut group: Option<&str> = None;
    let mut entries = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            group = Some(name.trim());
            continue;
        }
        let entry = line.split_once('=').zip(group);
        let Some(((name, value), group)) = entry.filter(|((name, _), _)| !name.trim().is_empty()) else {
            let reason =
                format!("`{}` is neither `[group]` nor `name = module:attribute` in one", quote_for_error(line));
            return Err(WheelProblem::Syntax(reason));
        };
        if line.len() > MAX_FIELD_BYTES || entries.len() >= MAX_REPEATED_FIELDS {
            return Err(WheelProblem::TooMuch { what: "entry points", limit: MAX_REPEATED_FIELDS as u64 });
        }
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        if matches!(group, "console_scripts" | "gui_scripts") && name.contains(['/', '\\', '\0']) {
            return Err(WheelProblem::Syntax(format!("the script's name `{}` is a path", quote_for_error(&name))));
        }
        entries.push(EntryPoint { group: group.to_owned(), name, value });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_old_and_new_formats() {
        let text = "Metadata-Version: 2.4\nName: Foo.Bar\nVersion: 1.0\nSummary: x\nRequires-Python: >=3.9,\n <4\nRequires-Dist: b (>=1) ; extra == 'c'\nRequires-Dist: d\nProvides-Extra: c\nLicense-Expression: MIT\n\nRequires-Dist: not-me\n";
        let metadata = Metadata::parse(text.as_bytes()).unwrap();
        assert_eq!((metadata.name.as_str(), metadata.version.as_str()), ("Foo.Bar", "1.0"));
        assert_eq!(metadata.requires_dist, ["b (>=1) ; extra == 'c'", "d"]);
        assert_eq!(metadata.requires_python.as_deref(), Some(">=3.9, <4"));
        assert_eq!(metadata.license.as_deref(), Some("MIT"));
        assert!(Metadata::parse(b"Metadata-Version: 1.0\nName: a\nVersion: 1\nAuthor: \xff\n").is_ok());
        assert!(Metadata::parse(b"Metadata-Version: 1.2\nName: a\nVersion: 1\nRequires-Python: >=3.6.*\n").is_ok());
    }

    #[test]
    fn metadata_that_cannot_be_used() {
        let with = |version: &str, name: &str, rest: &str| {
            Metadata::parse(format!("Metadata-Version: {version}\nName: {name}\n{rest}").as_bytes()).unwrap_err()
        };
        assert!(matches!(with("3.0", "a", "Version: 1\n"), WheelProblem::Newer { .. }));
        for error in [
            with("2.1", "a", ""),
            with("2.1", "a", "Version: one\n"),
            with("2.1", "a/b", "Version: 1\n"),
            with("2.1", "a", "Version: 1\nVersion: 2\n"),
            with("2.1", "a", "Version: 1\nRequires-Python: three\n"),
            with("2.1", "", "Version: 1\n"),
        ] {
            assert!(matches!(error, WheelProblem::Syntax(_)), "{error:?}");
        }
    }

    #[test]
    fn wheel_files() {
        let info = WheelInfo::parse(
            b"Wheel-Version: 1.0\nGenerator: flit 3.12.0\nRoot-Is-Purelib: true\nTag: py2-none-any\nTag: py3-none-any\n",
        )
        .unwrap();
        assert!(info.root_is_purelib);
        assert_eq!(info.tags, ["py2-none-any", "py3-none-any"]);
        assert!(matches!(
            WheelInfo::parse(b"Wheel-Version: 2.0\nRoot-Is-Purelib: true\n"),
            Err(WheelProblem::Newer { .. })
        ));
        for text in
            ["", "Wheel-Version: 1.0\n", "Wheel-Version: 1.0\nRoot-Is-Purelib: yes\n", "Root-Is-Purelib: true\n"]
        {
            assert!(matches!(WheelInfo::parse(text.as_bytes()), Err(WheelProblem::Syntax(_))), "{text:?}");
        }
    }

    #[test]
    fn entry_points() {
        let text =
            b"# tools\n[console_scripts]\nfoo = foo.cli:main\nbar=foo.cli:bar [extra]\n\n[foo.plugins]\na : b = c\n";
        let entries = parse_entry_points(text).unwrap();
        assert_eq!(entries.len(), 3);
        assert_eq!((entries[1].name.as_str(), entries[1].value.as_str()), ("bar", "foo.cli:bar [extra]"));
        assert_eq!(entries[2].name, "a : b");
        for bad in ["a = b", "[g]\nline", "[g]\n= b", "[console_scripts]\n../a = b:c", "[g"] {
            assert!(parse_entry_points(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
