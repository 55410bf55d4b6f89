//! Parameters of notebooks, as papermill has them: values by name, and a cell that assigns them.

use serde_json::Value as Json;
use thiserror::Error;
use yaml_serde::Value as Yaml;

use crate::document::Notebook;

/// Tag of the cell with the defaults of parameters.
const DEFAULTS_TAG: &str = "parameters";
/// Tag of the cell with the values of parameters.
const VALUES_TAG: &str = "injected-parameters";
/// First line of the cell with the values.
const TITLE: &str = "# Parameters";
/// Deepest nesting of a parameter's value.
const MAX_DEPTH: usize = 100;
/// Words that are no names in Python.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Reason why parameters cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParameterError {
    /// A name that is none in Python.
    #[error("`{0}` is no name of a Python variable")]
    Name(String),
    /// A text that is no YAML.
    #[error("this is no YAML: {0}")]
    Yaml(String),
    /// A text with another value than a mapping of names.
    #[error("parameters are a mapping of names to values, such as `alpha: 0.5`")]
    NoMapping,
    /// A value that has no form in Python's source code.
    #[error("the value of `{name}` has {reason}")]
    Value {
        /// Name of the parameter.
        name: String,
        /// Fault of the value, as the end of a sentence that begins with "has".
        reason: String,
    },
}

/// Values by name, as Python's source code. A later value of a name replaces the earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    values: Vec<(String, String)>,
}

impl Parameters {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds a value that is a number, `True`, `False` or `None` if it looks like one, and otherwise a string.
    ///
    /// # Errors
    ///
    /// [`ParameterError::Name`].
    pub fn add_typed(&mut self, name: &str, value: &str) -> Result<(), ParameterError> {
        self.add(name, typed(value))
    }

    /// Adds a string.
    ///
    /// # Errors
    ///
    /// [`ParameterError::Name`].
    pub fn add_raw(&mut self, name: &str, value: &str) -> Result<(), ParameterError> {
        self.add(name, literal(value))
    }

    /// Adds the values of a mapping in YAML, of which JSON is a part. An empty text has none.
    ///
    /// # Errors
    ///
    /// [`ParameterError`].
    pub fn add_yaml(&mut self, text: &str) -> Result<(), ParameterError> {
        let value: Yaml = yaml_serde::from_str(text).map_err(|error| ParameterError::Yaml(error.to_string()))?;
        let mapping = match value {
            Yaml::Null => return Ok(()),
            Yaml::Mapping(mapping) => mapping,
            _ => return Err(ParameterError::NoMapping),
        };
        for (name, value) in mapping {
            let Yaml::String(name) = name else { return Err(ParameterError::NoMapping) };
            let source = of_yaml(&value, 0)
                .map_err(|reason| ParameterError::Value { name: name.clone(), reason: reason.to_owned() })?;
            self.add(&name, source)?;
        }
        Ok(())
    }

    fn add(&mut self, name: &str, source: String) -> Result<(), ParameterError> {
        let is_start = |char: char| char.is_alphabetic() || char == '_';
        let is_name = name.starts_with(is_start) && name.chars().all(|char| char.is_alphanumeric() || char == '_');
        if !is_name || KEYWORDS.contains(&name) {
            return Err(ParameterError::Name(name.escape_debug().to_string()));
        }
        match self.values.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = source,
            None => self.values.push((name.to_owned(), source)),
        }
        Ok(())
    }

    /// Puts the cell with the values into a notebook: in the place of an earlier one, or behind the cell with the tag `parameters`, or at the
    /// top. Without parameters the notebook stays as it is. Returns the index of the cell.
    pub fn inject(&self, notebook: &mut Notebook) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let index = match (notebook.tagged(VALUES_TAG), notebook.tagged(DEFAULTS_TAG)) {
            (Some(earlier), _) => {
                notebook.remove(earlier);
                earlier
            }
            (None, Some(defaults)) => defaults + 1,
            (None, None) => 0,
        };
        let lines = self.values.iter().map(|(name, source)| format!("{name} = {source}\n"));
        let source = std::iter::once(format!("{TITLE}\n")).chain(lines).collect();
        notebook.insert_code(index, source, None);
        notebook.set_cell_metadata(index, "tags", Json::from(vec![VALUES_TAG]));
        Some(index)
    }
}

