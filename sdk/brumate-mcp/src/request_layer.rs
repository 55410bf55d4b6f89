//! Request layers: code around all requests of clients.

mod answer;

pub use answer::{AnswerKind, McpAnswer};

use crate::error::Error;
use crate::http::request_extensions::{principal, session_end};
use crate::principal::Principal;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Code that runs around every request of every client, to trace, count or refuse requests. [`Server::request_layer`] adds it. A
/// [`Layer`](crate::Layer) is only around calls of tools, and may run several times for one call.
///
/// Functions and closures that take an [`McpRequest`] and a [`NextRequest`] are request layers:
///
/// ```
/// use brumate_mcp::{McpRequest, NextRequest, Server};
/// use std::time::Instant;
///
/// let server = Server::new("measured").request_layer(async |request: McpRequest, next: NextRequest| {
///     let (method, start) = (request.method().to_owned(), Instant::now());
///     let answer = next.run(request).await;
///     let error = answer.as_ref().err().map(|error| error.code());
///     eprintln!("{method}: {:?}, error {error:?}", start.elapsed());
///     answer
/// });
/// ```
///
/// A closure is cloned for each request. A layer with other state is a type of its own:
///
/// ```
/// use brumate_mcp::{Error, McpAnswer, McpRequest, NextRequest, RequestLayer, Server};
///
/// /// The number of a request.
/// #[derive(Clone)]
/// struct Number(u64);
///
/// #[derive(Default)]
/// struct Numbers(std::sync::atomic::AtomicU64);
///
/// impl RequestLayer for Numbers {
///     async fn call(&self, mut request: McpRequest, next: NextRequest) -> Result<McpAnswer, Error> {
///         // Handlers read it with `context.extension::<Number>()`.
///         request.insert(Number(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
///         next.run(request).await
///     }
/// }
///
/// let server = Server::new("numbered").request_layer(Numbers::default());
/// ```
///
/// Layers do not see requests that the protocol refuses before. Such a request lacks the metadata that its protocol
/// demands, or names a method of another protocol (`ping` since 2026-07-28). Layers do not see a `ping` before
/// `initialize` either, which is answered at once. The layers of `subscriptions/listen` run after the subscription was
/// acknowledged.
///
/// When its client cancels the request or goes away, a layer is dropped where it waits. While the handler of the request runs, the handler
/// ends first.
///
/// [`Server::request_layer`]: crate::Server::request_layer
pub trait RequestLayer: Send + Sync + 'static {
    /// Answers a request, with [`NextRequest::run`] or with an error. In an `impl` this may be an `async fn`.
    ///
    /// # Errors
    ///
    /// Returns the error of the request, or one of the layer's own. The client gets it as a JSON-RPC error, also for a call of a tool.
    fn call(&self, request: McpRequest, next: NextRequest) -> impl Future<Output = Result<McpAnswer, Error>> + Send;
}

impl<F, Fut> RequestLayer for F
where
    F: FnOnce(McpRequest, NextRequest) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<McpAnswer, Error>> + Send,
{
    fn call(&self, request: McpRequest, next: NextRequest) -> impl Future<Output = Result<McpAnswer, Error>> + Send {
        self.clone()(request, next)
    }
}

/// A request layer whose type is not known.
trait DynRequestLayer: Send + Sync {
    fn call(self: Arc<Self>, request: McpRequest, next: NextRequest) -> BoxFuture<'static, Result<McpAnswer, Error>>;
}

impl<L: RequestLayer> DynRequestLayer for L {
    fn call(self: Arc<Self>, request: McpRequest, next: NextRequest) -> BoxFuture<'static, Result<McpAnswer, Error>> {
        Box::pin(async move { RequestLayer::call(&*self, request, next).await })
    }
}

/// A request of a client, as layers see it.
pub struct McpRequest {
    method: Cow<'static, str>,
    call: Option<CallToolRequestParams>,
    context: RequestContext<RoleServer>,
}

impl fmt::Debug for McpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpRequest").field("method", &self.method).field("id", &self.id()).finish_non_exhaustive()
    }
}

