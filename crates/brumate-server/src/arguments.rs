//! Arguments of the tool. A model wrote them, so every complaint is one that it can act on.

use brumate_session::RunRequest;
use brumate_session::units::format_size;
use rmcp::model::JsonObject;
use serde_json::Value;

/// Longest code that is run. The guest's compiler needs many times its size.
const MAX_CODE_BYTES: usize = 4 << 20;

const PYTHON_CODE: &str = "python_code";
const GLOBAL_VARIABLES: &str = "global_variables";

/// Reads the arguments of `run_python_code`.
///
/// # Errors
///
/// A text for the model: every argument that is wrong, and what is expected.
pub(crate) fn parse(arguments: Option<JsonObject>) -> Result<RunRequest, String> {
    let mut arguments = arguments.unwrap_or_default();
    let mut problems = Vec::new();
    let code = match arguments.remove(PYTHON_CODE) {
        Some(Value::String(code)) if code.len() <= MAX_CODE_BYTES => code,
        Some(Value::String(code)) => {
            let (size, limit) = (format_size(code.len() as u64), format_size(MAX_CODE_BYTES as u64));
            problems.push(format!("`{PYTHON_CODE}` is too long: {size}, at most {limit} are allowed"));
            String::new()
        }
        Some(other) => {
            problems.push(format!("`{PYTHON_CODE}` must be a string, not {}", kind(&other)));
            String::new()
        }
        None => {
            problems.push(format!("`{PYTHON_CODE}` (string, the Python code to run) is missing"));
            String::new()
        }
    };
    let globals = match arguments.remove(GLOBAL_VARIABLES) {
        // Models write null for what they leave out.
        None | Some(Value::Null) => serde_json::Map::new(),
        Some(Value::Object(globals)) => globals,
        Some(other) => {
            problems.push(format!(
                "`{GLOBAL_VARIABLES}` must be an object that maps names to values, not {}",
                kind(&other)
            ));
            serde_json::Map::new()
        }
    };
    for name in arguments.keys().take(8) {
        problems.push(format!("`{}` is not an argument", name.chars().take(64).collect::<String>()));
    }
    if problems.is_empty() {
        return Ok(RunRequest::new(code).with_globals(globals));
    }
    Err(format!("Invalid arguments for {}: {}.", crate::tool::TOOL_NAME, problems.join("; ")))
}

fn kind(value: &Value) -> &'static str {
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

    fn parsed(arguments: Value) -> Result<RunRequest, String> {
        parse(arguments.as_object().cloned())
    }

    #[test]
    fn code_alone_is_enough() {
        let request = parsed(json!({"python_code": "1"})).unwrap();
        assert_eq!((request.code.as_str(), request.globals.len()), ("1", 0));
        assert!(parsed(json!({"python_code": "", "global_variables": null})).is_ok());
        let request = parsed(json!({"python_code": "a", "global_variables": {"a": [1]}})).unwrap();
        assert_eq!(request.globals["a"], json!([1]));
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
        assert!(parse(None).is_err());
    }
}
