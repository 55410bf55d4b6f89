//! Requirements (PEP 508).

use std::fmt;
use std::str::FromStr;

use pep440_rs::VersionSpecifiers;

use crate::error::RequirementError;
use crate::marker::{self, MarkerEnvironment};
use crate::name::{DistributionName, is_name_byte};
use crate::scan::Scanner;

/// Most bytes of a requirement. Direct references can be long; nobody writes 4 KiB by hand.
const MAX_REQUIREMENT_BYTES: usize = 4096;
/// Most characters of an invalid requirement that an error repeats.
const MAX_SHOWN_CHARACTERS: usize = 120;
/// Most extras of one requirement.
const MAX_EXTRAS: usize = 64;

/// Requirement: a distribution with its versions and conditions.
#[derive(Debug, Clone)]
pub struct Requirement {
    /// Normalised name.
    pub name: DistributionName,
    /// Requested extras.
    pub extras: Vec<DistributionName>,
    /// Versions or URL.
    pub source: RequirementSource,
    text: String,
    /// Byte offset of the marker in `text`.
    marker: Option<usize>,
}

/// Versions or URL of a requirement.
#[derive(Debug, Clone)]
pub enum RequirementSource {
    /// These versions, from any index; empty specifiers allow all.
    Versions(VersionSpecifiers),
    /// A direct reference (`name @ URL`).
    Url(String),
}

impl Requirement {
    /// Makes a requirement for any version of `name`.
    pub fn any(name: &DistributionName) -> Self {
        Self {
            name: name.clone(),
            extras: Vec::new(),
            source: RequirementSource::Versions(VersionSpecifiers::empty()),
            text: name.to_string(),
            marker: None,
        }
    }

    /// Returns whether the requirement counts in `environment`. True without a marker.
    pub fn applies_in(&self, environment: &MarkerEnvironment) -> bool {
        match self.marker {
            None => true,
            // The same text was parsed without an error when the requirement was made.
            Some(offset) => marker::evaluate(&mut Scanner::new(&self.text[offset..]), environment).unwrap_or(false),
        }
    }

    /// Returns whether the requirement is just a name: without extras, versions, URL and marker.
    pub fn is_bare(&self) -> bool {
        let any_version = matches!(&self.source, RequirementSource::Versions(versions) if versions.is_empty());
        any_version && self.extras.is_empty() && self.marker.is_none()
    }
}

impl fmt::Display for Requirement {
    /// Writes the text as it was given, without white space around it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        parse(text.trim()).map_err(|reason| RequirementError { requirement: quote_for_error(text), reason })
    }
}

fn parse(text: &str) -> Result<Requirement, String> {
    if text.len() > MAX_REQUIREMENT_BYTES {
        return Err(format!("it is longer than {MAX_REQUIREMENT_BYTES} bytes"));
    }
    let mut scanner = Scanner::new(text);
    let name = take_name(&mut scanner).ok_or("it does not start with the name of a package")?;
    scanner.skip_whitespace();
    let extras = take_extras(&mut scanner)?;
    scanner.skip_whitespace();
    let source = if scanner.take("@") {
        scanner.skip_whitespace();
        let url = scanner.take_while(|character| !character.is_whitespace());
        if url.is_empty() {
            return Err("there is no URL after `@`".to_owned());
        }
        RequirementSource::Url(url.to_owned())
    } else {
        RequirementSource::Versions(take_versions(&mut scanner)?)
    };
    scanner.skip_whitespace();
    let marker = if scanner.take(";") {
        let offset = scanner.position();
        marker::evaluate(&mut scanner, &MarkerEnvironment::default())?;
        scanner.skip_whitespace();
        Some(offset)
    } else {
        None
    };
    if !scanner.is_at_end() {
        return Err(format!("`{}` cannot be read", quote_for_error(scanner.rest())));
    }
    Ok(Requirement { name, extras, source, text: text.to_owned(), marker })
}

fn take_name(scanner: &mut Scanner<'_>) -> Option<DistributionName> {
    DistributionName::new(scanner.take_while(|character| u8::try_from(character).is_ok_and(is_name_byte)))
}

fn take_extras(scanner: &mut Scanner<'_>) -> Result<Vec<DistributionName>, String> {
    let mut extras = Vec::new();
    if !scanner.take("[") {
        return Ok(extras);
    }
    scanner.skip_whitespace();
    if scanner.take("]") {
        return Ok(extras);
    }
    loop {
        scanner.skip_whitespace();
        extras.push(take_name(scanner).ok_or("an extra between `[` and `]` is not a name")?);
        if extras.len() > MAX_EXTRAS {
            return Err(format!("it has more than {MAX_EXTRAS} extras"));
        }
        scanner.skip_whitespace();
        if scanner.take("]") {
            return Ok(extras);
        }
        if !scanner.take(",") {
            return Err("`]` is missing after the extras".to_owned());
        }
    }
}

