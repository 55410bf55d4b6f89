//! Names for people: `client_display_names SERVER [ARGUMENT…]`.
#![expect(clippy::print_stdout, reason = "a program for people")]

use brumate_mcp::Client;
use brumate_mcp::client::ClientError;

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().unwrap_or_else(|| "./echo".to_owned());
    let client = Client::stdio(server, arguments).connect().await?;
    // The title, else the name. Lists are read to their end, whatever the size of their pages.
    for tool in client.tools().await? {
        println!("Tool: {}", tool.display_name());
    }
    for resource in client.resources().await? {
        println!("Resource: {} ({})", resource.display_name(), resource.uri);
    }
    for template in client.templates().await? {
        println!("Template: {} ({})", template.display_name(), template.uri_template);
    }
    client.close().await;
    Ok(())
}
