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
    /// Does what [`Context::progress`] does.
    pub fn progress(&self, done: f64, total: Option<f64>) {
        self.block_on(self.context.progress(done, total));
    }

    /// Does what [`Context::progress_message`] does.
    pub fn progress_message(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        self.block_on(self.context.progress_message(done, total, message));
    }

    /// Does what [`Context::log`] does.
    pub fn log(&self, level: LogLevel, logger: Option<&str>, data: impl Serialize) {
        self.block_on(self.context.log(level, logger, data));
    }

    levels!(debug info notice warning error critical alert emergency);

    /// Does what [`Context::elicit`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::elicit`].
    pub fn elicit<T: DeserializeOwned>(&self, question: Elicitation<T>) -> Result<ElicitationResult<T>, Error> {
        self.block_on(self.context.elicit(question))
    }

    /// Does what [`Context::elicit_url`] does.
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

    /// Does what [`Context::sample`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::sample`].
    pub fn sample(&self, sampling: Sampling) -> Result<SamplingResult, Error> {
        self.block_on(self.context.sample(sampling))
    }

    /// Does what [`Context::roots`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::roots`].
    pub fn roots(&self) -> Result<Vec<Root>, Error> {
        self.block_on(self.context.roots())
    }

    /// Does what [`Context::roots_as`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::roots_as`].
    pub fn roots_as(&self, key: Option<&str>) -> Result<Vec<Root>, Error> {
        self.block_on(self.context.roots_as(key))
    }

    /// Does what [`Context::once`] does, with a step that blocks and may use this context.
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

    /// Does what [`Context::read_resource`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::read_resource`].
    pub fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        self.block_on(self.context.read_resource(uri))
    }

    /// Does what [`Context::reserve_response`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::reserve_response`].
    pub fn reserve_response(&self, bytes: usize) -> Result<(), Error> {
        self.block_on(self.context.reserve_response(bytes))
    }

    /// Does what [`Context::notify_resources_changed`] does.
    pub fn notify_resources_changed(&self) {
        self.block_on(self.context.notify_resources_changed());
    }

    /// Does what [`Context::notify_tools_changed`] does.
    pub fn notify_tools_changed(&self) {
        self.block_on(self.context.notify_tools_changed());
    }

    /// Does what [`Context::notify_prompts_changed`] does.
    pub fn notify_prompts_changed(&self) {
        self.block_on(self.context.notify_prompts_changed());
    }

    /// Does what [`Context::detach`] does.
    pub fn detach(&self) -> bool {
        self.block_on(self.context.detach())
    }
}
