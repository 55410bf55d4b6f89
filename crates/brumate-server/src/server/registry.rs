//! The registry: the tools that a server offers, and the request that a call stands for.
#![expect(deprecated, reason = "logging is kept for clients of older protocols")]

use std::sync::Arc;

use brumate_mcp::Error;
use brumate_mcp::lowlevel::ExactArguments;
use brumate_session::sessions::InputDirs;
use rmcp::model::{ErrorCode, ErrorData, Implementation, ServerCapabilities, ServerConfig, Tool};
use serde_json::{Map, Value};

use super::{PythonServer, ToolSet};
use crate::arguments::RunArguments;
use crate::interpreter::{InterpreterCall, schemas};
use crate::tool::{self, ToolDefinition};
use crate::tool_request::ToolRequest;

/// Longest name from a request that an error repeats, in characters.
const MAX_NAME: usize = 64;

/// Methods that every server has.
const METHODS: [&str; 8] =
    ["initialize", "tools/call", "tools/list", "logging/setLevel", "ping", "tasks/get", "tasks/update", "tasks/cancel"];

/// Methods of servers with resources.
const RESOURCE_METHODS: [&str; 3] = ["resources/list", "resources/templates/list", "resources/read"];

/// A tool that a server offers.
#[derive(Debug)]
pub(super) enum OfferedTool {
    /// `run_python_code`.
    Run(ToolDefinition<RunArguments>),
    /// A tool of the code interpreter.
    Interpreter(ToolDefinition<InterpreterCall>),
}

impl OfferedTool {
    fn name(&self) -> &'static str {
        match self {
            OfferedTool::Run(tool) => tool.name,
            OfferedTool::Interpreter(tool) => tool.name,
        }
    }

    /// Returns the tool as rmcp has it.
    ///
    /// # Errors
    ///
    /// The errors of [`Tool::to_rmcp`](brumate_mcp::Tool::to_rmcp).
    pub(super) fn to_rmcp(&self) -> Result<Tool, ErrorData> {
        let tool = match self {
            OfferedTool::Run(tool) => &tool.tool,
            OfferedTool::Interpreter(tool) => &tool.tool,
        };
        tool.to_rmcp().map_err(Error::into_rmcp)
    }
}

/// Returns the tools of a set, in the order of `tools/list`. `inputs`: the input directories of sessions.
pub(super) fn offered_tools(tools: ToolSet, inputs: &InputDirs) -> Arc<[OfferedTool]> {
    let run = match tools {
        ToolSet::Run => Some(tool::run_python_code()),
        ToolSet::Interpreter => None,
        ToolSet::All => Some(tool::run_python_code_with_session()),
    };
    let of_sessions = if tools == ToolSet::Run { Vec::new() } else { schemas::tools(inputs) };
    let run = run.into_iter().map(OfferedTool::Run);
    run.chain(of_sessions.into_iter().map(OfferedTool::Interpreter)).collect()
}

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

    /// Returns the tool `name`, if it is offered.
    pub(super) fn offered_tool(&self, name: &str) -> Option<&OfferedTool> {
        self.offered_tools.iter().find(|offered| offered.name() == name)
    }

    /// Returns what a call of the tool `name` asks for.
    ///
    /// # Errors
    ///
    /// A JSON-RPC error if there is no such tool, or a text for the model if an argument is wrong.
    pub(super) fn tool_request(
        &self,
        name: &str,
        (arguments, exact): (Option<Map<String, Value>>, Option<ExactArguments>),
        stateless: bool,
    ) -> Result<ToolRequest, Error> {
        match (self.offered_tool(name), self.interpreter_for(stateless)) {
            (Some(OfferedTool::Run(tool)), interpreter) => {
                let (request, session) = tool.request(arguments, exact)?;
                Ok(match (session, interpreter) {
                    (Some(session), Some(interpreter)) => {
                        ToolRequest::RunInSession(interpreter, Box::new(request.in_session(Some(&session))))
                    }
                    _ => ToolRequest::Run(Box::new(request)),
                })
            }
            (Some(OfferedTool::Interpreter(tool)), Some(interpreter)) => {
                Ok(ToolRequest::Interpreter(interpreter, tool.request(arguments, exact)?))
            }
            _ => {
                let text = format!("Unknown tool: {}", short_name(name));
                Err(Error::protocol(ErrorCode::INVALID_PARAMS.0, text, None))
            }
        }
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
