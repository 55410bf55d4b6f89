//! Results of `run_python_code` as text and as JSON.

use brumate_engine_api::Limits;
use brumate_session::{Report, RunStatus, compact_json, strict_json};
use serde_json::{Map, Value, json};

use crate::escape::escape_tag;

/// Name of the field with the exact return value.
const EXACT_VALUE: &str = "return_value_json";

/// Deepest nesting of a value in `return_value`. Readers of JSON allow 128 for the whole message.
const MAX_VALUE_DEPTH: usize = 100;

/// The form of a result's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReturnMode {
    /// Sections between tags, for models.
    #[default]
    Xml,
    /// One JSON object, for programs.
    Json,
}

/// Returns the text of a result in `mode`.
pub fn result_text(report: &Report, limits: &Limits, mode: ReturnMode) -> String {
    match mode {
        ReturnMode::Xml => xml(report, limits),
        ReturnMode::Json => json_text(report, limits),
    }
}

fn xml(report: &Report, limits: &Limits) -> String {
    let mut sections = vec![format!("<status>{}</status>", report.status.as_str())];
    if !report.dependencies.is_empty() {
        let list = json!(report.dependencies).to_string();
        sections.push(format!("<dependencies>{}</dependencies>", escape_tag(&list, "dependencies")));
    }
    let output = report.output_text(limits);
    if !output.is_empty() {
        sections.push(section("output", output.strip_suffix('\n').unwrap_or(&output)));
    }
    match (report.failure(), report.shown_value()) {
        (Some(error), _) => sections.push(section("error", &error)),
        (None, Some(value)) => sections.push(section("return_value", &value.text())),
        (None, None) => {}
    }
    sections.join("\n")
}

fn section(tag: &str, text: &str) -> String {
    format!("<{tag}>\n{}\n</{tag}>", escape_tag(text, tag))
}

/// Returns the fields of [`structured_fields`] as text. Numbers keep all their digits.
fn json_text(report: &Report, limits: &Limits) -> String {
    let mut fields = structured_fields(report, limits);
    let last = match (report.failure(), report.shown_value()) {
        (Some(error), _) => format!("\"error\":{}", json!(error)),
        (None, Some(value)) => format!("\"return_value\":{}", compact_json(&strict_json(&value.json))),
        (None, None) => "\"return_value\":null".to_owned(),
    };
    fields.remove("error");
    fields.remove("return_value");
    fields.remove(EXACT_VALUE);
    let mut text = Value::Object(fields).to_string();
    // Removes the closing brace. The object always has a status.
    text.truncate(text.len() - 1);
    format!("{text},{last}}}")
}

/// Returns the result as a JSON object: `status`, `output` (lines), `dependencies` if any, and `return_value` or
/// `error`. A value that some clients or [`Value`] would change is in `return_value_json` as text. If `Value` would
/// change it, it is not in `return_value`.
pub(crate) fn structured_fields(report: &Report, limits: &Limits) -> Map<String, Value> {
    let output = report.output_text(limits);
    let lines: Vec<&str> = match output.as_str() {
        "" => Vec::new(),
        text => text.strip_suffix('\n').unwrap_or(text).split('\n').collect(),
    };
    let mut fields = Map::new();
    fields.insert("status".to_owned(), json!(report.status.as_str()));
    fields.insert("output".to_owned(), json!(lines));
    if !report.dependencies.is_empty() {
        fields.insert("dependencies".to_owned(), json!(report.dependencies));
    }
    match (report.failure(), report.shown_value()) {
        (Some(error), _) => fields.insert("error".to_owned(), json!(error)),
        (None, Some(value)) => {
            let json = strict_json(&value.json);
            let mended = brumate_json::mend(&json);
            let is_held = !mended.is_changed && mended.depth <= MAX_VALUE_DEPTH;
            let parsed = if is_held { serde_json::from_str(&json).ok() } else { None };
            if parsed.is_none() || mended.has_unsafe_integer {
                fields.insert(EXACT_VALUE.to_owned(), Value::from(compact_json(&json)));
            }
            parsed.and_then(|parsed| fields.insert("return_value".to_owned(), parsed))
        }
        (None, None) => fields.insert("return_value".to_owned(), Value::Null),
    };
    fields
}

/// Returns the text of a result with an error, for a run that did not start.
pub(crate) fn failure_text(message: &str, mode: ReturnMode) -> String {
    let status = RunStatus::RunError.as_str();
    match mode {
        ReturnMode::Xml => format!("<status>{status}</status>\n{}", section("error", message)),
        ReturnMode::Json => json!({"status": status, "output": [], "error": message}).to_string(),
    }
}
