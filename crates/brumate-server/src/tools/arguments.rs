//! Parses tool arguments. A model wrote them, so an error names all faults and the expected values.

use brumate_mcp::{Arguments, Error};
use brumate_session::Globals;
use brumate_session::units::format_size;
use serde_json::Value;

/// Longest code, in bytes. The guest's compiler needs many times its size.
const MAX_CODE_BYTES: usize = 4 << 20;

/// Takes arguments one by one, and collects their problems.
pub(super) struct ArgumentReader {
    tool: &'static str,
    arguments: Arguments,
    problems: Vec<String>,
}

impl ArgumentReader {
    /// Makes a reader of the arguments of a call of `tool`.
    pub(super) fn new(tool: &'static str, arguments: Arguments) -> Self {
        Self { tool, arguments, problems: Vec::new() }
    }

    /// Takes an argument. Models write null for arguments that they leave out.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.arguments.remove(name).filter(|value| !value.is_null())
    }

    /// Adds a problem.
    pub(super) fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    fn wrong(&mut self, name: &str, expected: &str, value: &Value) {
        self.problems.push(format!("`{name}` must be {expected}, not {}", type_name(value)));
    }

    /// Takes required source code.
    pub(super) fn code(&mut self, name: &str, meaning: &str) -> String {
        match self.arguments.remove(name) {
            Some(Value::String(code)) if code.len() <= MAX_CODE_BYTES => return code,
            Some(Value::String(code)) => {
                let (size, limit) = (format_size(code.len() as u64), format_size(MAX_CODE_BYTES as u64));
                self.problem(format!("`{name}` is too long: {size}, at most {limit} are allowed"));
            }
            Some(other) => self.wrong(name, "a string", &other),
            None => self.problem(format!("`{name}` (string, {meaning}) is missing")),
        }
        String::new()
    }

    /// Takes a required string.
    pub(super) fn required(&mut self, name: &str, meaning: &str) -> String {
        match self.take(name) {
            Some(Value::String(text)) => return text,
            Some(other) => self.wrong(name, "a string", &other),
            None => self.problem(format!("`{name}` (string, {meaning}) is missing")),
        }
        String::new()
    }

    /// Takes an optional string.
    pub(super) fn optional(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => {
                self.wrong(name, "a string", &other);
                None
            }
        }
    }

    /// Takes the session id. Returns `None` for a new session: no id, an empty one, or "0".
    pub(super) fn session(&mut self) -> Option<String> {
        self.optional("session_id").filter(|id| !matches!(id.as_str(), "" | "0"))
    }

    /// Takes the session id of a tool that has no other arguments.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ArgumentReader::finish`].
    pub(super) fn only_session(mut self) -> Result<String, Error> {
        let id = self.required("session_id", "the session");
        self.finish(id)
    }

    /// Takes optional variables, with exact numbers. Default: none.
    pub(super) fn globals(&mut self, name: &str) -> Globals {
        match self.take(name) {
            None => Globals::default(),
            Some(Value::Object(object)) => {
                let exact = self.arguments.exact_json(name).and_then(|json| Globals::from_json(json).ok());
                exact.unwrap_or_else(|| object.into())
            }
            Some(other) => {
                self.wrong(name, "an object that maps names to values", &other);
                Globals::default()
            }
        }
    }

    /// Takes an optional whole number. Default: 0.
    pub(super) fn number(&mut self, name: &str) -> u64 {
        self.number_or(name, 0)
    }

    /// Takes an optional whole number; `default` also if it is another value, which is a problem.
    pub(super) fn number_or(&mut self, name: &str, default: u64) -> u64 {
        match self.take(name) {
            None => default,
            Some(value) => value.as_u64().unwrap_or_else(|| {
                self.problem(format!("`{name}` must be a whole number, 0 or more"));
                default
            }),
        }
    }

    /// Takes an optional boolean.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        match self.take(name) {
            None => default,
            Some(Value::Bool(flag)) => flag,
            Some(other) => {
                self.wrong(name, "a boolean", &other);
                default
            }
        }
    }

    /// Returns `value` if there were no problems and no unknown arguments.
    ///
    /// # Errors
    ///
    /// Returns a text for the model with all problems.
    pub(super) fn finish<T>(mut self, value: T) -> Result<T, Error> {
        for name in self.arguments.values().keys().take(8) {
            self.problems.push(format!("`{}` is not an argument", name.chars().take(64).collect::<String>()));
        }
        if self.problems.is_empty() {
            return Ok(value);
        }
        Err(Error::new(format!("Invalid arguments for {}: {}.", self.tool, self.problems.join("; "))))
    }
}

/// Returns the JSON type of a value, for messages.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads the arguments of `run_python_code`.
    fn parsed(arguments: Value) -> Result<(String, Globals), Error> {
        let values = arguments.as_object().cloned().unwrap_or_default();
        let mut reader = ArgumentReader::new("run_python_code", values.into());
        let code = reader.code("python_code", "the Python code to run");
        let globals = reader.globals("global_variables");
        reader.finish((code, globals))
    }

    #[test]
    fn code_alone_is_enough() {
        let (code, globals) = parsed(json!({"python_code": "1"})).unwrap();
        assert_eq!((code.as_str(), globals.as_json()), ("1", ""));
        assert!(parsed(json!({"python_code": "", "global_variables": null})).is_ok());
        let (_, globals) = parsed(json!({"python_code": "a", "global_variables": {"a": [1]}})).unwrap();
        assert_eq!(globals.as_json(), r#"{"a":[1]}"#);
    }

    #[test]
    fn every_mistake_is_named() {
        for (arguments, message) in [
            (json!({}), "`python_code` (string, the Python code to run) is missing"),
            (json!({"python_code": 3}), "`python_code` must be a string, not a number"),
            (
                json!({"code": "1", "global_variables": []}),
                "`python_code` (string, the Python code to run) is missing; `global_variables` must be an object \
                 that maps names to values, not an array; `code` is not an argument",
            ),
            (
                json!({"python_code": "x".repeat(MAX_CODE_BYTES + 1)}),
                "`python_code` is too long: 4.0 MiB, at most 4 MiB are allowed",
            ),
        ] {
            let expected = format!("Invalid arguments for run_python_code: {message}.");
            assert_eq!(parsed(arguments).unwrap_err().message(), expected);
        }
        assert!(parsed(json!(null)).is_err());
    }
}
