//! A server without sessions that answers with plain JSON: any number of processes can share its clients.

use brumate_mcp::{App, HttpOptions, ServeError, Server, tool};
use tokio::net::TcpListener;

/// Doubles a number.
#[tool(read_only, idempotent)]
async fn double(number: f64) -> f64 {
    number * 2.0
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("http://{}", listener.local_addr()?);
    App::new()
        .mount("", Server::new("Doubler").tool(double), HttpOptions::new().stateless().json_responses())
        .run_on(listener)
        .await
}
