//! A client of a protected server, with a store of tokens of its own: `client_oauth http://127.0.0.1:8000/mcp`, with
//! the example `authorization` as the server.
#![expect(clippy::print_stdout, reason = "a program for people")]

use brumate_mcp::client::{ClientError, OAuth, StoredTokens, TokenStore, TokenStoreError};
use brumate_mcp::{Client, async_trait};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Keeps tokens in memory. `MemoryTokenStore` and `FileTokenStore` are there to be used as they are.
#[derive(Default)]
struct CustomTokens {
    kept: Mutex<HashMap<String, StoredTokens>>,
    turn: Arc<Mutex<()>>,
}

#[async_trait]
impl TokenStore for CustomTokens {
    async fn load(&self, server: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
        Ok(self.kept.lock().await.get(server).cloned())
    }

    async fn save(&self, server: &str, stored: &StoredTokens) -> Result<(), TokenStoreError> {
        self.kept.lock().await.insert(server.to_owned(), stored.clone());
        Ok(())
    }

    async fn remove(&self, server: &str) -> Result<(), TokenStoreError> {
        self.kept.lock().await.remove(server);
        Ok(())
    }

    async fn lock(&self, _server: &str) -> Result<Box<dyn Any + Send>, TokenStoreError> {
        Ok(Box::new(self.turn.clone().lock_owned().await))
    }
}

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:8000/mcp".to_owned());
    // The answer comes to a port of this machine.
    let oauth = OAuth::new("My Client").token_store(CustomTokens::default()).on_page(|page| println!("Visit: {page}"));
    let client = Client::http(url).auth(oauth).connect().await?;
    for tool in client.tools().await? {
        println!("tool {}", tool.name);
    }
    println!("{}", client.call("who").await?.text());
    client.close().await;
    Ok(())
}
