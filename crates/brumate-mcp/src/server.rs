//! The server: what it is called, what it offers, what it keeps.

mod lifespan;

use crate::completion::Completion;
use crate::connection::{Change, Hub};
use crate::content::Icon;
use crate::contents::ResourceContents;
use crate::context::Context;
use crate::error::{Error, ServeError};
use crate::layer::Layers;
use crate::prompt::Prompt;
use crate::registry::Registry;
use crate::resource::{Resource, ResourceRequest};
use crate::sync::lock;
use crate::tasks::{TaskLimits, Tasks};
use crate::tool::{ServedTool, Tool};
use lifespan::{Start, Stop};
use rmcp::model::RequestStateCodec;
use serde_json::{Map, Value};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::OnceCell;

/// Who may cache an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheScope {
    /// Anyone on the way, for anyone.
    Public,
    /// The client that asked, for its user.
    Private,
}

/// An MCP server: tools, resources and prompts under a name.
///
/// Build it with the methods that take `self`, then serve it ([`Server::run_stdio`], [`Server::run_http`],
/// [`Server::http_service`]).
///
/// A `Server` is a handle: clones are the same server, and what is added or removed while it is served is told to its clients.
/// The methods that take `self` change that one server and return the same handle, so that `server.clone().version("2")` changes
/// `server` too. Two servers that share something are two calls of [`Server::new`], each with the same [`Server::service`] or
/// [`Server::tools`].
#[derive(Clone)]
pub struct Server {
    pub(crate) shared: Arc<Shared>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.settings().name).finish_non_exhaustive()
    }
}

pub(crate) struct Shared {
    settings: RwLock<Settings>,
    pub(crate) tools: Registry<ServedTool>,
    pub(crate) resources: Registry<Resource>,
    pub(crate) prompts: Registry<Prompt>,
    pub(crate) completions: Registry<Completion>,
    pub(crate) layers: RwLock<Layers>,
    pub(crate) hides_errors: AtomicBool,
    pub(crate) hub: Arc<Hub>,
    pub(crate) tasks: Tasks,
    states: RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    lifespans: Mutex<Vec<Start>>,
    stops: Mutex<Vec<Stop>>,
    started: OnceCell<()>,
    /// Whether a tool was registered that needs a scope.
    pub(crate) has_scopes: AtomicBool,
    /// What could not be registered; starting fails with it.
    problems: Mutex<Vec<String>>,
    pub(crate) sealing: RequestStateCodec,
}

#[derive(Clone)]
pub(crate) struct Settings {
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
}

