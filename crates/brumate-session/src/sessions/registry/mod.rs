//! Registry of sessions in SQLite. Several servers use one registry. Each writes only the sessions whose
//! [lease](super::lease) it has, and reads the others again when another server has written.
//!
//! The write-ahead log is written before a commit returns, so that commits survive the end of this process. With
//! [`CommitSync::Disk`] the log is synced to disk as well, so that they survive a loss of power.

mod offline;
mod rows;

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};
use tokio::task::JoinHandle;

use super::directory::{DataDir, DataDirError, private_file};
use super::error::SessionError;
use super::id::SessionId;
use super::record::Record;
use rows::{PACKAGES, SCHEMA, TABLES, all, one, put, put_files};

/// Event that a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// The end of this process, in any way.
    Process,
    /// A loss of power.
    Disk,
}

/// Parts of a record to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    /// The whole record.
    All,
    /// All but the list of files, which is unchanged.
    WithoutFiles,
}

/// Writes after which the log is copied into the database.
const WRITES_PER_CHECKPOINT: u32 = 1000;

/// Registry of a data directory. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    store: Arc<Mutex<Store>>,
    /// Sessions that this server has made and that are not stored yet.
    unstored: Arc<Mutex<HashSet<SessionId>>>,
}

#[derive(Debug)]
struct Store {
    connection: Connection,
    /// Present setting of the connection.
    sync: Option<Sync>,
    /// Writes since the last checkpoint.
    writes: u32,
    /// SQLite's count of the writes of other connections at the last full read.
    seen: Option<i64>,
}

/// Length of the write-ahead log after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    Short,
    /// The log should be copied into the database.
    Long,
}

