//! What the official conformance suite expects of a server, written with this crate. The address to listen on is the
//! first argument.

use brumate_mcp::{
    Answer, App, Audio, Completion, CompletionRequest, Content, Context, Elicitation, Error, File, HttpOptions, Image,
    Message, ResourceContents, Sampling, ServeError, Server, Tool, ToolResult, completion, prompt, resource, tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpListener;

/// One red pixel.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 2,
    0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3,
    1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// Silence of no length.
const WAV: &[u8] = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0";

fn picture() -> Image {
    Image::new(PNG, "png")
}

/// Text.
#[tool]
async fn test_simple_text() -> Content {
    Content::text("This is a simple text response for testing.")
}

/// A picture.
#[tool]
async fn test_image_content() -> Image {
    picture()
}

/// A recording.
#[tool]
async fn test_audio_content() -> Audio {
    Audio::new(WAV, "wav")
}

/// A resource in the result.
#[tool]
async fn test_embedded_resource() -> ResourceContents {
    ResourceContents::text("test://embedded-resource", "This is an embedded resource content.").mime_type("text/plain")
}

/// Text, a picture and a resource.
#[tool]
async fn test_multiple_content_types() -> (&'static str, Image, ResourceContents) {
    let data = json!({"test": "data", "value": 123}).to_string();
    let resource = ResourceContents::text("test://mixed-content-resource", data).mime_type("application/json");
    ("Multiple content types test:", picture(), resource)
}

/// Logs three times.
#[tool]
async fn test_tool_with_logging(context: Context) -> Content {
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        context.info(message).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Content::text("Logged three messages.")
}

/// Fails.
#[tool]
async fn test_error_handling() -> Result<Content, Error> {
    Err(Error::new("This tool intentionally returns an error for testing"))
}

/// Reports progress.
#[tool]
async fn test_tool_with_progress(context: Context) -> Content {
    for done in [0.0, 50.0, 100.0] {
        context.progress(done, Some(100.0)).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Content::text("Done.")
}

/// Asks the client's model.
#[tool]
async fn test_sampling(prompt: String, context: Context) -> Result<Content, Error> {
    let sampled = context.sample(Sampling::new(prompt).max_tokens(100)).await?;
    Ok(Content::text(format!("LLM response: {}", sampled.text())))
}

/// Who somebody is.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Person {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

fn told<T: Serialize>(answer: Answer<T>) -> String {
    match answer {
        Answer::Accepted(content) => {
            format!("action=accept, content={}", serde_json::to_string(&content).unwrap_or_default())
        }
        Answer::Declined => "action=decline, content={}".to_owned(),
        Answer::Cancelled => "action=cancel, content={}".to_owned(),
    }
}

/// Asks the client's user.
#[tool]
async fn test_elicitation(message: String, context: Context) -> Result<Content, Error> {
    let answer = context.elicit(Elicitation::<Person>::form(message)).await?;
    Ok(Content::text(format!("User response: {}", told(answer))))
}

#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "lowercase")]
enum Status {
    #[default]
    Active,
    Inactive,
    Pending,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Defaults {
    name: String,
    age: i32,
    score: f64,
    status: Status,
    verified: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { name: "John Doe".to_owned(), age: 30, score: 95.5, status: Status::Active, verified: true }
    }
}

/// Asks with defaults.
#[tool]
async fn test_elicitation_sep1034_defaults(context: Context) -> Result<Content, Error> {
    let answer = context.elicit(Elicitation::<Defaults>::form("Please confirm")).await?;
    Ok(Content::text(format!("Elicitation completed: {}", told(answer))))
}

/// Asks with all kinds of choices.
#[tool]
async fn test_elicitation_sep1330_enums(context: Context) -> Result<Content, Error> {
    let titled = |titles: [(&str, &str); 3]| titles.map(|(value, title)| json!({"const": value, "title": title}));
    let choices = titled([("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")]);
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled([
                ("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option"),
            ])},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
            "titledMulti": {"type": "array", "items": {"anyOf": choices}},
        },
        "required": [],
    });
    let answer = context.elicit(Elicitation::schema("Please choose", schema)).await?;
    Ok(Content::text(format!("Elicitation completed: {}", told(answer))))
}

