//! Ownership of sessions among several servers. It covers leases, the shared registry, and requests from other servers.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::directory::DataDir;
use super::entry::{MachineState, SessionEntry, SessionLock};
use super::error::{SessionError, duration_in_words};
use super::id::SessionId;
use super::lease::{
    Frozen, LeaseClaim, LeaseRequestError, LeaseRequestHandler, OwnerWait, RETRY_INTERVAL, SILENCE_LIMIT, Urgency,
};
use super::live::DiskCheck;
use super::record::{SessionRecord, SessionState, StateFile};
use super::registry::{CommitSync, RecordParts};
use super::{Inner, Sessions};

/// Time between two attempts to take a session that its owner has released. The session may be reserved for this server
/// or for another one.
const TURN_INTERVAL: Duration = Duration::from_millis(2);
/// Step for the stored time of the last use, in milliseconds. The time is stored again when it is more than this step
/// later than the stored one.
pub(super) const LAST_USED_STEP: i64 = 30_000;

impl Sessions {
    /// Reads the registry again if another server has written to it.
    pub(super) async fn refresh(&self) -> Result<(), SessionError> {
        if self.inner.registry.store().is_current() == Some(true) {
            return Ok(());
        }
        let sessions = self.clone();
        self.inner.registry.store().read_again(Box::new(move |records| sessions.apply_records(records))).await
    }

    /// Replaces the known records by the registry's records, for sessions that this server does not own.
    pub(super) fn apply_records(&self, records: Vec<SessionRecord>) {
        let known: HashSet<SessionId> = records.iter().map(|record| record.id.clone()).collect();
        let now = (self.inner.settings.elapsed)();
        let mut entries = self.entries();
        let registry = &self.inner.registry;
        entries.retain(|id, entry| known.contains(id) || entry.has_lease() || registry.is_unstored(id));
        for record in records {
            let entry = entries.get(&record.id);
            if entry.is_some_and(|entry| entry.has_lease()) {
                continue;
            }
            let record = if self.inner.leases().is_held(&record.id) { record } else { self.resolve_state(record) };
            let idle = self.unused_for(&record);
            match entry {
                Some(entry) => entry.set_record(record, now, idle),
                None => {
                    let id = record.id.clone();
                    let entry = SessionEntry::with_idle_time(record, now, idle);
                    let private = std::fs::metadata(self.inner.directory.private_image(&id));
                    entry.set_private_image_bytes(private.map_or(0, |found| found.len()));
                    drop(entries.insert(id, Arc::new(entry)));
                }
            }
        }
    }

    /// Returns how long a session has not been used. If the clock was set back, sessions look as if they had just been
    /// used. A clock that was set forward cannot be detected.
    fn unused_for(&self, record: &SessionRecord) -> Duration {
        Duration::from_millis(u64::try_from(self.now().saturating_sub(record.last_used)).unwrap_or(0))
    }

    /// Determines the state of a session that no server owns, from its record and the existing files.
    pub(super) fn resolve_state(&self, mut record: SessionRecord) -> SessionRecord {
        let (directory, files) = (&self.inner.directory, &self.inner.files);
        let has_file = record.current_file().is_some_and(|file| files.has(&file.name));
        match record.state {
            SessionState::Fresh | SessionState::Lost => {}
            SessionState::Live | SessionState::Hibernated if has_file => record.state = SessionState::Hibernated,
            // The registry has the state `live` until the session is used again. The crash snapshot then serves as the
            // file of the session.
            SessionState::Live | SessionState::Hibernated if directory.has_crash_snapshot(&record.id) => {
                let (name, generation) = (DataDir::crash_snapshot_name(&record.id), record.generation);
                record.file = Some(StateFile { name, bytes: directory.crash_snapshot_bytes(&record.id), generation });
                record.state = SessionState::Hibernated;
            }
            SessionState::Live => record.lose("the server ended without hibernating it"),
            SessionState::Hibernated => record.lose("its file is gone"),
        }
        record
    }

    /// Locks the session for one operation and gets its lease. Calls get the lock in order. If another server owns the
    /// session, that server hibernates it first.
    ///
    /// # Errors
    ///
    /// The errors of [`SessionEntry::lock`]. [`SessionError::OwnedElsewhere`] if the other server refuses, or sends
    /// nothing for [`SILENCE_LIMIT`]. [`SessionError::NotFound`] if another server has removed the session.
    pub(super) async fn lock_session(
        &self,
        entry: &Arc<SessionEntry>,
        cancel: &CancellationToken,
    ) -> Result<SessionLock, SessionError> {
        let wait = OwnerWait::begin();
        let mut guard = entry.lock(cancel, self.inner.settings.when_full).await?;
        self.acquire_lease(entry, &mut guard, Urgency::InTurn, wait, cancel).await?;
        Ok(guard)
    }

