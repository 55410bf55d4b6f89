//! Results of the client's features: elicitation, sampling, roots.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The result of an elicitation: the user's action, with the content of a form (`ElicitResult`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElicitationResult<T> {
    /// The user accepted, with this content.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user dismissed it without a choice.
    Cancelled,
}

impl<T> ElicitationResult<T> {
    /// Returns the content, if the user accepted.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// The result of an elicitation by URL, which has no content.
pub type UrlElicitationResult = ElicitationResult<()>;

/// The answer of a client's model (`CreateMessageResult`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingResult {
    /// The name of the model.
    pub model: String,
    /// The reason why the model stopped, such as `endTurn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The content block or blocks, as the protocol has them.
    pub content: Value,
}

impl SamplingResult {
    /// Makes the answer of a model: a text after which the model stopped by itself (`endTurn`).
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        let content = serde_json::json!({"type": "text", "text": text.into()});
        Self { model: model.into(), stop_reason: Some("endTurn".to_owned()), content }
    }

    /// Returns the text of all text blocks.
    pub fn text(&self) -> String {
        let blocks = match &self.content {
            Value::Array(blocks) => blocks.as_slice(),
            block => std::slice::from_ref(block),
        };
        blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect()
    }
}

/// A directory or file that the server may work with, as the client says (`Root`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The URI: `file://…`.
    pub uri: String,
    /// The name that people see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// Makes the root for an absolute path.
    pub fn new(path: impl AsRef<std::path::Path>) -> Self {
        let path = path.as_ref().to_string_lossy();
        let encoded = percent_encoding::utf8_percent_encode(path.trim_start_matches('/'), crate::media::PATH);
        Self { uri: format!("file:///{encoded}"), name: None }
    }

    /// Sets the name that people see.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}
