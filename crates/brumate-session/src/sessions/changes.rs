//! Operations on whole sessions: fork, reset, clear.

use brumate_engine_api::{EngineError, Session};
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::entry::DiskUsage;
use super::entry::{LiveMachine, MachineState, SessionEntry};
use super::error::SessionError;
use super::id::SessionId;
use super::record::{SessionRecord, SessionState};
use super::registry::{CommitSync, RecordParts};
use super::settings::Durability;

impl Sessions {
    /// Makes another session that continues from the present state of this one: variables, modules, files. Both are
    /// independent afterwards. A session of another version of Brumate that cannot be resumed passes on its files
    /// only.
    ///
    /// # Errors
    ///
    /// Errors of resuming the session, and those of limits.
    pub async fn fork(&self, principal: &str, id: &str, cancel: &CancellationToken) -> Result<SessionId, SessionError> {
        let parent = self.find(principal, id).await?;
        self.detached(cancel, |sessions, cancel| async move {
            let guard = sessions.lock_session(&parent, &cancel).await?;
            let record = {
                let parent = parent.record();
                let mut record = SessionRecord::new(SessionId::random()?, &parent.principal, sessions.now());
                record.state = parent.state;
                record.generation = parent.generation;
                record.executions = parent.executions;
                record.files.clone_from(&parent.files);
                record.packages.clone_from(&parent.packages);
                record
            };
            let usage = DiskUsage { written: false, ..parent.disk_usage() };
            let copy = async |child: &SessionEntry, machine: &mut MachineState| {
                let parent_id = parent.record().id.clone();
                let copied = match sessions.copy(&parent, &guard, child, machine).await {
                    Ok(()) => sessions.copy_cells(parent_id, child).await,
                    error => error,
                };
                drop(guard);
                copied
            };
            sessions.add_filled(record, usage, copy).await
        })
        .await
    }

    /// Adds a session with the state that `fill` gives it, and returns its id. The session is removed again if `fill`
    /// fails.
    pub(super) async fn add_filled(
        &self,
        record: SessionRecord,
        usage: DiskUsage,
        fill: impl AsyncFnOnce(&SessionEntry, &mut MachineState) -> Result<(), SessionError>,
    ) -> Result<SessionId, SessionError> {
        self.make_disk_space(&SessionEntry::unlisted(&record.principal)?, usage).await?;
        let id = record.id.clone();
        let entry = self.add(record)?;
        entry.set_estimate(usage.bytes);
        // No other call knows its id yet.
        let mut machine = entry.lock_unbounded().await;
        let filled = fill(&entry, &mut machine).await;
        self.free_place_for_waiting();
        if let Err(error) = filled {
            self.remove(&entry, machine).await?;
            return Err(error);
        }
        Ok(id)
    }

    async fn copy(
        &self,
        parent: &SessionEntry,
        from: &MachineState,
        child: &SessionEntry,
        to: &mut MachineState,
    ) -> Result<(), SessionError> {
        let (parent_id, state, note, file) = {
            let record = parent.record();
            (record.id.clone(), record.state, record.note.clone(), record.current_file().cloned())
        };
        match (from, state, file) {
            (MachineState::Removed, ..) => return Err(self.not_found(parent)),
            (_, SessionState::Lost, _) => return Err(SessionError::Lost { id: parent_id, reason: note }),
            (_, SessionState::Fresh, _) => {}
            (MachineState::Absent, _, None) => {
                return Err(SessionError::Lost { id: parent_id, reason: "its file is gone".to_owned() });
            }
            // A state that is in a file is copied as a file, without a machine.
            (_, _, Some(file)) => {
                let source = self.fetch_file(&file.name).await?;
                if matches!(from, MachineState::Absent)
                    && let private = self.inner.directory.existing_private_image(&parent_id)
                    && let Err(EngineError::Outdated(_)) =
                        self.inner.engine.can_resume(&source, private.as_deref()).await
                {
                    return self.copy_files(parent, child, to).await;
                }
                self.share_private_image(&parent_id, child).await?;
                return self.adopt_copy(child, source).await;
            }
            (MachineState::Live(live), _, None) => {
                self.share_private_image(&parent_id, child).await?;
                // Does not wait: the parent has a place itself. Two parents that waited for each other's places would
                // wait for ever.
                if self.inner.settings.durability == Durability::Shutdown
                    && let Some(place) = self.try_live_place().await
                {
                    let session = live.session.fork().await?;
                    self.enable_crash_recovery(child, &*session).await;
                    self.store_copy(child, &*session).await?;
                    *to = MachineState::Live(LiveMachine::new(session, place));
                    return Ok(());
                }
                let file = self.write_file(child, &*live.session).await?;
                return self.adopt_file(child, file, SessionState::Hibernated).await;
            }
        }
        let record = child.record().clone();
        self.inner.registry.put(record, RecordParts::All, CommitSync::Process).await
    }

