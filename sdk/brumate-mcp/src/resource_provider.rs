//! Resource providers: resources that are not known beforehand.

use crate::cache::CacheScope;
use crate::contents::ResourceContents;
use crate::context::Context;
use crate::error::Error;
use crate::resource::Resource;
use futures::future::BoxFuture;
use std::time::Duration;

/// A source of resources that are not known when the server is set up. Examples are the rows of a database, or the
/// files of each principal. [`Server::resource_provider`](crate::Server::resource_provider) adds it.
///
/// ```
/// use brumate_mcp::{Context, Error, ProvidedContents, Resource, ResourceContents, ResourcePage, ResourceProvider, Server};
///
/// /// The notes of the principal that sends the request.
/// struct Notes;
///
/// impl ResourceProvider for Notes {
///     async fn list(&self, _cursor: Option<&str>, context: Context) -> Result<ResourcePage, Error> {
///         let Some(principal) = context.principal() else { return Ok(ResourcePage::default()) };
///         let uri = format!("notes://{}/today", principal.subject());
///         Ok(ResourcePage::new([Resource::new(uri).name("today").mime_type("text/plain")]))
///     }
///
///     async fn read(&self, uri: &str, context: Context) -> Result<Option<ProvidedContents>, Error> {
///         let Some((owner, "today")) = uri.strip_prefix("notes://").and_then(|path| path.split_once('/')) else {
///             return Ok(None);
///         };
///         if context.principal().is_none_or(|principal| principal.subject() != owner) {
///             return Err(Error::not_found("there is no such note"));
///         }
///         Ok(Some(ResourceContents::text(uri, "Buy milk.").into()))
///     }
/// }
///
/// let server = Server::new("notes").resource_provider(Notes);
/// ```
pub trait ResourceProvider: Send + Sync + 'static {
    /// Returns the templates that clients see in `resources/templates/list`. The templates need no handler:
    /// [`ResourceProvider::read`] gets the whole URI. This method is called once, when the provider is added. By
    /// default there are no templates.
    fn templates(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// Returns one page of the resources in `resources/list` for this client. Without a cursor it is the first page. In
    /// an `impl` this may be an `async fn`. Default: no resources. A client can also read resources that are not
    /// listed.
    ///
    /// A client can send any text as a cursor, so check it.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is no such page. [`Error::invalid_params`] is for an invalid cursor.
    fn list(&self, cursor: Option<&str>, context: Context) -> impl Future<Output = Result<ResourcePage, Error>> + Send {
        let _ = (cursor, context);
        std::future::ready(Ok(ResourcePage::default()))
    }

    /// Reads the resource with this URI. The URI is exactly as the client sent it. In an `impl` this may be an
    /// `async fn`. Returns `None` if the provider has no resources with such URIs.
    ///
    /// # Errors
    ///
    /// Returns the reason why the resource cannot be read, such as [`Error::not_found`].
    fn read(&self, uri: &str, context: Context)
    -> impl Future<Output = Result<Option<ProvidedContents>, Error>> + Send;
}

/// A page of the resources of a [`ResourceProvider`].
#[derive(Clone, Debug, Default)]
pub struct ResourcePage {
    pub(crate) resources: Vec<Resource>,
    pub(crate) next_cursor: Option<String>,
}

impl ResourcePage {
    /// Makes a page without a next cursor: the last page. The resources need no handler. Templates among them are not
    /// listed.
    pub fn new(resources: impl IntoIterator<Item = Resource>) -> Self {
        Self { resources: resources.into_iter().collect(), next_cursor: None }
    }

    /// Sets the cursor of the next page.
    #[must_use]
    pub fn next_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.next_cursor = Some(cursor.into());
        self
    }
}

/// The contents of a resource of a [`ResourceProvider`].
#[derive(Clone, Debug, PartialEq)]
pub struct ProvidedContents {
    pub(crate) contents: Vec<ResourceContents>,
    pub(crate) cache: Option<(Duration, CacheScope)>,
}

impl ProvidedContents {
    /// Sets how long and by whom the contents may be cached. By default they may not be cached. Clients with a protocol
    /// before 2026-07-28 also get these hints, and ignore them.
    #[must_use]
    pub fn cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.cache = Some((ttl, scope));
        self
    }
}

impl From<Vec<ResourceContents>> for ProvidedContents {
    fn from(contents: Vec<ResourceContents>) -> Self {
        Self { contents, cache: None }
    }
}

impl From<ResourceContents> for ProvidedContents {
    fn from(contents: ResourceContents) -> Self {
        vec![contents].into()
    }
}

/// A resource provider whose concrete type is erased.
pub(crate) trait DynResourceProvider: Send + Sync {
    fn list<'a>(&'a self, cursor: Option<&'a str>, context: Context) -> BoxFuture<'a, Result<ResourcePage, Error>>;

    fn read<'a>(&'a self, uri: &'a str, context: Context) -> BoxFuture<'a, Result<Option<ProvidedContents>, Error>>;
}

impl<P: ResourceProvider> DynResourceProvider for P {
    fn list<'a>(&'a self, cursor: Option<&'a str>, context: Context) -> BoxFuture<'a, Result<ResourcePage, Error>> {
        Box::pin(ResourceProvider::list(self, cursor, context))
    }

    fn read<'a>(&'a self, uri: &'a str, context: Context) -> BoxFuture<'a, Result<Option<ProvidedContents>, Error>> {
        Box::pin(ResourceProvider::read(self, uri, context))
    }
}
