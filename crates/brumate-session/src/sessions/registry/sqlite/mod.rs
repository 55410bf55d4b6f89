//! Registry of sessions in SQLite, in the data directory.
//!
//! The write-ahead log is written before a commit returns, so that commits survive the end of this process. With
//! [`CommitSync::Disk`] the log is synced to disk as well, so that they survive a loss of power.

mod cells;
mod offline;
mod rows;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};
use tokio::task::JoinHandle;

use super::super::directory::{DataDir, DataDirError, private_file};
use super::super::error::SessionError;
use super::super::history::CellRecord;
use super::super::id::SessionId;
use super::super::record::SessionRecord;
use super::{CommitSync, RecordParts, RegistryStore, TakeRecords};
use cells::CELLS;
use rows::{PACKAGES, SCHEMA, TABLES, all, one, put, put_files};

/// Longest wait for another process that writes to the registry.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Writes after which the log is copied into the database. Large writes count as several.
const WRITES_PER_CHECKPOINT: u64 = 1000;
/// Statements that stay compiled: more than there are.
const CACHED_STATEMENTS: usize = 64;
/// Bytes of a cell that count as one write.
const BYTES_PER_WRITE: u64 = 16 << 10;
/// Bytes of a cell from which it is written in a thread of its own.
const LARGE_CELL: u64 = 256 << 10;

/// Registry of a data directory.
#[derive(Debug)]
pub(crate) struct SqliteRegistry {
    connection: Arc<Mutex<RegistryConnection>>,
}

#[derive(Debug)]
struct RegistryConnection {
    connection: Connection,
    /// Present setting of the connection.
    sync: Option<CommitSync>,
    /// Writes since the last checkpoint.
    writes: u64,
    /// SQLite's count of the writes of other connections at the last full read.
    writes_at_read: Option<i64>,
}

/// Length of the write-ahead log after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WalLength {
    Short,
    /// The log should be copied into the database.
    Long,
}

impl SqliteRegistry {
    /// Opens the registry of a directory, or makes it.
    ///
    /// # Errors
    ///
    /// [`DataDirError::Registry`] when it is damaged or of a later version of Brumate, or an I/O error occurs.
    pub(crate) fn open(directory: &DataDir) -> Result<Self, DataDirError> {
        let failed = |reason: String| DataDirError::Registry { path: directory.root().to_owned(), reason };
        let path = directory.registry();
        // SQLite gives its other files the permissions of this one.
        private_file(&path).map_err(|error| failed(error.to_string()))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Self::connect(&path, flags).map_err(|error| failed(error.to_string()))?;
        Self::prepare(&connection).map_err(|error| failed(error.to_string()))?;
        match Self::version(&connection).map_err(|error| failed(error.to_string()))? {
            SCHEMA => {
                let connection = RegistryConnection { connection, sync: None, writes: 0, writes_at_read: None };
                Ok(Self { connection: Arc::new(Mutex::new(connection)) })
            }
            other => Err(failed(format!("it is of version {other}, and this Brumate knows {SCHEMA}"))),
        }
    }

    fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        Ok(connection)
    }

    fn version(connection: &Connection) -> rusqlite::Result<i64> {
        connection.query_row("PRAGMA user_version", [], |row| row.get(0))
    }

    fn prepare(connection: &Connection) -> rusqlite::Result<()> {
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        // Checkpoints run in the background, not in a commit.
        connection.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(()))?;
        let change = match Self::version(connection)? {
            0 => [TABLES, CELLS].concat(),
            1 => [PACKAGES, CELLS].concat(),
            2 => CELLS.to_owned(),
            _ => return Ok(()),
        };
        connection.execute_batch(&format!("BEGIN IMMEDIATE; {change} PRAGMA user_version = {SCHEMA}; COMMIT;"))
    }

    async fn write(
        &self,
        sync: CommitSync,
        change: impl FnOnce(&mut Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), SessionError> {
        self.write_bytes(sync, 0, change).await
    }

    /// Makes a change that writes about `bytes`.
    async fn write_bytes(
        &self,
        sync: CommitSync,
        bytes: u64,
        change: impl FnOnce(&mut Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), SessionError> {
        let write = move |store: &mut RegistryConnection| store.write(sync, bytes, change);
        // A small write to the page cache takes less time than waking a thread.
        let is_quick = sync == CommitSync::Process && bytes < LARGE_CELL;
        let tried = if is_quick { self.try_inline(write) } else { Err(write) };
        let written = match tried {
            Ok(written) => written.map_err(|error| SessionError::Storage(error.to_string())),
            Err(write) => self.in_background(write).await,
        };
        if matches!(written, Ok(WalLength::Long)) {
            // No call waits for it. The next checkpoint makes up for a failure.
            drop(self.spawn(RegistryConnection::checkpoint));
        }
        written.map(drop)
    }

    /// Runs `work` in this thread, or returns it if another thread uses the registry.
    fn try_inline<T, F: FnOnce(&mut RegistryConnection) -> T>(&self, work: F) -> Result<T, F> {
        match self.connection.try_lock() {
            Some(mut store) => Ok(work(&mut store)),
            None => Err(work),
        }
    }

    /// Runs `work` in a blocking thread.
    async fn in_background<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut RegistryConnection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, SessionError> {
        match self.spawn(work).await {
            Ok(result) => result.map_err(|error| SessionError::Storage(error.to_string())),
            Err(error) => Err(SessionError::Storage(error.to_string())),
        }
    }

    fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut RegistryConnection) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let connection = Arc::clone(&self.connection);
        tokio::task::spawn_blocking(move || work(&mut connection.lock()))
    }
}

