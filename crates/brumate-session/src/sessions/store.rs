//! Storage of changes: a change is stored before it is answered, and rolled back if it cannot be stored.

use brumate_engine_api::Session;

use super::Sessions;
use super::entry::SessionEntry;
use super::error::SessionError;
use super::record::{SessionState, StateFile};
use super::registry::{CommitSync, RecordParts};
use super::settings::Durability;
use crate::packages::LayerRecord;

/// The part of a session's record that a rollback restores, as it was before a change.
pub(super) struct Savepoint {
    state: SessionState,
    generation: u64,
    executions: u64,
    packages: Vec<LayerRecord>,
}

impl Savepoint {
    /// Makes a savepoint of the present record.
    pub(super) fn of(entry: &SessionEntry) -> Self {
        let record = entry.record();
        Self {
            state: record.state,
            generation: record.generation,
            executions: record.executions,
            packages: record.packages.clone(),
        }
    }
}

/// Result of a roll-back.
pub(super) struct RolledBack {
    /// Reason why the machine ended as well; `None` if it goes on in the state before the change.
    pub(super) lost: Option<String>,
    /// Whether the registry has the state before the change.
    is_recorded: bool,
}

/// Error when a change was rolled back.
pub(super) struct RolledBackChange {
    pub(super) error: SessionError,
    /// Reason for the end of the machine, if the machine ended in the rollback. The record then has the state of the
    /// session after that.
    pub(super) lost: Option<String>,
}

impl Sessions {
    /// Ends the transaction of a change. The session's record has the change already. Commits if the change can be
    /// stored. Otherwise rolls back the session and its record.
    ///
    /// # Errors
    ///
    /// [`RolledBackChange`]. Its error comes from the disk, the limits on disk space, or the engine.
    pub(super) async fn commit_change(
        &self,
        entry: &SessionEntry,
        session: &dyn Session,
        before: Savepoint,
        parts: RecordParts,
    ) -> Result<(), RolledBackChange> {
        let (error, stored) = match self.store_change(entry, session, parts).await {
            Err(error) => (error, None),
            Ok(file) => match session.commit().await {
                Ok(()) => {
                    let outdated = std::mem::replace(&mut entry.record().file, file);
                    self.remove_replaced(entry, outdated);
                    return Ok(());
                }
                Err(error) => (error.into(), file),
            },
        };
        tracing::warn!(session = ?entry.record().id, %error, "a change was rolled back: it could not be stored");
        let RolledBack { lost, is_recorded } = self.roll_back_change(entry, session, before).await;
        // The registry names the file of the change until it has the record of the state before.
        if is_recorded && let Some(file) = stored {
            self.inner.files.remove(&file.name);
        }
        Err(RolledBackChange { error, lost })
    }

    /// Rolls a change back: the session, its record, and the registry.
    pub(super) async fn roll_back_change(
        &self,
        entry: &SessionEntry,
        session: &dyn Session,
        before: Savepoint,
    ) -> RolledBack {
        let back = session.roll_back().await;
        {
            let mut record = entry.record();
            record.state = before.state;
            record.generation = before.generation;
            record.executions = before.executions;
            record.packages = before.packages;
        }
        entry.clear_not_storable();
        let lost = match back {
            Ok(()) => {
                if let Err(error) = self.note_files(entry, session).await {
                    tracing::warn!(%error, "the files of a session cannot be listed");
                }
                None
            }
            Err(error) => {
                let reason = error.to_string();
                self.note_machine_loss(entry, &reason);
                Some(reason)
            }
        };
        // The registry has the change already if only the engine could not commit it.
        let record = entry.record().clone();
        let put = || self.inner.registry.put(record.clone(), RecordParts::All, CommitSync::Disk);
        let recorded = self.with_reserve(put).await;
        if let Err(error) = &recorded {
            tracing::warn!(session = ?record.id, %error, "the registry could not be written");
        }
        RolledBack { lost, is_recorded: recorded.is_ok() }
    }

    /// Notes that a session's machine has ended. Returns false if the session is lost. It is not lost if its present
    /// state is in a file, or if it has no state yet.
    pub(super) fn note_machine_loss(&self, entry: &SessionEntry, reason: &str) -> bool {
        let mut record = entry.record();
        let kept = record.state == SessionState::Fresh || record.current_file().is_some();
        if !kept {
            record.lose(&format!("its interpreter ended: {reason}"));
        } else if record.state == SessionState::Live {
            record.state = SessionState::Hibernated;
        }
        kept
    }

    /// Stores the present state in the registry. If a file is needed, writes the file first and returns it. Keeps the
    /// old file.
    async fn store_change(
        &self,
        entry: &SessionEntry,
        session: &dyn Session,
        parts: RecordParts,
    ) -> Result<Option<StateFile>, SessionError> {
        let file = match self.inner.settings.durability {
            Durability::Cell => Some(self.write_if_it_fits(entry, session).await?),
            Durability::Shutdown => match self.reserve_disk_space(entry, session).await? {
                // A change must survive the end of this server once it is answered. Without crash recovery, this needs
                // a file.
                None if !entry.has_crash_recovery() => Some(self.write_if_it_fits(entry, session).await?),
                file => file,
            },
        };
        let (record, sync) = {
            let mut record = entry.record().clone();
            // After a power failure, a file of an earlier state must not be taken for this state. So the registry is
            // synced to disk if there is an old or a new file.
            let sync = if record.file.is_some() || file.is_some() { CommitSync::Disk } else { CommitSync::Process };
            record.file.clone_from(&file);
            (record, sync)
        };
        match self.inner.registry.put(record, parts, sync).await {
            Ok(()) => Ok(file),
            Err(error) => {
                if let Some(file) = file {
                    self.inner.files.remove(&file.name);
                }
                Err(error)
            }
        }
    }

    /// Stores a session's new file in the registry and removes the old one. Until the registry is written, the old
    /// file is the valid one.
    pub(super) async fn adopt_file(
        &self,
        entry: &SessionEntry,
        file: StateFile,
        state: SessionState,
    ) -> Result<(), SessionError> {
        let name = file.name.clone();
        let record = {
            let mut record = entry.record().clone();
            record.file = Some(file);
            record.state = state;
            record
        };
        if let Err(error) = self.inner.registry.put(record.clone(), RecordParts::All, CommitSync::Disk).await {
            self.inner.files.remove(&name);
            return Err(error);
        }
        let outdated = {
            let mut current = entry.record();
            current.state = state;
            std::mem::replace(&mut current.file, record.file)
        };
        self.remove_replaced(entry, outdated);
        Ok(())
    }

    /// Removes `outdated`, unless the record still names this file.
    fn remove_replaced(&self, entry: &SessionEntry, outdated: Option<StateFile>) {
        let present = entry.record().file.as_ref().map(|file| file.name.clone());
        if let Some(outdated) = outdated.filter(|outdated| present.as_ref() != Some(&outdated.name)) {
            self.inner.files.remove(&outdated.name);
        }
    }
}
