//! Elicitation: forms for the client's user.

use crate::schema;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::marker::PhantomData;

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
    answer: PhantomData<fn() -> T>,
}

impl<T: JsonSchema + DeserializeOwned> Elicitation<T> {
    /// Makes a form with the fields of the struct `T`: strings, numbers, booleans and enums, optional or not. Their doc
    /// comments are the descriptions.
    pub fn form(message: impl Into<String>) -> Self {
        Self { key: None, message: message.into(), schema: schema::form(schema::inline::<T>()), answer: PhantomData }
    }
}

impl Elicitation<Value> {
    /// Makes a form from a JSON Schema. MCP allows flat objects.
    pub fn schema(message: impl Into<String>, schema: Value) -> Self {
        Self { key: None, message: message.into(), schema: Ok(schema), answer: PhantomData }
    }
}

impl<T> Elicitation<T> {
    /// Sets the key of the input request, for handlers that make their requests in no fixed order. Without a key,
    /// requests are told apart by their order.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}
