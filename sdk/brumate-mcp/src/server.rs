//! The server: its settings and its items.

mod context_host;
mod layers;
mod lifespan;
mod resource_providers;
#[cfg(feature = "skills")]
mod skills;

use crate::cache::CacheScope;
use crate::completion::Completion;
use crate::connection::{ChangeNotification, Subscribers};
use crate::content::Icon;
use crate::error::ServeError;
use crate::kept_call::KeptCalls;
use crate::layer::Layers;
use crate::log_level::LogLevel;
use crate::prompt::Prompt;
use crate::registry::Registry;
use crate::request_layer::RequestLayers;
use crate::resource::Resource;
use crate::sync::lock;
use crate::tasks::{TaskLimits, Tasks};
use crate::tool::{ServedTool, Tool};
use lifespan::{StartLifespan, StopLifespan};
use resource_providers::AddedProvider;
use rmcp::model::{RequestStateCodec, ServerCapabilities};
use serde_json::{Map, Value};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::OnceCell;

/// An MCP server: tools, resources and prompts under a name.
///
/// Build it with the methods that take `self`, then serve it: [`Server::run_stdio`], [`Server::run_http`],
/// [`Server::run_from_args`], [`Server::http_service`] or [`Server::serve_streams`].
///
/// ```no_run
/// use brumate_mcp::{ServeError, Server, tool};
///
/// /// Adds two numbers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # async fn run() -> Result<(), ServeError> {
/// Server::new("Calculator").version(env!("CARGO_PKG_VERSION")).tool(add).run_stdio().await
/// # }
/// ```
///
/// A `Server` is a handle: clones are the same server. Adding or removing something while it is served notifies its
/// clients. The methods that take `self` change that one server and return the same handle, so
/// `server.clone().version("2")` changes `server` too. For two servers with the same tools, call [`Server::new`] twice,
/// each with the same [`Server::service`] or [`Server::tools`].
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<ServerInner>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.settings().name).finish_non_exhaustive()
    }
}

/// The server that all handles share.
pub(crate) struct ServerInner {
    settings: RwLock<ServerSettings>,
    pub(crate) tools: Registry<ServedTool>,
    pub(crate) resources: Registry<Resource>,
    resource_providers: RwLock<Vec<AddedProvider>>,
    pub(crate) prompts: Registry<Prompt>,
    pub(crate) completions: Registry<Completion>,
    pub(crate) layers: RwLock<Layers>,
    request_layers: RwLock<RequestLayers>,
    pub(crate) hides_errors: AtomicBool,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) tasks: Tasks,
    /// Calls that wait for input.
    pub(crate) kept_calls: KeptCalls,
    #[cfg(feature = "skills")]
    skills: RwLock<Option<Arc<rmcp::handler::server::skill_catalog::SkillCatalog>>>,
    states: RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    lifespans: Mutex<Vec<StartLifespan>>,
    stops: Mutex<Vec<StopLifespan>>,
    started: OnceCell<()>,
    /// Whether a tool was registered that needs a scope.
    pub(crate) has_scopes: AtomicBool,
    /// Problems of registered items. [`Server::start`] fails with them.
    problems: Mutex<Vec<String>>,
    pub(crate) request_state_codec: RequestStateCodec,
}

/// The settings that need no handler.
#[derive(Clone)]
pub(crate) struct ServerSettings {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) website: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) page_size: usize,
    pub(crate) cache: Option<(Duration, CacheScope)>,
    pub(crate) extensions: Map<String, Value>,
    pub(crate) experimental: Map<String, Value>,
    /// The capabilities, if they are not derived.
    pub(crate) capabilities: Option<ServerCapabilities>,
    /// The log level of sessions whose client has set none.
    log_level: LogLevel,
}

