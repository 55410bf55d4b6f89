//! Format of `METADATA` and `WHEEL`: header fields, an empty line, a body (core metadata specification).
//!
//! The grammar is the grammar of e-mail, as Python's `email` module reads it.

use super::WheelProblem;
use super::error::quote_for_error;
use super::limits::{MAX_FIELD_BYTES, MAX_REPEATED_FIELDS};

/// Fields of one file, in order.
#[derive(Debug, Default)]
pub(super) struct HeaderFields<'a> {
    fields: Vec<(&'a str, String)>,
}

impl<'a> HeaderFields<'a> {
    /// Parses the fields of `text`. A line starts the body if it is no field and continues no field.
    pub(super) fn read(text: &'a str) -> Self {
        let mut fields: Vec<(&str, String)> = Vec::new();
        for line in text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)) {
            if line.starts_with([' ', '\t']) {
                let Some((_, value)) = fields.last_mut() else { break };
                value.push('\n');
                value.push_str(line.trim());
                continue;
            }
            match line.split_once(':') {
                Some((name, value)) if is_field_name(name) => fields.push((name, value.trim().to_owned())),
                _ => break,
            }
        }
        Self { fields }
    }

    /// Returns every value of a field, in order. Names are compared without case.
    ///
    /// # Errors
    /// The field has too many values, or a value is too long.
    pub(super) fn all(&self, name: &str) -> Result<Vec<&str>, WheelProblem> {
        let of_name = |(field, _): &&(&str, String)| field.eq_ignore_ascii_case(name);
        let values: Vec<&str> = self.fields.iter().filter(of_name).map(|(_, value)| value.as_str()).collect();
        if values.len() > MAX_REPEATED_FIELDS {
            return Err(WheelProblem::TooMuch { what: "fields of one name", limit: MAX_REPEATED_FIELDS as u64 });
        }
        if values.iter().any(|value| value.len() > MAX_FIELD_BYTES) {
            return Err(WheelProblem::TooMuch { what: "bytes in a field", limit: MAX_FIELD_BYTES as u64 });
        }
        Ok(values)
    }

    /// Returns the value of a field that may occur once.
    ///
    /// # Errors
    /// The errors of [`HeaderFields::all`]; [`WheelProblem::Syntax`] when the field occurs more than once.
    pub(super) fn one(&self, name: &str) -> Result<Option<&str>, WheelProblem> {
        match self.all(name)?[..] {
            [] => Ok(None),
            [value] => Ok(Some(value)),
            _ => Err(WheelProblem::Syntax(format!("the field `{name}` is there more than once"))),
        }
    }

    /// Returns the value of a field that must occur once.
    ///
    /// # Errors
    /// The errors of [`HeaderFields::one`]; [`WheelProblem::Syntax`] when the field is missing or empty.
    pub(super) fn required(&self, name: &str) -> Result<&str, WheelProblem> {
        self.one(name)?
            .filter(|value| !value.is_empty())
            .ok_or_else(|| WheelProblem::Syntax(format!("the field `{name}` is missing")))
    }

    /// Returns the version of a format. Its first number must be in `known`.
    ///
    /// # Errors
    /// The errors of [`HeaderFields::required`]; [`WheelProblem::Syntax`] when the field is no version;
    /// [`WheelProblem::Newer`] when its first number is not in `known`.
    pub(super) fn format_version(&self, name: &'static str, known: &[u64]) -> Result<&str, WheelProblem> {
        let text = self.required(name)?;
        let numbers = text.split_once('.').map(|(major, minor)| (major.parse::<u64>(), minor.parse::<u64>()));
        match numbers {
            Some((Ok(major), Ok(_))) if known.contains(&major) => Ok(text),
            Some((Ok(_), Ok(_))) => Err(WheelProblem::Newer { field: name, found: quote_for_error(text) }),
            _ => {
                Err(WheelProblem::Syntax(format!("`{name}: {}` is not a version of the format", quote_for_error(text))))
            }
        }
    }
}

/// Returns whether a text is the name of a field: printable ASCII without spaces (RFC 5322, 3.6.8).
///
/// The caller has split the line at its first colon, so the text has no colon.
fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_where_the_body_begins() {
        let text = "Name: a\r\nSummary: one\r\n  two\r\n\tthree\r\nname: b\r\n\r\nVersion: 1\r\n";
        let fields = HeaderFields::read(text);
        assert_eq!(fields.all("NAME").unwrap(), ["a", "b"]);
        assert_eq!(fields.one("Summary").unwrap(), Some("one\ntwo\nthree"));
        assert_eq!(fields.one("Version").unwrap(), None);
        assert!(fields.one("Name").is_err());
        let broken = HeaderFields::read("Name: a\nno field\nVersion: 1\n");
        assert_eq!(broken.one("Version").unwrap(), None);
        assert!(HeaderFields::read(" leading\nName: a").required("Name").is_err());
    }

    #[test]
    fn what_one_file_can_cost_is_bounded() {
        let many = "Tag: a\n".repeat(MAX_REPEATED_FIELDS + 1);
        assert!(matches!(HeaderFields::read(&many).all("Tag"), Err(WheelProblem::TooMuch { .. })));
        let long = format!("Tag: {}\n", "a".repeat(MAX_FIELD_BYTES + 1));
        assert!(matches!(HeaderFields::read(&long).one("Tag"), Err(WheelProblem::TooMuch { .. })));
    }

    #[test]
    fn versions_of_formats() {
        let version = |text: &str| {
            HeaderFields::read(&format!("Wheel-Version: {text}\n"))
                .format_version("Wheel-Version", &[1])
                .map(str::to_owned)
        };
        assert_eq!(version("1.0").unwrap(), "1.0");
        assert_eq!(version("1.9").unwrap(), "1.9");
        assert!(matches!(version("2.0"), Err(WheelProblem::Newer { .. })));
        assert!(matches!(version("one"), Err(WheelProblem::Syntax(_))));
        assert!(matches!(version(""), Err(WheelProblem::Syntax(_))));
    }
}
