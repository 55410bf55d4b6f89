//! The context for blocking handlers: the same methods, without `await`.

use super::{Context, Elicitation, Sampling};
use crate::answers::{Answer, Root, Sampled, UrlAnswer};
use crate::contents::ResourceContents;
use crate::error::Error;
use crate::level::Level;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Deref;

/// A [`Context`] for blocking handlers, by [`Context::blocking`]: what is asynchronous there waits here. If the request is cancelled
/// meanwhile, the handler ends there, unwinding.
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
    /// Returns the context for a blocking handler, one that is no `async fn`.
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
    pub fn log(&self, level: Level, logger: Option<&str>, data: impl Serialize) {
        self.block_on(self.context.log(level, logger, data));
    }

    levels!(debug info notice warning error critical alert emergency);

    /// Does what [`Context::elicit`] does.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn elicit<T: DeserializeOwned>(&self, question: Elicitation<T>) -> Result<Answer<T>, Error> {
        self.block_on(self.context.elicit(question))
    }

    /// Does what [`Context::elicit_url`] does.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn elicit_url(&self, message: impl Into<String>, url: impl Into<String>) -> Result<UrlAnswer, Error> {
        self.block_on(self.context.elicit_url(message, url))
    }

    /// Does what [`Context::sample`] does.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn sample(&self, sampling: Sampling) -> Result<Sampled, Error> {
        self.block_on(self.context.sample(sampling))
    }

    /// Does what [`Context::roots`] does.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn roots(&self) -> Result<Vec<Root>, Error> {
        self.block_on(self.context.roots())
    }

    /// Does what [`Context::roots_as`] does.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn roots_as(&self, key: Option<&str>) -> Result<Vec<Root>, Error> {
        self.block_on(self.context.roots_as(key))
    }

    /// Does what [`Context::once`] does, with a step that blocks and may use this context.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn once<T, F>(&self, key: &str, step: F) -> Result<T, Error>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> Result<T, Error>,
    {
        // Not by `block_on`, within which the step could not block.
        match self.context.step_done(key)? {
            Some(done) => Ok(done),
            None => self.context.keep_step(key, step()?),
        }
    }

    /// Does what [`Context::read_resource`] does.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        self.block_on(self.context.read_resource(uri))
    }

    /// Does what [`Context::detach`] does.
    pub fn detach(&self) -> bool {
        self.block_on(self.context.detach())
    }
}