impl Registry {
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
                let store = Store { connection, sync: None, writes: 0, seen: None };
                Ok(Self { store: Arc::new(Mutex::new(store)), unstored: Arc::default() })
            }
            other => Err(failed(format!("it is of version {other}, and this Brumate knows {SCHEMA}"))),
        }
    }

    fn connect(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
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
            0 => TABLES,
            1 => PACKAGES,
            _ => return Ok(()),
        };
        connection.execute_batch(&format!("BEGIN IMMEDIATE; {change} PRAGMA user_version = {SCHEMA}; COMMIT;"))
    }

    /// Returns whether no other server has written since the last full read. `None` if the registry is busy.
    pub(crate) fn is_current(&self) -> Option<bool> {
        let store = self.store.try_lock().ok()?;
        Some(store.seen.is_some() && store.other_writes().ok() == store.seen)
    }

    /// Passes all sessions to `take`, unless [`Registry::is_current`]. No other write happens meanwhile.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when the registry is damaged.
    pub(crate) async fn read_again(&self, take: impl FnOnce(Vec<Record>) + Send + 'static) -> Result<(), SessionError> {
        self.in_background(move |store| {
            // Read first: later writes are read the next time.
            let written = Some(store.other_writes()?);
            if store.seen != written {
                take(all(&store.connection)?);
                store.seen = written;
            }
            Ok(())
        })
        .await
    }

    /// Reads one session; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`] when the registry is damaged.
    pub(crate) async fn get(&self, id: &SessionId) -> Result<Option<Record>, SessionError> {
        match self.at_once({
            let id = id.clone();
            move |store: &mut Store| one(&store.connection, &id)
        }) {
            Ok(found) => found.map_err(|error| SessionError::Storage(error.to_string())),
            Err(read) => self.in_background(read).await,
        }
    }

    /// Stores when sessions were used last, in milliseconds since 1970, where that is later than the stored time.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::put`].
    pub(crate) async fn set_last_used(&self, used: Vec<(SessionId, i64)>) -> Result<(), SessionError> {
        self.write(Sync::Process, move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (id, used) in &used {
                let sql = "UPDATE sessions SET last_used = MAX(last_used, ?2) WHERE id = ?1";
                transaction.prepare_cached(sql)?.execute(params![id.as_str(), used])?;
            }
            transaction.commit()
        })
        .await
    }

    /// Writes a session, new or existing.
    ///
    /// # Errors
    ///
    /// [`SessionError::Storage`]; the registry is unchanged then.
    pub(crate) async fn put(&self, record: Record, parts: Parts, sync: Sync) -> Result<(), SessionError> {
        let id = record.id.clone();
        let written = self.write(sync, move |connection| match parts {
            // A single statement is a transaction.
            Parts::WithoutFiles => put(connection, &record),
            Parts::All => {
                let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                put(&transaction, &record)?;
                put_files(&transaction, &record)?;
                transaction.commit()
            }
        });
        written.await?;
        self.unstored().remove(&id);
        Ok(())
    }

    /// Marks a session that this server has just made. It is stored when its first call ends; no other server knows it
    /// before.
    pub(crate) fn expect(&self, id: SessionId) {
        self.unstored().insert(id);
    }

    /// Returns whether this server has made a session and not stored it yet.
    pub(crate) fn is_expected(&self, id: &SessionId) -> bool {
        self.unstored().contains(id)
    }

    fn unstored(&self) -> MutexGuard<'_, HashSet<SessionId>> {
        self.unstored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes sessions.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::put`].
    pub(crate) async fn remove(&self, ids: Vec<SessionId>) -> Result<(), SessionError> {
        self.unstored().retain(|id| !ids.contains(id));
        self.write(Sync::Disk, move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for id in &ids {
                transaction.execute("DELETE FROM sessions WHERE id = ?1", [id.as_str()])?;
            }
            transaction.commit()
        })
        .await
    }

    async fn write(
        &self,
        sync: Sync,
        change: impl FnOnce(&mut Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), SessionError> {
        let write = move |store: &mut Store| store.write(sync, change);
        // A write to the page cache takes less time than waking a thread.
        let tried = if sync == Sync::Process { self.at_once(write) } else { Err(write) };
        let written = match tried {
            Ok(written) => written.map_err(|error| SessionError::Storage(error.to_string())),
            Err(write) => self.in_background(write).await,
        };
        if matches!(written, Ok(Log::Long)) {
            // No call waits for it. The next checkpoint makes up for a failure.
            drop(self.spawn(Store::checkpoint));
        }
        written.map(drop)
    }

    /// Runs `work` in this thread, or returns it if another thread uses the registry.
    fn at_once<T, F: FnOnce(&mut Store) -> T>(&self, work: F) -> Result<T, F> {
        match self.store.try_lock() {
            Ok(mut store) => Ok(work(&mut store)),
            Err(_) => Err(work),
        }
    }

    /// Runs `work` in a blocking thread.
    async fn in_background<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, SessionError> {
        match self.spawn(work).await {
            Ok(result) => result.map_err(|error| SessionError::Storage(error.to_string())),
            Err(error) => Err(SessionError::Storage(error.to_string())),
        }
    }

    fn spawn<T: Send + 'static>(&self, work: impl FnOnce(&mut Store) -> T + Send + 'static) -> JoinHandle<T> {
        let store = Arc::clone(&self.store);
        tokio::task::spawn_blocking(move || work(&mut store.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Store {
    /// Returns SQLite's count of the writes of other connections, in this process and in others.
    fn other_writes(&self) -> rusqlite::Result<i64> {
        self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
    }

    fn write(
        &mut self,
        sync: Sync,
        change: impl FnOnce(&mut Connection) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<Log> {
        if self.sync != Some(sync) {
            let level = if sync == Sync::Disk { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.sync = Some(sync);
        }
        self.writes = self.writes.wrapping_add(1);
        change(&mut self.connection)?;
        Ok(if self.writes.is_multiple_of(WRITES_PER_CHECKPOINT) { Log::Long } else { Log::Short })
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
mod tests {
    use super::super::record::{ImageFile, KnownFile, SessionState};
    use super::*;
    use crate::packages::KnownLayer;

    async fn read(registry: &Registry) -> Vec<Record> {
        let (sender, receiver) = std::sync::mpsc::channel();
        registry.store.lock().unwrap().seen = None;
        registry.read_again(move |records| sender.send(records).unwrap()).await.unwrap();
        receiver.recv().unwrap()
    }

    fn record(state: SessionState) -> Record {
        let mut record = Record::new(SessionId::random().unwrap(), "local", 17);
        record.state = state;
        record.note = "n".to_owned();
        record.image = Some(ImageFile { name: "a.session".to_owned(), bytes: 3, generation: u64::MAX });
        record.generation = 4;
        let (file_name, sha256) = ("rich-12.6.0-py3-none-any.whl".to_owned(), "00".repeat(32));
        record.packages = vec![KnownLayer { file_name, sha256, url: Some("https://example.org/".to_owned()) }];
        record.files.insert("ä/b.csv".to_owned(), KnownFile { size: 5, stamp: u64::MAX, mime: "text/csv".to_owned() });
        record
    }

    #[tokio::test]
    async fn what_is_written_is_read_also_by_others() {
        let root = tempfile::tempdir().unwrap();
        let directory = DataDir::lock(root.path()).unwrap();
        let registry = Registry::open(&directory).unwrap();
        let mut asleep = record(SessionState::Asleep);
        let lost = record(SessionState::Lost);
        registry.put(asleep.clone(), Parts::All, Sync::Process).await.unwrap();
        registry.put(lost.clone(), Parts::All, Sync::Disk).await.unwrap();
        asleep.generation = 5;
        asleep.image = None;
        registry.put(asleep.clone(), Parts::WithoutFiles, Sync::Process).await.unwrap();
        let mut expected = vec![asleep.clone(), lost.clone()];
        expected.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(read(&registry).await, expected);
        let other = DataDir::look(root.path()).unwrap();
        assert_eq!(Registry::look(&other).unwrap(), expected);
        registry.remove(vec![asleep.id, SessionId::random().unwrap()]).await.unwrap();
        assert_eq!(Registry::look(&other).unwrap(), [lost]);
    }

    #[tokio::test]
    async fn a_registry_of_the_first_version_is_read_and_carried_on() {
        let root = tempfile::tempdir().unwrap();
        let directory = DataDir::lock(root.path()).unwrap();
        let old = TABLES.replace(",\n        packages TEXT NOT NULL DEFAULT '[]'", "");
        assert_ne!(old, TABLES);
        let connection = Connection::open(directory.registry()).unwrap();
        connection.execute_batch(&format!("{old} PRAGMA user_version = 1;")).unwrap();
        let id = SessionId::random().unwrap();
        let values = format!("('{id}', 'local', 1, 2, 'fresh', '', NULL, 0, 0, 3, 4)");
        connection.execute_batch(&format!("INSERT INTO sessions VALUES {values};")).unwrap();
        drop(connection);
        let seen = Registry::look(&directory).unwrap();
        let registry = Registry::open(&directory).unwrap();
        let mut record = read(&registry).await.remove(0);
        assert_eq!((seen, record.executions), (vec![record.clone()], 4));
        record.packages = self::record(SessionState::Live).packages;
        registry.put(record.clone(), Parts::All, Sync::Process).await.unwrap();
        assert_eq!(Registry::look(&directory).unwrap(), [record]);
    }

    #[test]
    fn every_file_is_the_users_own() {
        use std::os::unix::fs::MetadataExt;
        let root = tempfile::tempdir().unwrap();
        let directory = DataDir::lock(root.path()).unwrap();
        let _registry = Registry::open(&directory).unwrap();
        let files: Vec<_> = std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.len() >= 4, "{files:?}");
        for file in files {
            assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o077, 0, "{file:?}");
        }
    }

    #[test]
    fn damage_and_later_versions_are_errors() {
        let root = tempfile::tempdir().unwrap();
        let directory = DataDir::lock(root.path()).unwrap();
        std::fs::write(directory.registry(), vec![7; 8192]).unwrap();
        let error = Registry::open(&directory).unwrap_err().to_string();
        assert!(error.contains("not a database"), "{error}");
        std::fs::remove_file(directory.registry()).unwrap();
        let registry = Registry::open(&directory).unwrap();
        registry.store.lock().unwrap().connection.pragma_update(None, "user_version", 99).unwrap();
        drop(registry);
        let error = Registry::open(&directory).unwrap_err().to_string();
        assert!(error.contains("version 99"), "{error}");
    }
}
