//! x
mod completion;
mod connection;
mod content;
mod context;
mod error;
mod handler;
mod http;
mod prompt;
mod registry;
mod resource;
mod result;
mod run;
mod schema;
mod server;
mod stdio;
mod template;
mod tool;

pub use brumate_mcp_macros::{completion, prompt, resource, tool};
pub use completion::{Completion, CompletionRequest, IntoSuggestions};
pub use content::{Annotations, Audio, Content, File, Icon, Image, Role};
pub use context::{
    Answer, ClientInfo, Context, Elicitation, Level, Root, Sampled, Sampling, State, UrlAnswer,
};
pub use error::{Error, Result, ServeError};
pub use http::{App, HttpOptions, HttpService, Resumption};
pub use prompt::{IntoMessages, Message, Prompt, PromptArgument, PromptRequest};
pub use resource::{IntoResourceContents, Resource, ResourceContents, ResourceRequest};
pub use result::{IntoToolResult, Json, ToolResult};
pub use server::{CacheScope, Server};
pub use tool::Tool;

#[doc(hidden)]
pub mod private;

/// Bytes nobody can guess.
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // The system's generator fails on no supported system; were it to, nothing here could be trusted.
    getrandom::fill(&mut bytes).expect("the system's random generator works");
    bytes
}

/// An identifier nobody can guess.
fn random_id() -> String {
    random_bytes::<16>().iter().map(|byte| format!("{byte:02x}")).collect()
}
