//! Arguments of calls that nothing has checked.

use super::Tool;
use crate::context::Context;
use crate::exact_arguments::ExactArguments;
use crate::http::request_extensions::exact_arguments;
use crate::result::IntoToolResult;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The arguments of a call, as the client has sent them; see [`Tool::unchecked_handler`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    values: Map<String, Value>,
    /// The JSON of the arguments that `values` does not hold as they are.
    exact: HashMap<String, Box<str>>,
}

impl Arguments {
    fn new(values: Map<String, Value>, exact: Option<&ExactArguments>) -> Self {
        let exact = exact.map(|exact| exact.inexact(&values)).unwrap_or_default();
        Self { values, exact }
    }

    /// Returns an argument.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Takes an argument out.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.values.remove(name)
    }

    /// Returns the JSON of an argument that a [`Value`] does not hold as it is. Such an argument has an integer of more
    /// than 64 bits, a number that is too large for a double, or a lone surrogate. `None`: the value is exact.
    /// [`Arguments::remove`] does not remove this text.
    pub fn exact_json(&self, name: &str) -> Option<&str> {
        self.exact.get(name).map(AsRef::as_ref)
    }

    /// Returns all arguments.
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Returns all arguments, without the exact texts.
    pub fn into_values(self) -> Map<String, Value> {
        self.values
    }
}

/// Arguments that are exact.
impl From<Map<String, Value>> for Arguments {
    fn from(values: Map<String, Value>) -> Self {
        Self { values, exact: HashMap::new() }
    }
}

impl Tool {
    /// Sets a handler that gets the arguments as they are, for tools that check them themselves. Such a tool can
    /// explain faults to the model in its own words, or accept more than the schema says. Arguments that are null or
    /// missing are empty.
    ///
    /// The schemas of [`Tool::input_schema`] and [`Tool::output_schema`] are shown in `tools/list`. Neither arguments nor results are checked
    /// against them.
    ///
    /// ```
    /// use brumate_mcp::{Arguments, Context, Error, Server, Tool};
    /// use serde_json::json;
    ///
    /// let wait = Tool::new("wait")
    ///     .input_schema(json!({"type": "object", "properties": {"seconds": {"type": "number"}}}))
    ///     .unchecked_handler(|arguments: Arguments, _: Context| async move {
    ///         match arguments.get("seconds").and_then(|seconds| seconds.as_f64()) {
    ///             Some(seconds) if seconds <= 60.0 => Ok(format!("waited for {seconds} seconds")),
    ///             _ => Err(Error::new("`seconds` is the time to wait, a number up to 60")),
    ///         }
    ///     });
    /// let server = Server::new("clock").tool(wait);
    /// ```
    #[must_use]
    pub fn unchecked_handler<F, Fut, R>(self, handler: F) -> Self
    where
        F: FnOnce(Arguments, Context) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        let mut tool = self.json_handler(move |arguments, context| {
            let values = match arguments {
                Value::Object(values) => values,
                _ => Map::new(),
            };
            let arguments = Arguments::new(values, exact_arguments(context.request()));
            handler.clone()(arguments, context)
        });
        tool.is_unchecked = true;
        tool
    }
}
