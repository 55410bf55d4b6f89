//! Lenient parsing of requirements in old metadata: forgives the mistakes that other installers forgive.

use std::str::FromStr;

use pep440_rs::VersionSpecifiers;

use crate::error::RequirementError;
use crate::requirement::Requirement;

/// Parses a `Requires-Dist` value. A value that is not valid (PEP 508) is corrected and parsed again.
pub(crate) fn requirement(text: &str) -> Result<Requirement, RequirementError> {
    text.parse().or_else(|error| {
        let (specification, marker) = text.split_once(';').map_or((text, None), |(left, right)| (left, Some(right)));
        let start = specification.find(['<', '>', '=', '!', '~', '(']);
        let mended = match start {
            Some(start) if !specification.contains('@') => {
                let (name, versions) = specification.split_at(start);
                format!("{name}{}", mend(versions))
            }
            _ => specification.to_owned(),
        };
        let mended = match marker {
            Some(marker) => format!("{mended};{marker}"),
            None => mended,
        };
        mended.parse().map_err(|_: RequirementError| error)
    })
}

/// Parses version specifiers (PEP 440). Specifiers that are not valid are corrected and parsed again.
pub(crate) fn specifiers(text: &str) -> Option<VersionSpecifiers> {
    VersionSpecifiers::from_str(text).or_else(|_| VersionSpecifiers::from_str(&mend(text))).ok()
}

/// Corrects common mistakes: quotes and parentheses, `>=1.0.*` → `>=1.0`, `!=1.0*` → `!=1.0.*`, empty parts and
/// missing commas.
fn mend(text: &str) -> String {
    let bare: String = text.chars().filter(|character| !matches!(character, '(' | ')' | '\'' | '"')).collect();
    // Inserts a comma before every operator that does not continue another operator.
    let mut separated = String::with_capacity(bare.len() + 4);
    let mut previous_is_operator = false;
    for character in bare.chars() {
        let is_operator = matches!(character, '<' | '>' | '=' | '!' | '~');
        if is_operator && !previous_is_operator {
            separated.push(',');
        }
        separated.push(character);
        previous_is_operator = is_operator || (previous_is_operator && character.is_whitespace());
    }
    let parts = separated.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| {
        let digits = part.trim_start_matches(['<', '>', '=', '!', '~']);
        let operator = &part[..part.len() - digits.len()];
        let version = digits.trim().trim_end_matches('.');
        match (operator, version.strip_suffix('*')) {
            ("==" | "!=", Some(stem)) => format!("{operator}{}.*", stem.trim_end_matches('.')),
            (_, Some(stem)) => format!("{operator}{}", stem.trim_end_matches('.')),
            (_, None) => format!("{operator}{version}"),
        }
    });
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgives_what_is_common() {
        for (given, meant) in [
            (">=3.6.*", ">=3.6"),
            ("!=3.0*,>=2.7", ">=2.7, !=3.0.*"),
            (">=2.7,!=3.0.*,", ">=2.7, !=3.0.*"),
            (">=1.0<2.0", ">=1.0, <2.0"),
            (">='3.7'", ">=3.7"),
            (">=2.7.", ">=2.7"),
            (">= 1.0", ">=1.0"),
        ] {
            assert_eq!(specifiers(given).map(|found| found.to_string()).as_deref(), Some(meant), "{given}");
        }
        assert_eq!(specifiers("three"), None);
    }

    #[test]
    fn requirements_keep_their_marker() {
        let read = requirement("foo >=1.0.* ; python_version >= '3'").expect("mended");
        assert_eq!(read.to_string(), "foo >=1.0; python_version >= '3'");
        assert!(requirement("foo ===").is_err());
    }
}
