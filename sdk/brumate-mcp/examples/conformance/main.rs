//! A server with everything that the official conformance suite expects, written with this crate. The first argument is
//! the address to listen on.

mod content;
mod input;
mod items;
mod tasks;

use brumate_mcp::{App, Completion, CompletionRequest, HttpOptions, ServeError, Server};
use tokio::net::TcpListener;
use {content::*, input::*, items::*, tasks::*};

fn server() -> Server {
    Server::new("conformance")
        .version(env!("CARGO_PKG_VERSION"))
        .tool(test_simple_text)
        .tool(test_image_content)
        .tool(test_audio_content)
        .tool(test_embedded_resource)
        .tool(test_multiple_content_types)
        .tool(test_tool_with_logging)
        .tool(test_error_handling)
        .tool(test_tool_with_progress)
        .tool(test_sampling)
        .tool(test_elicitation)
        .tool(test_elicitation_sep1034_defaults)
        .tool(test_elicitation_sep1330_enums)
        .tool(test_reconnection)
        .tool(test_custom_header)
        .tool(test_missing_capability)
        .tool(test_streaming_elicitation)
        .tool(test_logging_tool)
        .tool(test_trigger_tool_change)
        .tool(test_trigger_prompt_change)
        .tool(test_input_required_result_elicitation)
        .tool(test_input_required_result_sampling)
        .tool(test_input_required_result_list_roots)
        .tool(test_input_required_result_request_state)
        .tool(test_input_required_result_multiple_inputs)
        .tool(test_input_required_result_multi_round)
        .tool(test_input_required_result_tampered_state)
        .tool(test_input_required_result_capabilities)
        .tool(greet)
        .tool(slow_compute)
        .tool(failing_job)
        .tool(protocol_error_job)
        .tool(confirm_delete)
        .tool(multi_input)
        .tool(test_tool_with_task)
        .tool(json_schema_tool())
        .resource(static_text)
        .resource(static_binary)
        .resource(template_data)
        .resource(watched)
        .prompt(test_simple_prompt)
        .prompt(test_prompt_with_arguments)
        .prompt(test_prompt_with_embedded_resource)
        .prompt(test_prompt_with_image)
        .prompt(test_input_required_result_prompt)
        .completion(words)
        .completion(Completion::template("test://template/{id}/data", "id", |_: CompletionRequest, _| async {
            vec!["1", "2"]
        }))
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = TcpListener::bind(address).await?;
    eprintln!("http://{}", listener.local_addr()?);
    App::new().mount("", server(), HttpOptions::new()).run_on(listener).await
}
