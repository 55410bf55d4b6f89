//! Elicitation: forms for the client's user.

use crate::schema;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::marker::PhantomData;
use std::time::Duration;

/// A form for the client's user (`elicitation/create`); [`Context::elicit`](crate::Context::elicit) sends it.
///
/// ```
/// use brumate_mcp::{ElicitationResult, Context, Elicitation, Error, tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Booking {
///     /// The number of people.
///     people: u8,
/// }
///
/// /// Books a table.
/// #[tool]
/// async fn book(context: Context) -> Result<String, Error> {
///     match context.elicit(Elicitation::<Booking>::form("For how many?")).await? {
///         ElicitationResult::Accepted(Booking { people }) => Ok(format!("a table for {people}")),
///         ElicitationResult::Declined | ElicitationResult::Cancelled => Ok("no table".to_owned()),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Elicitation<T = Value> {
    pub(super) key: Option<String>,
    pub(super) message: String,
    pub(super) schema: Result<Value, String>,
    pub(super) timeout: Option<Duration>,
    pub(super) is_checked: bool,
    answer: PhantomData<fn() -> T>,
}

impl<T: JsonSchema + DeserializeOwned> Elicitation<T> {
    /// Makes a form with the fields of the struct `T`: strings, numbers, booleans and enums, optional or not. Their doc
    /// comments are the descriptions.
    pub fn form(message: impl Into<String>) -> Self {
        Self::new(message.into(), schema::form(schema::inline::<T>()))
    }
}

impl Elicitation<Value> {
    /// Makes a form from a JSON Schema. MCP allows flat objects.
    pub fn schema(message: impl Into<String>, schema: Value) -> Self {
        Self::new(message.into(), Ok(schema))
    }
}

impl<T> Elicitation<T> {
    fn new(message: String, schema: Result<Value, String>) -> Self {
        Self { key: None, message, schema, timeout: None, is_checked: true, answer: PhantomData }
    }

    /// Sets the key of the input request, for handlers that make their requests in no fixed order. Without a key,
    /// requests are told apart by their order.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets how long the user may take. Then the request is withdrawn, and the handler gets [`InputError::TimedOut`]. Default: an
    /// hour in a call that [suspends](crate::Tool::suspends), no limit in other calls. A handler that runs again for each answer
    /// (since 2026-07-28) does not wait, so it has no timeout.
    ///
    /// [`InputError::TimedOut`]: crate::InputError::TimedOut
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Takes the content as the client sends it. By default content that does not fit the schema is an error.
    #[must_use]
    pub fn unchecked(mut self) -> Self {
        self.is_checked = false;
        self
    }
}
