//! Tools: functions that models call.

use crate::auth::is_scope;
use crate::context::Context;
use crate::described::{Described, described_methods, descriptor};
use crate::error::Error;
use crate::layer::Layers;
use crate::result::{IntoToolResult, ToolResult};
use crate::schema::{self, Validator};
use crate::tasks::TaskSupport;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) type ToolHandler =
    Arc<dyn Fn(Value, Context) -> BoxFuture<'static, Result<ToolResult, Error>> + Send + Sync>;

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
    described: Described,
    pub(crate) input_schema: Map<String, Value>,
    pub(crate) output_schema: Option<Map<String, Value>>,
    pub(crate) checks_output: bool,
    annotations: Map<String, Value>,
    pub(crate) tasks: TaskSupport,
    pub(crate) becomes: BecomesTask,
    pub(crate) scopes: Vec<String>,
    pub(crate) handler: Option<ToolHandler>,
    pub(crate) layers: Layers,
}

/// When a call becomes a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BecomesTask {
    /// Before anything is done.
    #[default]
    AtOnce,
    /// When it has run for so long.
    After(Duration),
    /// When the handler says so.
    WhenSaid,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool called `name`, without arguments until it has a handler or a schema.
    pub fn new(name: impl Into<String>) -> Self {
        let mut input_schema = Map::new();
        input_schema.insert("type".into(), "object".into());
        Self {
            name: name.into(),
            described: Described::default(),
            input_schema,
            output_schema: None,
            checks_output: false,
            annotations: Map::new(),
            tasks: TaskSupport::Never,
            becomes: BecomesTask::AtOnce,
            scopes: Vec::new(),
            handler: None,
            layers: Layers::default(),
        }
    }

    /// What is called. The arguments' type gives the input schema, the result's type the output schema.
    #[must_use]
    pub fn handler<A, F, Fut, R>(self, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + 'static,
        F: Fn(A, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        let mut tool = self.raw_handler(move |arguments, context| {
            let called = parse(arguments).map(|arguments| handler(arguments, context));
            async move { called?.await.into_tool_result() }
        });
        tool.input_schema = schema::of::<A>();
        tool.output_schema = R::output_schema();
        tool
    }

    /// What is called, where it blocks: it runs on a thread of its own.
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

    /// What is called, with the arguments as they come; give the schema with [`Tool::input_schema`].
    #[must_use]
    pub fn raw_handler<F, Fut, R>(mut self, handler: F) -> Self
    where
        F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoToolResult,
    {
        self.handler = Some(Arc::new(move |arguments, context| {
            let result = handler(arguments, context);
            Box::pin(async move { result.await.into_tool_result() })
        }));
        self
    }

    described_methods!(/// What it does, for the model.
    );

    /// The JSON Schema (2020-12) of the arguments, which are checked against it; an object.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input_schema = match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        };
        self
    }

    /// The JSON Schema (2020-12) of the structured content, which is checked against it; an object.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.checks_output = true;
        self.output_schema = match schema {
            Value::Object(schema) => Some(schema),
            _ => None,
        };
        self
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn read_only(self, yes: bool) -> Self {
        self.annotation("readOnlyHint", yes)
    }

    /// Whether it may destroy something.
    #[must_use]
    pub fn destructive(self, yes: bool) -> Self {
        self.annotation("destructiveHint", yes)
    }

    /// Whether calling it again with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(self, yes: bool) -> Self {
        self.annotation("idempotentHint", yes)
    }

    /// Whether it deals with a world that is not the server's own.
    #[must_use]
    pub fn open_world(self, yes: bool) -> Self {
        self.annotation("openWorldHint", yes)
    }

    /// Whether its calls become tasks; by default never. With it, work that takes long needs no connection that stays open,
    /// and asks in the middle without beginning anew.
    #[must_use]
    pub fn tasks(mut self, support: TaskSupport) -> Self {
        self.tasks = support;
        self
    }

    /// Its calls become tasks when they have run for `time`, not at once: what is quick is answered as ever.
    #[must_use]
    pub fn task_after(mut self, time: Duration) -> Self {
        self.becomes = BecomesTask::After(time);
        self
    }

    /// Its calls become tasks when the handler says so, with [`Context::detach`]. What it asks before that is asked in the
    /// call.
    #[must_use]
    pub fn detaches(mut self) -> Self {
        self.becomes = BecomesTask::WhenSaid;
        self
    }

    /// The scopes that a client's access token must have for its calls, over HTTP ([`HttpOptions::protect`]). A call without them is
    /// answered with 403 and the challenge that lets the client ask for them. Over other transports there are no tokens, and
    /// the tool may be called.
    ///
    /// [`HttpOptions::protect`]: crate::HttpOptions::protect
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    fn annotation(mut self, hint: &str, yes: bool) -> Self {
        self.annotations.insert(hint.into(), yes.into());
        self
    }

    pub(crate) fn descriptor(&self) -> Value {
        let more = [
            ("inputSchema", Some(self.input_schema.clone().into())),
            ("outputSchema", self.output_schema.clone().map(Into::into)),
            ("annotations", (!self.annotations.is_empty()).then(|| self.annotations.clone().into())),
        ];
        descriptor(&self.name, &self.described, more).into()
    }
}

/// The arguments as `A`. They fit the schema; what serde still refuses (a number too large, say) it explains.
pub(crate) fn parse<A: DeserializeOwned>(arguments: Value) -> Result<A, Error> {
    serde_json::from_value(arguments).map_err(|error| Error::new(format!("invalid arguments: {error}")))
}

/// A tool as it is served: described and with its schemas compiled.
#[derive(Debug)]
pub(crate) struct ServedTool {
    pub(crate) tool: Tool,
    pub(crate) wire: rmcp::model::Tool,
    pub(crate) input: Validator,
    pub(crate) output: Option<Validator>,
}

impl ServedTool {
    /// # Errors
    ///
    /// What is wrong with the tool.
    pub(crate) fn new(tool: Tool) -> Result<Self, String> {
        let problem = |what: &str| format!("tool `{}`: {what}", tool.name);
        let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        if tool.name.is_empty() || tool.name.len() > 128 || !tool.name.chars().all(named) {
            return Err(problem("a name has 1 to 128 letters, digits, `_`, `-`, `.` or `/`"));
        }
        if let Some(scope) = tool.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(problem(&format!("`{scope}` is no scope")));
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
            Some(schema) if tool.checks_output => {
                Some(Validator::new(schema).map_err(|error| problem(&format!("output schema: {error}")))?)
            }
            _ => None,
        };
        let wire = serde_json::from_value(tool.descriptor()).map_err(|error| problem(&error.to_string()))?;
        Ok(Self { tool, wire, input, output })
    }
}
