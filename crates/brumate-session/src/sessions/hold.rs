//! Ownership of sessions among several servers: leases, the shared registry, requests of other servers.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::directory::DataDir;
use super::error::SessionError;
use super::id::SessionId;
use super::lease::{Holder, HolderError, Urgency};
use super::live::Room;
use super::record::{ImageFile, Record, SessionState};
use super::registry::{Parts, Sync};
use super::slot::{Body, Slot, Turn};
use super::{Inner, Sessions};

/// Attempts to reach the server that owns a session.
const ATTEMPTS: u32 = 100;
/// Time between attempts: a killed server takes a moment to end.
const PAUSE: Duration = Duration::from_millis(50);
/// Milliseconds of use after which the time of the last use is stored again.
pub(super) const USE_STEP: i64 = 30_000;

impl Sessions {
    /// Reads the registry again if another server has written to it.
    pub(super) async fn refresh(&self) -> Result<(), SessionError> {
        if self.inner.registry.is_current() == Some(true) {
            return Ok(());
        }
        let sessions = self.clone();
        self.inner.registry.read_again(move |records| sessions.take_over(records)).await
    }

    /// Takes over the registry's records of sessions that this server does not own.
    pub(super) fn take_over(&self, records: Vec<Record>) {
        let known: HashSet<SessionId> = records.iter().map(|record| record.id.clone()).collect();
        let now = (self.inner.settings.elapsed)();
        let mut slots = self.slots();
        let registry = &self.inner.registry;
        slots.retain(|id, slot| known.contains(id) || slot.has_lease() || registry.is_expected(id));
        for record in records {
            let slot = slots.get(&record.id);
            if slot.is_some_and(|slot| slot.has_lease()) {
                continue;
            }
            let record = if self.inner.leases().is_held(&record.id) { record } else { self.settle(record) };
            let idle = self.unused_for(&record);
            match slot {
                Some(slot) => slot.set_record(record, now, idle),
                None => drop(slots.insert(record.id.clone(), Arc::new(Slot::aged(record, now, idle)))),
            }
        }
    }

    /// Returns how long a session has not been used. A clock that was set back makes sessions look used. A clock that
    /// was set forward cannot be detected.
    fn unused_for(&self, record: &Record) -> Duration {
        Duration::from_millis(u64::try_from(self.now().saturating_sub(record.last_used)).unwrap_or(0))
    }

    /// Determines the state of a session that no server owns, from its record and the existing files.
    pub(super) fn settle(&self, mut record: Record) -> Record {
        let directory = &self.inner.directory;
        let has_file = record.current_image().is_some_and(|image| directory.image(&image.name).is_file());
        match record.state {
            SessionState::Fresh | SessionState::Lost => {}
            SessionState::Live | SessionState::Asleep if has_file => record.state = SessionState::Asleep,
            // The registry says `live` until the session is used again. Its crash snapshot is as good as a file.
            SessionState::Live | SessionState::Asleep if directory.has_will(&record.id) => {
                let (name, generation) = (DataDir::will_name(&record.id), record.generation);
                record.image = Some(ImageFile { name, bytes: directory.will_bytes(&record.id), generation });
                record.state = SessionState::Asleep;
            }
            SessionState::Live => record.lose("the server ended without putting it to sleep"),
            SessionState::Asleep => record.lose("its file is gone"),
        }
        record
    }

    /// Locks the session for one operation, in turn, and gets its lease. Another server that owns it hibernates it.
    ///
    /// # Errors
    ///
    /// Those of [`Slot::lock`]; [`SessionError::OwnedElsewhere`] when the other server does not release it,
    /// [`SessionError::NotFound`] when it has removed it.
    pub(super) async fn turn(&self, slot: &Arc<Slot>, cancel: &CancellationToken) -> Result<Turn, SessionError> {
        let mut turn = slot.lock(cancel).await?;
        self.lease(slot, &mut turn, Urgency::InTurn, cancel).await?;
        Ok(turn)
    }

    /// Locks as [`Sessions::lock_session`] does, but without a limit on waiting calls. A running cell is killed.
    pub(super) async fn sure_turn(&self, slot: &Arc<Slot>) -> Result<Turn, SessionError> {
        slot.kill();
        let mut turn = slot.lock_surely().await;
        match self.lease(slot, &mut turn, Urgency::AtOnce, &CancellationToken::new()).await {
            Err(SessionError::NotFound { .. }) | Ok(()) => Ok(turn),
            Err(error) => Err(error),
        }
    }

    /// Locks the session if it is free, in this server and in others.
    pub(super) async fn try_turn(&self, slot: &Arc<Slot>) -> Option<Turn> {
        let mut turn = slot.try_lock()?;
        if slot.has_lease() || matches!(*turn, Body::Gone) {
            return Some(turn);
        }
        let id = slot.record().id.clone();
        slot.set_lease(Some(self.inner.leases().try_acquire(&id).ok()??));
        self.reload(slot, &mut turn).await.ok()?;
        Some(turn)
    }

