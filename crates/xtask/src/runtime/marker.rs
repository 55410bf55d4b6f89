//! Environment markers (PEP 508) of `Requires-Dist`, evaluated for the sandbox's interpreter.
//!
//! Only what wheel metadata uses: comparisons of a variable with a string, `and`, `or`,
//! parentheses. Anything else is an error, so that a new wheel's marker is never misread.

use anyhow::{Result, bail};
use std::cmp::Ordering;

/// The value of each marker variable inside the sandbox (ENGINE: what the guest sees).
const ENVIRONMENT: &[(&str, &str)] = &[
    ("extra", ""),
    ("implementation_name", "cpython"),
    ("os_name", "posix"),
    ("platform_machine", "wasm32"),
    ("platform_python_implementation", "CPython"),
    ("platform_system", "Emscripten"),
    ("python_full_version", "3.14.2"),
    ("python_version", "3.14"),
    ("sys_platform", "emscripten"),
];

/// Whether `marker` holds in the sandbox, with no extra requested.
pub(crate) fn holds(marker: &str) -> Result<bool> {
    let tokens = tokenize(marker)?;
    let mut parser = Parser { tokens: &tokens, marker };
    let value = parser.or()?;
    if !parser.tokens.is_empty() {
        bail!("trailing tokens in marker `{marker}`");
    }
    Ok(value)
}

#[derive(Debug, PartialEq)]
enum Token<'a> {
    /// A variable, `and`, `or`, `in` or `not`.
    Word(&'a str),
    Literal(&'a str),
    /// A comparison operator or a parenthesis.
    Symbol(&'a str),
}

fn tokenize(marker: &str) -> Result<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = marker.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' => {
                let Some(end) = rest[1..].find(first) else {
                    bail!("unterminated string in marker `{marker}`");
                };
                tokens.push(Token::Literal(&rest[1..=end]));
                end + 2
            }
            '(' | ')' => {
                tokens.push(Token::Symbol(&rest[..1]));
                1
            }
            '<' | '>' | '=' | '!' | '~' => {
                let end = rest.find(|c| !"<>=!~".contains(c)).unwrap_or(rest.len());
                tokens.push(Token::Symbol(&rest[..end]));
                end
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                tokens.push(Token::Word(&rest[..end]));
                end
            }
            c => bail!("unexpected `{c}` in marker `{marker}`"),
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Parser<'t, 'a> {
    tokens: &'t [Token<'a>],
    marker: &'a str,
}

impl<'a> Parser<'_, 'a> {
    fn take(&mut self, wanted: &Token<'_>) -> bool {
        let found = self.tokens.first() == Some(wanted);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn or(&mut self) -> Result<bool> {
        let mut value = self.and()?;
        while self.take(&Token::Word("or")) {
            value |= self.and()?;
        }
        Ok(value)
    }

    fn and(&mut self) -> Result<bool> {
        let mut value = self.term()?;
        while self.take(&Token::Word("and")) {
            value &= self.term()?;
        }
        Ok(value)
    }

    fn term(&mut self) -> Result<bool> {
        if self.take(&Token::Symbol("(")) {
            let value = self.or()?;
            if !self.take(&Token::Symbol(")")) {
                bail!("missing `)` in marker `{}`", self.marker);
            }
            return Ok(value);
        }
        let (left, left_name) = self.operand()?;
        let operator = self.operator()?;
        let (right, right_name) = self.operand()?;
        let is_version = [left_name, right_name].iter().any(|name| name.ends_with("_version"));
        compare(left, operator, right, is_version)
            .ok_or_else(|| anyhow::anyhow!("unsupported comparison in marker `{}`", self.marker))
    }

    /// The operand's value, and its name if it is a variable.
    fn operand(&mut self) -> Result<(&'a str, &'a str)> {
        let operand = match self.tokens.first() {
            Some(Token::Literal(text)) => (*text, ""),
            Some(Token::Word(name)) => match ENVIRONMENT.iter().find(|(known, _)| known == name) {
                Some((_, value)) => (*value, *name),
                None => bail!("unknown variable `{name}` in marker `{}`", self.marker),
            },
            _ => bail!("an operand is missing in marker `{}`", self.marker),
        };
        self.tokens = &self.tokens[1..];
        Ok(operand)
    }

    fn operator(&mut self) -> Result<&'a str> {
        if self.take(&Token::Word("in")) {
            return Ok("in");
        }
        if self.take(&Token::Word("not")) {
            if self.take(&Token::Word("in")) {
                return Ok("not in");
            }
        } else if let Some(Token::Symbol(symbol)) = self.tokens.first() {
            self.tokens = &self.tokens[1..];
            return Ok(symbol);
        }
        bail!("an operator is missing in marker `{}`", self.marker);
    }
}

fn compare(left: &str, operator: &str, right: &str, is_version: bool) -> Option<bool> {
    let order =
        if is_version { release(left).zip(release(right)).map(|(l, r)| l.cmp(&r)) } else { Some(left.cmp(right)) };
    match (operator, order) {
        ("in", _) => Some(right.contains(left)),
        ("not in", _) => Some(!right.contains(left)),
        ("==", Some(order)) => Some(order == Ordering::Equal),
        ("!=", Some(order)) => Some(order != Ordering::Equal),
        ("<", Some(order)) if is_version => Some(order == Ordering::Less),
        ("<=", Some(order)) if is_version => Some(order != Ordering::Greater),
        (">", Some(order)) if is_version => Some(order == Ordering::Greater),
        (">=", Some(order)) if is_version => Some(order != Ordering::Less),
        _ => None,
    }
}

/// A dotted release number without trailing zeros, so that `3.14` equals `3.14.0`.
fn release(version: &str) -> Option<Vec<u32>> {
    let mut numbers: Vec<u32> = version.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_seen_in_wheels() {
        for (marker, expected) in [
            ("sys_platform == \"emscripten\"", true),
            ("sys_platform == \"win32\"", false),
            ("python_version >= '3.14'", true),
            ("python_version < \"3.14\"", false),
            ("python_version > '3.9'", true),
            ("python_full_version >= '3.14.2' and python_full_version < '3.15'", true),
            ("extra == 'test'", false),
            ("(os_name == 'nt' or sys_platform != 'win32') and extra == ''", true),
            ("'linux' in sys_platform", false),
            ("platform_machine not in 'x86_64 aarch64'", true),
        ] {
            assert_eq!(holds(marker).expect(marker), expected, "{marker}");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for marker in [
            "",
            "python_version",
            "python_version >=",
            "colour == 'red'",
            "os_name == 'posix' junk",
            "(os_name == 'posix'",
            "python_version >= '3.14rc1'",
            "os_name === 'posix",
            "python_version ~= '3.9'",
        ] {
            assert!(holds(marker).is_err(), "{marker}");
        }
    }
}
