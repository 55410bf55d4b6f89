//! Results of tools: text, media and structured content.

use crate::content::Content;
use crate::contents::ResourceContents;
use crate::error::Error;
use crate::media::{Audio, File, Image};
use crate::schema;
use rmcp::ErrorData;
use rmcp::model as wire;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The result of a tool, for tools that set every part of it.
///
/// ```
/// use brumate_mcp::{Content, ToolResult, tool};
/// use serde_json::json;
///
/// /// Measures the temperature.
/// #[tool]
/// async fn measure() -> ToolResult {
///     ToolResult::text("21 degrees").structured(json!({"celsius": 21})).meta("sensor", "hall")
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    pub(crate) content: Vec<Content>,
    pub(crate) structured: Option<Value>,
    pub(crate) is_error: bool,
    omits_is_error: bool,
    meta: Map<String, Value>,
}

impl ToolResult {
    /// Makes an empty result.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a result with one block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().content(Content::text(text))
    }

    /// Makes a failure whose text the model reads (`isError`).
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Adds a block.
    #[must_use]
    pub fn content(mut self, content: impl Into<Content>) -> Self {
        self.content.push(content.into());
        self
    }

    /// Sets the structured content, which should fit the tool's output schema.
    #[must_use]
    pub fn structured(mut self, value: impl Into<Value>) -> Self {
        self.structured = Some(value.into());
        self
    }

    /// Sets an entry of the result's `_meta`.
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// Leaves `isError` out unless the result is a failure. By default a success has `isError: false`. Both mean the
    /// same; some clients expect one of them.
    #[must_use]
    pub fn omit_is_error(mut self) -> Self {
        self.omits_is_error = true;
        self
    }

    /// Returns whether the result is a failure (`isError`).
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Returns the structured content.
    pub fn structured_content(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    /// Returns the JSON of the result, as clients get it.
    pub fn to_json(&self) -> String {
        // Its parts are JSON already.
        serde_json::to_string(&self.clone().into_wire()).unwrap_or_default()
    }

    /// Makes the result of a call that failed with `error`: its text for the model.
    ///
    /// # Errors
    ///
    /// Returns the JSON-RPC error, if it is one even from a tool ([`Error::protocol`]).
    pub(crate) fn from_error(error: &Error) -> Result<Self, ErrorData> {
        error.as_protocol().map_or_else(|| Ok(Self::error(error.message())), Err)
    }

    pub(crate) fn into_wire(self) -> wire::CallToolResult {
        let content = self.content.into_iter().map(Content::into_wire).collect();
        let mut result =
            if self.is_error { wire::CallToolResult::error(content) } else { wire::CallToolResult::success(content) };
        if self.omits_is_error && !self.is_error {
            result.is_error = None;
        }
        result.structured_content = self.structured;
        result.meta = (!self.meta.is_empty()).then(|| wire::MetaObject(self.meta));
        result
    }
}

/// Adds blocks.
impl<C: Into<Content>> Extend<C> for ToolResult {
    fn extend<I: IntoIterator<Item = C>>(&mut self, blocks: I) {
        self.content.extend(blocks.into_iter().map(Into::into));
    }
}

/// A type that a tool may return.
///
/// `#[tool]` functions may also return every type that is [`Serialize`] and [`JsonSchema`]; elsewhere [`Json`] wraps
/// it. Such a value becomes `structuredContent` with an output schema, and its JSON is also text: the protocol advises
/// it for clients that read only text. Structured content is an object: any other value becomes the field `result` of
/// an object.
///
/// A text (`String`, `&str`, `Cow<str>`) is one block of text without structured content. Clients show a model the text, the structured
/// content or both. With structured content it would come as JSON, or twice. `Json<String>` makes structured content of it.
pub trait IntoToolResult {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// Returns the error that makes the result a failure.
    fn into_tool_result(self) -> Result<ToolResult, Error>;

    /// Returns the schema of the structured content, if there always is some.
    fn output_schema() -> Option<Map<String, Value>> {
        None
    }
}

/// Structured content of any serializable type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(
    /// The value.
    pub T,
);