    /// Gets the lease of a locked session, unless this server has it already.
    async fn lease(
        &self,
        slot: &Arc<Slot>,
        turn: &mut Turn,
        urgency: Urgency,
        cancel: &CancellationToken,
    ) -> Result<(), SessionError> {
        if slot.has_lease() || matches!(**turn, Body::Gone) {
            return Ok(());
        }
        let id = slot.record().id.clone();
        let leases = self.inner.leases();
        let mut attempts = 0;
        loop {
            let acquired = leases.try_acquire(&id).map_err(|error| SessionError::Storage(error.to_string()))?;
            if let Some(lease) = acquired {
                slot.set_lease(Some(lease));
                return self.reload(slot, turn).await;
            }
            let given_up = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(SessionError::Cancelled),
                given_up = leases.request(&id, urgency) => given_up,
            };
            match given_up {
                Ok(()) => attempts = 0,
                Err(HolderError::Silent { .. }) if attempts < ATTEMPTS => attempts += 1,
                Err(error) => return Err(elsewhere(id, error)),
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(SessionError::Cancelled),
                () = tokio::time::sleep(if attempts == 0 { Duration::ZERO } else { PAUSE }) => {}
            }
        }
    }

    /// Reads the registry's record of a session whose lease this server has just got.
    async fn reload(&self, slot: &Arc<Slot>, turn: &mut Turn) -> Result<(), SessionError> {
        let id = slot.record().id.clone();
        let Some(stored) = self.inner.registry.get(&id).await? else {
            if self.inner.registry.is_expected(&id) {
                return Ok(());
            }
            **turn = Body::Gone;
            self.slots().remove(&id);
            return Err(self.gone(slot));
        };
        let record = self.settle(stored.clone());
        if record.state == SessionState::Lost && stored.state != SessionState::Lost {
            tracing::warn!(session = ?id, reason = record.note, "a session is lost");
            self.inner.registry.put(record.clone(), Parts::WithoutFiles, Sync::Process).await?;
        }
        let idle = self.unused_for(&record);
        slot.set_record(record, (self.inner.settings.elapsed)(), idle);
        slot.forget_unkeepable();
        Ok(())
    }

    /// Stores the time of the last use of sessions that this server does not own, if the stored one is more than
    /// `step` milliseconds earlier. Other servers decide by it whether a session has expired.
    pub(super) async fn store_uses(&self, slots: &[Arc<Slot>], step: i64) {
        let later = slots.iter().filter(|slot| !slot.has_lease() && slot.begin_store_use(step));
        let used = |slot: &Arc<Slot>| {
            let record = slot.record();
            (record.id.clone(), record.last_used)
        };
        let used: Vec<(SessionId, i64)> = later.map(used).collect();
        if !used.is_empty()
            && let Err(error) = self.inner.registry.set_last_used(used).await
        {
            tracing::warn!(%error, "the registry could not be written");
        }
    }

    /// Hibernates a session at another server's request.
    async fn release(&self, id: &SessionId, urgency: Urgency, cancel: &CancellationToken) -> Result<(), SessionError> {
        let Some(slot) = self.slots().get(id).cloned().filter(|slot| slot.has_lease()) else { return Ok(()) };
        let mut turn = match urgency {
            Urgency::InTurn => slot.lock(cancel).await?,
            Urgency::AtOnce => {
                slot.kill();
                slot.lock_surely().await
            }
        };
        match self.hibernate(&slot, &mut turn, Room::Checked).await {
            // The other server is about to reset or remove it.
            Err(_) if urgency == Urgency::AtOnce => *turn = Body::Away,
            other => other?,
        }
        drop(turn);
        self.make_room();
        Ok(())
    }
}

/// Returns the error for a session that another server owns and does not release.
pub(super) fn elsewhere(id: SessionId, error: HolderError) -> SessionError {
    let (process, reason) = match error {
        HolderError::Refused { process, reason } => (process, reason),
        HolderError::Silent { process } => (process, "that one does not answer".to_owned()),
    };
    SessionError::Elsewhere { id, process, reason }
}

/// Answers the requests of other servers until this server ends.
pub(super) struct LocalHolder(pub(super) Weak<Inner>);

impl LocalHolder {
    fn sessions(&self) -> Option<Sessions> {
        self.0.upgrade().map(|inner| Sessions { inner })
    }
}

impl Holder for LocalHolder {
    fn release<'a>(&'a self, id: &'a SessionId, urgency: Urgency) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let Some(sessions) = self.sessions() else { return Ok(()) };
            let id = id.clone();
            let work = |sessions: Sessions, cancel| async move { sessions.release(&id, urgency, &cancel).await };
            let released = sessions.detached(&CancellationToken::new(), work).await;
            released.map_err(|error| error.to_string())
        })
    }

    fn interrupt(&self, id: &SessionId) -> bool {
        let slot = self.sessions().and_then(|sessions| sessions.slots().get(id).cloned());
        slot.is_some_and(|slot| slot.interrupt())
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(sessions) = self.sessions() {
                sessions.write_idle().await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::sessions::settings::{LOCAL_PRINCIPAL, SessionSettings};
    use crate::testing::FakeEngine;

    use super::*;

    /// The search for a session to hibernate may lock a new session before its first cell does.
    #[tokio::test]
    async fn a_session_that_is_being_made_is_not_taken_for_one_that_another_server_has_removed() {
        let directory = tempfile::tempdir().unwrap();
        let sessions = Sessions::open(Arc::new(FakeEngine::default()), SessionSettings::new(directory.path()));
        let sessions = sessions.await.unwrap();
        let slot = sessions.create(LOCAL_PRINCIPAL).await.unwrap();
        drop(slot.try_lock().expect("nobody has it"));
        assert!(!slot.has_lease());
        sessions.take_over(Vec::new());
        let turn = sessions.turn(&slot, &CancellationToken::new()).await.expect("it is there");
        assert!(slot.has_lease() && matches!(*turn, Body::Away));
        // A stored session is gone when the registry lacks it.
        let record = slot.record().clone();
        sessions.inner.registry.put(record.clone(), Parts::All, Sync::Process).await.unwrap();
        drop(turn);
        sessions.inner.registry.remove(vec![record.id]).await.unwrap();
        assert!(matches!(sessions.turn(&slot, &CancellationToken::new()).await, Err(SessionError::NotFound { .. })));
    }
}
