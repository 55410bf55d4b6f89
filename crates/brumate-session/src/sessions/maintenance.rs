//! Maintenance of sessions: start, hibernation of idle sessions, expiry, shutdown.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::timeout;

use super::directory::{DataDir, DataDirError};
use super::entry::{MachineState, SessionEntry, SessionLock};
use super::error::SessionError;
use super::id::SessionId;
use super::live::DiskCheck;
use super::record::SessionState;
use super::registry::{CommitSync, RecordParts};
use super::{Inner, Sessions};

/// Sessions that are written at the same time at shutdown, and for backups.
pub(super) const WRITTEN_AT_ONCE: usize = 4;
/// Time beyond its grace time that a stopped cell may delay the shutdown.
const CLOSING_MARGIN: Duration = Duration::from_secs(5);

/// Reason for the end of a session that cannot be in a file.
const ENDED_WITH_SERVER: &str = "its engine keeps sessions in processes only, and they ended with the server";

impl Sessions {
    /// Reads the registry, and removes files of earlier servers that no session needs.
    pub(super) async fn load(&self) -> Result<(), DataDirError> {
        let failed = |reason: String| DataDirError::Registry { path: self.inner.directory.root().to_owned(), reason };
        self.refresh().await.map_err(|error| failed(error.to_string()))?;
        self.store_lost().await.map_err(|error| failed(error.to_string()))?;
        self.remove_unneeded_files().await.map_err(|error| failed(error.to_string()))?;
        self.sweep().await;
        Ok(())
    }

    /// Stores in the registry which sessions earlier servers have lost.
    async fn store_lost(&self) -> Result<(), SessionError> {
        let entries: Vec<Arc<SessionEntry>> = self.entries().values().cloned().collect();
        for entry in entries.into_iter().filter(|entry| entry.is_lost()) {
            // Locking the session stores it.
            drop(self.try_lock_session(&entry).await);
        }
        Ok(())
    }

    /// Removes files that no session needs. Servers write files of sessions that they own only.
    async fn remove_unneeded_files(&self) -> Result<(), SessionError> {
        let storage = |error: std::io::Error| SessionError::Storage(error.to_string());
        let files = &self.inner.files;
        let mut of: HashMap<SessionId, Vec<String>> = HashMap::new();
        for name in files.names().map_err(storage)? {
            // The engine removes incomplete files.
            if let Some(id) = DataDir::session_of(&name) {
                of.entry(id).or_default().push(name);
            }
        }
        for (id, names) in of {
            if self.entries().get(&id).is_some_and(|entry| entry.has_lease()) {
                continue;
            }
            let Some(_lease) = self.inner.leases().try_acquire(&id).map_err(storage)? else { continue };
            let needed = self.inner.registry.store().get(&id).await?.map(|record| self.resolve_state(record));
            let needed = needed.and_then(|record| record.file).map(|file| file.name);
            // The files of a crash snapshot have the name of the session file with a suffix.
            let beside = |name: &str, needed: &str| name.strip_prefix(needed).is_some_and(|rest| rest.starts_with('.'));
            let private = DataDir::private_image_name(&id);
            for name in names {
                let is_needed = |needed: &str| name == needed || name == private || beside(&name, needed);
                if !needed.as_deref().is_some_and(is_needed) {
                    files.remove(&name);
                }
            }
        }
        Ok(())
    }

