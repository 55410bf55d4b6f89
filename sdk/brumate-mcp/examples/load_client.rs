//! Clients beside each other: this crate's, and rmcp's alone. `bench/run.py` runs them.
//!
//! - `load_client serve`: a server of one tool, `echo`, over standard input and output.
//! - `load_client ours|rmcp legacy|modern CALLS OPEN URL|COMMAND…`: connects, lists the tools, and calls `echo` so many
//!   times, with `OPEN` calls under way at a time. Prints JSON: the seconds of each.

use brumate_mcp::client::Protocol;
use brumate_mcp::{Client, Server, tool};
use futures::{StreamExt as _, TryStreamExt as _};
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ClientConfig, ContentBlock, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use std::error::Error;
use std::io::Write as _;
use std::time::Instant;
use tokio::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Gives back a message.
#[tool]
async fn echo(message: String) -> String {
    message
}

#[tokio::main]
async fn main() -> Result<()> {
    // rmcp's HTTP client takes the program's choice.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let seconds = match words[..] {
        ["serve"] => return Ok(Server::new("Echo").tool(echo).run_stdio().await?),
        ["ours", era, calls, open, ref target @ ..] => ours(era, calls.parse()?, open.parse()?, target).await?,
        ["rmcp", era, calls, open, ref target @ ..] => bare(era, calls.parse()?, open.parse()?, target).await?,
        _ => return Err("serve | ours|rmcp legacy|modern CALLS OPEN URL|COMMAND…".into()),
    };
    let mut output = std::io::stdout();
    writeln!(output, "{{\"connect\": {}, \"list\": {}, \"calls\": {}}}", seconds[0], seconds[1], seconds[2])?;
    Ok(())
}

fn message(number: usize) -> String {
    format!("message {number}")
}

/// Measures this crate's client.
async fn ours(era: &str, calls: usize, open: usize, target: &[&str]) -> Result<[f64; 3]> {
    let protocol = if era == "legacy" { Protocol::Initialize } else { Protocol::Discover };
    let begin = Instant::now();
    let client = match target {
        [url] if url.starts_with("http") => Client::http(*url).protocol(protocol).connect().await?,
        [program, arguments @ ..] => {
            Client::stdio(*program, arguments.iter().copied()).protocol(protocol).connect().await?
        }
        [] => return Err("no target".into()),
    };
    let connected = Instant::now();
    let tools = client.tools().await?;
    let listed = Instant::now();
    assert!(tools.iter().any(|tool| tool.name == "echo"), "no echo");
    let call = async |number| {
        let text = client.call("echo").arg("message", message(number)).await?.text();
        assert_eq!(text, message(number));
        Ok::<_, Box<dyn Error + Send + Sync>>(())
    };
    futures::stream::iter(0..calls).map(call).buffer_unordered(open).try_collect::<()>().await?;
    let called = Instant::now();
    client.close().await;
    Ok([connected - begin, listed - connected, called - listed].map(|time| time.as_secs_f64()))
}

/// Measures rmcp's client.
async fn bare(era: &str, calls: usize, open: usize, target: &[&str]) -> Result<[f64; 3]> {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match era {
        "legacy" => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover { preferred_versions },
    };
    let info = ClientConfig::default();
    let begin = Instant::now();
    let client: RunningService<RoleClient, ClientConfig> = match target {
        [url] if url.starts_with("http") => {
            serve_client_with_lifecycle(info, StreamableHttpClientTransport::from_uri(*url), lifecycle).await?
        }
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments);
            serve_client_with_lifecycle(info, TokioChildProcess::new(command)?, lifecycle).await?
        }
        [] => return Err("no target".into()),
    };
    let connected = Instant::now();
    let tools = client.list_all_tools().await?;
    let listed = Instant::now();
    assert!(tools.iter().any(|tool| tool.name == "echo"), "no echo");
    let call = async |number| {
        let mut arguments = serde_json::Map::new();
        arguments.insert("message".to_owned(), message(number).into());
        let result = client.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
        let [ContentBlock::Text(text)] = &result.content[..] else { return Err("no text".into()) };
        assert_eq!(text.text, message(number));
        Ok::<_, Box<dyn Error + Send + Sync>>(())
    };
    futures::stream::iter(0..calls).map(call).buffer_unordered(open).try_collect::<()>().await?;
    let called = Instant::now();
    client.cancel().await?;
    Ok([connected - begin, listed - connected, called - listed].map(|time| time.as_secs_f64()))
}