impl Server {
    /// Makes a server called `name` that offers nothing yet. Its version is `0.0.0`.
    pub fn new(name: impl Into<String>) -> Self {
        let settings = ServerSettings {
            name: name.into(),
            version: "0.0.0".to_owned(),
            title: None,
            description: None,
            website: None,
            instructions: None,
            icons: Vec::new(),
            page_size: usize::MAX,
            cache: None,
            extensions: Map::new(),
            experimental: Map::new(),
            capabilities: None,
            log_level: LogLevel::Debug,
        };
        let shared = ServerInner {
            settings: RwLock::new(settings),
            tools: Registry::default(),
            resources: Registry::default(),
            resource_providers: RwLock::default(),
            prompts: Registry::default(),
            completions: Registry::default(),
            layers: RwLock::default(),
            request_layers: RwLock::default(),
            hides_errors: AtomicBool::new(false),
            subscribers: Arc::default(),
            tasks: Tasks::default(),
            kept_calls: KeptCalls::default(),
            #[cfg(feature = "skills")]
            skills: RwLock::default(),
            states: RwLock::default(),
            lifespans: Mutex::default(),
            stops: Mutex::default(),
            started: OnceCell::new(),
            has_scopes: AtomicBool::new(false),
            problems: Mutex::default(),
            request_state_codec: RequestStateCodec::new_unchecked(crate::random_bytes::<32>()),
        };
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn settings(&self) -> ServerSettings {
        self.shared.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(self, set: impl FnOnce(&mut ServerSettings)) -> Self {
        set(&mut self.shared.settings.write().unwrap_or_else(PoisonError::into_inner));
        self
    }

    /// Sets the version; `env!("CARGO_PKG_VERSION")` is a good one.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        self.set(|settings| settings.version = version.into())
    }

    /// Sets the name that people see.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.set(|settings| settings.title = Some(title.into()))
    }

    /// Sets the description.
    #[must_use]
    pub fn description(self, description: impl Into<String>) -> Self {
        self.set(|settings| settings.description = Some(description.into()))
    }

    /// Sets the URL of a web page about the server.
    #[must_use]
    pub fn website(self, url: impl Into<String>) -> Self {
        self.set(|settings| settings.website = Some(url.into()))
    }

