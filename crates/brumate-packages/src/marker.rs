//! Environment markers (PEP 508), parsed and evaluated in one pass.
//!
//! Nothing is kept: a stranger's marker costs time linear in its length, and no memory afterwards.

use std::str::FromStr;

use pep440_rs::{Operator, Version, VersionPattern, VersionSpecifier};

use crate::name::DistributionName;
use crate::scan::Scanner;

/// Value of `python_version` in the sandbox.
pub const PYTHON_VERSION: &str = "3.14";
/// Value of `python_full_version` in the sandbox.
pub const PYTHON_FULL_VERSION: &str = "3.14.2";

/// Deepest nesting of parentheses in a marker; evaluation is recursive.
const MAX_DEPTH: usize = 32;

/// Values of the marker variables. The default is the sandbox: CPython 3.14 on Emscripten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerEnvironment {
    extras: Vec<DistributionName>,
}

impl MarkerEnvironment {
    /// Makes the sandbox's environment, in which the variable `extra` equals each of `extras`.
    pub fn with_extras(extras: impl IntoIterator<Item = DistributionName>) -> Self {
        Self { extras: extras.into_iter().collect() }
    }

    fn value(variable: &str) -> Option<&'static str> {
        Some(match variable {
            "python_version" => PYTHON_VERSION,
            "python_full_version" | "implementation_version" => PYTHON_FULL_VERSION,
            "os_name" | "os.name" => "posix",
            "sys_platform" | "sys.platform" => "emscripten",
            "platform_machine" | "platform.machine" => "wasm32",
            "platform_python_implementation" | "platform.python_implementation" | "python_implementation" => "CPython",
            "platform_release" => "5.0.3",
            "platform_system" => "Emscripten",
            "platform_version" | "platform.version" => "#1",
            "implementation_name" => "cpython",
            _ => return None,
        })
    }
}

impl Default for MarkerEnvironment {
    fn default() -> Self {
        Self::with_extras([])
    }
}

/// Side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Operand<'a> {
    Variable(&'a str, &'static str),
    Extra,
    Text(&'a str),
}

/// Evaluates the marker at the scanner and consumes it.
pub(crate) fn evaluate(scanner: &mut Scanner<'_>, environment: &MarkerEnvironment) -> Result<bool, String> {
    disjunction(scanner, environment, 0)
}

fn disjunction(scanner: &mut Scanner<'_>, environment: &MarkerEnvironment, depth: usize) -> Result<bool, String> {
    let mut value = conjunction(scanner, environment, depth)?;
    loop {
        scanner.skip_whitespace();
        if !scanner.take_word("or") {
            return Ok(value);
        }
        // No short circuit: the right side must be parsed, and its errors reported, in any case.
        value |= conjunction(scanner, environment, depth)?;
    }
}

fn conjunction(scanner: &mut Scanner<'_>, environment: &MarkerEnvironment, depth: usize) -> Result<bool, String> {
    let mut value = comparison(scanner, environment, depth)?;
    loop {
        scanner.skip_whitespace();
        if !scanner.take_word("and") {
            return Ok(value);
        }
        value &= comparison(scanner, environment, depth)?;
    }
}

fn comparison(scanner: &mut Scanner<'_>, environment: &MarkerEnvironment, depth: usize) -> Result<bool, String> {
    scanner.skip_whitespace();
    if scanner.take("(") {
        if depth == MAX_DEPTH {
            return Err(format!("its marker nests more than {MAX_DEPTH} parentheses"));
        }
        let value = disjunction(scanner, environment, depth + 1)?;
        scanner.skip_whitespace();
        return if scanner.take(")") { Ok(value) } else { Err("`)` is missing in its marker".to_owned()) };
    }
    let left = operand(scanner)?;
    let operator = operator(scanner)?;
    let right = operand(scanner)?;
    compare(left, operator, right, environment)
}

fn operand<'a>(scanner: &mut Scanner<'a>) -> Result<Operand<'a>, String> {
    scanner.skip_whitespace();
    if let Some(quote @ ('"' | '\'')) = scanner.peek() {
        let quote_text = if quote == '"' { "\"" } else { "'" };
        scanner.take(quote_text);
        let text = scanner.take_while(|character| character != quote);
        return if scanner.take(quote_text) {
            Ok(Operand::Text(text))
        } else {
            Err("a quoted text in its marker does not end".to_owned())
        };
    }
    let word = scanner.take_while(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '.'));
    match word {
        "extra" => Ok(Operand::Extra),
        "" => Err("its marker ends early, or has a value that is not quoted".to_owned()),
        _ => MarkerEnvironment::value(word)
            .map(|value| Operand::Variable(word, value))
            .ok_or_else(|| format!("`{word}` is not a marker variable")),
    }
}

/// Comparison operators, those with more characters first, so that `<=` is not read as `<`.
const OPERATORS: [&str; 8] = ["===", "<=", ">=", "==", "!=", "~=", "<", ">"];

