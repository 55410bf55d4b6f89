//! Disk space of sessions.
//!
//! A live session counts with the estimated size of its file, so a call that makes it too large fails at once, not
//! when it is hibernated. The engine's estimate is rather too large. When the estimate does not fit, the file is
//! written to learn the exact size.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::Arc;

use brumate_engine_api::{EngineError, Session};

use super::Sessions;
use super::directory::DataDir;
use super::entry::{DiskUsage, MachineState, SessionEntry};
use super::error::SessionError;
use super::record::{SessionState, StateFile};
use super::settings::Durability;
use crate::allowance::OverLimit;

/// Bytes of the disk that are left to the registry and its log.
const RESERVE: u64 = 1 << 20;

impl Sessions {
    /// Returns whether the disk of the data directory has no room for sessions.
    pub fn is_disk_full(&self) -> bool {
        (self.inner.settings.free_space)(&self.inner.directory.file("")).is_some_and(|free| free < RESERVE)
    }

    /// Checks that `usage` of a session fits beside the other sessions.
    ///
    /// # Errors
    ///
    /// [`SessionError::OverLimit`], [`SessionError::DiskFull`], [`SessionError::NoSpace`].
    fn check_disk_space(&self, entry: &SessionEntry, usage: DiskUsage) -> Result<(), SessionError> {
        let settings = &self.inner.settings;
        let entries: Vec<Arc<SessionEntry>> = self.entries().values().cloned().collect();
        let unwritten = |usage: DiskUsage| if usage.written { 0 } else { usage.bytes };
        let beside = entry.private_image_bytes().saturating_add(entry.record().history_bytes);
        let bytes = usage.bytes.saturating_add(beside);
        let (mut all, mut own, mut open) = (bytes, bytes, unwritten(usage));
        for other in entries.iter().filter(|other| !std::ptr::eq(&***other, entry)) {
            let usage = other.disk_usage();
            all = all.saturating_add(usage.bytes);
            open = open.saturating_add(unwritten(usage));
            if other.principal() == entry.principal() {
                own = own.saturating_add(usage.bytes);
            }
        }
        if let Some(limit) = settings.allowances.of(entry.principal()).disk_bytes.filter(|limit| own > *limit) {
            return Err(SessionError::OverLimit(OverLimit::Disk { limit }));
        }
        if all > settings.max_disk_bytes {
            return Err(SessionError::DiskFull { limit: settings.max_disk_bytes });
        }
        // The file of the state before goes when a change is committed.
        let replaced = match settings.durability {
            Durability::Shutdown if !usage.written => entry.record().file.as_ref().map_or(0, |file| file.bytes),
            _ => 0,
        };
        match (settings.free_space)(&self.inner.directory.file("")).map(|free| free.saturating_add(replaced)) {
            Some(free) if open > 0 && open.saturating_add(RESERVE) > free => Err(SessionError::NoSpace { free }),
            _ => Ok(()),
        }
    }

    /// Makes room as needed and checks as [`Sessions::check_disk_space`] does: writes other sessions whose size is
    /// estimated, the largest first, until there is enough.
    pub(super) async fn make_disk_space(&self, entry: &SessionEntry, usage: DiskUsage) -> Result<(), SessionError> {
        let Err(mut error) = self.check_disk_space(entry, usage) else { return Ok(()) };
        let mut others: Vec<Arc<SessionEntry>> = self.entries().values().cloned().collect();
        others.retain(|other| !std::ptr::eq(&**other, entry) && other.has_lease() && !other.disk_usage().written);
        others.sort_by_cached_key(|other| Reverse(other.disk_usage().bytes));
        for other in others {
            if matches!(error, SessionError::OverLimit(_)) && other.principal() != entry.principal() {
                continue;
            }
            // A busy session fails on the limit itself.
            let Some(guard) = other.try_lock() else { continue };
            if let Err(error) = self.write_if_live(&other, &guard).await {
                tracing::debug!(session = ?other.record().id, %error, "a session's size stays an estimate");
                continue;
            }
            match self.check_disk_space(entry, usage) {
                Ok(()) => return Ok(()),
                Err(still) => error = still,
            }
        }
        Err(error)
    }

