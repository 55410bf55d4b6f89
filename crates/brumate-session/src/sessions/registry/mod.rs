//! Registry: the records of all sessions. Several servers share one. Each writes only the sessions whose
//! [lease](super::lease) it has, and reads the others again when another server has written.

mod sqlite;

use std::collections::HashSet;
use std::fmt;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::error::SessionError;
use super::history::CellRecord;
use super::id::SessionId;
use super::record::SessionRecord;
pub(crate) use sqlite::SqliteRegistry;

/// Event that a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitSync {
    /// The end of this process, in any way.
    Process,
    /// A loss of power.
    Disk,
}

/// Parts of a record to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordParts {
    /// The whole record.
    All,
    /// All but the list of files, which is unchanged.
    WithoutFiles,
}

/// Receiver of all records.
pub(crate) type TakeRecords = Box<dyn FnOnce(Vec<SessionRecord>) + Send>;

/// Database of the records. A write is complete or has not happened; after an error the records are unchanged.
#[async_trait]
pub(crate) trait RegistryStore: fmt::Debug + Send + Sync {
    /// Returns whether no other server has written since [`RegistryStore::read_again`]. `None` if that is not known
    /// without waiting.
    fn is_current(&self) -> Option<bool>;

    /// Passes all records to `take`, unless no other server has written since the last time. No other write happens
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when the records cannot be read.
    async fn read_again(&self, take: TakeRecords) -> Result<(), SessionError>;

    /// Reads one record; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when it cannot be read.
    async fn get(&self, id: &SessionId) -> Result<Option<SessionRecord>, SessionError>;

    /// Writes a record, new or existing.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when it cannot be written.
    async fn put(&self, record: SessionRecord, parts: RecordParts, sync: CommitSync) -> Result<(), SessionError>;

    /// Stores when sessions were used last, in milliseconds since 1970, where that is later than the stored time.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when the times cannot be written.
    async fn set_last_used(&self, used: Vec<(SessionId, i64)>) -> Result<(), SessionError>;

    /// Removes records, so that they stay removed after a loss of power.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when they cannot be removed.
    async fn remove(&self, ids: Vec<SessionId>) -> Result<(), SessionError>;

    /// Adds a cell to a session's history. Older outputs and cells make room for it ([`MAX_HISTORY_BYTES`](super::MAX_HISTORY_BYTES),
    /// [`MAX_HISTORY_CELLS`](super::MAX_HISTORY_CELLS)). Returns the bytes of the history.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when it cannot be written.
    async fn add_cell(&self, id: SessionId, cell: CellRecord) -> Result<u64, SessionError>;

    /// Replaces a session's history. Returns its bytes.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when it cannot be written.
    async fn set_cells(&self, id: SessionId, cells: Vec<CellRecord>) -> Result<u64, SessionError>;

    /// Reads a session's history, the oldest cell first.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when it cannot be read.
    async fn cells(&self, id: SessionId) -> Result<Vec<CellRecord>, SessionError>;

    /// Gives disk space back that earlier writes have taken, so that later ones take no more. May do nothing.
    async fn shorten_log(&self);
}

/// Registry as one server sees it: the stored records, and the sessions that it has just made.
#[derive(Debug)]
pub(crate) struct Registry {
    store: Box<dyn RegistryStore>,
    /// Sessions that this server has made and that are not stored yet.
    unstored: Mutex<HashSet<SessionId>>,
}

impl Registry {
    /// Makes the registry over a database.
    pub(crate) fn new(store: impl RegistryStore + 'static) -> Self {
        Self { store: Box::new(store), unstored: Mutex::default() }
    }

    /// Returns the database, for what is the same with it.
    pub(crate) fn store(&self) -> &dyn RegistryStore {
        &*self.store
    }

    /// Writes a session as [`RegistryStore::put`] does.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when it cannot be written.
    pub(crate) async fn put(
        &self,
        record: SessionRecord,
        parts: RecordParts,
        sync: CommitSync,
    ) -> Result<(), SessionError> {
        let id = record.id.clone();
        self.store.put(record, parts, sync).await?;
        self.unstored.lock().remove(&id);
        Ok(())
    }

    /// Removes sessions as [`RegistryStore::remove`] does.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when they cannot be removed.
    pub(crate) async fn remove(&self, ids: Vec<SessionId>) -> Result<(), SessionError> {
        self.unstored.lock().retain(|id| !ids.contains(id));
        self.store.remove(ids).await
    }

    /// Marks a session that this server has just made. It is stored when its first call ends; no other server knows it
    /// before.
    pub(crate) fn mark_unstored(&self, id: SessionId) {
        self.unstored.lock().insert(id);
    }

    /// Returns whether this server has made a session and not stored it yet.
    pub(crate) fn is_unstored(&self, id: &SessionId) -> bool {
        self.unstored.lock().contains(id)
    }
}
