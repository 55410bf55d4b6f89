//! Lists in pages: 100 resources, ten at a time.

use brumate_mcp::prelude::*;

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let items = (1..=100).map(|number| {
        Resource::new(format!("resource://items/{number}"))
            .name(format!("Item {number}"))
            .handler(move |_, _| async move { format!("the item {number}") })
    });
    Server::new("paginated-server").page_size(10).resources(items.collect::<Vec<_>>()).run_stdio().await
}
