//! The context for blocking handlers: the same methods, without `await`.

use super::{Context, Elicitation, Sampling};
use crate::client_features::{ElicitationResult, Root, SamplingResult, UrlElicitationResult};
use crate::contents::ResourceContents;
use crate::error::Error;
use crate::log_level::LogLevel;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Deref;

/// A [`Context`] for blocking handlers, from [`Context::blocking`]: methods that are asynchronous there wait here. If
/// the request is cancelled meanwhile, the handler ends there by unwinding.
///
/// Its methods panic in asynchronous handlers, which can await.
#[derive(Clone, Debug)]
pub struct BlockingContext {
    context: Context,
}

/// The methods that are not asynchronous.
impl Deref for BlockingContext {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

impl Context {
    /// Returns the context for a blocking handler: one that is no `async fn`.
    ///
    /// ```
    /// use brumate_mcp::{Context, tool};
    ///
    /// #[tool]
    /// fn copy(files: Vec<String>, context: Context) {
    ///     let context = context.blocking();
    ///     for (done, file) in (0u32..).zip(files) {
    ///         context.progress(f64::from(done), None);
    ///         context.info(file);
    ///     }
    /// }
    /// ```
    pub fn blocking(&self) -> BlockingContext {
        BlockingContext { context: self.clone() }
    }
}

macro_rules! levels {
    ($($method:ident)*) => {$(
        #[doc = concat!("Does what [`Context::", stringify!($method), "`] does.")]
        pub fn $method(&self, data: impl Serialize) {
            self.block_on(self.context.$method(data));
        }
    )*};
}

impl BlockingContext {
    /// Works like [`Context::progress`].
    pub fn progress(&self, done: f64, total: Option<f64>) {
        self.block_on(self.context.progress(done, total));
    }

    /// Works like [`Context::progress_message`].
    pub fn progress_message(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        self.block_on(self.context.progress_message(done, total, message));
    }

    /// Works like [`Context::log`].
    pub fn log(&self, level: LogLevel, logger: Option<&str>, data: impl Serialize) {
        self.block_on(self.context.log(level, logger, data));
    }

    levels!(debug info notice warning error critical alert emergency);

    /// Works like [`Context::elicit`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::elicit`].
    pub fn elicit<T: DeserializeOwned>(&self, question: Elicitation<T>) -> Result<ElicitationResult<T>, Error> {
        self.block_on(self.context.elicit(question))
    }

    /// Works like [`Context::elicit_url`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::elicit_url`].
    pub fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<UrlElicitationResult, Error> {
        self.block_on(self.context.elicit_url(message, url))
    }

    /// Works like [`Context::sample`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::sample`].
    pub fn sample(&self, sampling: Sampling) -> Result<SamplingResult, Error> {
        self.block_on(self.context.sample(sampling))
    }

    /// Works like [`Context::roots`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::roots`].
    pub fn roots(&self) -> Result<Vec<Root>, Error> {
        self.block_on(self.context.roots())
    }

    /// Works like [`Context::roots_as`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::roots_as`].
    pub fn roots_as(&self, key: Option<&str>) -> Result<Vec<Root>, Error> {
        self.block_on(self.context.roots_as(key))
    }

    /// Works like [`Context::once`], with a step that blocks and may use this context.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::once`].
    pub fn once<T, F>(&self, key: &str, step: F) -> Result<T, Error>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Result<T, Error>,
    {
        // Without `block_on`, in which the step could not block.
        match self.context.step_done(key)? {
            Some(done) => Ok(done),
            None => self.context.keep_step(key, step()?),
        }
    }

    /// Works like [`Context::read_resource`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::read_resource`].
    pub fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        self.block_on(self.context.read_resource(uri))
    }

    /// Works like [`Context::reserve_response`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::reserve_response`].
    pub fn reserve_response(&self, bytes: usize) -> Result<(), Error> {
        self.block_on(self.context.reserve_response(bytes))
    }

    /// Works like [`Context::notify_resources_changed`].
    pub fn notify_resources_changed(&self) {
        self.block_on(self.context.notify_resources_changed());
    }

    /// Works like [`Context::notify_tools_changed`].
    pub fn notify_tools_changed(&self) {
        self.block_on(self.context.notify_tools_changed());
    }

    /// Works like [`Context::notify_prompts_changed`].
    pub fn notify_prompts_changed(&self) {
        self.block_on(self.context.notify_prompts_changed());
    }

    /// Works like [`Context::detach`].
    pub fn detach(&self) -> bool {
        self.block_on(self.context.detach())
    }
}
