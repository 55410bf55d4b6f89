//! Results of tool calls.

use super::answers::{take_exact, with_numbers_as_text};
use super::error::ClientError;
use crate::content::Content;
use crate::numbers::read;
use rmcp::model as wire;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The result of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CallToolResult {
    /// The content blocks.
    pub content: Vec<Content>,
    /// The structured content, of tools with an output schema. A number that a [`Value`] would round, such as an integer of more than 64
    /// bits, is a string here: [`CallToolResult::parse`] reads it exactly.
    pub structured: Option<Value>,
    /// Whether the tool failed. The content says why.
    pub is_error: bool,
    /// The result's `_meta`.
    pub meta: Map<String, Value>,
    /// The structured content as JSON, if `structured` differs.
    pub(super) exact: Option<String>,
}

impl CallToolResult {
    pub(super) fn from_wire(result: wire::CallToolResult) -> Self {
        let mut meta = result.meta.map(|meta| meta.0).unwrap_or_default();
        let exact = take_exact(&mut meta, result.structured_content.as_ref());
        Self {
            content: result.content.into_iter().map(Content::from_wire).collect(),
            structured: exact.as_deref().map(with_numbers_as_text).or(result.structured_content),
            is_error: result.is_error.unwrap_or(false),
            meta,
            exact,
        }
    }

    /// Returns the structured content with all numbers as numbers, rounded if need be.
    pub(super) fn rounded(&self) -> Option<Cow<'_, Value>> {
        match &self.exact {
            Some(exact) => serde_json::from_str(&brumate_json::mend(exact).text).ok().map(Cow::Owned),
            None => self.structured.as_ref().map(Cow::Borrowed),
        }
    }

    /// Returns the text of all text blocks, a line each.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }

    /// Returns the result as the protocol writes it (`CallToolResult`).
    pub fn to_json(&self) -> Value {
        let content: Vec<wire::ContentBlock> = self.content.iter().cloned().map(Content::into_wire).collect();
        let mut result = json!({"content": content, "isError": self.is_error});
        if let Some(structured) = &self.structured {
            result["structuredContent"] = structured.clone();
        }
        if !self.meta.is_empty() {
            result["_meta"] = self.meta.clone().into();
        }
        result
    }

    /// Returns the text of [`CallToolResult::to_json`], in which all numbers are exact.
    pub fn to_json_text(&self) -> String {
        let text = format!("{:#}", self.to_json());
        match &self.exact {
            Some(exact) => brumate_json::replace_in_object(&text, &["structuredContent"], exact).into_owned(),
            None => text,
        }
    }

    /// Returns the result unless the tool failed.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Tool`] if it failed.
    pub fn ok(self) -> Result<Self, ClientError> {
        if self.is_error { Err(ClientError::Tool(Box::new(self))) } else { Ok(self) }
    }

    /// Reads the result as a `T`: its structured content, else its text as JSON, else its text. Structured content with
    /// the single field `result` comes from tools whose value is no object. If it does not parse as a `T`, the field's
    /// value is read.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError::Tool`] if the tool failed, and [`ClientError::InvalidResult`] if the result is no `T`.
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        let result = self.ok()?;
        let invalid = |error: serde_json::Error| ClientError::InvalidResult(error.to_string());
        if let Some(exact) = result.exact {
            let wrapped = match brumate_json::members(&exact).as_deref() {
                Ok([(name, value)]) if name == "result" => Some(value.get()),
                _ => None,
            };
            return match (brumate_json::from_str(&exact), wrapped) {
                (Err(_), Some(value)) => brumate_json::from_str(value).map_err(invalid),
                (parsed, _) => parsed.map_err(invalid),
            };
        }
        if let Some(structured) = result.structured {
            let wrapped = match &structured {
                Value::Object(object) if object.len() == 1 => object.get("result").cloned(),
                _ => None,
            };
            return match (read(structured, serde_json::from_value), wrapped) {
                (Err(_), Some(value)) => read(value, serde_json::from_value).map_err(invalid),
                (parsed, _) => parsed.map_err(invalid),
            };
        }
        let text = result.text();
        // A text in quotes is a text before it is JSON.
        if text.starts_with('"')
            && let Ok(text) = serde_json::from_value(text.as_str().into())
        {
            return Ok(text);
        }
        brumate_json::from_str(&text).or_else(|error| serde_json::from_value(text.into()).map_err(|_| invalid(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(structured: Option<Value>, text: &str) -> CallToolResult {
        CallToolResult { content: vec![Content::text(text)], structured, ..CallToolResult::default() }
    }

    #[test]
    fn a_result_is_read_as_what_it_is() {
        assert_eq!(result(Some(json!({"result": 3})), "3").parse::<i64>().unwrap(), 3);
        assert_eq!(result(None, "[1, 2]").parse::<Vec<i64>>().unwrap(), [1, 2]);
        assert_eq!(result(None, "not JSON").parse::<String>().unwrap(), "not JSON");
        assert_eq!(result(None, "\"quoted\"").parse::<String>().unwrap(), "\"quoted\"");
        assert_eq!(result(None, "3").parse::<String>().unwrap(), "3");
        assert_eq!(result(Some(json!({"result": 3.0})), "3.0").parse::<u8>().unwrap(), 3);
        assert_eq!(result(Some(json!({"result": 3})), "").parse::<Value>().unwrap(), json!({"result": 3}));
        let error = result(Some(json!({"a": 1})), "").parse::<i64>().unwrap_err();
        assert!(matches!(error, ClientError::InvalidResult(_)), "{error}");
        let failed = CallToolResult { is_error: true, ..result(None, "no such city") };
        assert_eq!(failed.parse::<String>().unwrap_err().to_string(), "the tool failed: no such city");
    }
}
