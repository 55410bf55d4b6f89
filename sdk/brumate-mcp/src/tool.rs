//! Tools: functions that models call.

mod arguments;

pub use arguments::Arguments;

use crate::auth::is_scope;
use crate::context::Context;
use crate::error::Error;
use crate::http::request_extensions::exact_arguments;
use crate::item_metadata::{ItemMetadata, descriptor, metadata_methods};
use crate::layer::{Layer, Layers, ToolHandler};
use crate::numbers;
use crate::result::IntoToolResult;
use crate::schema::{self, Validator};
use crate::suspension::Suspension;
use crate::tasks::TaskSupport;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A tool with its handler.
///
/// `#[tool]` makes one from a function; closures become one at run time:
///
/// ```
/// use brumate_mcp::{Context, Server, Tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sum {
///     a: i64,
///     b: i64,
/// }
///
/// let add = Tool::new("add")
///     .description("Adds two numbers")
///     .handler(|sum: Sum, _: Context| async move { sum.a + sum.b });
/// let server = Server::new("sums").tool(add);
/// ```
#[derive(Clone)]
pub struct Tool {
    pub(crate) name: String,
    metadata: ItemMetadata,
    pub(crate) input_schema: Map<String, Value>,
    pub(crate) output_schema: Option<Map<String, Value>>,
    pub(crate) checks_output: bool,
    /// Whether the handler checks its arguments itself ([`Tool::unchecked_handler`]).
    is_unchecked: bool,
    annotations: Map<String, Value>,
    pub(crate) tasks: TaskSupport,
    pub(crate) task_timing: TaskTiming,
    pub(crate) suspension: Option<Suspension>,
    pub(crate) scopes: Vec<String>,
    pub(crate) handler: Option<ToolHandler>,
    pub(crate) layers: Layers,
}

/// When a call becomes a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TaskTiming {
    /// Before the handler runs.
    #[default]
    Immediately,
    /// When the handler has run for this time.
    After(Duration),
    /// When the handler calls [`Context::detach`].
    OnDetach,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tool {
    /// Makes a tool called `name`. It has no arguments until it gets a handler or a schema.
    pub fn new(name: impl Into<String>) -> Self {
        let mut input_schema = Map::new();
        input_schema.insert("type".into(), "object".into());
        Self {
            name: name.into(),
            metadata: ItemMetadata::default(),
            input_schema,
            output_schema: None,
            checks_output: false,
            is_unchecked: false,
            annotations: Map::new(),
            tasks: TaskSupport::Never,
            task_timing: TaskTiming::Immediately,
            suspension: None,
            scopes: Vec::new(),
            handler: None,
            layers: Layers::default(),
        }
    }

    /// Sets the handler. The type of its arguments gives the input schema, the type of its result the output schema.
    #[must_use]
    pub fn handler<A, F, Fut, R>(self, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        F: FnOnce(A, Context) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        let mut tool = self.json_handler(move |arguments, context| {
            let called = parse(arguments, &context).map(|arguments| handler.clone()(arguments, context));
            async move { called?.await.into_tool_result() }
        });
        tool.input_schema = schema::of::<A>();
        tool.output_schema = R::output_schema();
        tool
    }

    /// Sets a handler that blocks. It runs on a thread for blocking work.
    #[must_use]
    pub fn blocking_handler<A, F, R>(self, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Context) -> R + Send + Sync + 'static,
        R: IntoToolResult + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.handler(move |arguments: A, context| {
            let handler = handler.clone();
            crate::run::blocking(move || handler(arguments, context))
        })
    }

    /// Sets a handler that gets the arguments as JSON. Give the schema with [`Tool::input_schema`]. A call with a number that a [`Value`]
    /// would round fails: [`Tool::handler`] takes such numbers as `i128`, `u128` or `Box<serde_json::value::RawValue>`.
    #[must_use]
    pub fn raw_handler<F, Fut, R>(self, handler: F) -> Self
    where
        F: FnOnce(Value, Context) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        self.json_handler(move |arguments, context| {
            let arguments = match exact_arguments(context.request()) {
                Some(_) => parse(arguments, &context),
                None => Ok(arguments),
            };
            let called = arguments.map(|arguments| handler.clone()(arguments, context));
            async move { called?.await.into_tool_result() }
        })
    }

    /// Sets a handler that reads its arguments with [`parse`].
    pub(crate) fn json_handler<F, Fut, R>(mut self, handler: F) -> Self
    where
        F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        self.is_unchecked = false;
        self.handler = Some(Arc::new(move |arguments, context| {
            let result = handler(arguments, context);
            Box::pin(async move { result.await.into_tool_result() })
        }));
        self
    }

    metadata_methods!(/// Sets the description for the model: what the tool does.
    );

    /// Sets the JSON Schema (2020-12) of the arguments: an object. Arguments are checked against it before the handler
    /// runs.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input_schema = match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        };
        self
    }

    /// Sets the JSON Schema (2020-12) of the structured content: an object. Results are checked against it.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.checks_output = true;
        self.output_schema = match schema {
            Value::Object(schema) => Some(schema),
            _ => None,
        };
        self
    }

    /// Hints that the tool changes nothing (`readOnlyHint`).
    #[must_use]
    pub fn read_only(self, yes: bool) -> Self {
        self.annotation("readOnlyHint", yes)
    }

    /// Hints that the tool may destroy something (`destructiveHint`).
    #[must_use]
    pub fn destructive(self, yes: bool) -> Self {
        self.annotation("destructiveHint", yes)
    }

    /// Hints that a second call with the same arguments changes nothing more (`idempotentHint`).
    #[must_use]
    pub fn idempotent(self, yes: bool) -> Self {
        self.annotation("idempotentHint", yes)
    }

    /// Hints that the tool reaches systems outside of the server, such as the internet (`openWorldHint`).
    #[must_use]
    pub fn open_world(self, yes: bool) -> Self {
        self.annotation("openWorldHint", yes)
    }

    /// Sets whether calls become tasks; never by default. A task needs no open connection while it runs, and its
    /// handler waits for input instead of running again.
    #[must_use]
    pub fn tasks(mut self, support: TaskSupport) -> Self {
        self.tasks = support;
        self
    }

    /// Makes a task only of calls that run longer than `time`. A faster call is answered with its result.
    #[must_use]
    pub fn task_after(mut self, time: Duration) -> Self {
        self.task_timing = TaskTiming::After(time);
        self
    }

    /// Makes a task of a call when its handler calls [`Context::detach`]. Input that the handler requests before that
    /// is requested in the call.
    #[must_use]
    pub fn detaches(mut self) -> Self {
        self.task_timing = TaskTiming::OnDetach;
        self
    }

    /// Lets the handler run on between the requests of its call; [`Suspension`] says how.
    #[must_use]
    pub fn suspends(mut self, suspension: Suspension) -> Self {
        self.suspension = Some(suspension);
        self
    }

    /// Sets the scopes that a client's access token must have for calls over HTTP ([`HttpOptions::protect`]). A call
    /// without them is answered with 403 and a challenge that names them. Other transports have no tokens: there the
    /// tool may be called.
    ///
    /// [`HttpOptions::protect`]: crate::HttpOptions::protect
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a layer around the calls of this tool, within the layers of the server
    /// ([`Server::layer`](crate::Server::layer)). The first layer is the outermost one.
    #[must_use]
    pub fn layer(mut self, layer: impl Layer) -> Self {
        self.layers.push(layer);
        self
    }

    fn annotation(mut self, hint: &str, yes: bool) -> Self {
        self.annotations.insert(hint.into(), yes.into());
        self
    }

    /// Returns the tool as `tools/list` has it.
    pub(crate) fn descriptor(&self) -> Value {
        let more = [
            ("inputSchema", Some(self.input_schema.clone().into())),
            ("outputSchema", self.output_schema.clone().map(Into::into)),
            ("annotations", (!self.annotations.is_empty()).then(|| self.annotations.clone().into())),
        ];
        descriptor(&self.name, &self.metadata, more).into()
    }
}