/// Returns whether values with this schema are objects, which need no wrapping.
fn is_object(schema: &Map<String, Value>) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

fn wrapped(value: Value) -> Value {
    let mut object = Map::new();
    object.insert("result".into(), value);
    Value::Object(object)
}

fn wrapped_schema(mut schema: Map<String, Value>) -> Map<String, Value> {
    // References to definitions are relative to the root.
    let definitions = schema.remove("$defs");
    schema.remove("$schema");
    let mut object = Map::new();
    object.insert("type".into(), "object".into());
    let mut properties = Map::new();
    properties.insert("result".into(), Value::Object(schema));
    object.insert("properties".into(), Value::Object(properties));
    object.insert("required".into(), vec!["result"].into());
    if let Some(definitions) = definitions {
        object.insert("$defs".into(), definitions);
    }
    object
}

/// Makes a result with the text and the structured content of a value.
pub(crate) fn structured<T: Serialize + JsonSchema>(value: &T) -> Result<ToolResult, Error> {
    // A `Value` would round the numbers that a `RawValue` writes.
    if brumate_json::mend(&serde_json::to_string(value)?).is_changed {
        return Err(Error::new(
            "the result has an integer of more than 64 bits, or another value that structured content cannot hold: return it as a string",
        ));
    }
    let value = serde_json::to_value(value)?;
    let text = match &value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let value = if is_object(&schema::of::<T>()) { value } else { wrapped(value) };
    Ok(ToolResult::text(text).structured(value))
}

/// Returns the schema of the structured content that [`structured`] makes of a `T`.
pub(crate) fn structured_schema<T: JsonSchema>() -> Map<String, Value> {
    let schema = schema::of::<T>();
    if is_object(&schema) { schema } else { wrapped_schema(schema) }
}

impl<T: Serialize + JsonSchema> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        structured(&self.0)
    }

    fn output_schema() -> Option<Map<String, Value>> {
        Some(structured_schema::<T>())
    }
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolResult, Error> {
                structured(&self)
            }

            fn output_schema() -> Option<Map<String, Value>> {
                Some(structured_schema::<$type>())
            }
        }
    )*};
}

plain!(bool, char, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolResult, Error> {
                Ok(ToolResult::text(self))
            }
        }
    )*};
}

texts!(String, &str, Cow<'_, str>);

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        Ok(ToolResult::new())
    }
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        Ok(self)
    }
}

/// A value without a schema: an object is structured content, everything else is text.
impl IntoToolResult for Value {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        Ok(match self {
            Value::String(text) => ToolResult::text(text),
            Value::Object(_) => ToolResult::text(self.to_string()).structured(self),
            value => ToolResult::text(value.to_string()),
        })
    }
}

macro_rules! blocks {
    ($($type:ty),*) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolResult, Error> {
                Ok(ToolResult::new().content(self))
            }
        }

        impl IntoToolResult for Vec<$type> {
            fn into_tool_result(self) -> Result<ToolResult, Error> {
                Ok(self.into_iter().fold(ToolResult::new(), ToolResult::content))
            }
        }

        impl IntoToolResult for Option<$type> {
            fn into_tool_result(self) -> Result<ToolResult, Error> {
                Ok(self.into_iter().fold(ToolResult::new(), ToolResult::content))
            }
        }
    )*};
}

blocks!(Content, Image, Audio, File, ResourceContents);

macro_rules! mixes {
    ($(($($name:ident),+))*) => {$(
        /// One block for each part.
        impl<$($name: Into<Content>),+> IntoToolResult for ($($name,)+) {
            #[allow(non_snake_case, reason = "type parameters name the parts")]
            fn into_tool_result(self) -> Result<ToolResult, Error> {
                let ($($name,)+) = self;
                Ok(ToolResult::new()$(.content($name))+)
            }
        }
    )*};
}

mixes!((A, B)(A, B, C)(A, B, C, D)(A, B, C, D, E)(A, B, C, D, E, F));

impl<T: IntoToolResult, E: Into<Error>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        self.map_err(Into::into)?.into_tool_result()
    }

    fn output_schema() -> Option<Map<String, Value>> {
        T::output_schema()
    }
}