/// Returns the source of the value that a text stands for.
fn typed(value: &str) -> String {
    let number = value.trim();
    match value {
        "True" | "False" | "None" => value.to_owned(),
        _ if is_int(number) => integer(number),
        _ if is_float(number) => float(number),
        _ => literal(value),
    }
}

/// Returns whether Python's `int` takes a text. Digits of other scripts are strings here.
fn is_int(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits.split('_').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns an integer's source: without zeros in front, which Python's source code cannot have.
fn integer(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.replace('_', "");
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => format!("{sign}{digits}"),
    }
}

/// Returns whether Python's `float` takes a text.
fn is_float(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_digit = |index: Option<usize>| index.and_then(|index| bytes.get(index)).is_some_and(u8::is_ascii_digit);
    let joins_digits = |index: usize| is_digit(index.checked_sub(1)) && is_digit(index.checked_add(1));
    bytes.iter().enumerate().all(|(index, &byte)| byte != b'_' || joins_digits(index))
        && text.replace('_', "").parse::<f64>().is_ok()
}

/// Returns a float's source. Texts that Rust and Python read alike stay as they are.
fn float(text: &str) -> String {
    let text = text.replace('_', "");
    let value: f64 = text.parse().unwrap_or(f64::NAN);
    if value.is_nan() {
        "float('nan')".to_owned()
    } else if value.is_infinite() {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("float('{sign}inf')")
    } else {
        format!("{value:?}")
    }
}

/// Returns a string's source, as Python's `unicode_escape` and papermill write it.
fn literal(text: &str) -> String {
    let mut source = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => source.push_str("\\\""),
            '\\' => source.push_str(r"\\"),
            '\n' => source.push_str(r"\n"),
            '\r' => source.push_str(r"\r"),
            '\t' => source.push_str(r"\t"),
            ' '..='~' => source.push(char),
            _ => source.push_str(&match u32::from(char) {
                code @ 0..0x100 => format!("\\x{code:02x}"),
                code @ 0x100..0x1_0000 => format!("\\u{code:04x}"),
                code => format!("\\U{code:08x}"),
            }),
        }
    }
    source.push('"');
    source
}

/// Returns a value's source.
///
/// # Errors
///
/// Fault of the value, as the end of a sentence that begins with "has".
fn of_yaml(value: &Yaml, depth: usize) -> Result<String, &'static str> {
    if depth > MAX_DEPTH {
        return Err("too many levels");
    }
    Ok(match value {
        Yaml::Null => "None".to_owned(),
        Yaml::Bool(true) => "True".to_owned(),
        Yaml::Bool(false) => "False".to_owned(),
        Yaml::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(value) => float(&value.to_string()),
            None => number.to_string(),
        },
        Yaml::String(text) => literal(text),
        Yaml::Sequence(items) => {
            let items: Vec<String> = items.iter().map(|item| of_yaml(item, depth + 1)).collect::<Result<_, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Yaml::Mapping(members) => {
            let member = |(name, value): (&Yaml, &Yaml)| Ok(format!("{}: {}", key(name)?, of_yaml(value, depth + 1)?));
            let members: Vec<String> = members.iter().map(member).collect::<Result<_, &'static str>>()?;
            format!("{{{}}}", members.join(", "))
        }
        Yaml::Tagged(_) => return Err("a tag (`!…`), which has no form in Python"),
    })
}

