//! The kernel API of Jupyter Server over HTTP and WebSockets. Each kernel is a session in the sandbox.
//!
//! Source: the REST API and "WebSocket protocols" in the documentation of Jupyter Server.
//!
//! The caller of the router authenticates requests, and puts the [`Caller`] of each into its extensions.

mod channels;
mod clients;
mod error;
mod frames;
mod models;
mod routes;
mod served_kernel;
mod session_records;

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use brumate_session::sessions::Sessions;
use futures::future::{BoxFuture, Shared, join_all};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use error::ApiError;
pub use error::refusal_body;
use models::is_kernel_name;
use served_kernel::{KernelSettings, ServedKernel};
use session_records::{SessionRecord, SessionRequest, uuid};

use crate::kernel::Shutdown;
use brumate_jupyter_protocol::now;
use brumate_notebook::OutputPolicy;

/// Most kernels of one principal, and most of its sessions in Jupyter's sense.
const MAX_KERNELS: usize = 100;
/// Most WebSockets of one principal.
const MAX_WEBSOCKETS: usize = 64;
/// Most bytes of requests that wait for the kernels of one principal. Then its clients wait.
const WAITING_BYTES: usize = 64 << 20;
/// Longest time between two searches for kernels whose session has expired.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// Shortest time between two searches.
const SWEEP_PAUSE: Duration = Duration::from_millis(500);

/// Sender of a request. It is in the extensions of each request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Name of the principal.
    pub principal: String,
    /// Ends when the principal's token is not valid any more. WebSockets then end.
    pub revoked: Shared<BoxFuture<'static, ()>>,
}

/// The kernels of a server, and the API for them. Clones share them.
#[derive(Clone)]
pub struct Gateway {
    inner: Arc<Inner>,
}

