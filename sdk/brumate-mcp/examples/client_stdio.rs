//! A client of a server that it starts: `client_stdio SERVER [ARGUMENT…]` uses what `quickstart` and the like offer.
#![expect(clippy::print_stdout, reason = "a program for people")]

use brumate_mcp::client::{ClientError, SamplingRequest};
use brumate_mcp::{Client, SamplingResult};

/// Answers what the server asks the model.
async fn sample(request: SamplingRequest) -> Result<SamplingResult, ClientError> {
    Ok(SamplingResult::new("no-model", format!("Hello, world! You asked: {}", request.prompt())))
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().unwrap_or_else(|| "./quickstart".to_owned());
    let client = Client::stdio(server, arguments).env("LANG", "C").on_sampling(sample).connect().await?;
    println!("{} speaks {}", client.server_info().name, client.protocol_version());
    for prompt in client.prompts().await? {
        println!("prompt {}", prompt.name);
        let call = prompt.arguments.iter().fold(client.prompt(&prompt.name), |call, it| call.arg(&it.name, "value"));
        for message in call.await?.messages {
            println!("  {}", message.content.as_text().unwrap_or("(no text)"));
        }
    }
    for template in client.templates().await? {
        println!("template {}", template.uri_template);
    }
    for resource in client.resources().await? {
        let contents = client.read(&resource.uri).await?;
        println!("resource {}: {}", resource.uri, contents[0].as_text().unwrap_or("(bytes)"));
    }
    for tool in client.tools().await? {
        println!("tool {}: {}", tool.name, tool.description.unwrap_or_default());
    }
    client.close().await;
    Ok(())
}
