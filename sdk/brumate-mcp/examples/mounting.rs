//! Two servers in one HTTP server: `/echo/mcp` and `/math/mcp`, the second also over HTTP+SSE at `/math/sse`.

use brumate_mcp::{App, Context, HttpOptions, ServeError, Server, tool};
use tokio::net::TcpListener;

/// Gives back a message.
#[tool]
async fn echo(message: String, context: Context) -> String {
    context.info(format!("echoing {message}")).await;
    format!("Echo: {message}")
}

/// Adds two.
#[tool]
async fn add_two(n: i64) -> i64 {
    n.saturating_add(2)
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("http://{}", listener.local_addr()?);
    App::new()
        .mount("/echo", Server::new("EchoServer").tool(echo), HttpOptions::new())
        .mount("/math", Server::new("MathServer").tool(add_two), HttpOptions::new().legacy_sse())
        .run_on(listener)
        .await
}