/// Lets go of its connection, and answers when the client is back.
#[tool]
async fn test_reconnection(context: Context) -> Content {
    context.release_connection();
    tokio::time::sleep(Duration::from_millis(100)).await;
    Content::text("Reconnection test completed successfully.")
}

/// Takes a value that an HTTP header repeats.
#[tool]
async fn test_custom_header(#[arg(header = "Value")] value: String) -> String {
    value
}

/// Needs the client's model.
#[tool]
async fn test_missing_capability(context: Context) -> Result<Content, Error> {
    let sampled = context.sample(Sampling::new("Anything")).await?;
    Ok(Content::text(sampled.text()))
}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    ok: bool,
}

/// Reports progress, then asks.
#[tool]
async fn test_streaming_elicitation(context: Context) -> Result<Content, Error> {
    context.progress(1.0, Some(2.0)).await;
    let answer = context.elicit(Elicitation::<Confirmation>::form("Go on?")).await?;
    Ok(Content::text(format!("{:?}", answer.accepted().map(|confirmation| confirmation.ok))))
}

/// Logs.
#[tool]
async fn test_logging_tool(context: Context) -> Content {
    context.info("A message").await;
    Content::text("Logged.")
}

/// Changes the list of tools.
#[tool]
async fn test_trigger_tool_change(context: Context) -> Content {
    context.server().notify_tools_changed().await;
    Content::text("Changed.")
}

/// Changes the list of prompts.
#[tool]
async fn test_trigger_prompt_change(context: Context) -> Content {
    context.server().notify_prompts_changed().await;
    Content::text("Changed.")
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

fn ask_name() -> Elicitation<Name> {
    Elicitation::form("What is your name?").key("user_name")
}

/// Asks for a name.
#[tool]
async fn test_input_required_result_elicitation(context: Context) -> Result<Content, Error> {
    let name = context.elicit(ask_name()).await?.accepted();
    Ok(Content::text(format!("Hello, {}!", name.map_or("stranger".to_owned(), |name| name.name))))
}

/// Asks the model.
#[tool]
async fn test_input_required_result_sampling(context: Context) -> Result<Content, Error> {
    let question = Sampling::new("What is the capital of France?").max_tokens(100).key("capital_question");
    Ok(Content::text(context.sample(question).await?.text()))
}

/// Asks for roots.
#[tool]
async fn test_input_required_result_list_roots(context: Context) -> Result<Content, Error> {
    let roots = context.roots_as(Some("client_roots")).await?;
    Ok(Content::text(roots.iter().map(|root| root.uri.clone()).collect::<Vec<_>>().join(", ")))
}

/// Asks, and knows later that it did.
#[tool]
async fn test_input_required_result_request_state(context: Context) -> Result<Content, Error> {
    let state: String = context.once("state", async { Ok("state-ok".to_owned()) }).await?;
    context.elicit(Elicitation::<Confirmation>::form("Please confirm").key("confirm")).await?;
    Ok(Content::text(state))
}

/// Asks three things at once.
#[tool]
async fn test_input_required_result_multiple_inputs(context: Context) -> Result<Content, Error> {
    let greeting = Sampling::new("Generate a greeting").max_tokens(50).key("greeting");
    let (name, greeting, roots) =
        tokio::join!(context.elicit(ask_name()), context.sample(greeting), context.roots_as(Some("client_roots")),);
    let name = name?.accepted().map(|name| name.name).unwrap_or_default();
    Ok(Content::text(format!("{} {name}, {} roots", greeting?.text(), roots?.len())))
}

/// Asks twice.
#[tool]
async fn test_input_required_result_multi_round(context: Context) -> Result<Content, Error> {
    #[derive(Deserialize, JsonSchema)]
    struct Colour {
        color: String,
    }
    let name = context.elicit(Elicitation::<Name>::form("Step 1: What is your name?").key("step1")).await?;
    let colour = Elicitation::<Colour>::form("Step 2: What is your favorite color?").key("step2");
    let colour = context.elicit(colour).await?;
    let (name, colour) = (name.accepted().map(|n| n.name), colour.accepted().map(|c| c.color));
    Ok(Content::text(format!("{name:?} likes {colour:?}")))
}

/// Asks with state nobody may change.
#[tool]
async fn test_input_required_result_tampered_state(context: Context) -> Result<Content, Error> {
    context.elicit(Elicitation::<Confirmation>::form("Please confirm").key("confirm")).await?;
    Ok(Content::text("untouched"))
}

/// Asks what the client can be asked.
#[tool]
async fn test_input_required_result_capabilities(context: Context) -> Result<Content, Error> {
    if context.can_sample() {
        context.sample(Sampling::new("Say something").key("sampled")).await?;
    }
    if context.can_elicit() {
        context.elicit(ask_name()).await?;
    }
    Ok(Content::text("asked"))
}

/// Greets.
#[tool]
async fn greet(name: String) -> Content {
    Content::text(format!("Hello, {name}!"))
}

/// Takes its time.
#[tool(tasks = "optional")]
async fn slow_compute(seconds: f64, #[arg(default = "work")] label: String) -> Content {
    tokio::time::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 600.0))).await;
    Content::text(format!("{label}: done after {seconds} seconds"))
}

