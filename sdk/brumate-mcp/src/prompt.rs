//! Prompts: messages that people choose to begin a conversation with.

use crate::content::Content;
use crate::context::Context;
use crate::error::Error;
use crate::item_metadata::{ItemMetadata, descriptor, metadata_methods};
use crate::message::Message;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A type that a prompt's handler may return: a text, which becomes a message of the user, or messages.
pub trait IntoMessages {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// Returns the error that the client gets instead of the messages.
    fn into_messages(self) -> Result<Vec<Message>, Error>;
}

macro_rules! messages {
    ($($type:ty: |$value:ident| $messages:expr;)*) => {$(
        impl IntoMessages for $type {
            fn into_messages(self) -> Result<Vec<Message>, Error> {
                let $value = self;
                Ok($messages)
            }
        }
    )*};
}

messages! {
    String: |text| vec![Message::user(text)];
    &str: |text| vec![Message::user(text)];
    Content: |content| vec![Message::user(content)];
    Message: |message| vec![message];
    Vec<Message>: |messages| messages;
    Vec<String>: |texts| texts.into_iter().map(Message::user).collect();
}

impl<const N: usize> IntoMessages for [Message; N] {
    fn into_messages(self) -> Result<Vec<Message>, Error> {
        Ok(self.into())
    }
}

impl<T: IntoMessages, E: Into<Error>> IntoMessages for Result<T, E> {
    fn into_messages(self) -> Result<Vec<Message>, Error> {
        self.map_err(Into::into)?.into_messages()
    }
}

/// The arguments of a `prompts/get` request.
#[derive(Clone, Debug, Default)]
pub struct PromptRequest {
    pub(crate) name: String,
    pub(crate) arguments: BTreeMap<String, String>,
}

impl PromptRequest {
    /// Returns an argument, parsed.
    ///
    /// # Errors
    ///
    /// Returns "invalid params" if the argument is missing or does not parse as a `T`.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T, Error>
    where
        T::Err: fmt::Display,
    {
        self.get_optional(name)?
            .ok_or_else(|| Error::invalid_params(format!("prompt `{}` requires the argument `{name}`", self.name)))
    }

    /// Returns an argument that may be missing, parsed.
    ///
    /// # Errors
    ///
    /// Returns "invalid params" if it does not parse as a `T`.
    pub fn get_optional<T: FromStr>(&self, name: &str) -> Result<Option<T>, Error>
    where
        T::Err: fmt::Display,
    {
        let parsed = self.arguments.get(name).map(|value| value.parse::<T>()).transpose();
        parsed.map_err(|error| Error::invalid_params(format!("argument `{name}` of `{}`: {error}", self.name)))
    }
}

/// An argument of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    name: String,
    description: Option<String>,
    required: bool,
}

impl PromptArgument {
    /// Makes a required argument.
    pub fn required(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: None, required: true }
    }

    /// Makes an argument that may be left out.
    pub fn optional(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: None, required: false }
    }

    /// Sets the description: the purpose of the argument.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

pub(crate) type PromptHandler =
    Arc<dyn Fn(PromptRequest, Context) -> BoxFuture<'static, Result<Vec<Message>, Error>> + Send + Sync>;

/// A prompt with its handler.
///
/// `#[prompt]` makes one from a function; closures become one at run time:
///
/// ```
/// use brumate_mcp::{Context, Prompt, PromptArgument, PromptRequest, Server};
///
/// let review = Prompt::new("review")
///     .argument(PromptArgument::required("code"))
///     .handler(|request: PromptRequest, _: Context| async move {
///         let code: String = request.get("code")?;
///         Ok::<_, brumate_mcp::Error>(format!("Please review this code:\n\n{code}"))
///     });
/// let server = Server::new("reviews").prompt(review);
/// ```
#[derive(Clone)]
pub struct Prompt {
    pub(crate) name: String,
    pub(crate) metadata: ItemMetadata,
    pub(crate) arguments: Vec<PromptArgument>,
    pub(crate) handler: Option<PromptHandler>,
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Prompt {
    /// Makes a prompt called `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), metadata: ItemMetadata::default(), arguments: Vec::new(), handler: None }
    }

    /// Sets the handler that makes the messages.
    #[must_use]
    pub fn handler<F, Fut, R>(mut self, handler: F) -> Self
    where
        F: FnOnce(PromptRequest, Context) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoMessages,
    {
        self.handler = Some(Arc::new(move |request, context| {
            let messages = handler.clone()(request, context);
            Box::pin(async move { messages.await.into_messages() })
        }));
        self
    }

    /// Sets a handler that blocks. It runs on a thread for blocking work.
    #[must_use]
    pub fn blocking_handler<F, R>(self, handler: F) -> Self
    where
        F: Fn(PromptRequest, Context) -> R + Send + Sync + 'static,
        R: IntoMessages + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.handler(move |request, context| {
            let handler = handler.clone();
            crate::run::blocking(move || handler(request, context))
        })
    }

    metadata_methods!(/// Sets the description: what the prompt is for.
    );

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Returns the required arguments that are not among `given`.
    pub(crate) fn missing(&self, given: &BTreeMap<String, String>) -> Vec<&str> {
        let required = self.arguments.iter().filter(|argument| argument.required);
        required.map(|argument| argument.name.as_str()).filter(|name| !given.contains_key(*name)).collect()
    }

    /// Returns the entry of `prompts/list`.
    pub(crate) fn descriptor(&self) -> Value {
        let arguments: Vec<Value> = self
            .arguments
            .iter()
            .map(|argument| match &argument.description {
                Some(text) => json!({"name": argument.name, "description": text, "required": argument.required}),
                None => json!({"name": argument.name, "required": argument.required}),
            })
            .collect();
        let arguments = (!arguments.is_empty()).then_some(arguments.into());
        descriptor(&self.name, &self.metadata, [("arguments", arguments)]).into()
    }
}
