//! Results of the tools on sessions: JSON of bounded size, with images and links to files.

mod pictures;

use brumate_engine_api::Limits;
use brumate_mcp::{Content, Image, Resource, ToolResult};
use brumate_session::ShownImage;
use brumate_session::explain;
use brumate_session::sessions::{ANSWER_BYTES, CellReport, FullText, SessionError, SessionFile};
use brumate_session::units::format_size;
use serde_json::{Value, json};

use crate::uri::file_uri;

/// Most images of one result.
const MAX_IMAGES: usize = 8;
/// Longest error message, in bytes. The middle of a longer one is left out.
const MAX_ERROR_BYTES: usize = 8 << 10;
/// Longest traceback, in bytes. The middle of a longer one is left out.
const MAX_TRACEBACK_BYTES: usize = 16 << 10;

/// Returns a result with this structured content, and the same JSON as text.
pub(crate) fn structured(value: Value) -> ToolResult {
    // Serializing a `Value` never fails.
    ToolResult::text(serde_json::to_string_pretty(&value).unwrap_or_default()).structured(value).omit_is_error()
}

/// Returns the text of an error for the model. Errors of the engine and of the storage are logged as well.
pub(crate) fn error_text(error: &SessionError) -> String {
    if matches!(error, SessionError::Engine(_) | SessionError::Storage(_)) {
        tracing::error!(%error, "a call on a session failed");
    }
    error.to_string()
}

/// Returns a file as results list it.
pub(crate) fn file(id: &str, file: &SessionFile) -> Value {
    json!({"uri": file_uri(id, &file.name), "mime_type": file.mime, "name": file.name, "size": file.size})
}

/// Returns a file as a resource.
pub(crate) fn resource(id: &str, file: &SessionFile) -> Resource {
    Resource::new(file_uri(id, &file.name)).name(&file.name).mime_type(&file.mime).size(file.size)
}

/// Returns the `session_info` of a new session. `timeout`: its session timeout as text.
pub(crate) fn session_info(id: &str, timeout: Option<String>) -> Value {
    let expiry = match timeout {
        Some(timeout) => format!("Session will expire after {timeout} of inactivity."),
        None => "Session will not expire.".to_owned(),
    };
    json!({
        "session_id": id,
        "instructions": format!("Use this `session_id` in subsequent requests to maintain state. {expiry}"),
    })
}

/// Returns the result of `execute_code` for code that was not run.
pub(crate) fn execute_error(error: &str) -> ToolResult {
    structured(json!({
        "success": false,
        "output": [],
        "result": null,
        "error": error,
        "traceback": [],
        "files": [],
        "session_info": null,
    }))
}

/// Returns the result of `execute_code`.
pub(crate) async fn execute_result(report: CellReport, limits: &Limits, timeout: Option<String>) -> ToolResult {
    let id = report.id.as_str();
    let (output, value) = bounded_text(&report, limits);
    let traceback = elide_middle(&report.run.traceback.join("\n"), MAX_TRACEBACK_BYTES, None);
    let traceback: Vec<&str> = if traceback.is_empty() { Vec::new() } else { traceback.split('\n').collect() };
    let content = json!({
        "success": report.run.is_success(),
        "output": output,
        "result": value,
        "error": report.run.error.as_ref().map(|error| elide_middle(error, MAX_ERROR_BYTES, None)),
        "traceback": traceback,
        "files": report.files.iter().map(|listed| file(id, listed)).collect::<Vec<_>>(),
        "session_info": report.created.then(|| session_info(id, timeout)),
    });
    let mut result = structured(content);
    let links: Vec<Resource> = report.files.iter().map(|listed| resource(id, listed)).collect();
    result.extend(image_blocks(report.run.images).await);
    result.extend(links);
    result
}

/// Returns output and result, without the middle of texts that are too long for an answer. Notes about files and dropped output
/// follow the output.
fn bounded_text(report: &CellReport, limits: &Limits) -> (Vec<String>, Option<String>) {
    let pointer = match &report.full_text {
        FullText::InAnswer => None,
        FullText::InFile(name) => Some(format!("all of it: {}", file_uri(report.id.as_str(), name))),
        FullText::Unavailable(reason) => Some(format!("it could not be kept: {reason}")),
    };
    let mut output: Vec<String> = report.run.output.iter().map(|chunk| chunk.text.clone()).collect();
    let mut value = report.run.result.clone();
    if let Some(pointer) = &pointer {
        let room = ANSWER_BYTES / 2;
        if output.iter().map(String::len).sum::<usize>() > room {
            output = vec![elide_middle(&output.concat(), room, Some(pointer))];
        }
        value = value.map(|value| elide_middle(&value, room, Some(pointer)));
    }
    if report.run.output_dropped > 0 {
        output.push(explain::output_dropped(report.run.output_dropped, limits));
    }
    output.extend(
        report.files.iter().map(|file| format!("📊 File created: {} ({}, {} bytes)", file.name, file.mime, file.size)),
    );
    if report.files_left_out > 0 {
        output.push(format!("{} more files were created or changed", report.files_left_out));
    }
    if !report.files_elsewhere.is_empty() {
        output.push(explain::files_elsewhere(&report.files_elsewhere, report.files_elsewhere_left_out));
    }
    (output, value)
}

/// Removes the middle of a text that is longer than `room` bytes. A line in its place has the size of the removed part and
/// `pointer`, which says where the whole text is.
fn elide_middle(text: &str, room: usize, pointer: Option<&str>) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let mut head = room / 4 * 3;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - room / 4;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    let pointer = pointer.map(|pointer| format!("; {pointer}")).unwrap_or_default();
    let cut = format_size((tail - head) as u64);
    format!("{}\n[{cut} were cut here{pointer}]\n{}", &text[..head], &text[tail..])
}

/// Returns images as content blocks. Large ones are made smaller, on a blocking thread.
pub(crate) async fn image_blocks(images: Vec<ShownImage>) -> Vec<Content> {
    if images.is_empty() {
        return Vec::new();
    }
    let fitted = tokio::task::spawn_blocking(move || {
        let fitting = images.into_iter().filter_map(|image| pictures::fit(image.bytes));
        fitting.take(MAX_IMAGES).map(|(bytes, mime)| Content::from(Image::new(bytes, mime))).collect()
    });
    // When the decoder panics, the result has no images.
    fitted.await.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(elide_middle("short", 8, None), "short");
        let text = "é".repeat(10_000);
        let short = elide_middle(&text, 1000, Some("all of it: kernel://x/y"));
        assert!(short.len() < 1100);
        assert!(short.contains("\n[18.5 KiB were cut here; all of it: kernel://x/y]\n"), "{short}");
    }
}
