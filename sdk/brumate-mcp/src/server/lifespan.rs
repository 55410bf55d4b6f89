//! Lifespans: state that is started and stopped with the server.

use super::Server;
use crate::error::{Error, ServeError};
use crate::sync::lock;
use futures::future::BoxFuture;
use std::sync::Arc;

/// Starts a lifespan and keeps its state in the server.
pub(super) type StartLifespan = Box<dyn FnOnce(Server) -> BoxFuture<'static, Result<(), Error>> + Send>;
/// Stops a lifespan.
pub(super) type StopLifespan = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

impl Server {
    /// Adds state with a start and a stop. `start` runs once, before the first request, however many sessions there
    /// are. `stop` runs when the server ends. Lifespans start in the order in which they were added, and stop in
    /// reverse.
    ///
    /// ```
    /// # struct Database;
    /// # impl Database { async fn open() -> std::io::Result<Self> { Ok(Self) } async fn close(&self) {} }
    /// use brumate_mcp::{Server, State, tool};
    ///
    /// #[tool]
    /// async fn query(sql: String, database: State<Database>) -> String {
    ///     // …
    /// #   let _ = database; sql
    /// }
    ///
    /// let server = Server::new("explorer")
    ///     .lifespan(Database::open, async |database| database.close().await)
    ///     .tool(query);
    /// ```
    #[must_use]
    pub fn lifespan<T, E, Begin, Beginning, End, Ending>(self, start: Begin, stop: End) -> Self
    where
        T: Send + Sync + 'static,
        E: Into<Error>,
        Begin: FnOnce() -> Beginning + Send + 'static,
        Beginning: Future<Output = Result<T, E>> + Send + 'static,
        End: FnOnce(Arc<T>) -> Ending + Send + 'static,
        Ending: Future<Output = ()> + Send + 'static,
    {
        let start: StartLifespan = Box::new(move |server| {
            Box::pin(async move {
                let state = Arc::new(start().await.map_err(Into::into)?);
                server.put_state(state.clone());
                lock(&server.shared.stops).push(Box::new(move || Box::pin(stop(state))));
                Ok(())
            })
        });
        lock(&self.shared.lifespans).push(start);
        self
    }

    /// Starts the lifespans, once. Serving does it. Call it before to see a failure early.
    ///
    /// # Errors
    ///
    /// Returns [`ServeError::Setup`] if something that was registered is not valid, and [`ServeError::Startup`] if the
    /// start of a lifespan fails.
    pub async fn start(&self) -> Result<(), ServeError> {
        self.shared.started.get_or_try_init(|| self.begin()).await.map(|_| ())
    }

    async fn begin(&self) -> Result<(), ServeError> {
        let problems = std::mem::take(&mut *lock(&self.shared.problems));
        if !problems.is_empty() {
            return Err(ServeError::Setup(problems.join("\n")));
        }
        let lifespans = std::mem::take(&mut *lock(&self.shared.lifespans));
        for start in lifespans {
            if let Err(error) = start(self.clone()).await {
                self.stop().await;
                return Err(ServeError::Startup(error.to_string()));
            }
        }
        Ok(())
    }

    /// Stops the lifespans that have started, the last one first.
    pub async fn stop(&self) {
        loop {
            let stop = lock(&self.shared.stops).pop();
            let Some(stop) = stop else { return };
            stop().await;
        }
    }
}
