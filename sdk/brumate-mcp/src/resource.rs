//! Resources: data with a URI, listed one by one or matched by a template.

use crate::cache::CacheScope;
use crate::content::{Annotations, Content};
use crate::contents::ResourceContents;
use crate::context::Context;
use crate::error::Error;
use crate::item_metadata::{ItemMetadata, descriptor, metadata_methods};
use crate::media::File;
use crate::result::Json;
use crate::template::{Template, Variables};
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// A type that a resource's handler may return.
pub trait IntoResourceContents {
    /// Converts the value. Contents without a URI of their own get `uri`.
    ///
    /// # Errors
    ///
    /// Returns the error that the client gets instead of the contents.
    fn into_resource_contents(self, uri: &str) -> Result<Vec<ResourceContents>, Error>;
}

macro_rules! contents {
    ($($type:ty: |$value:ident, $uri:ident| $contents:expr;)*) => {$(
        impl IntoResourceContents for $type {
            fn into_resource_contents(self, $uri: &str) -> Result<Vec<ResourceContents>, Error> {
                let $value = self;
                Ok($contents)
            }
        }
    )*};
}

contents! {
    String: |text, uri| vec![ResourceContents::text(uri, text)];
    &str: |text, uri| vec![ResourceContents::text(uri, text)];
    Vec<u8>: |bytes, uri| vec![ResourceContents::bytes(uri, bytes)];
    &[u8]: |bytes, uri| vec![ResourceContents::bytes(uri, bytes)];
    File: |file, uri| vec![file.into_contents(uri.to_owned())];
    Value: |value, uri| vec![ResourceContents::text(uri, value.to_string()).mime_type("application/json")];
    ResourceContents: |contents, _uri| vec![contents];
    Vec<ResourceContents>: |contents, _uri| contents;
}

impl<T: Serialize> IntoResourceContents for Json<T> {
    fn into_resource_contents(self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        serde_json::to_value(self.0)?.into_resource_contents(uri)
    }
}

impl<T: IntoResourceContents, E: Into<Error>> IntoResourceContents for Result<T, E> {
    fn into_resource_contents(self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        self.map_err(Into::into)?.into_resource_contents(uri)
    }
}

/// A request to read a resource: its URI, and the values of the template's variables.
#[derive(Clone, Debug)]
pub struct ResourceRequest {
    /// The URI.
    pub uri: String,
    pub(crate) variables: Variables,
}

impl ResourceRequest {
    /// Returns the value of a variable, parsed.
    ///
    /// # Errors
    ///
    /// Returns "not found" if the variable is missing or does not parse as a `T`: there is no resource with such a URI.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T, Error>
    where
        T::Err: fmt::Display,
    {
        self.get_optional(name)?
            .ok_or_else(|| Error::not_found(format!("resource `{}` not found: `{name}` is missing", self.uri)))
    }

    /// Returns the value of a variable of a query, which may be missing, parsed.
    ///
    /// # Errors
    ///
    /// Returns "not found" if it does not parse as a `T`.
    pub fn get_optional<T: FromStr>(&self, name: &str) -> Result<Option<T>, Error>
    where
        T::Err: fmt::Display,
    {
        let parsed = self.variables.get(name).map(|value| value.parse::<T>()).transpose();
        parsed.map_err(|error| Error::not_found(format!("resource `{}` not found: `{name}`: {error}", self.uri)))
    }
}

pub(crate) type ResourceHandler =
    Arc<dyn Fn(ResourceRequest, Context) -> BoxFuture<'static, Result<Vec<ResourceContents>, Error>> + Send + Sync>;

/// A resource or a template of resources, with its handler.
///
/// `#[resource]` makes one from a function; closures become one at run time:
///
/// ```
/// use brumate_mcp::{Context, Resource, ResourceRequest, Server};
///
/// let log = Resource::new("log://{day}")
///     .name("log")
///     .mime_type("text/plain")
///     .handler(|request: ResourceRequest, _: Context| async move {
///         let day: u32 = request.get("day")?;
///         Ok::<_, brumate_mcp::Error>(format!("the log of day {day}"))
///     });
/// let server = Server::new("logs").resource(log);
/// ```
#[derive(Clone)]
pub struct Resource {
    pub(crate) uri: String,
    pub(crate) name: String,
    metadata: ItemMetadata,
    pub(crate) mime_type: Option<String>,
    pub(crate) size: Option<u64>,
    pub(crate) annotations: Option<Annotations>,
    pub(crate) cache: Option<(Duration, CacheScope)>,
    pub(crate) handler: Option<ResourceHandler>,
    pub(crate) template: Result<Template, String>,
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("uri", &self.uri).field("name", &self.name).finish_non_exhaustive()
    }
}

impl Resource {
    /// Makes a resource with this URI. A URI with `{variables}` is a template; the [crate's
    /// documentation](crate#uri-templates) has the forms.
    pub fn new(uri: impl Into<String>) -> Self {
        let uri = uri.into();
        Self {
            name: uri.clone(),
            metadata: ItemMetadata::default(),
            mime_type: None,
            size: None,
            annotations: None,
            cache: None,
            handler: None,
            template: Template::parse(&uri),
            uri,
        }
    }

    /// Sets the handler that reads the resource.
    #[must_use]
    pub fn handler<F, Fut, R>(mut self, handler: F) -> Self
    where
        F: FnOnce(ResourceRequest, Context) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResourceContents,
    {
        self.handler = Some(Arc::new(move |request, context| {
            let uri = request.uri.clone();
            let contents = handler.clone()(request, context);
            Box::pin(async move { contents.await.into_resource_contents(&uri) })
        }));
        self
    }

    /// Sets a handler that blocks. It runs on a thread for blocking work.
    #[must_use]
    pub fn blocking_handler<F, R>(self, handler: F) -> Self
    where
        F: Fn(ResourceRequest, Context) -> R + Send + Sync + 'static,
        R: IntoResourceContents + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.handler(move |request, context| {
            let handler = handler.clone();
            crate::run::blocking(move || handler(request, context))
        })
    }

    /// Sets the name; the URI by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    metadata_methods!(/// Sets the description for the model: what the resource is.
    );

    /// Sets the media type of the contents.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the size in bytes. Templates have none.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Sets hints for the client.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Sets how long and by whom the contents may be cached (since 2026-07-28). By default they may not be cached.
    #[must_use]
    pub fn cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.cache = Some((ttl, scope));
        self
    }

    pub(crate) fn is_template(&self) -> bool {
        self.template.as_ref().is_ok_and(Template::has_variables)
    }

    /// Returns the entry of `resources/list` or `resources/templates/list`.
    pub(crate) fn descriptor(&self) -> Value {
        let more = [
            (if self.is_template() { "uriTemplate" } else { "uri" }, Some(self.uri.clone().into())),
            ("mimeType", self.mime_type.clone().map(Into::into)),
            ("size", self.size.map(Into::into)),
            ("annotations", self.annotations.as_ref().and_then(|hints| serde_json::to_value(hints).ok())),
        ];
        descriptor(&self.name, &self.metadata, more).into()
    }
}

/// A link to the resource, with its description, media type and size. The resource needs no handler and need not be
/// listed.
impl From<Resource> for Content {
    fn from(resource: Resource) -> Self {
        Self::link_to(resource.descriptor())
    }
}
