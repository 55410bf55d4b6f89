//! Sampling: requests to the client's model.

use crate::message::Message;
use serde_json::{Map, Value};

/// A request to the client's model (`sampling/createMessage`); [`Context::sample`](crate::Context::sample) sends it.
///
/// Deprecated by the protocol (SEP-2577), which keeps it until July 2027 at least.
///
/// ```
/// use brumate_mcp::{Context, Error, Sampling, tool};
///
/// /// Summarizes a text.
/// #[tool]
/// async fn summarize(text: String, context: Context) -> Result<String, Error> {
///     let request = Sampling::new(format!("Summarize:\n\n{text}")).max_tokens(200);
///     Ok(context.sample(request).await?.text())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Sampling {
    pub(super) key: Option<String>,
    pub(super) messages: Vec<Message>,
    pub(super) params: Map<String, Value>,
}

impl Sampling {
    /// Makes a request with one message of the user, for at most 1024 tokens.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self::conversation(vec![Message::user(prompt.into())])
    }

    /// Makes a request with a conversation, for at most 1024 tokens.
    pub fn conversation(messages: Vec<Message>) -> Self {
        Self { key: None, messages, params: Map::new() }.param("maxTokens", 1024)
    }

    /// Sets the most tokens to generate.
    #[must_use]
    pub fn max_tokens(self, tokens: u32) -> Self {
        self.param("maxTokens", tokens)
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system_prompt(self, prompt: impl Into<String>) -> Self {
        self.param("systemPrompt", prompt.into())
    }

    /// Sets the temperature, from 0 to 1.
    #[must_use]
    pub fn temperature(self, temperature: f32) -> Self {
        self.param("temperature", temperature)
    }

    /// Sets any other parameter of `sampling/createMessage`, such as `modelPreferences` or `tools`.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.params.insert(name.into(), value.into());
        self
    }

    /// Sets the key of the input request; see [`Elicitation::key`](crate::Elicitation::key).
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}
