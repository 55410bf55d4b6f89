//! Layers: code around calls of tools.

use crate::context::Context;
use crate::error::Error;
use crate::result::ToolResult;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// Code that runs around calls of tools, to measure, limit or audit them. [`Server::layer`](crate::Server::layer) adds
/// it to all tools, [`Tool::layer`](crate::Tool::layer) to one.
///
/// Functions and closures that take a [`ToolCall`] and a [`Next`] are layers:
///
/// ```
/// use brumate_mcp::{ToolCall, Next, Server, ToolResult};
/// use std::time::Instant;
///
/// let server = Server::new("measured").layer(async |call: ToolCall, next: Next| {
///     let (name, start) = (call.name().to_owned(), Instant::now());
///     let result = next.run(call).await;
///     eprintln!("{name}: {:?}", start.elapsed());
///     result
/// });
/// ```
///
/// A closure is cloned for each call: hold captured values in an `Arc`. A layer with other state is a type of its own:
///
/// ```
/// use brumate_mcp::{ToolCall, Error, Layer, Next, Server, ToolResult};
/// use tokio::sync::Semaphore;
///
/// struct AtMost(Semaphore);
///
/// impl Layer for AtMost {
///     async fn call(&self, call: ToolCall, next: Next) -> Result<ToolResult, Error> {
///         let _running = self.0.try_acquire().map_err(|_| Error::new("too many calls: try again later"))?;
///         next.run(call).await
///     }
/// }
///
/// let server = Server::new("limited").layer(AtMost(Semaphore::new(4)));
/// ```
pub trait Layer: Send + Sync + 'static {
    /// Answers a call, with [`Next::run`] or without. In an `impl` this may be an `async fn`.
    ///
    /// # Errors
    ///
    /// Returns the error of the handler, or one of the layer's own.
    fn call(&self, call: ToolCall, next: Next) -> impl Future<Output = Result<ToolResult, Error>> + Send;
}

impl<F, Fut> Layer for F
where
    F: FnOnce(ToolCall, Next) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolResult, Error>> + Send,
{
    fn call(&self, call: ToolCall, next: Next) -> impl Future<Output = Result<ToolResult, Error>> + Send {
        self.clone()(call, next)
    }
}

/// A layer whose type is not known.
trait DynLayer: Send + Sync {
    fn call(self: Arc<Self>, call: ToolCall, next: Next) -> BoxFuture<'static, Result<ToolResult, Error>>;
}

impl<L: Layer> DynLayer for L {
    fn call(self: Arc<Self>, call: ToolCall, next: Next) -> BoxFuture<'static, Result<ToolResult, Error>> {
        Box::pin(async move { Layer::call(&*self, call, next).await })
    }
}

/// The function that answers calls of a tool.
pub(crate) type ToolHandler =
    Arc<dyn Fn(Value, Context) -> BoxFuture<'static, Result<ToolResult, Error>> + Send + Sync>;

/// Layers, the outermost one first.
#[derive(Clone, Default)]
pub(crate) struct Layers(Vec<Arc<dyn DynLayer>>);

impl Layers {
    /// Adds layers within these.
    pub(crate) fn extend(&mut self, inner: &Self) {
        self.0.extend(inner.0.iter().cloned());
    }

    /// Calls `handler` with these layers around it.
    pub(crate) async fn call(
        self,
        name: &str,
        handler: ToolHandler,
        arguments: Map<String, Value>,
        context: Context,
    ) -> Result<ToolResult, Error> {
        let call = ToolCall { name: name.to_owned(), arguments, context };
        Next { layers: self.0.into(), position: 0, handler }.run(call).await
    }

    pub(crate) fn push(&mut self, layer: impl Layer) {
        self.0.push(Arc::new(layer));
    }
}

/// A call of a tool, as layers see it. Its arguments fit the tool's schema, unless the tool's handler checks them itself
/// ([`Tool::unchecked_handler`](crate::Tool::unchecked_handler)).
#[derive(Clone, Debug)]
pub struct ToolCall {
    name: String,
    arguments: Map<String, Value>,
    context: Context,
}

impl ToolCall {
    /// Returns the tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the arguments.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Returns the arguments for a change. They are not checked against the schema afterwards.
    pub fn arguments_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.arguments
    }

    /// Returns the request's context: its client, its principal, and ways to reach the client.
    pub fn context(&self) -> &Context {
        &self.context
    }
}

/// The layers within the current one, and the tool's handler within them.
#[derive(Clone)]
pub struct Next {
    layers: Arc<[Arc<dyn DynLayer>]>,
    /// The index of the next layer.
    position: usize,
    handler: ToolHandler,
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("layers", &(self.layers.len() - self.position)).finish_non_exhaustive()
    }
}

impl Next {
    /// Runs the next layer, or the handler. A clone runs it once more.
    ///
    /// # Errors
    ///
    /// Returns the error of the handler or of a layer. A panic of the handler is no error: it ends the layers too.
    pub async fn run(self, call: ToolCall) -> Result<ToolResult, Error> {
        let Self { layers, position, handler } = self;
        match layers.get(position).cloned() {
            Some(layer) => layer.call(call, Self { layers, position: position + 1, handler }).await,
            None => handler(Value::Object(call.arguments), call.context).await,
        }
    }
}
