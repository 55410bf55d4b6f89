//! A tool, a resource and a prompt that give back what they are given, over what the command line says: `echo
//! --transport http`.

use brumate_mcp::{ServeError, Server, prompt, resource, tool};

/// Gives back a message.
#[tool(title = "Echo", read_only)]
async fn echo(
    /// What to give back.
    message: String,
) -> String {
    format!("Tool echo: {message}")
}

/// A message as a resource.
#[resource("echo://{message}", name = "echo", mime_type = "text/plain")]
async fn echo_resource(message: String) -> String {
    format!("Resource echo: {message}")
}

/// A message to be processed.
#[prompt(name = "echo")]
async fn echo_prompt(message: String) -> String {
    format!("Please process this message: {message}")
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("Echo").tool(echo).resource(echo_resource).prompt(echo_prompt).run_from_args().await
}
