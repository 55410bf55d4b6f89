//! HTTP+SSE of several servers below paths (`/github/sse`, `/search/events`), and of one for a host of its own.

use brumate_mcp::prelude::*;
use tokio::net::TcpListener;

/// A server with one tool, which says its name.
fn named(name: &'static str) -> Server {
    Server::new(name).tool(Tool::new("name").raw_handler(move |_, _| async move { name }))
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("http://{}", listener.local_addr()?);
    App::new()
        .mount("/github", named("GitHub API"), HttpOptions::new().legacy_sse())
        .mount("/browser", named("Browser"), HttpOptions::new().legacy_sse())
        .mount("/search", named("Search"), HttpOptions::new().legacy_sse_at("/events"))
        .mount_host("mcp.acme.corp", named("Acme"), HttpOptions::new().legacy_sse())
        .run_on(listener)
        .await
}