fn take_versions(scanner: &mut Scanner<'_>) -> Result<VersionSpecifiers, String> {
    let parenthesised = scanner.take("(");
    let text = scanner.take_while(|character| !matches!(character, ';' | ')')).trim();
    if parenthesised && !scanner.take(")") {
        return Err("`)` is missing after the versions".to_owned());
    }
    if text.is_empty() {
        return Ok(VersionSpecifiers::empty());
    }
    if !text.starts_with(['<', '>', '=', '!', '~']) {
        return Err(format!("`{}` after the name is not a version specifier such as `>=2`", quote_for_error(text)));
    }
    VersionSpecifiers::from_str(text).map_err(|error| first_line(&error.to_string()))
}

/// Returns the first line of an error of PEP 440's parser, which draws an arrow under the text.
pub(crate) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end_matches(':').to_owned()
}

/// Formats `text` for an error message: short, on one line.
fn quote_for_error(text: &str) -> String {
    let mut characters = text.trim().chars().map(|character| if character.is_control() { ' ' } else { character });
    let mut shown: String = characters.by_ref().take(MAX_SHOWN_CHARACTERS).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use pep440_rs::Version;

    use super::*;

    fn requirement(text: &str) -> Requirement {
        text.parse().unwrap()
    }

    fn allows(text: &str, version: &str) -> bool {
        match requirement(text).source {
            RequirementSource::Versions(versions) => versions.contains(&Version::from_str(version).unwrap()),
            RequirementSource::Url(url) => panic!("{text} is a URL: {url}"),
        }
    }

    #[test]
    fn reads_every_part() {
        let full = requirement("Pandas [excel, HTML_5] >=2,<4 ; python_version >= '3.9'");
        assert_eq!(full.name.as_str(), "pandas");
        assert_eq!(full.extras.iter().map(DistributionName::as_str).collect::<Vec<_>>(), ["excel", "html-5"]);
        assert!(allows("Pandas [excel] >=2,<4 ; python_version >= '3.9'", "3.0.2"));
        assert!(!full.is_bare());
        assert_eq!(full.to_string(), "Pandas [excel, HTML_5] >=2,<4 ; python_version >= '3.9'");
    }

    #[test]
    fn versions_with_and_without_parentheses() {
        assert!(allows("rich<13", "12.6"));
        assert!(!allows("rich<13", "13.0"));
        assert!(allows("rich (>=12, !=12.1)", "12.2"));
        assert!(allows("numpy==2.4.*", "2.4.6"));
        assert!(allows("numpy", "0.1"));
    }

    #[test]
    fn direct_references_keep_their_url() {
        let direct = requirement("pip @ https://example.org/pip.whl ; os_name == 'posix'");
        assert!(matches!(direct.source, RequirementSource::Url(url) if url == "https://example.org/pip.whl"));
    }

    #[test]
    fn markers_decide_whether_it_counts() {
        let here = MarkerEnvironment::default();
        assert!(requirement("a; sys_platform == 'emscripten'").applies_in(&here));
        assert!(!requirement("a; sys_platform == 'win32'").applies_in(&here));
        assert!(!requirement("a; extra == 'x'").applies_in(&here));
        let with_extra = MarkerEnvironment::with_extras(DistributionName::new("x"));
        assert!(requirement("a; extra == 'x'").applies_in(&with_extra));
    }

    #[test]
    fn errors_repeat_the_requirement_and_say_why() {
        for (text, part) in [
            ("", "name of a package"),
            ("!numpy", "name of a package"),
            ("numpy 2.0", "version specifier"),
            ("numpy>=", "Unexpected end"),
            ("numpy[", "an extra"),
            ("numpy[a", "`]` is missing"),
            ("numpy (>2", "`)` is missing"),
            ("numpy @", "no URL"),
            ("numpy; moon == 'full'", "`moon`"),
            ("numpy; os_name == 'posix' x", "`x` cannot be read"),
            (&"n".repeat(MAX_REQUIREMENT_BYTES + 1), "longer than"),
        ] {
            let error = text.parse::<Requirement>().unwrap_err();
            assert!(error.to_string().contains(part), "{text:?}: {error}");
            assert!(error.requirement.chars().count() <= MAX_SHOWN_CHARACTERS + 1);
        }
    }
}
