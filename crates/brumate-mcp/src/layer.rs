//! Layers: code around calls of tools.

use crate::context::Context;
use crate::error::Error;
use crate::result::ToolResult;
use crate::server::Server;
use crate::tool::{Tool, ToolHandler};
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::{Arc, PoisonError};

/// Runs around calls of tools: measures, limits, audits. Added with [`Server::layer`] or [`Tool::layer`].
///
/// Functions and closures that take a [`Call`] and a [`Next`] are layers:
///
/// ```
/// use brumate_mcp::{Call, Next, Server, ToolResult};
/// use std::time::Instant;
///
/// let server = Server::new("measured").layer(async |call: Call, next: Next| {
///     let (name, start) = (call.name().to_owned(), Instant::now());
///     let result = next.run(call).await;
///     eprintln!("{name}: {:?}", start.elapsed());
///     result
/// });
/// ```
///
/// A layer that keeps something is a type of its own. (An `async` closure cannot lend what it captures.)
///
/// ```
/// use brumate_mcp::{Call, Error, Layer, Next, Server, ToolResult};
/// use tokio::sync::Semaphore;
///
/// struct AtMost(Semaphore);
///
/// impl Layer for AtMost {
///     async fn call(&self, call: Call, next: Next) -> Result<ToolResult, Error> {
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
    /// What the handler fails with, or the layer.
    fn call(&self, call: Call, next: Next) -> impl Future<Output = Result<ToolResult, Error>> + Send;
}

impl<F, Fut> Layer for F
where
    F: Fn(Call, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolResult, Error>> + Send,
{
    fn call(&self, call: Call, next: Next) -> impl Future<Output = Result<ToolResult, Error>> + Send {
        self(call, next)
    }
}

/// A layer of any type.
trait AnyLayer: Send + Sync {
    fn call(self: Arc<Self>, call: Call, next: Next) -> BoxFuture<'static, Result<ToolResult, Error>>;
}

impl<L: Layer> AnyLayer for L {
    fn call(self: Arc<Self>, call: Call, next: Next) -> BoxFuture<'static, Result<ToolResult, Error>> {
        Box::pin(async move { Layer::call(&*self, call, next).await })
    }
}

/// Layers, the outermost first.
#[derive(Clone, Default)]
pub(crate) struct Layers(Vec<Arc<dyn AnyLayer>>);

impl Layers {
    fn push(&mut self, layer: impl Layer) {
        self.0.push(Arc::new(layer));
    }
}

/// A call of a tool, as layers see it. Its arguments fit the tool's schema.
#[derive(Clone, Debug)]
pub struct Call {
    name: String,
    arguments: Map<String, Value>,
    context: Context,
}

impl Call {
    /// Returns the tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the arguments.
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Returns the arguments, to be changed. They are not checked against the schema again.
    pub fn arguments_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.arguments
    }

    /// Returns the request's context: its client, its principal, ways to talk to the client.
    pub fn context(&self) -> &Context {
        &self.context
    }
}

/// The layers below one, and below them the tool's handler.
#[derive(Clone)]
pub struct Next {
    layers: Arc<[Arc<dyn AnyLayer>]>,
    /// How many of them are above.
    above: usize,
    handler: ToolHandler,
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("layers", &(self.layers.len() - self.above)).finish_non_exhaustive()
    }
}

impl Next {
    /// Runs what is below. A clone runs it once more.
    ///
    /// # Errors
    ///
    /// What the handler fails with, or a layer. A panic of the handler is none: it ends the layers too.
    pub async fn run(self, call: Call) -> Result<ToolResult, Error> {
        let Self { layers, above, handler } = self;
        match layers.get(above).cloned() {
            Some(layer) => layer.call(call, Self { layers, above: above + 1, handler }).await,
            None => handler(Value::Object(call.arguments), call.context).await,
        }
    }
}

impl Server {
    /// Adds a layer around the calls of all tools, those that are added later included. The first layer is the outermost; those of a
    /// tool itself ([`Tool::layer`]) are within.
    ///
    /// Calls whose arguments do not fit the schema are answered before. A call that asks its client something runs again from its
    /// beginning when the answer comes (since 2026-07-28), with its layers. In a task, layers run within the task.
    #[must_use]
    pub fn layer(self, layer: impl Layer) -> Self {
        self.shared.layers.write().unwrap_or_else(PoisonError::into_inner).push(layer);
        self
    }

    /// A call of `tool` with its layers around it.
    pub(crate) async fn call(
        &self,
        tool: &Tool,
        handler: ToolHandler,
        arguments: Map<String, Value>,
        context: Context,
    ) -> Result<ToolResult, Error> {
        let mut layers = self.shared.layers.read().unwrap_or_else(PoisonError::into_inner).0.clone();
        layers.extend(tool.layers.0.iter().cloned());
        let call = Call { name: tool.name.clone(), arguments, context };
        Next { layers: layers.into(), above: 0, handler }.run(call).await
    }
}

impl Tool {
    /// Adds a layer around the calls of this tool, within those of the server ([`Server::layer`]). The first is the outermost.
    #[must_use]
    pub fn layer(mut self, layer: impl Layer) -> Self {
        self.layers.push(layer);
        self
    }
}