impl McpRequest {
    /// Makes a request. `call`: the parameters, if it calls a tool.
    pub(crate) fn new(
        method: Cow<'static, str>,
        call: Option<CallToolRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Self {
        Self { method, call, context }
    }

    /// Returns the method, such as `tools/call`. It may be one that the server does not have.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the JSON-RPC id, as text.
    pub fn id(&self) -> String {
        self.context.id.to_string()
    }

    /// Returns the request's `_meta`.
    pub fn meta(&self) -> &Map<String, Value> {
        &self.context.meta.0.0
    }

    /// Returns the head of the HTTP request, without its `Authorization` header. `None` on other transports.
    pub fn http(&self) -> Option<&http::request::Parts> {
        self.context.extensions.get()
    }

    /// Returns the protocol version of the request, such as `2026-07-28`, if it is known: before `initialize` was answered it is not.
    pub fn protocol_version(&self) -> Option<String> {
        self.context.protocol_version().as_ref().map(ProtocolVersion::to_string)
    }

    /// Returns the principal that sends the request; `None` where no token is needed.
    pub fn principal(&self) -> Option<&Principal> {
        principal(&self.context)
    }

    /// Returns the name of the tool, if the request calls one. There may be no such tool.
    pub fn tool(&self) -> Option<&str> {
        self.call.as_ref().map(|call| &*call.name)
    }

    /// Returns the arguments, if the request calls a tool and has some. Nothing has checked them.
    pub fn arguments(&self) -> Option<&Map<String, Value>> {
        self.call.as_ref()?.arguments.as_ref()
    }

    /// Puts a value into the request, for the layers and the handler within this layer. There is one value of each type.
    /// [`Context::extension`](crate::Context::extension) reads it.
    pub fn insert<T: Clone + Send + Sync + 'static>(&mut self, value: T) {
        self.context.extensions.insert(value);
    }

    /// Returns the value of a type that a layer around this one has put into the request.
    pub fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.context.extensions.get()
    }
}

/// The work of a request, within all layers.
type Work = Box<dyn FnOnce(McpRequest) -> BoxFuture<'static, Result<McpAnswer, Error>> + Send>;

/// The layers within the current one, and the answer of the server within them.
pub struct NextRequest {
    layers: RequestLayers,
    /// The index of the next layer.
    position: usize,
    work: Work,
}

impl fmt::Debug for NextRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NextRequest").field("layers", &(self.layers.0.len() - self.position)).finish_non_exhaustive()
    }
}

impl NextRequest {
    /// Runs the next layer, or answers the request.
    ///
    /// # Errors
    ///
    /// Returns the error of the server or of a layer.
    pub async fn run(self, request: McpRequest) -> Result<McpAnswer, Error> {
        let Self { layers, position, work } = self;
        match layers.0.get(position).cloned() {
            Some(layer) => layer.call(request, Self { layers, position: position + 1, work }).await,
            None => work(request).await,
        }
    }
}

/// Request layers, the outermost one first. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct RequestLayers(Arc<[Arc<dyn DynRequestLayer>]>);

impl RequestLayers {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a layer within these.
    pub(crate) fn push(&mut self, layer: impl RequestLayer) {
        let layer: Arc<dyn DynRequestLayer> = Arc::new(layer);
        self.0 = self.0.iter().cloned().chain([layer]).collect();
    }

    /// Answers a request by `work`, with these layers around it.
    ///
    /// # Errors
    ///
    /// Returns the error of `work` or of a layer.
    pub(crate) async fn answer<T, F>(
        self,
        request: McpRequest,
        work: impl FnOnce(Option<CallToolRequestParams>, RequestContext<RoleServer>) -> F + Send + 'static,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ErrorData>> + Send + 'static,
    {
        let (cancelled, session_end) = (request.context.ct.clone(), session_end(&request.context));
        let idle = Arc::new(Semaphore::new(1));
        let work: Work = {
            let idle = Arc::clone(&idle);
            Box::new(move |McpRequest { call, context, .. }| {
                Box::pin(async move {
                    let _running = idle.acquire_owned().await;
                    work(call, context).await.map(McpAnswer::new).map_err(Error::from_wire)
                })
            })
        };
        let ended = async {
            tokio::select! {
                () = cancelled.cancelled() => {}
                () = session_end => {}
            }
            // The handler has its own way to end.
            let _idle = idle.acquire().await;
        };
        let answer = NextRequest { layers: self, position: 0, work }.run(request);
        tokio::select! {
            biased;
            answer = AssertUnwindSafe(answer).catch_unwind() => match answer {
                Ok(answer) => answer?.into_inner().map_err(Error::from_wire),
                Err(_) => {
                    tracing::error!("a request layer panicked");
                    Err(Error::new("the request failed unexpectedly"))
                }
            },
            // The client does not read this answer.
            () = ended => Err(Error::new("the request was cancelled")),
        }
    }
}