    /// Locks as [`Sessions::lock_session`] does, but without a limit on waiting calls. A running cell is killed.
    pub(super) async fn kill_and_lock_session(&self, entry: &Arc<SessionEntry>) -> Result<SessionLock, SessionError> {
        entry.discard_cell();
        let wait = OwnerWait::begin();
        let mut guard = entry.lock_unbounded().await;
        match self.acquire_lease(entry, &mut guard, Urgency::AtOnce, wait, &CancellationToken::new()).await {
            Err(SessionError::NotFound { .. }) | Ok(()) => Ok(guard),
            Err(error) => Err(error),
        }
    }

    /// Locks the session if it is free in this server and in all others. Otherwise returns `None` at once.
    pub(super) async fn try_lock_session(&self, entry: &Arc<SessionEntry>) -> Option<SessionLock> {
        let mut guard = entry.try_lock()?;
        if entry.has_lease() || matches!(*guard, MachineState::Removed) {
            return Some(guard);
        }
        let id = entry.record().id.clone();
        entry.set_lease(Some(self.inner.leases().try_acquire(&id).ok()??));
        self.reload(entry, &mut guard).await.ok()?;
        Some(guard)
    }

    /// Gets the lease of a locked session, unless this server has it already. `wait` began before the session was
    /// locked. The time before the lock counts for the order of the servers, but not as silence of the owner.
    async fn acquire_lease(
        &self,
        entry: &Arc<SessionEntry>,
        guard: &mut SessionLock,
        urgency: Urgency,
        mut wait: OwnerWait,
        cancel: &CancellationToken,
    ) -> Result<(), SessionError> {
        if entry.has_lease() || matches!(**guard, MachineState::Removed) {
            return Ok(());
        }
        let id = entry.record().id.clone();
        let leases = self.inner.leases();
        wait.note_life();
        loop {
            let acquired = leases.try_acquire(&id).map_err(|error| SessionError::Storage(error.to_string()))?;
            if let Some(lease) = acquired {
                entry.set_lease(Some(lease));
                return self.reload(entry, guard).await;
            }
            let released = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(SessionError::Cancelled),
                released = leases.request(&id, urgency, &mut wait) => released,
            };
            let pause = match released {
                Ok(()) => {
                    wait.note_life();
                    TURN_INTERVAL
                }
                Err(LeaseRequestError::Silent { .. }) if !wait.is_over() => RETRY_INTERVAL,
                Err(error) => return Err(owned_elsewhere_error(id, error)),
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(SessionError::Cancelled),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Reads the registry's record of a session whose lease this server has just got.
    async fn reload(&self, entry: &Arc<SessionEntry>, guard: &mut SessionLock) -> Result<(), SessionError> {
        let id = entry.record().id.clone();
        let Some(stored) = self.inner.registry.store().get(&id).await? else {
            if self.inner.registry.is_unstored(&id) {
                return Ok(());
            }
            **guard = MachineState::Removed;
            self.entries().remove(&id);
            return Err(self.not_found(entry));
        };
        let record = self.resolve_state(stored.clone());
        if record.state == SessionState::Lost && stored.state != SessionState::Lost {
            tracing::warn!(session = ?id, reason = record.note, "a session is lost");
            // If this write fails, the next reader gets the same result from the stored record.
            let put = self.inner.registry.put(record.clone(), RecordParts::WithoutFiles, CommitSync::Process).await;
            if let Err(error) = put {
                tracing::warn!(session = ?id, %error, "the registry could not be written");
            }
        }
        let idle = self.unused_for(&record);
        entry.set_record(record, (self.inner.settings.elapsed)(), idle);
        entry.clear_not_storable();
        Ok(())
    }

    /// Stores the times of the last use of sessions that this server does not own. Skips a session if the stored time
    /// is at most `step` milliseconds earlier. With this time, other servers decide whether a session has expired.
    pub(super) async fn store_last_used(&self, entries: &[Arc<SessionEntry>], step: i64) {
        let later = entries.iter().filter(|entry| !entry.has_lease() && entry.claim_last_used_update(step));
        let used = |entry: &Arc<SessionEntry>| {
            let record = entry.record();
            (record.id.clone(), record.last_used)
        };
        let used: Vec<(SessionId, i64)> = later.map(used).collect();
        if !used.is_empty()
            && let Err(error) = self.inner.registry.store().set_last_used(used).await
        {
            tracing::warn!(%error, "the registry could not be written");
        }
    }

    /// Hibernates a session at the request of another server. Then reserves the session for the next server in order.
    async fn release(&self, id: &SessionId, claim: LeaseClaim, cancel: &CancellationToken) -> Result<(), SessionError> {
        let Some(entry) = self.owned(id) else { return Ok(()) };
        let urgency = claim.urgency;
        let _waiting = entry.claims().add(claim);
        let mut guard = match urgency {
            Urgency::InTurn => entry.lock(cancel, self.inner.settings.when_full).await?,
            Urgency::AtOnce => {
                entry.discard_cell();
                entry.lock_unbounded().await
            }
        };
        match self.hibernate(&entry, &mut guard, DiskCheck::Enforced).await {
            // The other server will reset or remove the session, so its state is not needed.
            Err(_) if urgency == Urgency::AtOnce => *guard = MachineState::Absent,
            other => other?,
        }
        entry.reserve_for_next();
        drop(guard);
        self.free_place_for_waiting();
        Ok(())
    }

    /// Waits for the lock of a session. Writes the session to its file if it is live. `None` if this server does not
    /// own it.
    async fn freeze(&self, id: &SessionId, cancel: &CancellationToken) -> Result<Option<SessionLock>, SessionError> {
        let Some(entry) = self.owned(id) else { return Ok(None) };
        let guard = entry.lock(cancel, self.inner.settings.when_full).await?;
        if !entry.has_lease() {
            return Ok(None);
        }
        if let Some(error) = entry.not_storable() {
            return Err(error);
        }
        let _place = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(SessionError::Cancelled),
            // The semaphore is never closed.
            place = self.inner.backups.acquire() => place.ok(),
        };
        self.write_if_live(&entry, &guard).await?;
        Ok(Some(guard))
    }

    fn owned(&self, id: &SessionId) -> Option<Arc<SessionEntry>> {
        self.entries().get(id).cloned().filter(|entry| entry.has_lease())
    }
}

/// Returns the error for a session that another server owns and does not release.
pub(super) fn owned_elsewhere_error(id: SessionId, error: LeaseRequestError) -> SessionError {
    let (process, reason) = refusal(error);
    SessionError::OwnedElsewhere { id, process, reason }
}

/// Returns the process that does not release a session, if it is known, and the reason for the user.
pub(super) fn refusal(error: LeaseRequestError) -> (Option<u32>, String) {
    match error {
        LeaseRequestError::Refused { process, reason } => (process, reason),
        LeaseRequestError::Silent { process } => (process, silence()),
    }
}

/// Returns the reason for the user if a server does not answer, and the next step.
fn silence() -> String {
    let limit = duration_in_words(SILENCE_LIMIT);
    format!(
        "it has not answered for {limit}. If it hangs, end that process; the session then has the \
         state of the last answered change"
    )
}

/// Answers the requests of other servers until this server ends.
pub(super) struct RequestHandler(pub(super) Weak<Inner>);

impl RequestHandler {
    fn sessions(&self) -> Option<Sessions> {
        self.0.upgrade().map(|inner| Sessions { inner })
    }
}

#[async_trait]
impl LeaseRequestHandler for RequestHandler {
    async fn release(&self, id: &SessionId, claim: LeaseClaim) -> Result<(), String> {
        let Some(sessions) = self.sessions() else { return Ok(()) };
        let id = id.clone();
        let work = |sessions: Sessions, cancel| async move { sessions.release(&id, claim, &cancel).await };
        let released = sessions.detached(&CancellationToken::new(), work).await;
        released.map_err(|error| error.to_string())
    }

    async fn freeze(&self, id: &SessionId) -> Result<Option<Frozen>, String> {
        let Some(sessions) = self.sessions() else { return Ok(None) };
        let id = id.clone();
        let work = |sessions: Sessions, cancel| async move { sessions.freeze(&id, &cancel).await };
        let frozen = sessions.detached(&CancellationToken::new(), work).await;
        frozen.map(|guard| guard.map(|guard| Box::new(guard) as Frozen)).map_err(|error| error.to_string())
    }

    fn interrupt(&self, id: &SessionId) -> bool {
        let entry = self.sessions().and_then(|sessions| sessions.entries().get(id).cloned());
        entry.is_some_and(|entry| entry.interrupt())
    }
}

#[cfg(test)]
mod tests;