    /// Starts the task that sweeps the sessions. It ends with the last owner of them.
    pub(super) fn spawn_maintenance(&self) {
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let (closing, every) = (self.inner.closing.clone(), self.inner.settings.sweep_every());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = closing.cancelled() => return,
                    () = tokio::time::sleep(every) => {}
                }
                let Some(inner) = weak.upgrade() else { return };
                Sessions { inner }.sweep().await;
            }
        });
    }

    /// Removes expired sessions, hibernates idle ones, and makes the reserve on the disk whole.
    pub async fn sweep(&self) {
        if let Err(error) = self.refresh().await {
            tracing::warn!(%error, "the registry cannot be read");
            return;
        }
        let entries: Vec<Arc<SessionEntry>> = self.entries().values().cloned().collect();
        for entry in entries {
            if self.has_expired(&entry) {
                // A busy session is not idle. Another server may have a later time of the last use.
                if let Some(guard) = self.try_lock_session(&entry).await
                    && self.has_expired(&entry)
                    && let Err(error) = self.remove(&entry, guard).await
                {
                    tracing::warn!(%error, "an expired session could not be removed");
                }
                continue;
            }
            let idle = self.idle_time(&entry);
            let due = self.inner.settings.hibernate_after.is_some_and(|after| idle >= after);
            if due
                && self.inner.engine.stores_sessions()
                && entry.has_lease()
                && let Some(mut guard) = entry.try_lock()
                && matches!(*guard, MachineState::Live(_))
                && entry.not_storable().is_none()
                && let Err(error) = self.hibernate(&entry, &mut guard, DiskCheck::Enforced).await
            {
                tracing::warn!(session = ?entry.record().id, %error, "a session stays live");
            }
        }
        self.inner.directory.keep_reserve();
    }

    /// Does a write to the registry that frees disk space. When the disk is full, the write gets the reserve.
    pub(super) async fn with_reserve<F>(&self, write: impl Fn() -> F) -> Result<(), SessionError>
    where
        F: Future<Output = Result<(), SessionError>>,
    {
        let Err(error) = write().await else { return Ok(()) };
        if !self.is_disk_full() || !self.inner.directory.release_reserve() {
            return Err(error);
        }
        self.inner.registry.store().shorten_log().await;
        write().await
    }

    /// Removes a session with all its files.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`]; the session is kept then.
    pub(super) async fn remove(&self, entry: &Arc<SessionEntry>, mut guard: SessionLock) -> Result<(), SessionError> {
        let (id, file) = {
            let record = entry.record();
            (record.id.clone(), record.file.clone())
        };
        let remove_files = || {
            self.inner.directory.remove_crash_snapshot(&id);
            if let Some(file) = &file {
                self.inner.files.remove(&file.name);
            }
        };
        let remove = || self.inner.registry.remove(vec![id.clone()]);
        if let Err(error) = self.with_reserve(remove).await {
            if !self.is_disk_full() {
                return Err(error);
            }
            // Without a reserve the session's files make room. It is not needed any more, whatever comes.
            *guard = MachineState::Absent;
            remove_files();
            remove().await?;
        }
        *guard = MachineState::Removed;
        self.entries().remove(&id);
        remove_files();
        self.remove_private_image(entry);
        self.inner.directory.keep_reserve();
        drop(guard);
        self.free_place_for_waiting();
        Ok(())
    }

    /// Shuts down: stops running cells and hibernates every session without a check of disk space. Further calls are
    /// refused. Returns the sessions that could not be written. Of those that the disk refused, the processes stay: they
    /// write crash snapshots when this process ends.
    pub async fn close(&self) -> Vec<SessionId> {
        self.inner.closing.cancel();
        let entries: Vec<Arc<SessionEntry>> = self.entries().values().cloned().collect();
        let (entries, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.has_lease());
        self.store_last_used(&others, 0).await;
        for entry in &entries {
            entry.interrupt_running();
        }
        let mut unwritten = Vec::new();
        let mut refused = self.close_all(entries, &mut unwritten).await;
        // Sessions may have freed disk space, and the reserve is for this.
        while !refused.is_empty() {
            let before = refused.len();
            let released = self.inner.directory.release_reserve();
            refused.sort_by_cached_key(|(entry, _)| entry.disk_usage().bytes);
            refused = self.close_all(refused.into_iter().map(|(entry, _)| entry).collect(), &mut unwritten).await;
            if refused.len() == before && !released {
                break;
            }
        }
        for (entry, error) in refused {
            let id = entry.record().id.clone();
            tracing::error!(
                session = ?id, %error,
                "a session could not be hibernated; its processes write a crash snapshot, for which the disk needs room"
            );
            if let Some(mut guard) = entry.try_lock() {
                // The machine would end with its value, without a crash snapshot.
                std::mem::forget(std::mem::replace(&mut *guard, MachineState::Absent));
            }
            unwritten.push(id);
        }
        unwritten
    }

    /// Closes sessions, some at the same time. Returns those that the disk refused, and adds those that are lost to
    /// `unwritten`.
    async fn close_all(
        &self,
        entries: Vec<Arc<SessionEntry>>,
        unwritten: &mut Vec<SessionId>,
    ) -> Vec<(Arc<SessionEntry>, SessionError)> {
        let closing = futures::stream::iter(entries).map(|entry| {
            let sessions = self.clone();
            tokio::spawn(async move { (sessions.close_one(&entry).await, entry) })
        });
        let mut refused = Vec::new();
        for closed in closing.buffer_unordered(WRITTEN_AT_ONCE).collect::<Vec<_>>().await {
            match closed {
                Ok((Ok(Closed::Written), _)) => {}
                Ok((Ok(Closed::Unwritten), entry)) => unwritten.push(entry.record().id.clone()),
                Ok((Err(error), entry)) => refused.push((entry, error)),
                Err(error) => tracing::error!(%error, "a session could not be hibernated"),
            }
        }
        refused
    }

    /// Hibernates a session at shutdown.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when the disk refuses; the session is live still.
    async fn close_one(&self, entry: &Arc<SessionEntry>) -> Result<Closed, SessionError> {
        let limit = self.inner.settings.limits.grace.saturating_add(CLOSING_MARGIN);
        let id = entry.record().id.clone();
        let Ok(mut guard) = timeout(limit, entry.lock_unbounded()).await else {
            tracing::error!(session = ?id, "a session is busy to the end; what its last cells did is lost");
            return Ok(Closed::Unwritten);
        };
        let mut closed = Closed::Written;
        if !self.inner.engine.stores_sessions() && entry.record().state == SessionState::Live {
            *guard = MachineState::Absent;
            entry.record().lose(ENDED_WITH_SERVER);
        }
        match self.hibernate(entry, &mut guard, DiskCheck::Skipped).await {
            Err(error @ SessionError::Storage(_)) => return Err(error),
            Err(error) => {
                tracing::error!(session = ?id, %error, "a session could not be hibernated and is lost");
                entry.record().lose(&error.to_string());
                closed = Closed::Unwritten;
            }
            Ok(()) => {}
        }
        if matches!(*guard, MachineState::Removed) || !entry.has_lease() {
            return Ok(closed);
        }
        // Stores the time of the last use.
        let record = entry.record().clone();
        if record.state != SessionState::Fresh
            && let Err(error) = self.inner.registry.put(record, RecordParts::WithoutFiles, CommitSync::Process).await
        {
            tracing::error!(session = ?id, %error, "the registry could not be written");
        }
        Ok(closed)
    }
}

/// Result of closing a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closed {
    /// The session is in a file.
    Written,
    /// The session, or what its last cells did, is lost.
    Unwritten,
}
