//! Suggestions for arguments: `client_completions SERVER`, with the example `prompts` as the server.
#![expect(clippy::print_stdout, reason = "a program for people")]

use brumate_mcp::Client;
use brumate_mcp::client::{ClientError, CompletionRef};

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().unwrap_or_else(|| "./prompts".to_owned());
    let client = Client::stdio(server, arguments).connect().await?;
    for prompt in client.prompts().await? {
        for argument in &prompt.arguments {
            let found = client.complete(CompletionRef::prompt(&prompt.name), &argument.name, "P").await?;
            println!("{} of {}: {}", argument.name, prompt.name, found.values.join(", "));
        }
    }
    client.close().await;
    Ok(())
}
