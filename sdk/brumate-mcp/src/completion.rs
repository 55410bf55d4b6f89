//! Completions: suggested values for arguments of prompts and variables of templates.

use crate::context::Context;
use crate::error::Error;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The most values of one answer (MCP, `completion/complete`).
pub(crate) const MAX_VALUES: usize = 100;

/// A value to complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionRequest {
    /// The text that was typed so far.
    pub value: String,
    /// The values of other arguments that are known already.
    pub arguments: BTreeMap<String, String>,
}

/// A type that a completion's handler may return: all suggestions, the best one first. The client gets the first
/// hundred, and the number of all.
pub trait IntoSuggestions {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// Returns the error that the client gets instead of suggestions.
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
///
/// `#[completion]` makes one from a function; closures become one at run time:
///
/// ```
/// use brumate_mcp::{Completion, CompletionRequest, Context, Server};
///
/// let languages = Completion::prompt("review", "language", |request: CompletionRequest, _: Context| async move {
///     ["python", "rust"].into_iter().filter(|name| name.starts_with(&request.value)).collect::<Vec<_>>()
/// });
/// let server = Server::new("reviews").completion(languages);
/// ```
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

/// Returns the key that a completion is registered by.
pub(crate) fn key(kind: &str, of: &str, argument: &str) -> String {
    format!("{kind}\0{of}\0{argument}")
}

impl Completion {
    /// Makes a completion for an argument of the prompt called `prompt`.
    pub fn prompt<F, Fut, R>(prompt: &str, argument: &str, handler: F) -> Self
    where
        F: FnOnce(CompletionRequest, Context) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoSuggestions,
    {
        Self::new(key("prompt", prompt, argument), handler)
    }

    /// Makes a completion for a variable of the resource template `template`.
    pub fn template<F, Fut, R>(template: &str, variable: &str, handler: F) -> Self
    where
        F: FnOnce(CompletionRequest, Context) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoSuggestions,
    {
        Self::new(key("template", template, variable), handler)
    }

    fn new<F, Fut, R>(key: String, handler: F) -> Self
    where
        F: FnOnce(CompletionRequest, Context) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoSuggestions,
    {
        let handler: CompletionHandler = Arc::new(move |request, context| {
            let suggestions = handler.clone()(request, context);
            Box::pin(async move { suggestions.await.into_suggestions() })
        });
        Self { key, handler }
    }
}
