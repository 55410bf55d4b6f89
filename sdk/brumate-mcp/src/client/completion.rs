//! Completions: suggested values for arguments of prompts and templates.

use super::error::ClientError;
use super::{Client, unexpected};
use rmcp::model as wire;
use rmcp::model::{ClientRequest, ServerResult};
use std::collections::BTreeMap;

/// Suggested values for an argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletionValues {
    /// The values, the best one first; at most a hundred.
    pub values: Vec<String>,
    /// The number of all values, if the server tells it.
    pub total: Option<u32>,
    /// Whether there are more values.
    pub has_more: bool,
}

/// The prompt or template that an argument belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletionRef {
    /// The prompt with this name.
    Prompt(String),
    /// The resource template with this URI.
    Template(String),
}

impl CompletionRef {
    /// Makes a reference to the prompt with this name.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(name.into())
    }

    /// Makes a reference to the resource template with this URI.
    pub fn template(uri: impl Into<String>) -> Self {
        Self::Template(uri.into())
    }
}

impl Client {
    /// Asks for values for the argument `name` of `of` that begin with `typed`.
    ///
    /// # Errors
    ///
    /// Returns an error if the request fails.
    pub async fn complete(
        &self,
        of: CompletionRef,
        name: impl Into<String>,
        typed: impl Into<String>,
    ) -> Result<CompletionValues, ClientError> {
        self.complete_with(of, name, typed, BTreeMap::new()).await
    }

    /// Asks for values like [`Client::complete`], with the values of other arguments.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Client::complete`].
    pub async fn complete_with(
        &self,
        of: CompletionRef,
        name: impl Into<String>,
        typed: impl Into<String>,
        known: BTreeMap<String, String>,
    ) -> Result<CompletionValues, ClientError> {
        let of = match of {
            CompletionRef::Prompt(name) => wire::Reference::for_prompt(name),
            CompletionRef::Template(uri) => wire::Reference::for_resource(uri),
        };
        let mut params = wire::CompleteRequestParams::new(of, wire::ArgumentInfo::new(name, typed));
        if !known.is_empty() {
            params.context = Some(wire::CompletionContext::with_arguments(known.into_iter().collect()));
        }
        let request = ClientRequest::CompleteRequest(wire::CompleteRequest::new(params));
        match self.send(request).await? {
            ServerResult::CompleteResult(result) => {
                let wire::CompletionInfo { values, total, has_more, .. } = result.completion;
                Ok(CompletionValues { values, total, has_more: has_more.unwrap_or(false) })
            }
            other => Err(unexpected("completion/complete", &other)),
        }
    }
}
