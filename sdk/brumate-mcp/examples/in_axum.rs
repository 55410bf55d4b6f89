//! A server as a part of an axum application: `/mcp` beside pages of the application's own, which share its state.

use axum::Router;
use axum::routing::get;
use brumate_mcp::{App, HttpOptions, ServeError, Server, State, tool};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::TcpListener;

/// What pages and tools share.
#[derive(Default)]
struct Visits(AtomicU64);

/// How often the page was visited.
#[tool(read_only)]
async fn count_visits(visits: State<Arc<Visits>>) -> u64 {
    visits.0.0.load(Ordering::Relaxed)
}

async fn page(axum::extract::State(visits): axum::extract::State<Arc<Visits>>) -> String {
    format!("visit {}", visits.0.fetch_add(1, Ordering::Relaxed) + 1)
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let shared = Arc::new(Visits::default());
    let server = Server::new("Visits").state(shared.clone()).tool(count_visits);
    let mcp = App::new().mount("", server, HttpOptions::new());
    let router = Router::new().route("/", get(page)).with_state(shared).merge(mcp.router());

    // Before requests come: lifespans start, and what is wrong is said.
    mcp.start().await?;
    let listener = TcpListener::bind(address).await?;
    eprintln!("http://{}", listener.local_addr()?);
    let stopping = {
        let mcp = mcp.clone();
        async move {
            let _ = tokio::signal::ctrl_c().await;
            // Calls end and streams close; axum waits for all connections afterwards.
            mcp.drain().await;
        }
    };
    let served = axum::serve(listener, router).with_graceful_shutdown(stopping).await;
    mcp.stop().await;
    Ok(served?)
}