/// Reads arguments that fit the schema as an `A`. The error explains which value serde still refuses, such as a number
/// that is too large.
pub(crate) fn parse<A: DeserializeOwned>(arguments: Value, context: &Context) -> Result<A, Error> {
    let parsed = numbers::read(arguments, |arguments| match exact_arguments(context.request()) {
        Some(exact) => brumate_json::from_str(&exact.merged(&arguments)),
        None => serde_json::from_value(arguments),
    });
    parsed.map_err(|error| Error::new(format!("invalid arguments: {error}")))
}

/// A registered tool with its compiled schemas.
#[derive(Debug)]
pub(crate) struct ServedTool {
    pub(crate) tool: Tool,
    pub(crate) wire: rmcp::model::Tool,
    input: Validator,
    pub(crate) output: Option<Validator>,
}

impl ServedTool {
    /// Checks a tool and compiles its schemas.
    ///
    /// # Errors
    ///
    /// Returns a text that names the tool and its fault.
    pub(crate) fn new(tool: Tool) -> Result<Self, String> {
        let problem = |what: &str| format!("tool `{}`: {what}", tool.name);
        let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        if tool.name.is_empty() || tool.name.len() > 128 || !tool.name.chars().all(named) {
            return Err(problem("a name has 1 to 128 letters, digits, `_`, `-`, `.` or `/`"));
        }
        if let Some(scope) = tool.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(problem(&format!("`{scope}` is not a valid scope")));
        }
        if tool.handler.is_none() {
            return Err(problem("it has no handler"));
        }
        if tool.input_schema.get("type").is_none_or(|kind| kind != "object") {
            return Err(problem(
                "its arguments must be an object: use a struct, or a schema with `\"type\": \"object\"`",
            ));
        }
        let input = Validator::new(&tool.input_schema).map_err(|error| problem(&format!("input schema: {error}")))?;
        let output = match &tool.output_schema {
            Some(schema) if tool.checks_output && !tool.is_unchecked => {
                Some(Validator::new(schema).map_err(|error| problem(&format!("output schema: {error}")))?)
            }
            _ => None,
        };
        let wire = serde_json::from_value(tool.descriptor()).map_err(|error| problem(&error.to_string()))?;
        Ok(Self { tool, wire, input, output })
    }

    /// Checks the arguments of a call, unless the handler does it.
    ///
    /// # Errors
    ///
    /// Returns a text for the model: what to mend and where.
    pub(crate) fn check_arguments(&self, arguments: &Value) -> Result<(), String> {
        if self.tool.is_unchecked { Ok(()) } else { self.input.check(arguments) }
    }
}