    /// Sets the instructions for the model: how to use the server.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.set(|settings| settings.instructions = Some(instructions.into()))
    }

    /// Adds an icon.
    #[must_use]
    pub fn icon(self, icon: Icon) -> Self {
        self.set(|settings| settings.icons.push(icon))
    }

    /// Sets the most items of one page of a list. By default a list has one page.
    #[must_use]
    pub fn page_size(self, items: usize) -> Self {
        self.set(|settings| settings.page_size = items.max(1))
    }

    /// Sets how long and by whom lists may be cached (since 2026-07-28). By default they may not be cached.
    #[must_use]
    pub fn cache_lists(self, ttl: Duration, scope: CacheScope) -> Self {
        self.set(|settings| settings.cache = Some((ttl, scope)))
    }

    /// Declares support of a protocol extension, by its identifier, with its settings. `value` must be an object.
    #[must_use]
    pub fn extension(self, id: impl Into<String>, value: Value) -> Self {
        self.set(|settings| drop(settings.extensions.insert(id.into(), value)))
    }

    /// Declares an experimental capability. `value` must be an object.
    #[must_use]
    pub fn experimental(self, name: impl Into<String>, value: Value) -> Self {
        self.set(|settings| drop(settings.experimental.insert(name.into(), value)))
    }

    /// Sets the capabilities to exactly these, as the protocol writes them. By default a capability is declared if
    /// something of the kind is registered, and the capabilities of [`Server::extension`] and [`Server::experimental`]
    /// are added. [`Server::start`] reports an invalid value.
    ///
    /// Lists of kinds that are not declared can still be requested. Their other methods are not found.
    ///
    /// ```
    /// use brumate_mcp::Server;
    /// use serde_json::json;
    ///
    /// // The tools never change, and nothing is logged.
    /// let server = Server::new("fixed").capabilities(json!({"tools": {}}));
    /// ```
    #[must_use]
    pub fn capabilities(self, capabilities: Value) -> Self {
        let parsed = match capabilities {
            Value::Object(_) => serde_json::from_value(capabilities).map_err(|error| error.to_string()),
            _ => Err("an object is needed".to_owned()),
        };
        match parsed {
            Ok(capabilities) => self.set(|settings| settings.capabilities = Some(capabilities)),
            Err(error) => self.note_problem(Err(ServeError::Setup(format!("capabilities: {error}")))),
        }
    }

    /// Sets the level of the log messages that a session gets until its client sets a level (`logging/setLevel`, before 2026-07-28). By
    /// default it gets all of them.
    #[must_use]
    pub fn log_level(self, level: LogLevel) -> Self {
        self.set(|settings| settings.log_level = level)
    }

    /// Looks at the capabilities that were set. Returns `None` if they are derived.
    pub(crate) fn with_declared_capabilities<T>(&self, look: impl FnOnce(&ServerCapabilities) -> T) -> Option<T> {
        self.shared.settings.read().unwrap_or_else(PoisonError::into_inner).capabilities.as_ref().map(look)
    }

    /// Returns the log level of sessions whose client has set none.
    pub(crate) fn session_log_level(&self) -> LogLevel {
        self.shared.settings.read().unwrap_or_else(PoisonError::into_inner).log_level
    }

    /// Sets the limits of the tasks that calls of the tools become.
    #[must_use]
    pub fn task_limits(self, limits: TaskLimits) -> Self {
        self.shared.tasks.set_limits(limits);
        self
    }

    /// Cancels all tasks, and all calls that wait for input.
    pub(crate) fn cancel_calls(&self) {
        self.shared.tasks.cancel_all();
        self.shared.kept_calls.cancel_all();
    }

    /// Adds a tool: a `#[tool]` function or a [`Tool`]. [`Server::start`] reports an invalid tool.
    #[must_use]
    pub fn tool(self, tool: impl Into<Tool>) -> Self {
        let added = self.add_tool(tool);
        self.note_problem(added)
    }

    /// Adds a resource or a template: a `#[resource]` function or a [`Resource`]. [`Server::start`] reports an invalid
    /// one.
    #[must_use]
    pub fn resource(self, resource: impl Into<Resource>) -> Self {
        let added = self.add_resource(resource);
        self.note_problem(added)
    }

    /// Adds a prompt: a `#[prompt]` function or a [`Prompt`]. [`Server::start`] reports an invalid prompt.
    #[must_use]
    pub fn prompt(self, prompt: impl Into<Prompt>) -> Self {
        let added = self.add_prompt(prompt);
        self.note_problem(added)
    }

    /// Adds a completion: a `#[completion]` function or a [`Completion`]. It replaces the one for the same argument.
    #[must_use]
    pub fn completion(self, completion: impl Into<Completion>) -> Self {
        let completion = completion.into();
        self.shared.completions.insert(completion.key.clone(), completion);
        self
    }

    /// Keeps a problem of a registration for [`Server::start`].
    fn note_problem(self, added: Result<(), ServeError>) -> Self {
        if let Err(error) = added {
            lock(&self.shared.problems).push(error.to_string());
        }
        self
    }

    /// Adds a tool, or replaces the one of the same name. Clients are notified.
    ///
    /// # Errors
    ///
    /// Returns [`ServeError::Setup`] if its name, a scope or a schema is not valid, or it has no handler.
    pub fn add_tool(&self, tool: impl Into<Tool>) -> Result<(), ServeError> {
        let served = ServedTool::new(tool.into()).map_err(ServeError::Setup)?;
        if !served.tool.scopes.is_empty() {
            self.shared.has_scopes.store(true, Ordering::Relaxed);
        }
        self.shared.tools.insert(served.tool.name.clone(), served);
        self.notify_change(ChangeNotification::Tools);
        Ok(())
    }

    /// Removes a tool. Returns whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.notify_removal(self.shared.tools.remove(name), ChangeNotification::Tools)
    }

    /// Adds a resource or a template, or replaces the one with the same URI. Clients are notified.
    ///
    /// # Errors
    ///
    /// Returns [`ServeError::Setup`] if its URI template does not parse, or it has no handler.
    pub fn add_resource(&self, resource: impl Into<Resource>) -> Result<(), ServeError> {
        let resource = resource.into();
        if let Err(problem) = &resource.template {
            return Err(ServeError::Setup(format!("resource {problem}")));
        }
        if resource.handler.is_none() {
            return Err(ServeError::Setup(format!("resource `{}`: it has no handler", resource.uri)));
        }
        self.shared.resources.insert(resource.uri.clone(), resource);
        self.notify_change(ChangeNotification::Resources);
        Ok(())
    }

    /// Removes the resource or template with this URI. Returns whether there was one.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.notify_removal(self.shared.resources.remove(uri), ChangeNotification::Resources)
    }

    /// Adds a prompt, or replaces the one of the same name. Clients are notified.
    ///
    /// # Errors
    ///
    /// Returns [`ServeError::Setup`] if it has no handler.
    pub fn add_prompt(&self, prompt: impl Into<Prompt>) -> Result<(), ServeError> {
        let prompt = prompt.into();
        if prompt.handler.is_none() {
            return Err(ServeError::Setup(format!("prompt `{}`: it has no handler", prompt.name)));
        }
        self.shared.prompts.insert(prompt.name.clone(), prompt);
        self.notify_change(ChangeNotification::Prompts);
        Ok(())
    }

    /// Removes a prompt. Returns whether there was one.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.notify_removal(self.shared.prompts.remove(name), ChangeNotification::Prompts)
    }

    /// Notifies clients if something was removed.
    fn notify_removal(&self, removed: bool, change: ChangeNotification) -> bool {
        if removed {
            self.notify_change(change);
        }
        removed
    }

    /// Notifies clients in the background. Before the server runs there is no runtime, and nobody listens.
    fn notify_change(&self, change: ChangeNotification) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let subscribers = self.shared.subscribers.clone();
            runtime.spawn(async move { subscribers.notify(change).await });
        }
    }

    /// Notifies the clients that have subscribed to `uri` that the resource has changed.
    pub async fn notify_resource_updated(&self, uri: impl Into<String>) {
        self.shared.subscribers.notify(ChangeNotification::Resource(uri.into())).await;
    }

    /// Notifies clients that the list of tools has changed. [`Server::add_tool`] and [`Server::remove_tool`] do it
    /// themselves.
    pub async fn notify_tools_changed(&self) {
        self.shared.subscribers.notify(ChangeNotification::Tools).await;
    }

    /// Notifies clients that the list of resources has changed.
    pub async fn notify_resources_changed(&self) {
        self.shared.subscribers.notify(ChangeNotification::Resources).await;
    }

    /// Notifies clients that the list of prompts has changed.
    pub async fn notify_prompts_changed(&self) {
        self.shared.subscribers.notify(ChangeNotification::Prompts).await;
    }

    /// Sets the state of type `T` for [`Context::state`](crate::Context::state) and parameters of type
    /// [`State<T>`](crate::State). There is one value of each type.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(self, state: T) -> Self {
        self.put_state(Arc::new(state));
        self
    }

    fn put_state<T: Send + Sync + 'static>(&self, state: Arc<T>) {
        self.shared.states.write().unwrap_or_else(PoisonError::into_inner).insert(TypeId::of::<T>(), state);
    }

    /// Sets the key that seals the `requestState` of requests that ask their client for input (since 2026-07-28): 32
    /// bytes or more. Servers behind one load balancer need the same key. By default each process has a random one.
    ///
    /// # Errors
    ///
    /// Returns [`ServeError::Setup`] if the key is too short, or if the server was cloned before.
    pub fn request_state_key(mut self, key: &[u8]) -> Result<Self, ServeError> {
        let request_state_codec =
            RequestStateCodec::try_new(key).map_err(|error| ServeError::Setup(error.to_string()))?;
        let shared = Arc::get_mut(&mut self.shared)
            .ok_or_else(|| ServeError::Setup("set the key of the request state before the server is cloned".into()))?;
        shared.request_state_codec = request_state_codec;
        Ok(self)
    }
}
