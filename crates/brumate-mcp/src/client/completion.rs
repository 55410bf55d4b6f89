//! Suggestions for the arguments of prompts and of templates.

use super::error::ClientError;
use super::{Client, unexpected};
use rmcp::model as wire;
use rmcp::model::{ClientRequest, ServerResult};
use std::collections::BTreeMap;

/// Suggestions for an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suggestions {
    /// The suggestions, best first; a hundred at most.
    pub values: Vec<String>,
    /// The number of all suggestions, if the server tells it.
    pub total: Option<u32>,
    /// Whether there are more.
    pub has_more: bool,
}

/// The prompt or template that an argument belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ref {
    /// The prompt with this name.
    Prompt(String),
    /// The template of resources with this address.
    Template(String),
}

impl Ref {
    /// Refers to the prompt with this name.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(name.into())
    }

    /// Refers to the template of resources with this address.
    pub fn template(uri: impl Into<String>) -> Self {
        Self::Template(uri.into())
    }
}

impl Client {
    /// Asks for suggestions for the argument `name` of `of`, of which `typed` has been typed.
    ///
    /// # Errors
    ///
    /// The request fails.
    pub async fn complete(
        &self,
        of: Ref,
        name: impl Into<String>,
        typed: impl Into<String>,
    ) -> Result<Suggestions, ClientError> {
        self.complete_with(of, name, typed, BTreeMap::new()).await
    }

    /// As [`Client::complete`], with the values of other arguments that are known.
    ///
    /// # Errors
    ///
    /// Those of [`Client::complete`].
    pub async fn complete_with(
        &self,
        of: Ref,
        name: impl Into<String>,
        typed: impl Into<String>,
        known: BTreeMap<String, String>,
    ) -> Result<Suggestions, ClientError> {
        let of = match of {
            Ref::Prompt(name) => wire::Reference::for_prompt(name),
            Ref::Template(uri) => wire::Reference::for_resource(uri),
        };
        let mut params = wire::CompleteRequestParams::new(of, wire::ArgumentInfo::new(name, typed));
        if !known.is_empty() {
            params.context = Some(wire::CompletionContext::with_arguments(known.into_iter().collect()));
        }
        let request = ClientRequest::CompleteRequest(wire::CompleteRequest::new(params));
        match self.send(request).await? {
            ServerResult::CompleteResult(result) => {
                let wire::CompletionInfo { values, total, has_more, .. } = result.completion;
                Ok(Suggestions { values, total, has_more: has_more.unwrap_or(false) })
            }
            other => Err(unexpected("completion/complete", &other)),
        }
    }
}
