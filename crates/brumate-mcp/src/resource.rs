//! Resources: data by address, listed or matched by a template.

use crate::content::{Annotations, File};
use crate::contents::ResourceContents;
use crate::context::Context;
use crate::described::{Described, described_methods, descriptor};
use crate::error::Error;
use crate::result::Json;
use crate::server::CacheScope;
use crate::template::{Template, Variables};
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// What a resource's handler may return.
pub trait IntoResourceContents {
    /// The contents, at `uri` unless they have an address of their own.
    ///
    /// # Errors
    ///
    /// What makes it a failure.
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

/// A request to read a resource: its address, and what the template's variables stand for.
#[derive(Clone, Debug)]
pub struct ResourceRequest {
    /// The address.
    pub uri: String,
    pub(crate) variables: Variables,
}

impl ResourceRequest {
    /// What a variable stands for, parsed.
    ///
    /// # Errors
    ///
    /// "Not found" if it is missing or no `T`: there is no resource at such an address.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T, Error>
    where
        T::Err: fmt::Display,
    {
        self.get_optional(name)?
            .ok_or_else(|| Error::not_found(format!("resource `{}` not found: `{name}` is missing", self.uri)))
    }

    /// As [`ResourceRequest::get`], for variables of queries, which may be missing.
    ///
    /// # Errors
    ///
    /// "Not found" if it is no `T`.
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
#[derive(Clone)]
pub struct Resource {
    pub(crate) uri: String,
    pub(crate) name: String,
    described: Described,
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
    /// A resource at `uri`, which is a template if it has `{variables}`; see the crate's documentation for their
    /// forms.
    pub fn new(uri: impl Into<String>) -> Self {
        let uri = uri.into();
        Self {
            name: uri.clone(),
            described: Described::default(),
            mime_type: None,
            size: None,
            annotations: None,
            cache: None,
            handler: None,
            template: Template::parse(&uri),
            uri,
        }
    }

    /// What reads it.
    #[must_use]
    pub fn handler<F, Fut, R>(mut self, handler: F) -> Self
    where
        F: Fn(ResourceRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
        R: IntoResourceContents,
    {
        self.handler = Some(Arc::new(move |request, context| {
            let uri = request.uri.clone();
            let contents = handler(request, context);
            Box::pin(async move { contents.await.into_resource_contents(&uri) })
        }));
        self
    }

    /// What reads it, where reading blocks: it runs on a thread of its own.
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

    /// Its name; the address otherwise.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    described_methods!(/// What it is, for the model.
    );

    /// The media type of its contents.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Its size in bytes, if known; not for templates.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Hints for the client.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// How long and by whom its contents may be cached (2026-07-28); by default not at all.
    #[must_use]
    pub fn cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.cache = Some((ttl, scope));
        self
    }

    pub(crate) fn is_template(&self) -> bool {
        self.template.as_ref().is_ok_and(Template::has_variables)
    }

    /// What the list of resources, or of templates, says of it.
    pub(crate) fn descriptor(&self) -> Value {
        let more = [
            (if self.is_template() { "uriTemplate" } else { "uri" }, Some(self.uri.clone().into())),
            ("mimeType", self.mime_type.clone().map(Into::into)),
            ("size", self.size.map(Into::into)),
            ("annotations", self.annotations.as_ref().and_then(|hints| serde_json::to_value(hints).ok())),
        ];
        descriptor(&self.name, &self.described, more).into()
    }
}
