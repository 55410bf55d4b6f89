//! Messages of prompts and conversations.

use crate::content::{Content, Role};
use rmcp::model as wire;

/// A message of a prompt or a conversation: a role and a block of content.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The speaker.
    pub role: Role,
    /// The content.
    pub content: Content,
}

impl Message {
    /// Makes a message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// Makes a message of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }

    pub(crate) fn into_wire(self) -> wire::PromptMessage {
        let role = match self.role {
            Role::User => wire::Role::User,
            Role::Assistant => wire::Role::Assistant,
        };
        wire::PromptMessage::new(role, self.content.into_wire())
    }

    #[cfg(feature = "client")]
    pub(crate) fn from_wire(message: wire::PromptMessage) -> Self {
        let role = match message.role {
            wire::Role::User => Role::User,
            wire::Role::Assistant => Role::Assistant,
        };
        Self { role, content: Content::from_wire(message.content) }
    }
}