impl Server {
    /// A server called `name` that offers nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        let settings = Settings {
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
        };
        let shared = Shared {
            settings: RwLock::new(settings),
            tools: Registry::default(),
            resources: Registry::default(),
            prompts: Registry::default(),
            completions: Registry::default(),
            layers: RwLock::default(),
            hides_errors: AtomicBool::new(false),
            hub: Arc::default(),
            tasks: Tasks::default(),
            states: RwLock::default(),
            lifespans: Mutex::default(),
            stops: Mutex::default(),
            started: OnceCell::new(),
            has_scopes: AtomicBool::new(false),
            problems: Mutex::default(),
            sealing: RequestStateCodec::new_unchecked(crate::random_bytes::<32>()),
        };
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn settings(&self) -> Settings {
        self.shared.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(self, set: impl FnOnce(&mut Settings)) -> Self {
        set(&mut self.shared.settings.write().unwrap_or_else(PoisonError::into_inner));
        self
    }

    /// Its version; `env!("CARGO_PKG_VERSION")` is a good one.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        self.set(|settings| settings.version = version.into())
    }

    /// A name for people.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        self.set(|settings| settings.title = Some(title.into()))
    }

    /// What it is.
    #[must_use]
    pub fn description(self, description: impl Into<String>) -> Self {
        self.set(|settings| settings.description = Some(description.into()))
    }

    /// Its web page.
    #[must_use]
    pub fn website(self, url: impl Into<String>) -> Self {
        self.set(|settings| settings.website = Some(url.into()))
    }

    /// How to use it, for the model.
    #[must_use]
    pub fn instructions(self, instructions: impl Into<String>) -> Self {
        self.set(|settings| settings.instructions = Some(instructions.into()))
    }

    /// An icon; repeat for more.
    #[must_use]
    pub fn icon(self, icon: Icon) -> Self {
        self.set(|settings| settings.icons.push(icon))
    }

    /// How many items a page of a list has at most; by default all are on one.
    #[must_use]
    pub fn page_size(self, items: usize) -> Self {
        self.set(|settings| settings.page_size = items.max(1))
    }

    /// How long and by whom lists may be cached (2026-07-28); by default not at all.
    #[must_use]
    pub fn cache_lists(self, ttl: Duration, scope: CacheScope) -> Self {
        self.set(|settings| settings.cache = Some((ttl, scope)))
    }

    /// Declares support of a protocol extension, by its identifier, with its settings (an object).
    #[must_use]
    pub fn extension(self, id: impl Into<String>, value: Value) -> Self {
        self.set(|settings| drop(settings.extensions.insert(id.into(), value)))
    }

    /// Declares an experimental capability (an object).
    #[must_use]
    pub fn experimental(self, name: impl Into<String>, value: Value) -> Self {
        self.set(|settings| drop(settings.experimental.insert(name.into(), value)))
    }

    /// Bounds of the tasks that calls of its tools become.
    #[must_use]
    pub fn task_limits(self, limits: TaskLimits) -> Self {
        self.shared.tasks.set_limits(limits);
        self
    }

    /// Adds a tool: a `#[tool]` function or a [`Tool`]. What is wrong with it is said when the server starts.
    #[must_use]
    pub fn tool(self, tool: impl Into<Tool>) -> Self {
        let added = self.add_tool(tool);
        self.noting(added)
    }

    /// Adds a resource or a template: a `#[resource]` function or a [`Resource`]. What is wrong with it is said when the
    /// server starts.
    #[must_use]
    pub fn resource(self, resource: impl Into<Resource>) -> Self {
        let added = self.add_resource(resource);
        self.noting(added)
    }

    /// Adds a prompt: a `#[prompt]` function or a [`Prompt`]. What is wrong with it is said when the server starts.
    #[must_use]
    pub fn prompt(self, prompt: impl Into<Prompt>) -> Self {
        let added = self.add_prompt(prompt);
        self.noting(added)
    }

    /// Adds a completion: a `#[completion]` function or a [`Completion`].
    #[must_use]
    pub fn completion(self, completion: impl Into<Completion>) -> Self {
        let completion = completion.into();
        self.shared.completions.insert(completion.key.clone(), completion);
        self
    }

    fn noting(self, added: Result<(), ServeError>) -> Self {
        if let Err(error) = added {
            lock(&self.shared.problems).push(error.to_string());
        }
        self
    }

    /// Adds a tool, or replaces the one of the same name.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn add_tool(&self, tool: impl Into<Tool>) -> Result<(), ServeError> {
        let served = ServedTool::new(tool.into()).map_err(ServeError::Setup)?;
        if !served.tool.scopes.is_empty() {
            self.shared.has_scopes.store(true, Ordering::Relaxed);
        }
        self.shared.tools.insert(served.tool.name.clone(), served);
        self.changed(Change::Tools);
        Ok(())
    }

    /// Removes a tool; whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.removed(self.shared.tools.remove(name), Change::Tools)
    }

    /// Adds a resource or a template, or replaces the one of the same address.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn add_resource(&self, resource: impl Into<Resource>) -> Result<(), ServeError> {
        let resource = resource.into();
        if let Err(problem) = &resource.template {
            return Err(ServeError::Setup(format!("resource {problem}")));
        }
        if resource.handler.is_none() {
            return Err(ServeError::Setup(format!("resource `{}`: it has no handler", resource.uri)));
        }
        self.shared.resources.insert(resource.uri.clone(), resource);
        self.changed(Change::Resources);
        Ok(())
    }

    /// Removes the resource or template with this address; whether there was one.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.removed(self.shared.resources.remove(uri), Change::Resources)
    }

    /// Adds a prompt, or replaces the one of the same name.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn add_prompt(&self, prompt: impl Into<Prompt>) -> Result<(), ServeError> {
        let prompt = prompt.into();
        if prompt.handler.is_none() {
            return Err(ServeError::Setup(format!("prompt `{}`: it has no handler", prompt.name)));
        }
        self.shared.prompts.insert(prompt.name.clone(), prompt);
        self.changed(Change::Prompts);
        Ok(())
    }

    /// Removes a prompt; whether there was one.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.removed(self.shared.prompts.remove(name), Change::Prompts)
    }

    fn removed(&self, removed: bool, change: Change) -> bool {
        if removed {
            self.changed(change);
        }
        removed
    }

    /// Before the server runs nobody listens; afterwards there is a runtime to tell them in.
    fn changed(&self, change: Change) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let hub = self.shared.hub.clone();
            runtime.spawn(async move { hub.tell(change).await });
        }
    }

    /// Tells the clients that have subscribed to `uri` that it has changed.
    pub async fn notify_resource_updated(&self, uri: impl Into<String>) {
        self.shared.hub.tell(Change::Resource(uri.into())).await;
    }

    /// Tells clients that the list of tools has changed, where that is not by [`Server::add_tool`] and its like.
    pub async fn notify_tools_changed(&self) {
        self.shared.hub.tell(Change::Tools).await;
    }

    /// Tells clients that the list of resources has changed.
    pub async fn notify_resources_changed(&self) {
        self.shared.hub.tell(Change::Resources).await;
    }

    /// Tells clients that the list of prompts has changed.
    pub async fn notify_prompts_changed(&self) {
        self.shared.hub.tell(Change::Prompts).await;
    }

    /// Keeps `state` for [`Context::state`] and parameters of type [`State<T>`](crate::State). One per type.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(self, state: T) -> Self {
        self.put_state(Arc::new(state));
        self
    }

    fn put_state<T: Send + Sync + 'static>(&self, state: Arc<T>) {
        self.shared.states.write().unwrap_or_else(PoisonError::into_inner).insert(TypeId::of::<T>(), state);
    }

    pub(crate) fn find_state<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let states = self.shared.states.read().unwrap_or_else(PoisonError::into_inner);
        states.get(&TypeId::of::<T>()).cloned().and_then(|state| state.downcast().ok())
    }

    /// The key that seals what questions carry from round to round (2026-07-28), 32 bytes or more. Servers that share
    /// clients share a key; without one each process has its own.
    ///
    /// # Errors
    ///
    /// The key is too short, or the server is already shared.
    pub fn sealing_key(mut self, key: &[u8]) -> Result<Self, ServeError> {
        let sealing = RequestStateCodec::try_new(key).map_err(|error| ServeError::Setup(error.to_string()))?;
        let shared = Arc::get_mut(&mut self.shared)
            .ok_or_else(|| ServeError::Setup("give the sealing key before the server is cloned".into()))?;
        shared.sealing = sealing;
        Ok(self)
    }

    /// Reads a resource: its contents, and how they may be cached.
    pub(crate) async fn read(
        &self,
        uri: &str,
        context: Context,
    ) -> Result<(Vec<ResourceContents>, Option<(Duration, CacheScope)>), Error> {
        let exact = self.shared.resources.get(uri).filter(|resource| !resource.is_template());
        let found = exact.map(|resource| (resource, Default::default())).or_else(|| {
            self.shared.resources.find(|resource| {
                let template = resource.template.as_ref().ok().filter(|template| template.has_variables())?;
                Some((resource.clone(), template.matches(uri)?))
            })
        });
        let handler = found.as_ref().and_then(|(resource, _)| resource.handler.clone());
        let (Some((resource, variables)), Some(handler)) = (found, handler) else {
            return Err(Error::no_resource(uri));
        };
        let contents = handler(ResourceRequest { uri: uri.to_owned(), variables }, context).await?;
        let mime_type = resource.mime_type.as_deref();
        Ok((contents.into_iter().map(|c| c.or_mime_type(mime_type)).collect(), resource.cache))
    }
}
