//! What clients answer when servers ask them: their users' input, their models' words, their roots.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the user made of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// Filled in and sent.
    Accepted(T),
    /// Refused.
    Declined,
    /// Put away without a choice.
    Cancelled,
}

impl<T> Answer<T> {
    /// What was filled in, if it was.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// What the user made of a page to visit.
pub type UrlAnswer = Answer<()>;

/// What a client's model said.
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
    /// An answer of the model called `model`: text, after which it stopped by itself.
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        let content = serde_json::json!({"type": "text", "text": text.into()});
        Self { model: model.into(), stop_reason: Some("endTurn".to_owned()), content }
    }

    /// The text of all text blocks.
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
    /// The directory or file at an absolute path.
    pub fn new(path: impl AsRef<std::path::Path>) -> Self {
        let path = path.as_ref().to_string_lossy();
        let encoded = percent_encoding::utf8_percent_encode(path.trim_start_matches('/'), crate::content::PATH);
        Self { uri: format!("file:///{encoded}"), name: None }
    }

    /// Its name for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}
