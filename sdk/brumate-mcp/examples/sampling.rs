//! A question to the client's model.

use brumate_mcp::prelude::*;

/// Has the client's model write a poem.
#[tool]
async fn generate_poem(topic: String, context: Context) -> Result<String, Error> {
    let request = Sampling::new(format!("Write a short poem about {topic}")).max_tokens(100);
    Ok(context.sample(request).await?.text())
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("Sampling Example").tool(generate_poem).run_stdio().await
}