/// Returns the source of a mapping's key: a string, as papermill makes it.
fn key(name: &Yaml) -> Result<String, &'static str> {
    match name {
        Yaml::String(text) => Ok(literal(text)),
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => of_yaml(name, 0).map(|text| literal(&text)),
        _ => Err("a key that is a list or a mapping"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notebook(tags: &[&str]) -> Notebook {
        let mut notebook = Notebook::new("3.14.0");
        for (index, tag) in tags.iter().enumerate() {
            notebook.insert_code(index, format!("x{index}"), None);
            notebook.set_cell_metadata(index, "tags", Json::from(vec![*tag]));
        }
        notebook
    }

    #[test]
    fn values_have_the_types_that_papermill_gives_them() {
        for (text, source) in [
            ("1", "1"),
            ("-007", "-7"),
            ("+0", "0"),
            ("1_000", "1000"),
            (" 12 ", "12"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("1.5", "1.5"),
            ("1e5", "100000.0"),
            (".5", "0.5"),
            ("1_0.5", "10.5"),
            ("nan", "float('nan')"),
            ("-Infinity", "float('-inf')"),
            ("True", "True"),
            ("None", "None"),
            ("true", "\"true\""),
            ("", "\"\""),
            ("1_", "\"1_\""),
            ("_1", "\"_1\""),
            ("1._5", "\"1._5\""),
            ("0x10", "\"0x10\""),
            ("a\"b\\c\n\u{e9}\u{20ac}\u{1f600}\u{7}", r#""a\"b\\c\n\xe9\u20ac\U0001f600\x07""#),
        ] {
            assert_eq!(typed(text), source, "{text:?}");
        }
    }

    #[test]
    fn mappings_become_python() {
        let mut parameters = Parameters::default();
        parameters.add_yaml("a: [1, 2.5, .nan, true, null]\nb: {c: 'x', 1: y}\nd: -.inf\ne: 9007199254740993").unwrap();
        parameters.add_yaml(r#"{"f": "g", "a": 1e300}"#).unwrap();
        parameters.add_yaml("").unwrap();
        parameters.add_raw("n", "1").unwrap();
        let lines: Vec<String> = parameters.values.iter().map(|(name, source)| format!("{name} = {source}")).collect();
        assert_eq!(
            lines,
            [
                "a = 1e300",
                r#"b = {"c": "x", "1": "y"}"#,
                "d = float('-inf')",
                "e = 9007199254740993",
                "f = \"g\"",
                "n = \"1\""
            ]
        );
    }

    #[test]
    fn what_is_no_parameter_is_refused() {
        let mut parameters = Parameters::default();
        for name in ["", "1a", "a b", "a-b", "import", "a=1;b"] {
            assert_eq!(parameters.add_typed(name, "1"), Err(ParameterError::Name(name.to_owned())));
        }
        parameters.add_typed("größe_2", "1").unwrap();
        for (text, part) in [("[1]", "mapping"), ("1: 2", "mapping"), ("a: !x 1", "tag"), ("a: [", "no YAML")] {
            let error = parameters.add_yaml(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        // Each level repeats the one before it ten times.
        let bomb: String = (1..12)
            .map(|level| format!("b{level}: &b{level} [{}]\n", vec![format!("*b{}", level - 1); 10].join(", ")))
            .collect();
        let error = parameters.add_yaml(&format!("b0: &b0 x\n{bomb}")).unwrap_err().to_string();
        assert!(error.contains("no YAML"), "{error}");
    }

    #[test]
    fn the_cell_has_its_place() {
        let mut parameters = Parameters::default();
        assert_eq!(parameters.inject(&mut notebook(&["parameters"])), None);
        parameters.add_typed("a", "1").unwrap();
        for (tags, index, cells) in [
            (&["x", "parameters", "y"][..], 2, 4),
            (&["x", "parameters", "y", "injected-parameters"], 3, 4),
            (&["x"], 0, 2),
            (&[], 0, 1),
        ] {
            let mut notebook = notebook(tags);
            assert_eq!((parameters.inject(&mut notebook), notebook.len()), (Some(index), cells), "{tags:?}");
            assert_eq!(notebook.code(index), Some("# Parameters\na = 1\n"));
            assert!(notebook.has_tag(index, "injected-parameters"));
        }
    }
}
