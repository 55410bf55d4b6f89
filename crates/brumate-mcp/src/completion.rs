//! Completion: suggestions for arguments of prompts and variables of templates.

use crate::context::Context;
use crate::error::Error;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The most suggestions one answer may have, by the protocol.
pub(crate) const MAX_VALUES: usize = 100;

/// A value to complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionRequest {
    /// What has been typed.
    pub value: String,
    /// Other arguments that are already known.
    pub arguments: BTreeMap<String, String>,
}

/// What a completion's handler may return: all suggestions, best first. More than a hundred are cut off, and the client
/// is told how many there are.
pub trait IntoSuggestions {
    /// The suggestions.
    ///
    /// # Errors
    ///
    /// What makes it a failure.
    fn into_suggestions(self) -> Result<Vec<String>, Error>;
}

impl<S: Into<String>> IntoSuggestions for Vec<S> {
    fn into_suggestions(self) -> Result<Vec<String>, Error> {
        Ok(self.into_iter().map(Into::into).collect())
    }
}

impl<T: IntoSuggestions, E: Into<Error>> IntoSuggestions for Result<T, E> {
    fn into_suggestions(self) -> Result<Vec<String>, Error> {
        self.map_err(Into::into)?.into_suggestions()
    }
}

pub(crate) type CompletionHandler =
    Arc<dyn Fn(CompletionRequest, Context) -> BoxFuture<'static, Result<Vec<String>, Error>> + Send + Sync>;

/// A completion with its handler.
#[derive(Clone)]
pub struct Completion {
    pub(crate) key: String,
    pub(crate) handler: CompletionHandler,
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion").field("of", &self.key).finish_non_exhaustive()
    }
}

/// The name a completion is registered by.
pub(crate) fn key(kind: &str, of: &str, argument: &str) -> String {
    format!("{kind}\0{of}\0{argument}")
}

impl Completion {
    /// For an argument of the prompt called `prompt`.
    pub fn prompt<F, Fut, R>(prompt: &str, argument: &str, handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoSuggestions,
    {
        Self::new(key("prompt", prompt, argument), handler)
    }

    /// For a variable of the resource template `template`.
    pub fn template<F, Fut, R>(template: &str, variable: &str, handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoSuggestions,
    {
        Self::new(key("template", template, variable), handler)
    }

    fn new<F, Fut, R>(key: String, handler: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoSuggestions,
    {
        let handler: CompletionHandler = Arc::new(move |request, context| {
            let suggestions = handler(request, context);
            Box::pin(async move { suggestions.await.into_suggestions() })
        });
        Self { key, handler }
    }
}