    /// Writes the file of a live session whose present state has none. The session stays live.
    ///
    /// # Errors
    ///
    /// The errors of [`Sessions::write_file`]; [`SessionError::Storage`]. The old file is kept then.
    pub(super) async fn write_if_live(&self, entry: &SessionEntry, machine: &MachineState) -> Result<(), SessionError> {
        let MachineState::Live(live) = machine else { return Ok(()) };
        if entry.disk_usage().written || entry.not_storable().is_some() {
            return Ok(());
        }
        let file = self.write_file(entry, &*live.session).await?;
        self.adopt_file(entry, file, SessionState::Live).await
    }

    /// Checks that there is disk space for a new session.
    ///
    /// # Errors
    ///
    /// The errors of [`Sessions::check_disk_space`].
    pub(super) async fn make_disk_space_for_new(&self, principal: &str) -> Result<(), SessionError> {
        let unlisted = SessionEntry::unlisted(principal)?;
        self.make_disk_space(&unlisted, DiskUsage { bytes: 1, written: false }).await
    }

    /// Checks that there is disk space for a session's new state. Returns its file if that had to be written to know
    /// its size.
    ///
    /// # Errors
    ///
    /// The errors of [`Sessions::check_disk_space`]; [`SessionError::Storage`].
    pub(super) async fn reserve_disk_space(
        &self,
        entry: &SessionEntry,
        session: &dyn Session,
    ) -> Result<Option<StateFile>, SessionError> {
        let limits = self.limits();
        let most = limits.memory_bytes.saturating_add(limits.file_bytes);
        let bytes = session.estimated_bytes().await.unwrap_or(most);
        if self.check_disk_space(entry, DiskUsage { bytes, written: false }).is_ok() {
            entry.set_estimate(bytes);
            return Ok(None);
        }
        match self.write_if_it_fits(entry, session).await {
            // The new file does not fit beside the one of the state before, but may fit without that.
            Err(error @ SessionError::Storage(_)) if entry.record().file.is_some() => {
                let Ok(bytes) = session.measured_bytes().await else { return Err(error) };
                self.make_disk_space(entry, DiskUsage { bytes, written: false }).await.map_err(|_| error)?;
                entry.set_estimate(bytes);
                Ok(None)
            }
            Err(error @ SessionError::NotStorable { .. }) => {
                // It will never be on disk.
                entry.set_not_storable(error);
                entry.set_estimate(0);
                Ok(None)
            }
            written => written.map(Some),
        }
    }

    /// Writes the file of a session's present state, if it fits.
    ///
    /// # Errors
    ///
    /// The errors of [`Sessions::reserve_disk_space`]; [`SessionError::NotStorable`]. The file is removed then.
    pub(super) async fn write_if_it_fits(
        &self,
        entry: &SessionEntry,
        session: &dyn Session,
    ) -> Result<StateFile, SessionError> {
        let file = self.write_file(entry, session).await?;
        if let Err(error) = self.make_disk_space(entry, DiskUsage { bytes: file.bytes, written: true }).await {
            self.inner.files.remove(&file.name);
            return Err(error);
        }
        Ok(file)
    }

    /// Writes the file of a session's present state, without a check of disk space.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] for I/O errors, [`SessionError::NotStorable`]. The old file is kept then.
    pub(super) async fn write_file(
        &self,
        entry: &SessionEntry,
        session: &dyn Session,
    ) -> Result<StateFile, SessionError> {
        let (name, generation) = {
            let record = entry.record();
            (DataDir::state_file_name(&record.id, record.generation), record.generation)
        };
        let written = session.write_to(&self.inner.files.path(&name)).await;
        let bytes = written.map_err(|error| match error {
            EngineError::Io(error) => SessionError::Storage(error.to_string()),
            EngineError::Image(reason) => SessionError::NotStorable { reason },
            error => error.into(),
        })?;
        self.store_file(&name).await?;
        Ok(StateFile { name, bytes, generation })
    }

    /// Stores a file that was just written, or removes it.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when it cannot be stored.
    pub(super) async fn store_file(&self, name: &str) -> Result<(), SessionError> {
        let stored = self.inner.files.store(name).await.inspect_err(|_| self.inner.files.remove(name));
        stored.map_err(|error| SessionError::Storage(error.to_string()))
    }

    /// Returns the path of a stored file, for reading.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when the store cannot be read.
    pub(super) async fn fetch_file(&self, name: &str) -> Result<PathBuf, SessionError> {
        self.inner.files.fetch(name).await.map_err(|error| SessionError::Storage(error.to_string()))
    }
}
