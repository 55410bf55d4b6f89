//! Snapshots of single sessions, which can be restored here or on another host.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::directory::DataDir;
use super::error::SessionError;
use super::id::SessionId;
use super::record::{FileRecord, ImageFile, SessionRecord, SessionState};
use super::registry::{CommitSync, RecordParts};
use super::slot::DiskUsage;
use super::slot::{MachineState, Slot};
use crate::packages::LayerRecord;

/// Record of a session in a snapshot, beside the session's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSnapshot {
    /// Whether the session has a file: it has run something.
    pub has_file: bool,
    /// Cells that were run.
    pub executions: u64,
    /// Files in its working directory, by path.
    pub files: BTreeMap<String, FileRecord>,
    /// Packages that were installed in the session, in the order of their layers.
    pub packages: Vec<LayerRecord>,
}

impl Sessions {
    /// Copies the file of a session's present state to `to`, which is replaced, and returns the record of the
    /// snapshot. A session that has run nothing has no file. The session continues unchanged.
    ///
    /// # Errors
    ///
    /// Errors of resuming and storing the session; [`SessionError::Storage`] when `to` cannot be written.
    pub async fn snapshot(
        &self,
        principal: &str,
        id: &str,
        to: &Path,
        cancel: &CancellationToken,
    ) -> Result<SessionSnapshot, SessionError> {
        let slot = self.find(principal, id).await?;
        let to = to.to_owned();
        self.detached(cancel, |sessions, cancel| async move {
            let guard = sessions.lock_session(&slot, &cancel).await?;
            if matches!(*guard, MachineState::Removed) {
                return Err(sessions.not_found(&slot));
            }
            if let Some(error) = slot.not_storable() {
                return Err(error);
            }
            sessions.write_if_live(&slot, &guard).await?;
            let record = slot.record().clone();
            let lost = |reason: &str| SessionError::Lost { id: record.id.clone(), reason: reason.to_owned() };
            let file = match (record.state, record.current_image()) {
                (SessionState::Lost, _) => return Err(lost(&record.note)),
                (SessionState::Fresh, _) => None,
                (_, Some(image)) => Some(sessions.inner.directory.image(&image.name)),
                (_, None) => return Err(lost("its file is gone")),
            };
            let has_file = file.is_some();
            if let Some(file) = file {
                copy(file, to).await?;
            }
            Ok(SessionSnapshot {
                has_file,
                executions: record.executions,
                files: record.files,
                packages: record.packages,
            })
        })
        .await
    }

    /// Makes a new session from a snapshot, whose file is at `from`.
    ///
    /// # Errors
    ///
    /// When this version cannot resume the file, or there are too many sessions.
    pub async fn restore_snapshot(
        &self,
        principal: &str,
        snapshot: SessionSnapshot,
        from: &Path,
        cancel: &CancellationToken,
    ) -> Result<SessionId, SessionError> {
        let from = from.to_owned();
        let principal = principal.to_owned();
        self.detached(cancel, |sessions, _| async move {
            let mut bytes = 0;
            if snapshot.has_file {
                sessions.inner.engine.can_resume(&from).await?;
                bytes = std::fs::metadata(&from).map_err(|error| SessionError::Storage(error.to_string()))?.len();
            }
            let mut record = SessionRecord::new(SessionId::random()?, &principal, sessions.now());
            record.executions = snapshot.executions;
            record.files = snapshot.files;
            record.packages = snapshot.packages;
            let fill = async |slot: &Slot, _: &mut MachineState| match snapshot.has_file {
                true => sessions.adopt_copy(slot, from).await,
                false => {
                    let record = slot.record().clone();
                    sessions.inner.registry.put(record, RecordParts::All, CommitSync::Process).await
                }
            };
            sessions.add_filled(record, DiskUsage { bytes, written: false }, fill).await
        })
        .await
    }

    /// Makes a copy of the file at `from` the file of a session, which is hibernated then.
    pub(super) async fn adopt_copy(&self, slot: &Slot, from: PathBuf) -> Result<(), SessionError> {
        let (name, generation) = {
            let record = slot.record();
            (DataDir::image_name(&record.id, record.generation), record.generation)
        };
        let copied = copy(from, self.inner.directory.image(&name)).await;
        let bytes = copied.inspect_err(|_| self.inner.directory.remove_image(&name))?;
        self.adopt_image(slot, ImageFile { name, bytes, generation }, SessionState::Hibernated).await
    }
}

/// Copies a file and syncs it to disk; returns its length.
async fn copy(from: PathBuf, to: PathBuf) -> Result<u64, SessionError> {
    let copy = move || {
        let bytes = std::fs::copy(from, &to)?;
        File::open(&to)?.sync_all()?;
        if let Some(directory) = to.parent() {
            File::open(directory)?.sync_all()?;
        }
        Ok(bytes)
    };
    let copied = tokio::task::spawn_blocking(copy).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    copied.map_err(|error| SessionError::Storage(error.to_string()))
}