struct Inner {
    settings: KernelSettings,
    /// Time at which the server started, ISO 8601.
    started: String,
    kernels: Mutex<HashMap<String, Arc<ServedKernel>>>,
    records: Mutex<Vec<SessionRecord>>,
    /// Rooms of requests that wait, by principal.
    rooms: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Gateway").field("kernels", &self.inner.kernels.lock().len()).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Makes a gateway without kernels. It must be called in a tokio runtime.
    pub fn new(sessions: Sessions, policy: OutputPolicy) -> Self {
        let pause = sessions.settings().timeout.map_or(SWEEP_EVERY, |timeout| timeout / 6);
        let inner = Arc::new(Inner {
            settings: KernelSettings { sessions, policy },
            started: now(),
            kernels: Mutex::default(),
            records: Mutex::default(),
            rooms: Mutex::default(),
        });
        let swept = Arc::downgrade(&inner);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause.clamp(SWEEP_PAUSE, SWEEP_EVERY)).await;
                let Some(inner) = swept.upgrade() else { return };
                Self { inner }.remove_expired().await;
            }
        });
        Self { inner }
    }

    /// Returns the routes below `/api`.
    pub fn router(&self) -> Router {
        routes::router(self.clone())
    }

    /// Ends all kernels.
    pub async fn close(&self) {
        let kernels = std::mem::take(&mut *self.inner.kernels.lock());
        self.inner.records.lock().clear();
        join_all(kernels.values().map(|kernel| kernel.end("the server stops"))).await;
    }

    /// Returns the kernels of a principal, sorted by their ids.
    fn kernels_of(&self, principal: &str) -> Vec<Arc<ServedKernel>> {
        let all = self.inner.kernels.lock();
        let mut kernels: Vec<_> = all.values().filter(|kernel| kernel.principal == principal).cloned().collect();
        kernels.sort_by(|a, b| a.id.cmp(&b.id));
        kernels
    }

    /// Returns a kernel of a principal.
    ///
    /// # Errors
    ///
    /// There is none with that id, or it is another principal's: 404.
    fn kernel(&self, principal: &str, id: &str) -> Result<Arc<ServedKernel>, ApiError> {
        let kernel = self.inner.kernels.lock().get(id).filter(|kernel| kernel.principal == principal).cloned();
        kernel.ok_or_else(|| ApiError::not_found("kernel", id))
    }

    /// Starts a kernel.
    ///
    /// # Errors
    ///
    /// There is no kernelspec with that name, there are too many kernels, or it did not start.
    async fn start_kernel(&self, principal: &str, name: &str) -> Result<Arc<ServedKernel>, ApiError> {
        if !is_kernel_name(name) {
            return Err(ApiError::not_found("kernelspec", name));
        }
        let kernel = {
            let mut kernels = self.inner.kernels.lock();
            if kernels.values().filter(|kernel| kernel.principal == principal).count() >= MAX_KERNELS {
                let message = format!("there are {MAX_KERNELS} kernels; delete one that is not needed");
                return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, message));
            }
            let id = uuid();
            let on_shutdown = on_shutdown(Arc::downgrade(&self.inner), principal.to_owned(), id.clone());
            let (settings, room) = (self.inner.settings.clone(), self.inner.room(principal));
            let kernel =
                ServedKernel::start(id.clone(), name.to_owned(), principal.to_owned(), settings, room, on_shutdown);
            let kernel = Arc::new(kernel);
            kernels.insert(id, Arc::clone(&kernel));
            kernel
        };
        match kernel.started().await {
            Ok(()) => Ok(kernel),
            Err(error) => {
                // Somebody else may have deleted it meanwhile.
                let _ = self.delete_kernel(principal, &kernel.id, "the kernel did not start").await;
                Err(error.into())
            }
        }
    }

    /// Ends a kernel and removes it.
    ///
    /// # Errors
    ///
    /// As [`Self::kernel`].
    async fn delete_kernel(&self, principal: &str, id: &str, reason: &'static str) -> Result<(), ApiError> {
        let kernel = self.kernel(principal, id)?;
        self.inner.kernels.lock().remove(id);
        self.inner.records.lock().retain(|record| record.kernel_id != id);
        // In a task of its own: a client that does not wait for the answer does not keep the kernel alive.
        let ending = tokio::spawn(async move { kernel.end(reason).await });
        // It does not panic.
        let _ = ending.await;
        Ok(())
    }

    /// Removes the kernels whose session has expired, or was removed by other means.
    async fn remove_expired(&self) {
        let kernels: Vec<Arc<ServedKernel>> = self.inner.kernels.lock().values().cloned().collect();
        let mut sessions: HashMap<String, Vec<String>> = HashMap::new();
        for kernel in kernels {
            let Some(session) = kernel.session_id().filter(|_| kernel.state() == "idle") else { continue };
            if !sessions.contains_key(&kernel.principal) {
                let records = self.inner.settings.sessions.list(&kernel.principal).await;
                let ids = records.iter().map(|record| record.id.as_str().to_owned()).collect();
                sessions.insert(kernel.principal.clone(), ids);
            }
            let is_there = sessions.get(&kernel.principal).is_some_and(|ids| ids.contains(&session));
            // A restart may have replaced the session meanwhile.
            if !is_there && kernel.session_id().as_ref() == Some(&session) {
                tracing::info!("a kernel has ended: its session was not used for long");
                let _ = self.delete_kernel(&kernel.principal, &kernel.id, "the kernel was not used for long").await;
            }
        }
    }

    /// Returns the sessions of a principal with their kernels.
    fn records_of(&self, principal: &str) -> Vec<(SessionRecord, Arc<ServedKernel>)> {
        let records: Vec<SessionRecord> =
            self.inner.records.lock().iter().filter(|record| record.principal == principal).cloned().collect();
        let with_kernel =
            |record: SessionRecord| self.kernel(principal, &record.kernel_id).ok().map(|kernel| (record, kernel));
        records.into_iter().filter_map(with_kernel).collect()
    }

    /// Returns a session of a principal with its kernel.
    ///
    /// # Errors
    ///
    /// There is none with that id, or it is another principal's: 404.
    fn record(&self, principal: &str, id: &str) -> Result<(SessionRecord, Arc<ServedKernel>), ApiError> {
        let found = self.records_of(principal).into_iter().find(|(record, _)| record.id == id);
        found.ok_or_else(|| ApiError::not_found("session", id))
    }

    /// Returns the kernel that a request for a session names; starts one if it names only a kernelspec.
    async fn wanted_kernel(&self, principal: &str, request: &SessionRequest) -> Result<Arc<ServedKernel>, ApiError> {
        let wanted = request.kernel.as_ref();
        match wanted.and_then(|kernel| kernel.id.as_deref()) {
            Some(id) => self.kernel(principal, id),
            None => {
                let name = wanted.and_then(|kernel| kernel.name.as_deref());
                self.start_kernel(principal, name.unwrap_or(models::KERNEL_NAME)).await
            }
        }
    }

    /// Makes a session, or returns the session that the document has already.
    async fn make_record(
        &self,
        principal: &str,
        request: &SessionRequest,
    ) -> Result<(SessionRecord, Arc<ServedKernel>), ApiError> {
        let known = self.records_of(principal);
        if let Some(found) = known.iter().find(|(record, _)| Some(&record.path) == request.path.as_ref()) {
            return Ok(found.clone());
        }
        // Nothing is started for a request that is wrong.
        SessionRecord::new(principal, request, "")?;
        if known.len() >= MAX_KERNELS {
            let message = format!("there are {MAX_KERNELS} sessions; delete one that is not needed");
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, message));
        }
        let kernel = self.wanted_kernel(principal, request).await?;
        let record = SessionRecord::new(principal, request, &kernel.id)?;
        self.inner.records.lock().push(record.clone());
        Ok((record, kernel))
    }

    /// Changes a session. A kernel that it leaves goes on.
    async fn change_record(
        &self,
        principal: &str,
        id: &str,
        request: &SessionRequest,
    ) -> Result<(SessionRecord, Arc<ServedKernel>), ApiError> {
        self.record(principal, id)?;
        let kernel = match &request.kernel {
            Some(_) => Some(self.wanted_kernel(principal, request).await?),
            None => None,
        };
        if let Some(record) = self.inner.records.lock().iter_mut().find(|record| record.id == id) {
            record.change(request);
            if let Some(kernel) = kernel {
                record.kernel_id.clone_from(&kernel.id);
            }
        }
        self.record(principal, id)
    }

    /// Returns whether a principal may open another WebSocket.
    fn has_room_for_websocket(&self, principal: &str) -> bool {
        self.kernels_of(principal).iter().map(|kernel| kernel.clients().count()).sum::<usize>() < MAX_WEBSOCKETS
    }
}

