//! Requests of a client.

use brumate_mcp::Client;
use brumate_mcp::client::{ClientError, CompletionRef};

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let client = Client::http("http://127.0.0.1:8000/mcp").bearer("ada-token").connect().await?;
    for template in client.templates().await? {
        println!("{}: {:?}", template.uri_template, template.description);
    }
    let titles = client.complete(CompletionRef::template("books://{title}"), "title", "du").await?;
    for title in titles.values {
        for part in client.read(format!("books://{title}")).await? {
            println!("{}: {}", part.uri(), part.as_text().unwrap_or("bytes"));
        }
    }
    for message in client.prompt("review").arg("title", "Dune").await?.messages {
        println!("{:?}: {}", message.role, message.content.as_text().unwrap_or("no text"));
    }
    client.close().await;
    Ok(())
}
