//! A server in an application of axum.

use axum::Router;
use axum::routing::get;
use brumate_mcp::prelude::*;

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let app = App::new().mount("", Server::new("Demo").tool(add), HttpOptions::new());
    let router = Router::new().route("/", get("a page")).merge(app.router());
    app.start().await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    let stopping = {
        let app = app.clone();
        async move {
            let _ = tokio::signal::ctrl_c().await;
            app.drain().await;
        }
    };
    axum::serve(listener, router).with_graceful_shutdown(stopping).await?;
    app.stop().await;
    Ok(())
}
