//! Tools whose results are content, log messages, progress and changes.

use brumate_mcp::{Audio, Content, Context, Error, Image, ResourceContents, Tool, ToolResult, tool};
use serde_json::{Value, json};
use std::time::Duration;

/// One red pixel.
pub(crate) const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 2,
    0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3,
    1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// Silence of no length.
pub(crate) const WAV: &[u8] =
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\0\0\0\0";

pub(crate) fn picture() -> Image {
    Image::new(PNG, "png")
}

/// Text.
#[tool]
pub(crate) async fn test_simple_text() -> Content {
    Content::text("This is a simple text response for testing.")
}

/// A picture.
#[tool]
pub(crate) async fn test_image_content() -> Image {
    picture()
}

/// A recording.
#[tool]
pub(crate) async fn test_audio_content() -> Audio {
    Audio::new(WAV, "wav")
}

/// A resource in the result.
#[tool]
pub(crate) async fn test_embedded_resource() -> ResourceContents {
    ResourceContents::text("test://embedded-resource", "This is an embedded resource content.").mime_type("text/plain")
}

/// Text, a picture and a resource.
#[tool]
pub(crate) async fn test_multiple_content_types() -> (&'static str, Image, ResourceContents) {
    let data = json!({"test": "data", "value": 123}).to_string();
    let resource = ResourceContents::text("test://mixed-content-resource", data).mime_type("application/json");
    ("Multiple content types test:", picture(), resource)
}

/// Logs three times.
#[tool]
pub(crate) async fn test_tool_with_logging(context: Context) -> Content {
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        context.info(message).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Content::text("Logged three messages.")
}

/// Fails.
#[tool]
pub(crate) async fn test_error_handling() -> Result<Content, Error> {
    Err(Error::new("This tool intentionally returns an error for testing"))
}

/// Reports progress.
#[tool]
pub(crate) async fn test_tool_with_progress(context: Context) -> Content {
    for done in [0.0, 50.0, 100.0] {
        context.progress(done, Some(100.0)).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Content::text("Done.")
}

/// Lets go of its connection, and answers when the client is back.
#[tool]
pub(crate) async fn test_reconnection(context: Context) -> Content {
    context.release_connection();
    tokio::time::sleep(Duration::from_millis(100)).await;
    Content::text("Reconnection test completed successfully.")
}

/// Takes a value that an HTTP header repeats.
#[tool]
pub(crate) async fn test_custom_header(#[arg(header = "Value")] value: String) -> String {
    value
}

/// Logs.
#[tool]
pub(crate) async fn test_logging_tool(context: Context) -> Content {
    context.info("A message").await;
    Content::text("Logged.")
}

/// Changes the list of tools.
#[tool]
pub(crate) async fn test_trigger_tool_change(context: Context) -> Content {
    context.server().notify_tools_changed().await;
    Content::text("Changed.")
}

/// Changes the list of prompts.
#[tool]
pub(crate) async fn test_trigger_prompt_change(context: Context) -> Content {
    context.server().notify_prompts_changed().await;
    Content::text("Changed.")
}

pub(crate) fn json_schema_tool() -> Tool {
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
