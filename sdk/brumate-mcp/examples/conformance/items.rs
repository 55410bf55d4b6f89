//! Resources, prompts and completions.

use crate::content::{PNG, picture};
use brumate_mcp::{Context, Elicitation, Error, File, Message, ResourceContents, completion, prompt, resource};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Text that stays as it is.
#[resource("test://static-text", mime_type = "text/plain")]
pub(crate) async fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// Bytes that stay as they are.
#[resource("test://static-binary", mime_type = "image/png")]
pub(crate) async fn static_binary() -> File {
    File::new("pixel.png", PNG)
}

/// Data by number.
#[resource("test://template/{id}/data", mime_type = "application/json")]
pub(crate) async fn template_data(id: String) -> Value {
    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")})
}

/// Something to watch.
#[resource("test://watched-resource", mime_type = "text/plain")]
pub(crate) async fn watched() -> &'static str {
    "Watched"
}

/// A prompt without arguments.
#[prompt]
pub(crate) async fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// A prompt with two arguments.
#[prompt]
pub(crate) async fn test_prompt_with_arguments(
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

/// A prompt that embeds a resource.
#[prompt]
pub(crate) async fn test_prompt_with_embedded_resource(
    /// URI of the resource to embed
    #[arg(name = "resourceUri")]
    resource_uri: String,
) -> [Message; 2] {
    let resource =
        ResourceContents::text(resource_uri, "Embedded resource content for testing.").mime_type("text/plain");
    [Message::user(resource), Message::user("Please process the embedded resource above.")]
}

/// A prompt with a picture.
#[prompt]
pub(crate) async fn test_prompt_with_image() -> [Message; 2] {
    [Message::user(picture()), Message::user("Please analyze the image above.")]
}

/// A prompt that asks.
#[prompt]
pub(crate) async fn test_input_required_result_prompt(context: Context) -> Result<String, Error> {
    #[derive(Deserialize, JsonSchema)]
    struct Background {
        context: String,
    }
    let question = Elicitation::<Background>::form("What context should the prompt use?").key("user_context");
    let answer = context.elicit(question).await?.accepted();
    Ok(format!("Use this context: {}", answer.map(|answer| answer.context).unwrap_or_default()))
}

/// Words that begin with what has been typed.
#[completion(prompt = "test_prompt_with_arguments", argument = "arg1")]
pub(crate) async fn words(typed: String) -> Vec<&'static str> {
    ["paris", "park", "party"].into_iter().filter(|word| word.starts_with(&typed)).collect()
}
