//! A tool and a resource: `quickstart` over standard input and output.

use brumate_mcp::prelude::*;

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a.saturating_add(b)
}

/// A personal greeting.
#[resource("greeting://{name}")]
async fn greeting(name: String) -> String {
    format!("Hello, {name}!")
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("Demo").tool(add).resource(greeting).run_stdio().await
}
