//! Definitions of tools, and that of the tool `run_python_code`: its description and schemas. Its names and texts are those of
//! mcp-run-python, whose clients depend on them.

use brumate_mcp::lowlevel::ExactArguments;
use brumate_mcp::{Error, Tool};
use serde_json::{Map, Value, json};

use crate::arguments::{self, ArgumentReader, RunArguments};

/// A tool: what clients see of it, and the function that turns the arguments of a call into its request `R`.
#[derive(Debug)]
pub(crate) struct ToolDefinition<R> {
    pub(crate) name: &'static str,
    /// The tool, as `tools/list` shows it.
    pub(crate) tool: Tool,
    parse: fn(ArgumentReader) -> Result<R, String>,
}

impl<R> ToolDefinition<R> {
    /// Makes a definition. `input` and `output` are the schemas of arguments and results.
    pub(crate) fn new(
        name: &'static str,
        (title, description): (&str, &str),
        (input, output): (Value, Value),
        parse: fn(ArgumentReader) -> Result<R, String>,
    ) -> Self {
        let tool = Tool::new(name).title(title).description(description).input_schema(input).output_schema(output);
        Self { name, tool, parse }
    }

    /// Returns the request of a call.
    ///
    /// # Errors
    ///
    /// A text for the model: all wrong arguments, and what is expected.
    pub(crate) fn request(
        &self,
        arguments: Option<Map<String, Value>>,
        exact: Option<ExactArguments>,
    ) -> Result<R, Error> {
        (self.parse)(ArgumentReader::new(self.name, arguments).with_exact(exact)).map_err(Error::new)
    }
}

/// The tool's name.
const TOOL_NAME: &str = "run_python_code";
/// The server's name when it has this tool only.
pub(crate) const SERVER_NAME: &str = "MCP Run Python";
/// The server's instructions for models.
pub(crate) const INSTRUCTIONS: &str = "Call the \"run_python_code\" tool with the Python code to run.";

/// Addition to the instructions of servers with the interpreter's tools.
pub(crate) const BESIDE_SESSIONS: &str =
    "The \"run_python_code\" tool runs code in an interpreter of its own, or in a session if it is given a session_id.";

const TITLE: &str = "Run Python code";
const DESCRIPTION: &str = "Tool to execute Python code and return stdout, stderr, and return value.

The code may be async, and the value on the last line will be returned as the return value.

The code will be executed with Python 3.14.";

/// Returns the tool.
pub(crate) fn run_python_code() -> ToolDefinition<RunArguments> {
    let schemas = (input_schema(), output_schema());
    ToolDefinition::new(TOOL_NAME, (TITLE, DESCRIPTION), schemas, arguments::parse)
}

/// Returns the tool with the argument `session_id`, for servers with the interpreter's tools.
pub(crate) fn run_python_code_with_session() -> ToolDefinition<RunArguments> {
    let mut schema = input_schema();
    schema["properties"]["session_id"] = json!({
        "type": "string",
        "default": "",
        "description": "Session to run in, as execute_code gives it; empty for an interpreter of its own",
    });
    let schemas = (schema, output_schema());
    ToolDefinition::new(TOOL_NAME, (TITLE, DESCRIPTION), schemas, arguments::parse_with_session)
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "python_code": {"type": "string", "description": "Python code to run"},
            "global_variables": {
                "type": "object",
                "additionalProperties": {},
                "default": {},
                "description": "Map of global variables in context when the code is executed",
            },
        },
        "required": ["python_code"],
        "additionalProperties": false,
        "$schema": "http://json-schema.org/draft-07/schema#",
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": {
                "type": "string",
                "enum": ["success", "install-error", "run-error"],
                "description": "How the run ended",
            },
            "output": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Lines written to stdout and stderr, in order",
            },
            "dependencies": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Packages that were loaded; left out when there are none",
            },
            "return_value": {
                "description": "Value of the last expression; left out after an error, and if it has an integer of more than 64 bits \
                                or is nested more than 100 deep",
            },
            "return_value_json": {
                "type": "string",
                "description": "The same value as JSON text, exactly; only if return_value is left out, or has an integer beyond \
                                9007199254740991 (2**53 - 1), which many JSON readers round",
            },
            "error": {"type": "string", "description": "Traceback or reason; only after an error"},
        },
        "required": ["status", "output"],
        "$schema": "http://json-schema.org/draft-07/schema#",
    })
}
