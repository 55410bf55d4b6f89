//! A client of a server over streamable HTTP: `client_http http://127.0.0.1:8000/mcp`.
#![expect(clippy::print_stdout, reason = "a program for people")]

use brumate_mcp::Client;
use brumate_mcp::client::ClientError;

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:8000/mcp".to_owned());
    let client = Client::http(url).connect().await?;
    println!("{}", client.call("echo").arg("message", "hello").await?.text());
    client.close().await;
    Ok(())
}
