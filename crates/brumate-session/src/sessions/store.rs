//! Storage of changes: a change is stored before it is answered, and rolled back if it cannot be stored.

use brumate_engine_api::Session;

use super::Sessions;
use super::error::SessionError;
use super::record::{ImageFile, SessionState};
use super::registry::{CommitSync, RecordParts};
use super::settings::Durability;
use super::slot::Slot;
use crate::packages::LayerRecord;

/// Part of a session's record before a change.
pub(super) struct Savepoint {
    state: SessionState,
    generation: u64,
    executions: u64,
    packages: Vec<LayerRecord>,
}

impl Savepoint {
    /// Copies it from the present record.
    pub(super) fn of(slot: &Slot) -> Self {
        let record = slot.record();
        Self {
            state: record.state,
            generation: record.generation,
            executions: record.executions,
            packages: record.packages.clone(),
        }
    }
}

/// Error when a change was rolled back.
pub(super) struct RolledBackChange {
    pub(super) error: SessionError,
    /// Reason why the machine ended as well. The record has the session's state.
    pub(super) lost: Option<String>,
}

impl Sessions {
    /// Ends the transaction of a change that the record has already: commits it if it can be stored, otherwise rolls
    /// back the session and its record.
    ///
    /// # Errors
    ///
    /// [`RolledBackChange`] with the error of the disk, its limits, or the engine.
    pub(super) async fn commit_change(
        &self,
        slot: &Slot,
        session: &dyn Session,
        before: Savepoint,
        parts: RecordParts,
    ) -> Result<(), RolledBackChange> {
        let error = match self.store_change(slot, session, parts).await {
            Err(error) => error,
            Ok(image) => match session.commit().await {
                Ok(()) => {
                    let outdated = std::mem::replace(&mut slot.record().image, image);
                    self.remove_replaced(slot, outdated);
                    return Ok(());
                }
                Err(error) => {
                    if let Some(image) = image {
                        self.inner.files.remove(&image.name);
                    }
                    error.into()
                }
            },
        };
        tracing::warn!(session = ?slot.record().id, %error, "a change was rolled back: it could not be stored");
        let lost = self.roll_back_change(slot, session, before).await;
        Err(RolledBackChange { error, lost })
    }

    /// Rolls a change back. Returns the reason if the machine has ended.
    pub(super) async fn roll_back_change(
        &self,
        slot: &Slot,
        session: &dyn Session,
        before: Savepoint,
    ) -> Option<String> {
        let back = session.roll_back().await;
        {
            let mut record = slot.record();
            record.state = before.state;
            record.generation = before.generation;
            record.executions = before.executions;
            record.packages = before.packages;
        }
        slot.clear_not_storable();
        let lost = match back {
            Ok(()) => {
                if let Err(error) = self.note_files(slot, session).await {
                    tracing::warn!(%error, "the files of a session cannot be listed");
                }
                None
            }
            Err(error) => {
                let reason = error.to_string();
                self.note_machine_loss(slot, &reason);
                Some(reason)
            }
        };
        // The stored record is still right, unless the machine was lost.
        let record = slot.record().clone();
        if let Err(error) = self.inner.registry.put(record, RecordParts::All, CommitSync::Process).await {
            tracing::warn!(session = ?slot.record().id, %error, "the registry could not be written");
        }
        lost
    }

    /// Notes that a session's machine has ended; false if the session is lost. A state that is in a file, or empty, is
    /// not lost.
    pub(super) fn note_machine_loss(&self, slot: &Slot, reason: &str) -> bool {
        let mut record = slot.record();
        let kept = record.state == SessionState::Fresh || record.current_image().is_some();
        if !kept {
            record.lose(&format!("its interpreter ended: {reason}"));
        } else if record.state == SessionState::Live {
            record.state = SessionState::Hibernated;
        }
        kept
    }

    /// Stores the present state in the registry, with its file if there is to be one. The old file is kept.
    async fn store_change(
        &self,
        slot: &Slot,
        session: &dyn Session,
        parts: RecordParts,
    ) -> Result<Option<ImageFile>, SessionError> {
        let image = match self.inner.settings.durability {
            Durability::Cell => Some(self.write_if_it_fits(slot, session).await?),
            Durability::Shutdown => match self.reserve_disk_space(slot, session).await? {
                // An answered change must survive the end of this server.
                None if !slot.has_crash_recovery() => Some(self.write_if_it_fits(slot, session).await?),
                image => image,
            },
        };
        let (record, sync) = {
            let mut record = slot.record().clone();
            // A file of an earlier state must never count as this one, not even after a loss of power.
            let sync = if record.image.is_some() || image.is_some() { CommitSync::Disk } else { CommitSync::Process };
            record.image.clone_from(&image);
            (record, sync)
        };
        match self.inner.registry.put(record, parts, sync).await {
            Ok(()) => Ok(image),
            Err(error) => {
                if let Some(image) = image {
                    self.inner.files.remove(&image.name);
                }
                Err(error)
            }
        }
    }

    /// Stores a session's new file in the registry and removes the old one. The old file counts until then.
    pub(super) async fn adopt_image(
        &self,
        slot: &Slot,
        image: ImageFile,
        state: SessionState,
    ) -> Result<(), SessionError> {
        let name = image.name.clone();
        let record = {
            let mut record = slot.record().clone();
            record.image = Some(image);
            record.state = state;
            record
        };
        if let Err(error) = self.inner.registry.put(record.clone(), RecordParts::All, CommitSync::Disk).await {
            self.inner.files.remove(&name);
            return Err(error);
        }
        let outdated = {
            let mut current = slot.record();
            current.state = state;
            std::mem::replace(&mut current.image, record.image)
        };
        self.remove_replaced(slot, outdated);
        Ok(())
    }

    /// Removes a file that the registry does not name any more.
    fn remove_replaced(&self, slot: &Slot, outdated: Option<ImageFile>) {
        let present = slot.record().image.as_ref().map(|image| image.name.clone());
        if let Some(outdated) = outdated.filter(|outdated| present.as_ref() != Some(&outdated.name)) {
            self.inner.files.remove(&outdated.name);
        }
    }
}
