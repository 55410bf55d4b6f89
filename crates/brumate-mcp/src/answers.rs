//! Answers of clients to questions of servers: forms and pages, sampling, roots.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer of a user to a form or a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// The user accepted, with this content.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user closed it without a choice.
    Cancelled,
}

impl<T> Answer<T> {
    /// Returns the content, if the user accepted.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// The answer of a user to a page. It has no content.
pub type UrlAnswer = Answer<()>;

/// The answer of a client's model (`CreateMessageResult`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sampled {
    /// The model's name.
    pub model: String,
    /// Why it stopped, such as `endTurn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The content block or blocks, as in the protocol.
    pub content: Value,
}

impl Sampled {
    /// Makes an answer of the model called `model`: a text, after which the model stopped by itself (`endTurn`).
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

/// A directory or file that the client says the server may work with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Its address, a `file:` one.
    pub uri: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Root {
    /// Names the directory or file at an absolute path.
    pub fn new(path: impl AsRef<std::path::Path>) -> Self {
        let path = path.as_ref().to_string_lossy();
        let encoded = percent_encoding::utf8_percent_encode(path.trim_start_matches('/'), crate::content::PATH);
        Self { uri: format!("file:///{encoded}"), name: None }
    }

    /// Sets its name for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}
