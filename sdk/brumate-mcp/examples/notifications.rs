//! Log messages at four levels, and news: a tool adds a tool, and changes a resource.

use brumate_mcp::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often something was processed.
#[derive(Default)]
struct Count(AtomicU64);

/// Processes data, and logs it.
#[tool]
async fn process_data(data: String, count: State<Count>, context: Context) -> String {
    context.debug(format!("Processing '{data}'")).await;
    context.info("Starting").await;
    context.warning("This is experimental").await;
    context.error("(This is just a demo)").await;
    count.0.0.fetch_add(1, Ordering::Relaxed);
    // To those who have subscribed to it.
    context.server().notify_resource_updated("count://processed").await;
    format!("Processed: {data}")
}

/// How often something was processed.
#[resource("count://processed", mime_type = "text/plain")]
async fn processed(count: State<Count>) -> String {
    count.0.0.load(Ordering::Relaxed).to_string()
}

/// Adds the tool `more`.
#[tool]
async fn add_more(context: Context) -> Result<(), Error> {
    let more = Tool::new("more").description("Does more.").raw_handler(|_, _| async { "done" });
    context.server().add_tool(more)?;
    // To all who listen.
    context.server().notify_tools_changed().await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("Notifications Example")
        .state(Count::default())
        .tools((process_data, add_more))
        .resource(processed)
        .run_stdio()
        .await
}