#[async_trait]
impl RegistryStore for SqliteRegistry {
    fn is_current(&self) -> Option<bool> {
        let store = self.connection.try_lock()?;
        Some(store.writes_at_read.is_some() && store.other_writes().ok() == store.writes_at_read)
    }

    async fn read_again(&self, take: TakeRecords) -> Result<(), SessionError> {
        self.in_background(move |store| {
            // Read first: later writes are read the next time.
            let written = Some(store.other_writes()?);
            if store.writes_at_read != written {
                take(all(&store.connection)?);
                store.writes_at_read = written;
            }
            Ok(())
        })
        .await
    }

    async fn get(&self, id: &SessionId) -> Result<Option<SessionRecord>, SessionError> {
        match self.try_inline({
            let id = id.clone();
            move |store: &mut RegistryConnection| one(&store.connection, &id)
        }) {
            Ok(found) => found.map_err(|error| SessionError::Storage(error.to_string())),
            Err(read) => self.in_background(read).await,
        }
    }

    async fn set_last_used(&self, used: Vec<(SessionId, i64)>) -> Result<(), SessionError> {
        self.write(CommitSync::Process, move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (id, used) in &used {
                let sql = "UPDATE sessions SET last_used = MAX(last_used, ?2) WHERE id = ?1";
                transaction.prepare_cached(sql)?.execute(params![id.as_str(), used])?;
            }
            transaction.commit()
        })
        .await
    }

    async fn put(&self, record: SessionRecord, parts: RecordParts, sync: CommitSync) -> Result<(), SessionError> {
        self.write(sync, move |connection| match parts {
            // A single statement is a transaction.
            RecordParts::WithoutFiles => put(connection, &record),
            RecordParts::All => {
                let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                put(&transaction, &record)?;
                put_files(&transaction, &record)?;
                transaction.commit()
            }
        })
        .await
    }

    async fn remove(&self, ids: Vec<SessionId>) -> Result<(), SessionError> {
        self.write(CommitSync::Disk, move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for id in &ids {
                transaction.execute("DELETE FROM sessions WHERE id = ?1", [id.as_str()])?;
            }
            transaction.commit()
        })
        .await
    }

    async fn add_cell(&self, id: SessionId, cell: CellRecord) -> Result<u64, SessionError> {
        let bytes = cell.bytes();
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let change = move |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let kept = cells::add(&transaction, &id, &cell)?;
            transaction.commit()?;
            // The receiver waits for the write.
            let _ = sender.send(kept);
            Ok(())
        };
        self.write_bytes(CommitSync::Process, bytes, change).await?;
        receiver.try_recv().map_err(|error| SessionError::Storage(error.to_string()))
    }

    async fn set_cells(&self, id: SessionId, cells: Vec<CellRecord>) -> Result<u64, SessionError> {
        let bytes = cells.iter().map(CellRecord::bytes).sum();
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let change = move |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            cells::remove(&transaction, &id)?;
            let mut kept = 0;
            for cell in &cells {
                kept = cells::add(&transaction, &id, cell)?;
            }
            transaction.commit()?;
            let _ = sender.send(kept);
            Ok(())
        };
        self.write_bytes(CommitSync::Process, bytes, change).await?;
        receiver.try_recv().map_err(|error| SessionError::Storage(error.to_string()))
    }

    async fn cells(&self, id: SessionId) -> Result<Vec<CellRecord>, SessionError> {
        self.in_background(move |store| cells::all(&store.connection, &id)).await
    }

    async fn shorten_log(&self) {
        drop(self.spawn(RegistryConnection::checkpoint).await);
    }
}

impl RegistryConnection {
    /// Returns SQLite's count of the writes of other connections, in this process and in others.
    fn other_writes(&self) -> rusqlite::Result<i64> {
        self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
    }

    fn write(
        &mut self,
        sync: CommitSync,
        bytes: u64,
        change: impl FnOnce(&mut Connection) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<WalLength> {
        if self.sync != Some(sync) {
            let level = if sync == CommitSync::Disk { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.sync = Some(sync);
        }
        let before = self.writes / WRITES_PER_CHECKPOINT;
        self.writes = self.writes.wrapping_add(1 + bytes / BYTES_PER_WRITE);
        change(&mut self.connection)?;
        let is_long = self.writes / WRITES_PER_CHECKPOINT != before;
        Ok(if is_long { WalLength::Long } else { WalLength::Short })
    }

    /// Copies the log into the database, as far as no reader needs it.
    fn checkpoint(&mut self) {
        let done = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = done {
            tracing::warn!(%error, "the registry's log cannot be brought into it");
        }
    }
}

#[cfg(test)]
mod tests;
