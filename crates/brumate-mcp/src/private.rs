//! What the attribute macros expand to. Not for use by hand, and not stable.

pub use schemars;
pub use serde;
pub use serde_json;

pub use crate::run::blocking;
pub use futures::future::BoxFuture;

use crate::error::Error;
use crate::result::{IntoToolResult, ToolResult, structured, structured_schema};
use crate::tool::Tool;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::cell::Cell;
use std::marker::PhantomData;

/// The schema of a function's arguments.
pub fn schema<A: JsonSchema>() -> Map<String, Value> {
    crate::schema::of::<A>()
}

/// The arguments of a function.
///
/// # Errors
///
/// What serde refuses although it fits the schema.
pub fn parse<A: DeserializeOwned>(arguments: Value) -> Result<A, Error> {
    crate::tool::parse(arguments)
}

/// Puts a function's schemas into its tool.
pub fn with_schemas(mut tool: Tool, input: Map<String, Value>, output: Option<Map<String, Value>>) -> Tool {
    tool.input_schema = input;
    tool.output_schema = output;
    tool
}

/// A returned value, to be converted by [`ByTrait`] if its type has [`IntoToolResult`], else by [`ByJson`]: methods that
/// take the receiver by value are found before those that take a reference to it.
pub struct Returned<T>(Cell<Option<T>>);

impl<T> Returned<T> {
    /// Holds `value`.
    pub fn new(value: T) -> Self {
        Self(Cell::new(Some(value)))
    }
}

/// A returned type; see [`Returned`].
pub struct Type<T>(pub PhantomData<T>);

/// Types that convert themselves.
pub trait ByTrait {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// What the conversion fails with.
    fn convert(self) -> Result<ToolResult, Error>
    where
        Self: Sized,
    {
        Ok(ToolResult::new())
    }

    /// The output schema.
    fn output_schema(self) -> Option<Map<String, Value>>
    where
        Self: Sized,
    {
        None
    }
}

/// Types that serialize.
pub trait ByJson {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// What serializing fails with.
    fn convert(&self) -> Result<ToolResult, Error> {
        Ok(ToolResult::new())
    }

    /// The output schema.
    fn output_schema(&self) -> Option<Map<String, Value>> {
        None
    }
}

impl<T: IntoToolResult> ByTrait for Returned<T> {
    fn convert(self) -> Result<ToolResult, Error> {
        self.0.take().map_or_else(|| Ok(ToolResult::new()), IntoToolResult::into_tool_result)
    }
}

impl<T: IntoToolResult> ByTrait for Type<T> {
    fn output_schema(self) -> Option<Map<String, Value>> {
        T::output_schema()
    }
}

impl<T: Serialize + JsonSchema> ByJson for Returned<T> {
    fn convert(&self) -> Result<ToolResult, Error> {
        self.0.take().map_or_else(|| Ok(ToolResult::new()), |value| structured(&value))
    }
}

impl<T: Serialize + JsonSchema> ByJson for Type<T> {
    fn output_schema(&self) -> Option<Map<String, Value>> {
        Some(structured_schema::<T>())
    }
}
