//! The registry: the tools and resources that a server offers, and the request that a call stands for.
#![expect(deprecated, reason = "logging is kept for clients of older protocols")]

use brumate_mcp::{Error, Tool};
use brumate_session::sessions::CellRequest;
use rmcp::model::{ErrorCode, Implementation, ServerCapabilities, ServerConfig};
use serde_json::{Map, Value};

use super::{PythonServer, ToolSet};
use crate::interpreter::{InterpreterCall, schemas};
use crate::tool_request::ToolRequest;
use crate::{arguments, tool};

/// Longest name from a request that an error repeats, in characters.
const MAX_NAME: usize = 64;

/// Methods that every server has.
const METHODS: [&str; 8] =
    ["initialize", "tools/call", "tools/list", "logging/setLevel", "ping", "tasks/get", "tasks/update", "tasks/cancel"];

/// Methods of servers with resources.
const RESOURCE_METHODS: [&str; 3] = ["resources/list", "resources/templates/list", "resources/read"];

impl PythonServer {
    /// Returns the name, the capabilities and the instructions of the server.
    pub(super) fn server_config(&self) -> ServerConfig {
        let plain = ServerCapabilities::builder().enable_logging().enable_tools().enable_tasks();
        let capabilities = match self.tools {
            ToolSet::Run => plain.build(),
            ToolSet::Interpreter | ToolSet::All => plain.enable_resources().enable_resources_list_changed().build(),
        };
        let (name, instructions) = match self.tools {
            ToolSet::Run => (tool::SERVER_NAME, tool::INSTRUCTIONS.to_owned()),
            ToolSet::Interpreter => (schemas::SERVER_NAME, schemas::INSTRUCTIONS.to_owned()),
            ToolSet::All => ("Brumate", format!("{} {}", schemas::INSTRUCTIONS, tool::BESIDE_SESSIONS)),
        };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(name, env!("CARGO_PKG_VERSION")).with_title("Brumate"))
            .with_instructions(instructions)
    }

    /// Returns the tools, as `tools/list` shows them.
    pub(super) fn offered_tools(&self) -> Vec<Tool> {
        match self.tools {
            ToolSet::Run => vec![tool::tool()],
            ToolSet::Interpreter => self.session_tools(),
            ToolSet::All => std::iter::once(tool::with_session()).chain(self.session_tools()).collect(),
        }
    }

    fn session_tools(&self) -> Vec<Tool> {
        let inputs = self.interpreter.as_ref().map(|interpreter| interpreter.sessions().settings().inputs.clone());
        schemas::tools(&inputs.unwrap_or_default())
    }

    /// Returns what a call of the tool `name` asks for.
    ///
    /// # Errors
    ///
    /// A JSON-RPC error if there is no such tool, or a text for the model if an argument is wrong.
    pub(super) fn tool_request(
        &self,
        name: &str,
        arguments: Option<Map<String, Value>>,
        stateless: bool,
    ) -> Result<ToolRequest, Error> {
        let interpreter = self.interpreter_for(stateless);
        match interpreter {
            None if name == tool::TOOL_NAME => {
                return arguments::parse(arguments).map(ToolRequest::Run).map_err(Error::new);
            }
            Some(interpreter) if name == tool::TOOL_NAME && self.tools == ToolSet::All => {
                let (request, session) = arguments::parse_with_session(arguments).map_err(Error::new)?;
                return Ok(match session {
                    None => ToolRequest::Run(request),
                    Some(_) => {
                        let cell = CellRequest::new(session.as_deref(), request.code).with_globals(request.globals);
                        ToolRequest::RunInSession(interpreter, cell)
                    }
                });
            }
            Some(interpreter) => {
                if let Some(call) = InterpreterCall::parse(name, arguments) {
                    return call.map(|call| ToolRequest::Interpreter(interpreter, call)).map_err(Error::new);
                }
            }
            None => {}
        }
        Err(Error::protocol(ErrorCode::INVALID_PARAMS.0, format!("Unknown tool: {}", short_name(name)), None))
    }

    /// Returns whether the server has this method.
    pub(super) fn has_method(&self, method: &str) -> bool {
        METHODS.contains(&method) || (self.interpreter.is_some() && RESOURCE_METHODS.contains(&method))
    }
}

/// Returns a name from a request, cut to what an error repeats.
pub(super) fn short_name(name: &str) -> String {
    name.chars().take(MAX_NAME).collect()
}