/// Fails, in the tool.
#[tool(tasks = "required")]
async fn failing_job() -> Result<Content, Error> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    Err(Error::new("This job fails"))
}

/// Fails, in the protocol.
#[tool(tasks = "optional")]
async fn protocol_error_job() -> Result<Content, Error> {
    Err(Error::protocol(-32603, "This job breaks", None))
}

#[derive(Deserialize, JsonSchema)]
struct Confirmed {
    confirm: bool,
}

/// Asks before it goes on.
#[tool(tasks = "optional")]
async fn confirm_delete(filename: String, context: Context) -> Result<Content, Error> {
    let answer = context.elicit(Elicitation::<Confirmed>::form(format!("Delete {filename}?"))).await?;
    let confirmed = answer.accepted().is_some_and(|answer| answer.confirm);
    Ok(Content::text(if confirmed { "deleted" } else { "kept" }))
}

/// Asks two things at once.
#[tool(tasks = "optional")]
async fn multi_input(context: Context) -> Result<Content, Error> {
    let (name, confirmed) = tokio::join!(
        context.elicit(Elicitation::<Name>::form("What is your name?")),
        context.elicit(Elicitation::<Confirmed>::form("Go on?")),
    );
    Ok(Content::text(format!("{:?} {:?}", name?.accepted().map(|n| n.name), confirmed?.accepted().map(|c| c.confirm))))
}

/// Asks in the call, then goes on as a task.
#[tool(tasks = "required", detaches)]
async fn test_tool_with_task(context: Context) -> Result<Content, Error> {
    let name = context.elicit(ask_name()).await?.accepted().map(|name| name.name);
    context.detach().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(Content::text(format!("Hello, {}!", name.unwrap_or_else(|| "stranger".to_owned()))))
}

fn json_schema_tool() -> Tool {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    });
    Tool::new("json_schema_2020_12_tool")
        .description("Tool with JSON Schema 2020-12 features")
        .raw_handler(|arguments: Value, _| async move { ToolResult::text(arguments.to_string()) })
        .input_schema(schema)
}

/// Text that stays as it is.
#[resource("test://static-text", mime_type = "text/plain")]
async fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// Bytes that stay as they are.
#[resource("test://static-binary", mime_type = "image/png")]
async fn static_binary() -> File {
    File::new("pixel.png", PNG)
}

/// Data by number.
#[resource("test://template/{id}/data", mime_type = "application/json")]
async fn template_data(id: String) -> Value {
    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")})
}

/// Something to watch.
#[resource("test://watched-resource", mime_type = "text/plain")]
async fn watched() -> &'static str {
    "Watched"
}

/// A prompt without arguments.
#[prompt]
async fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// A prompt with two arguments.
#[prompt]
async fn test_prompt_with_arguments(
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

/// A prompt that embeds a resource.
#[prompt]
async fn test_prompt_with_embedded_resource(
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
async fn test_prompt_with_image() -> [Message; 2] {
    [Message::user(picture()), Message::user("Please analyze the image above.")]
}

/// A prompt that asks.
#[prompt]
async fn test_input_required_result_prompt(context: Context) -> Result<String, Error> {
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
async fn words(typed: String) -> Vec<&'static str> {
    ["paris", "park", "party"].into_iter().filter(|word| word.starts_with(&typed)).collect()
}

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
