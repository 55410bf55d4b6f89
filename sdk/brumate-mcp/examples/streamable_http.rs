//! Streamable HTTP in its three kinds: with sessions (`/mcp`), without (`/stateless/mcp`), and without event streams
//! (`/json/mcp`).

use brumate_mcp::prelude::*;
use tokio::net::TcpListener;

/// Gives back a message.
#[tool]
async fn echo(message: String) -> String {
    format!("Echo: {message}")
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("http://{}", listener.local_addr()?);
    let server = |name: &str| Server::new(name).tool(echo);
    App::new()
        .mount("", server("StatefulServer"), HttpOptions::new())
        .mount("/stateless", server("StatelessServer"), HttpOptions::new().stateless())
        .mount("/json", server("JsonServer"), HttpOptions::new().stateless().json_responses())
        .run_on(listener)
        .await
}