impl Inner {
    /// Returns the room of requests that wait for a principal's kernels.
    fn room(&self, principal: &str) -> Arc<Semaphore> {
        let mut rooms = self.rooms.lock();
        rooms.retain(|_, room| room.strong_count() > 0);
        let known = rooms.get(principal).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let room = Arc::new(Semaphore::new(WAITING_BYTES));
            rooms.insert(principal.to_owned(), Arc::downgrade(&room));
            room
        })
    }
}

/// Returns the function that restarts or deletes a kernel when a client asks for it in a message.
fn on_shutdown(gateway: Weak<Inner>, principal: String, id: String) -> served_kernel::OnShutdown {
    Arc::new(move |Shutdown { restart }| {
        let Some(gateway) = gateway.upgrade().map(|inner| Gateway { inner }) else { return };
        let (principal, id) = (principal.clone(), id.clone());
        tokio::spawn(async move {
            let done = match restart {
                true => match gateway.kernel(&principal, &id) {
                    Ok(kernel) => kernel.restart(true).await.map_err(ApiError::from),
                    Err(error) => Err(error),
                },
                false => gateway.delete_kernel(&principal, &id, "a client has shut the kernel down").await,
            };
            if let Err(error) = done {
                tracing::debug!(?error, "a kernel did not end as a client wanted");
            }
        });
    })
}

#[cfg(test)]
mod tests;
