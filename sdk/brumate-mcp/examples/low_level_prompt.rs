//! A handler of rmcp's own over standard input and output, with a prompt.

use brumate_mcp::lowlevel::rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult, PaginatedRequestParams, Prompt,
    PromptArgument, PromptMessage, Role, ServerCapabilities, ServerConfig,
};
use brumate_mcp::lowlevel::rmcp::service::{RequestContext, ServiceExt as _};
use brumate_mcp::lowlevel::rmcp::{ErrorData, RoleServer, ServerHandler, transport};

const NAME: &str = "example-prompt";

#[derive(Clone)]
struct Example;

impl ServerHandler for Example {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_prompts().build())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument = PromptArgument::new("arg1").with_description("Example argument").with_required(true);
        let prompt = Prompt::new(NAME, Some("An example prompt template"), Some(vec![argument]));
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != NAME {
            return Err(ErrorData::invalid_params(format!("Unknown prompt: {}", request.name), None));
        }
        let message = PromptMessage::new_text(Role::User, "Example prompt text");
        Ok(GetPromptResult::new(vec![message]).with_description("Example prompt").into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Example.serve(transport::stdio()).await?.waiting().await?;
    Ok(())
}
