//! Snapshots of single sessions, which can be restored here or on another host.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::Sessions;
use super::directory::DataDir;
use super::entry::DiskUsage;
use super::entry::{MachineState, SessionEntry};
use super::error::SessionError;
use super::history::{CellRecord, MAX_SNAPSHOT_CELL_BYTES, keep_newest};
use super::id::SessionId;
use super::limits::MAX_KNOWN_FILES;
use super::record::{FileRecord, SessionRecord, SessionState, StateFile};
use super::registry::{CommitSync, RecordParts};
use crate::packages::LayerRecord;

/// Most packages that a session of a snapshot has, as many as a machine.
const MAX_PACKAGES: usize = brumate_engine_api::MAX_LAYERS;

/// The files of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotFiles {
    /// The hibernated session.
    pub session: PathBuf,
    /// The image that it begins with; there need not be one.
    pub image: PathBuf,
}

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
    /// Its cells, the oldest first; at most [`MAX_SNAPSHOT_CELL_BYTES`](super::MAX_SNAPSHOT_CELL_BYTES) of them, the newest.
    #[serde(default)]
    pub cells: Vec<CellRecord>,
}

impl SessionSnapshot {
    /// Cuts the lists, which are from a file, to what a session may have.
    fn bound(&mut self) {
        while self.files.len() > MAX_KNOWN_FILES {
            self.files.pop_last();
        }
        self.packages.truncate(MAX_PACKAGES);
        keep_newest(&mut self.cells, MAX_SNAPSHOT_CELL_BYTES);
    }
}

impl Sessions {
    /// Copies the files of a session's present state to `to`, which are replaced, and returns the record of the
    /// snapshot. A session that has run nothing has no file. The session continues unchanged.
    ///
    /// # Errors
    ///
    /// Errors of resuming and storing the session; [`SessionError::Storage`] when `to` cannot be written.
    pub async fn snapshot(
        &self,
        principal: &str,
        id: &str,
        to: &SnapshotFiles,
        cancel: &CancellationToken,
    ) -> Result<SessionSnapshot, SessionError> {
        let entry = self.find(principal, id).await?;
        let to = to.clone();
        self.detached(cancel, |sessions, cancel| async move {
            let guard = sessions.lock_session(&entry, &cancel).await?;
            if matches!(*guard, MachineState::Removed) {
                return Err(sessions.not_found(&entry));
            }
            if let Some(error) = entry.not_storable() {
                return Err(error);
            }
            sessions.write_if_live(&entry, &guard).await?;
            let record = entry.record().clone();
            let lost = |reason: &str| SessionError::Lost { id: record.id.clone(), reason: reason.to_owned() };
            let file = match (record.state, record.current_file()) {
                (SessionState::Lost, _) => return Err(lost(&record.note)),
                (SessionState::Fresh, _) => None,
                (_, Some(image)) => Some(sessions.fetch_file(&image.name).await?),
                (_, None) => return Err(lost("its file is gone")),
            };
            let has_file = file.is_some();
            if let Some(file) = file {
                copy(file, to.session).await?;
                if let Some(image) = sessions.inner.directory.existing_private_image(&record.id) {
                    copy(image, to.image).await?;
                }
            }
            let mut cells = sessions.inner.registry.store().cells(record.id.clone()).await?;
            keep_newest(&mut cells, MAX_SNAPSHOT_CELL_BYTES);
            Ok(SessionSnapshot {
                has_file,
                executions: record.executions,
                files: record.files,
                packages: record.packages,
                cells,
            })
        })
        .await
    }

    /// Makes a new session from a snapshot, whose files are at `from`. Its image serves this session only.
    ///
    /// # Errors
    ///
    /// When this version cannot resume the session, there are too many sessions, or the files need more disk space
    /// than is left.
    pub async fn restore_snapshot(
        &self,
        principal: &str,
        mut snapshot: SessionSnapshot,
        from: &SnapshotFiles,
        cancel: &CancellationToken,
    ) -> Result<SessionId, SessionError> {
        let from = from.clone();
        let principal = principal.to_owned();
        snapshot.bound();
        self.detached(cancel, |sessions, _| async move {
            let mut bytes = 0;
            let image = Some(from.image).filter(|image| snapshot.has_file && image.is_file());
            if snapshot.has_file {
                sessions.inner.engine.can_resume(&from.session, image.as_deref()).await?;
                for file in std::iter::once(&from.session).chain(&image) {
                    let metadata = std::fs::metadata(file).map_err(|error| SessionError::Storage(error.to_string()))?;
                    bytes += metadata.len();
                }
            }
            let mut record = SessionRecord::new(SessionId::random()?, &principal, sessions.now());
            record.executions = snapshot.executions;
            record.files = snapshot.files;
            record.packages = snapshot.packages;
            let fill = async |entry: &SessionEntry, _: &mut MachineState| {
                if snapshot.has_file {
                    if let Some(image) = image {
                        sessions.set_private_image(entry, image).await?;
                    }
                    sessions.adopt_copy(entry, from.session).await?;
                } else {
                    let record = entry.record().clone();
                    sessions.inner.registry.put(record, RecordParts::All, CommitSync::Process).await?;
                }
                sessions.set_cells(entry, snapshot.cells).await
            };
            sessions.add_filled(record, DiskUsage { bytes, written: false }, fill).await
        })
        .await
    }

    /// Makes a copy of the file at `from` the image of a session, which no other session uses.
    async fn set_private_image(&self, entry: &SessionEntry, from: PathBuf) -> Result<(), SessionError> {
        let to = self.inner.directory.private_image(&entry.record().id);
        let bytes = copy(from, to).await?;
        entry.note_private_image(bytes);
        Ok(())
    }

    /// Gives `child`, a copy of a session, the image that came with that session, if there is one.
    pub(super) async fn share_private_image(
        &self,
        parent: &SessionId,
        child: &SessionEntry,
    ) -> Result<(), SessionError> {
        match self.inner.directory.existing_private_image(parent) {
            Some(image) => {
                // The file is never written to again, so both sessions can have it.
                let to = self.inner.directory.private_image(&child.record().id);
                match std::fs::hard_link(&image, &to).and_then(|()| std::fs::metadata(&to)) {
                    Ok(shared) => {
                        child.note_private_image(shared.len());
                        Ok(())
                    }
                    Err(_) => self.set_private_image(child, image).await,
                }
            }
            None => Ok(()),
        }
    }

    /// Removes the image that came with a session, if there is one.
    pub(super) fn remove_private_image(&self, entry: &SessionEntry) {
        let name = DataDir::private_image_name(&entry.record().id);
        self.inner.directory.remove_file(&name);
        entry.set_private_image_bytes(0);
    }

    /// Makes a copy of the file at `from` the file of a session, which is hibernated then.
    pub(super) async fn adopt_copy(&self, entry: &SessionEntry, from: PathBuf) -> Result<(), SessionError> {
        let (name, generation) = {
            let record = entry.record();
            (DataDir::state_file_name(&record.id, record.generation), record.generation)
        };
        let copied = copy(from, self.inner.files.path(&name)).await;
        let bytes = copied.inspect_err(|_| self.inner.files.remove(&name))?;
        self.store_file(&name).await?;
        self.adopt_file(entry, StateFile { name, bytes, generation }, SessionState::Hibernated).await
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