fn operator(scanner: &mut Scanner<'_>) -> Result<&'static str, String> {
    scanner.skip_whitespace();
    if let Some(symbol) = OPERATORS.into_iter().find(|symbol| scanner.take(symbol)) {
        return Ok(symbol);
    }
    if scanner.take_word("in") {
        return Ok("in");
    }
    if scanner.take_word("not") {
        scanner.skip_whitespace();
        if scanner.take_word("in") {
            return Ok("not in");
        }
    }
    Err("an operator is missing in its marker".to_owned())
}

fn compare(
    left: Operand<'_>,
    operator: &str,
    right: Operand<'_>,
    environment: &MarkerEnvironment,
) -> Result<bool, String> {
    let (left_text, right_text) = match (left, right) {
        (Operand::Extra, Operand::Text(text)) | (Operand::Text(text), Operand::Extra) => {
            let wanted = DistributionName::new(text);
            let active = wanted.is_some_and(|extra| environment.extras.contains(&extra));
            return match operator {
                "==" | "===" => Ok(active),
                "!=" => Ok(!active),
                _ => Err(format!("`extra` cannot be compared with `{operator}`")),
            };
        }
        (Operand::Extra, _) | (_, Operand::Extra) => {
            return Err("`extra` can only be compared with a quoted text".to_owned());
        }
        (left, right) => (text_of(left), text_of(right)),
    };
    if let Some(result) = compare_versions(left, left_text, operator, right_text) {
        return Ok(result);
    }
    Ok(match operator {
        "in" => right_text.contains(left_text),
        "not in" => !right_text.contains(left_text),
        "==" | "===" => left_text == right_text,
        "!=" => left_text != right_text,
        "<" => left_text < right_text,
        "<=" => left_text <= right_text,
        ">" => left_text > right_text,
        ">=" => left_text >= right_text,
        _ => return Err(format!("`{operator}` needs versions on both sides")),
    })
}

fn text_of(operand: Operand<'_>) -> &str {
    match operand {
        Operand::Variable(_, value) => value,
        Operand::Text(text) => text,
        Operand::Extra => "",
    }
}

/// Compares by PEP 440 if the left side is a version and the right side a version or a pattern like `3.*`; `None`
/// otherwise.
fn compare_versions(left: Operand<'_>, left_text: &str, operator: &str, right: &str) -> Option<bool> {
    let version_variable =
        |name: &str| matches!(name, "python_version" | "python_full_version" | "implementation_version");
    if let Operand::Variable(name, _) = left
        && !version_variable(name)
    {
        return None;
    }
    let operator = Operator::from_str(operator).ok()?;
    let version = Version::from_str(left_text).ok()?;
    let pattern = VersionPattern::from_str(right).ok()?;
    let specifier = VersionSpecifier::from_pattern(operator, pattern).ok()?;
    Some(specifier.contains(&version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(marker: &str) -> Result<bool, String> {
        let environment = MarkerEnvironment::with_extras(DistributionName::new("Excel"));
        let mut scanner = Scanner::new(marker);
        let value = evaluate(&mut scanner, &environment)?;
        assert!(scanner.is_at_end(), "left over: {:?}", scanner.rest());
        Ok(value)
    }

    #[test]
    fn versions_follow_pep_440() {
        assert_eq!(holds("python_version >= '3.9'"), Ok(true));
        assert_eq!(holds("python_version < '3.9'"), Ok(false));
        assert_eq!(holds("'3.9' <= python_version"), Ok(true));
        assert_eq!(holds("python_full_version == '3.14.*'"), Ok(true));
        assert_eq!(holds("python_version ~= '3.10'"), Ok(true));
        assert_eq!(holds("python_version in '3.13 3.14'"), Ok(true));
        assert_eq!(holds("python_version not in '3.13 3.14'"), Ok(false));
    }

    #[test]
    fn the_platform_is_emscripten() {
        assert_eq!(holds("sys_platform == 'emscripten' and platform_machine == 'wasm32'"), Ok(true));
        assert_eq!(holds("sys_platform == 'win32' or os_name == \"nt\""), Ok(false));
        assert_eq!(holds("platform_python_implementation != 'PyPy'"), Ok(true));
    }

    #[test]
    fn and_binds_tighter_than_or() {
        let (yes, no) = ("os_name == 'posix'", "os_name == 'nt'");
        assert_eq!(holds(&format!("{yes} or {no} and {no}")), Ok(true));
        assert_eq!(holds(&format!("({yes} or {no}) and {no}")), Ok(false));
    }

    #[test]
    fn extras_are_compared_by_normalised_name() {
        assert_eq!(holds("extra == 'excel'"), Ok(true));
        assert_eq!(holds("extra == 'EXCEL' and python_version > '3'"), Ok(true));
        assert_eq!(holds("extra == 'html'"), Ok(false));
        assert_eq!(holds("extra != 'html'"), Ok(true));
    }

    #[test]
    fn errors_say_what_is_missing() {
        for (marker, part) in [
            ("", "ends early"),
            ("python_version", "operator"),
            ("python_version >= 3.9", "marker variable"),
            ("moon == 'full'", "`moon`"),
            ("(os_name == 'nt'", "`)`"),
            ("os_name == 'nt", "does not end"),
            ("os_name ~= 'posix'", "needs versions"),
            ("extra < 'a'", "`extra`"),
        ] {
            let error = holds(marker).unwrap_err();
            assert!(error.contains(part), "{marker:?}: {error}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = format!("{}os_name == 'nt'{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(holds(&deep).unwrap_err().contains("nests"));
        let fine = format!("{}os_name == 'nt'{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        assert_eq!(holds(&fine), Ok(false));
    }
}
