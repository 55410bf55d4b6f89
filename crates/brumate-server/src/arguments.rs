//! Parses tool arguments. A model wrote them, so an error names all that is wrong and what is expected.

use brumate_mcp::lowlevel::ExactArguments;
use brumate_session::units::format_size;
use brumate_session::{Globals, Request};
use serde_json::{Map, Value};

/// Longest code, in bytes. The guest's compiler needs many times its size.
const MAX_CODE_BYTES: usize = 4 << 20;

const PYTHON_CODE: &str = "python_code";
const GLOBAL_VARIABLES: &str = "global_variables";
/// Name of the session argument.
pub(crate) const SESSION_ID: &str = "session_id";

/// The arguments of `run_python_code`, with the session to run in. `None`: no session.
pub(crate) type RunArguments = (Request, Option<String>);

/// Parses the arguments of `run_python_code` without sessions.
///
/// # Errors
///
/// A text for the model: all wrong arguments, and what is expected.
pub(crate) fn parse(mut reader: ArgumentReader) -> Result<RunArguments, String> {
    let request = run_request(&mut reader);
    reader.finish((request, None))
}

/// Parses the arguments of `run_python_code` with sessions.
///
/// # Errors
///
/// The errors of [`parse`].
pub(crate) fn parse_with_session(mut reader: ArgumentReader) -> Result<RunArguments, String> {
    let request = run_request(&mut reader);
    let session = reader.session();
    reader.finish((request, session))
}

fn run_request(reader: &mut ArgumentReader) -> Request {
    let code = reader.code(PYTHON_CODE, "the Python code to run");
    Request::new(code).with_globals(reader.globals(GLOBAL_VARIABLES))
}

/// Takes arguments one by one, and collects their problems.
pub(crate) struct ArgumentReader {
    tool: &'static str,
    arguments: Map<String, Value>,
    /// The text of arguments that a [`Value`] cannot hold.
    exact: Option<ExactArguments>,
    problems: Vec<String>,
}

impl ArgumentReader {
    /// Makes a reader of the arguments of a call of `tool`.
    pub(crate) fn new(tool: &'static str, arguments: Option<Map<String, Value>>) -> Self {
        Self { tool, arguments: arguments.unwrap_or_default(), exact: None, problems: Vec::new() }
    }

    /// Sets the exact arguments. Default: the arguments are exact.
    pub(crate) fn with_exact(mut self, exact: Option<ExactArguments>) -> Self {
        self.exact = exact;
        self
    }

    /// Takes an argument. Models write null for arguments that they leave out.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.arguments.remove(name).filter(|value| !value.is_null())
    }

    /// Adds a problem.
    pub(crate) fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    fn wrong(&mut self, name: &str, expected: &str, value: &Value) {
        self.problems.push(format!("`{name}` must be {expected}, not {}", type_name(value)));
    }

    /// Takes required source code.
    pub(crate) fn code(&mut self, name: &str, meaning: &str) -> String {
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
    pub(crate) fn required(&mut self, name: &str, meaning: &str) -> String {
        match self.take(name) {
            Some(Value::String(text)) => return text,
            Some(other) => self.wrong(name, "a string", &other),
            None => self.problem(format!("`{name}` (string, {meaning}) is missing")),
        }
        String::new()
    }

    /// Takes an optional string.
    pub(crate) fn optional(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => {
                self.wrong(name, "a string", &other);
                None
            }
        }
    }

    /// Takes the session id. Returns `None` for a new session: no id, an empty one, or "0".
    pub(crate) fn session(&mut self) -> Option<String> {
        self.optional(SESSION_ID).filter(|id| !matches!(id.as_str(), "" | "0"))
    }

    /// Takes optional variables, with exact numbers. Default: none.
    fn globals(&mut self, name: &str) -> Globals {
        match self.take(name) {
            None => Globals::default(),
            Some(Value::Object(object)) => {
                let exact = self.exact.as_ref().and_then(|exact| exact.get(name));
                let exact = exact.and_then(|json| Globals::from_json(json).ok());
                exact.unwrap_or_else(|| object.into())
            }
            Some(other) => {
                self.wrong(name, "an object that maps names to values", &other);
                Globals::default()
            }
        }
    }

    /// Takes an optional whole number. Default: 0.
    pub(crate) fn number(&mut self, name: &str) -> u64 {
        self.number_or(name, 0)
    }

    /// Takes an optional whole number; `default` also if it is another value, which is a problem.
    pub(crate) fn number_or(&mut self, name: &str, default: u64) -> u64 {
        match self.take(name) {
            None => default,
            Some(value) => value.as_u64().unwrap_or_else(|| {
                self.problem(format!("`{name}` must be a whole number, 0 or more"));
                default
            }),
        }
    }

    /// Takes an optional boolean.
    pub(crate) fn flag(&mut self, name: &str, default: bool) -> bool {
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
    /// A text for the model with all problems.
    pub(crate) fn finish<T>(mut self, value: T) -> Result<T, String> {
        for name in self.arguments.keys().take(8) {
            self.problems.push(format!("`{}` is not an argument", name.chars().take(64).collect::<String>()));
        }
        if self.problems.is_empty() {
            return Ok(value);
        }
        Err(format!("Invalid arguments for {}: {}.", self.tool, self.problems.join("; ")))
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

    fn parsed(arguments: Value) -> Result<Request, String> {
        let reader = ArgumentReader::new("run_python_code", arguments.as_object().cloned());
        parse(reader).map(|(request, _)| request)
    }

    #[test]
    fn code_alone_is_enough() {
        let request = parsed(json!({"python_code": "1"})).unwrap();
        assert_eq!((request.code.as_str(), request.globals.as_json()), ("1", ""));
        assert!(parsed(json!({"python_code": "", "global_variables": null})).is_ok());
        let request = parsed(json!({"python_code": "a", "global_variables": {"a": [1]}})).unwrap();
        assert_eq!(request.globals.as_json(), r#"{"a":[1]}"#);
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
            assert_eq!(parsed(arguments).unwrap_err(), expected);
        }
        assert!(parsed(json!(null)).is_err());
    }
}