    /// Gives `child` the files of a session that cannot be resumed.
    async fn copy_files(
        &self,
        parent: &SessionEntry,
        child: &SessionEntry,
        to: &mut MachineState,
    ) -> Result<(), SessionError> {
        let place = self.live_place(&CancellationToken::new()).await?;
        let session = self.recover_files(parent).await?;
        {
            let mut record = child.record();
            record.state = SessionState::Live;
            record.executions = 0;
            record.packages.clear();
        }
        self.enable_crash_recovery(child, &*session).await;
        if let Err(error) = self.note_files(child, &*session).await {
            tracing::warn!(%error, "the files of a session cannot be listed");
        }
        self.store_copy(child, &*session).await?;
        *to = MachineState::Live(LiveMachine::new(session, place));
        Ok(())
    }

    /// Stores a live copy: in its file if no crash snapshot would keep its state, otherwise in the registry alone.
    async fn store_copy(&self, child: &SessionEntry, session: &dyn Session) -> Result<(), SessionError> {
        if self.inner.settings.durability == Durability::Cell || !child.has_crash_recovery() {
            let file = self.write_file(child, session).await?;
            return self.adopt_file(child, file, SessionState::Live).await;
        }
        let record = child.record().clone();
        self.inner.registry.put(record, RecordParts::All, CommitSync::Process).await
    }

    /// Resets a session: it keeps its id, and starts with a fresh interpreter and without files. A running cell is
    /// killed.
    ///
    /// # Errors
    ///
    /// [`SessionError::NotFound`], [`SessionError::Storage`].
    pub async fn reset(&self, principal: &str, id: &str) -> Result<(), SessionError> {
        let entry = self.find(principal, id).await?;
        self.detached(&CancellationToken::new(), |sessions, _| async move {
            let mut guard = sessions.kill_and_lock_session(&entry).await?;
            if matches!(*guard, MachineState::Removed) {
                return Err(sessions.not_found(&entry));
            }
            let emptied = {
                let record = entry.record();
                let mut emptied = SessionRecord::new(record.id.clone(), &record.principal, record.created);
                emptied.generation = record.generation.saturating_add(1);
                emptied.last_used = sessions.now();
                emptied
            };
            let forget = || sessions.set_cells(&entry, Vec::new());
            sessions.with_reserve(forget).await?;
            // But for its history, the session is unchanged until the registry has the reset.
            let put = || sessions.inner.registry.put(emptied.clone(), RecordParts::All, CommitSync::Disk);
            sessions.with_reserve(put).await?;
            *guard = MachineState::Absent;
            let file = std::mem::replace(&mut *entry.record(), emptied).file;
            if let Some(file) = file {
                sessions.inner.files.remove(&file.name);
            }
            sessions.inner.directory.remove_crash_snapshot(&entry.record().id);
            sessions.remove_private_image(&entry);
            sessions.inner.directory.keep_reserve();
            drop(guard);
            sessions.free_place_for_waiting();
            Ok(())
        })
        .await
    }

    /// Removes a session with all its files; false if it does not exist. A running cell is killed.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`].
    pub async fn clear(&self, principal: &str, id: &str) -> Result<bool, SessionError> {
        let entry = match self.find(principal, id).await {
            Ok(entry) => entry,
            Err(SessionError::NotFound { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        self.detached(&CancellationToken::new(), |sessions, _| async move {
            // Further calls do not find the session; waiting ones fail with [`SessionError::NotFound`].
            if entry.set_cleared(true) {
                return Ok(false);
            }
            let cleared = async {
                let guard = sessions.kill_and_lock_session(&entry).await?;
                let was_there = !matches!(*guard, MachineState::Removed);
                sessions.remove(&entry, guard).await?;
                Ok(was_there)
            };
            let cleared = cleared.await;
            if cleared.is_err() {
                entry.set_cleared(false);
            }
            cleared
        })
        .await
    }
}
