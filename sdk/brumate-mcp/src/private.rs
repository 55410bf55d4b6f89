//! Items that the attribute macros expand to. Not for use by hand, and not stable.

pub use schemars;
pub use serde;
pub use serde_json;

pub use crate::run::blocking;
pub use futures::future::BoxFuture;

use crate::context::Context;
use crate::error::Error;
use crate::result::{IntoToolResult, ToolResult, structured, structured_schema};
use crate::tool::Tool;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::cell::Cell;
use std::marker::PhantomData;

/// Returns the schema of a function's arguments.
pub fn schema<A: JsonSchema>() -> Map<String, Value> {
    crate::schema::of::<A>()
}

/// Reads the arguments of a function.
///
/// # Errors
///
/// Returns an error if serde refuses arguments that fit the schema.
pub fn parse<A: DeserializeOwned>(arguments: Value, context: &Context) -> Result<A, Error> {
    crate::tool::parse(arguments, context)
}

/// Sets the handler of a tool, which reads its arguments with [`parse`].
pub fn with_handler<F, Fut, R>(tool: Tool, handler: F) -> Tool
where
    F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolResult,
{
    tool.json_handler(handler)
}

/// Sets the schemas of a tool.
pub fn with_schemas(mut tool: Tool, input: Map<String, Value>, output: Option<Map<String, Value>>) -> Tool {
    tool.input_schema = input;
    tool.output_schema = output;
    tool
}

/// A returned value. [`ConvertByTrait`] converts it if its type has [`IntoToolResult`], else [`ConvertByJson`]. Methods
/// that take the receiver by value are found before methods that take a reference to it.
pub struct ReturnValue<T>(Cell<Option<T>>);

impl<T> ReturnValue<T> {
    /// Holds `value`.
    pub fn new(value: T) -> Self {
        Self(Cell::new(Some(value)))
    }
}

/// A returned type; see [`ReturnValue`].
pub struct ReturnType<T>(pub PhantomData<T>);

/// Conversion of types with [`IntoToolResult`].
pub trait ConvertByTrait {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// Returns the error of the conversion.
    fn convert(self) -> Result<ToolResult, Error>
    where
        Self: Sized,
    {
        Ok(ToolResult::new())
    }

    /// Returns the output schema.
    fn output_schema(self) -> Option<Map<String, Value>>
    where
        Self: Sized,
    {
        None
    }
}

/// Conversion of types with [`Serialize`].
pub trait ConvertByJson {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// Returns the error of serialization.
    fn convert(&self) -> Result<ToolResult, Error> {
        Ok(ToolResult::new())
    }

    /// Returns the output schema.
    fn output_schema(&self) -> Option<Map<String, Value>> {
        None
    }
}

impl<T: IntoToolResult> ConvertByTrait for ReturnValue<T> {
    fn convert(self) -> Result<ToolResult, Error> {
        self.0.take().map_or_else(|| Ok(ToolResult::new()), IntoToolResult::into_tool_result)
    }
}

impl<T: IntoToolResult> ConvertByTrait for ReturnType<T> {
    fn output_schema(self) -> Option<Map<String, Value>> {
        T::output_schema()
    }
}

impl<T: Serialize + JsonSchema> ConvertByJson for ReturnValue<T> {
    fn convert(&self) -> Result<ToolResult, Error> {
        self.0.take().map_or_else(|| Ok(ToolResult::new()), |value| structured(&value))
    }
}

impl<T: Serialize + JsonSchema> ConvertByJson for ReturnType<T> {
    fn output_schema(&self) -> Option<Map<String, Value>> {
        Some(structured_schema::<T>())
    }
}
