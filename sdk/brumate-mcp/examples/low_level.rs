//! A handler of rmcp's own, for what `Server` has no word for, over this crate's HTTP: sessions, checks of hosts and
//! origins, limits.

use brumate_mcp::lowlevel::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use brumate_mcp::lowlevel::rmcp::service::RequestContext;
use brumate_mcp::lowlevel::rmcp::{ErrorData, RoleServer, ServerHandler};
use brumate_mcp::{App, HttpOptions, Principal, ServeError};
use serde_json::json;
use tokio::net::TcpListener;

/// Offers a tool for each language, which greets whoever has signed in. One is made for each session.
#[derive(Clone)]
struct Greetings {
    principal: Option<Principal>,
}

const WORDS: [(&str, &str); 3] = [("english", "Hello"), ("french", "Bonjour"), ("german", "Guten Tag")];

impl ServerHandler for Greetings {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object"}).as_object().cloned().unwrap_or_default();
        let tools = WORDS.map(|(language, _)| Tool::new(language, format!("Greets in {language}."), schema.clone()));
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some((_, word)) = WORDS.iter().find(|(language, _)| *language == request.name) else {
            return Err(ErrorData::invalid_params(format!("unknown tool: {}", request.name), None));
        };
        let whom = self.principal.as_ref().map_or("stranger", |principal| principal.name());
        Ok(CallToolResult::success(vec![ContentBlock::text(format!("{word}, {whom}!"))]).into())
    }
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("http://{}", listener.local_addr()?);
    App::new()
        .mount_handlers("", |principal| Greetings { principal: principal.cloned() }, HttpOptions::new())
        .run_on(listener)
        .await
}
