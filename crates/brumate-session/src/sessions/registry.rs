//! What sessions there are, in SQLite.
//!
//! The write-ahead log is written before a commit returns, so that commits survive the death of this process; with
//! [`Sync::Disk`] the disk has it as well, so that they survive the machine's.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::types::Type;
use rusqlite::{Connection, OpenFlags, Row, Transaction, params};
use tokio::task::JoinHandle;

use super::directory::{DataDir, DataDirError, private_file};
use super::error::SessionError;
use super::id::SessionId;
use super::record::{ImageFile, KnownFile, Record, SessionState};

/// Version of the tables.
const SCHEMA: i64 = 2;
/// From version 1: packages of sessions.
const PACKAGES: &str = "ALTER TABLE sessions ADD COLUMN packages TEXT NOT NULL DEFAULT '[]';";

const TABLES: &str = "
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        principal TEXT NOT NULL,
        created INTEGER NOT NULL,
        last_used INTEGER NOT NULL,
        state TEXT NOT NULL,
        note TEXT NOT NULL,
        image TEXT,
        image_bytes INTEGER NOT NULL,
        image_generation INTEGER NOT NULL,
        generation INTEGER NOT NULL,
        executions INTEGER NOT NULL,
        packages TEXT NOT NULL DEFAULT '[]'
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE files (
        session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        path TEXT NOT NULL,
        size INTEGER NOT NULL,
        stamp INTEGER NOT NULL,
        mime TEXT NOT NULL,
        PRIMARY KEY (session, path)
    ) STRICT, WITHOUT ROWID;
";

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// The end of this process, however it comes.
    Process,
    /// The loss of power.
    Disk,
}

/// What of a record is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    /// All of it.
    All,
    /// Not the list of files, which is as it was.
    WithoutFiles,
}

/// Writes after which the log goes into the database.
const WRITES_PER_CHECKPOINT: u32 = 1000;

/// The registry. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    store: Arc<Mutex<Store>>,
}

#[derive(Debug)]
struct Store {
    connection: Connection,
    /// What its commits survive at present.
    sync: Option<Sync>,
    /// Counts them.
    writes: u32,
}

/// How long the write-ahead log is after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    Short,
    /// It should go into the database.
    Long,
}

impl Registry {
    /// Opens the registry of a directory, or makes it.
    ///
    /// # Errors
    ///
    /// When it is damaged, of a later version of Brumate, or the disk refuses.
    pub(crate) fn open(directory: &DataDir) -> Result<Self, DataDirError> {
        let failed = |reason: String| DataDirError::Registry { path: directory.root().to_owned(), reason };
        let path = directory.registry();
        // SQLite gives its other files the permissions of this one.
        private_file(&path).map_err(|error| failed(error.to_string()))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Self::connect(&path, flags).map_err(|error| failed(error.to_string()))?;
        Self::prepare(&connection).map_err(|error| failed(error.to_string()))?;
        match Self::version(&connection).map_err(|error| failed(error.to_string()))? {
            SCHEMA => Ok(Self { store: Arc::new(Mutex::new(Store { connection, sync: None, writes: 0 })) }),
            other => Err(failed(format!("it is of version {other}, and this Brumate knows {SCHEMA}"))),
        }
    }

    /// What is in the registry of a directory that another process may be using.
    ///
    /// # Errors
    ///
    /// As [`Registry::open`].
    pub(crate) fn look(directory: &DataDir) -> Result<Vec<Record>, DataDirError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let read = Self::connect(&directory.registry(), flags).and_then(|connection| {
            // A file that was made and not filled yet has no tables.
            if Self::version(&connection)? == 0 { Ok(Vec::new()) } else { all(&connection) }
        });
        read.map_err(|error| DataDirError::Registry { path: directory.root().to_owned(), reason: error.to_string() })
    }

    /// As [`Registry::look`], after SQLite has gone through all of it.
    ///
    /// # Errors
    ///
    /// As [`Registry::open`].
    pub(crate) fn check(directory: &DataDir) -> Result<Vec<Record>, DataDirError> {
        let failed = |reason: String| DataDirError::Registry { path: directory.root().to_owned(), reason };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let checked = Self::connect(&directory.registry(), flags).and_then(|connection| {
            connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0))
        });
        match checked {
            Ok(said) if said == "ok" => Self::look(directory),
            Ok(said) => Err(failed(said)),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Copies the registry of a directory that another process may be using to the file `to`, as it is at one moment.
    ///
    /// # Errors
    ///
    /// As [`Registry::open`].
    pub(crate) fn copy(directory: &DataDir, to: &Path) -> Result<(), DataDirError> {
        let failed = |reason: String| DataDirError::Registry { path: directory.root().to_owned(), reason };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let text = to.to_str().ok_or_else(|| failed("the name of the copy is not UTF-8".to_owned()))?;
        let copied = Self::connect(&directory.registry(), flags)
            .and_then(|connection| connection.execute("VACUUM INTO ?1", [text]).map(drop));
        copied.map_err(|error| failed(error.to_string()))?;
        // SQLite makes it as anybody's.
        private_file(to).and_then(|file| file.sync_all()).map_err(|error| failed(error.to_string()))
    }

    /// Puts another record of a session into the registry of a directory that nobody uses.
    ///
    /// # Errors
    ///
    /// As [`Registry::open`].
    pub(crate) fn replace(directory: &DataDir, record: &Record) -> Result<(), DataDirError> {
        Self::edit(directory, |connection| {
            put(connection, record)?;
            let transaction = connection.unchecked_transaction()?;
            put_files(&transaction, record)?;
            transaction.commit()
        })
    }

    /// Removes a session from the registry of a directory that nobody uses.
    ///
    /// # Errors
    ///
    /// As [`Registry::open`].
    pub(crate) fn forget(directory: &DataDir, id: &SessionId) -> Result<(), DataDirError> {
        let sql = "DELETE FROM sessions WHERE id = ?1";
        Self::edit(directory, |connection| connection.execute(sql, [id.as_str()]).map(drop))
    }

    fn edit(directory: &DataDir, change: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<(), DataDirError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let changed = Self::connect(&directory.registry(), flags).and_then(|connection| change(&connection));
        changed.map_err(|error| DataDirError::Registry { path: directory.root().to_owned(), reason: error.to_string() })
    }

    /// Notes in the registry of a directory that nobody uses that the state of sessions is not there.
    ///
    /// # Errors
    ///
    /// As [`Registry::open`].
    pub(crate) fn lose(directory: &DataDir, ids: &[SessionId], reason: &str) -> Result<(), DataDirError> {
        let sql = "UPDATE sessions SET state = ?2, note = ?3 WHERE id = ?1";
        Self::edit(directory, |connection| {
            ids.iter().try_for_each(|id| {
                connection.execute(sql, params![id.as_str(), SessionState::Lost.as_str(), reason]).map(drop)
            })
        })
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
        // Not by a commit that somebody waits for.
        connection.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(()))?;
        let change = match Self::version(connection)? {
            0 => TABLES,
            1 => PACKAGES,
            _ => return Ok(()),
        };
        connection.execute_batch(&format!("BEGIN; {change} PRAGMA user_version = {SCHEMA}; COMMIT;"))
    }

    /// Every session.
    ///
    /// # Errors
    ///
    /// When the registry is damaged.
    pub(crate) async fn all(&self) -> Result<Vec<Record>, SessionError> {
        self.in_background(|store| all(&store.connection)).await
    }

    /// Writes a session, new or known.
    ///
    /// # Errors
    ///
    /// When the disk refuses; the registry is as it was.
    pub(crate) async fn put(&self, record: Record, parts: Parts, sync: Sync) -> Result<(), SessionError> {
        self.write(sync, move |connection| match parts {
            // One statement is a transaction.
            Parts::WithoutFiles => put(connection, &record),
            Parts::All => {
                let transaction = connection.transaction()?;
                put(&transaction, &record)?;
                put_files(&transaction, &record)?;
                transaction.commit()
            }
        })
        .await
    }

    /// Forgets sessions.
    ///
    /// # Errors
    ///
    /// As [`Registry::put`].
    pub(crate) async fn remove(&self, ids: Vec<SessionId>) -> Result<(), SessionError> {
        self.write(Sync::Disk, move |connection| {
            let transaction = connection.transaction()?;
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
        // What goes to the page cache only takes less time than to wake a thread for it.
        let tried = if sync == Sync::Process { self.at_once(write) } else { Err(write) };
        let written = match tried {
            Ok(written) => written.map_err(|error| SessionError::Storage(error.to_string())),
            Err(write) => self.in_background(write).await,
        };
        if matches!(written, Ok(Log::Long)) {
            // Nobody waits for it; one that fails is made up for by the next.
            drop(self.spawn(Store::checkpoint));
        }
        written.map(drop)
    }

    /// Does `work` in this thread, or gives it back while another one uses the registry.
    fn at_once<T, F: FnOnce(&mut Store) -> T>(&self, work: F) -> Result<T, F> {
        match self.store.try_lock() {
            Ok(mut store) => Ok(work(&mut store)),
            Err(_) => Err(work),
        }
    }

    /// In a thread that may block.
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

    /// Brings the log into the database, so far as nobody reads it.
    fn checkpoint(&mut self) {
        let done = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = done {
            tracing::warn!(%error, "the registry's log cannot be brought into it");
        }
    }
}

fn put(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    let image = record.image.as_ref();
    let packages = serde_json::to_string(&record.packages)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    // SQLite has signed numbers only; the bits are what counts.
    let mut statement = connection.prepare_cached(
        "INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (id) DO UPDATE SET last_used = ?4, state = ?5, note = ?6, image = ?7, image_bytes = ?8,
             image_generation = ?9, generation = ?10, executions = ?11, packages = ?12",
    )?;
    statement.execute(params![
        record.id.as_str(),
        record.principal,
        record.created,
        record.last_used,
        record.state.as_str(),
        record.note,
        image.map(|image| image.name.as_str()),
        image.map_or(0, |image| image.bytes.cast_signed()),
        image.map_or(0, |image| image.generation.cast_signed()),
        record.generation.cast_signed(),
        record.executions.cast_signed(),
        packages,
    ])?;
    Ok(())
}

fn put_files(transaction: &Transaction<'_>, record: &Record) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM files WHERE session = ?1")?.execute([record.id.as_str()])?;
    let mut statement = transaction.prepare_cached("INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (path, file) in &record.files {
        let (size, stamp) = (file.size.cast_signed(), file.stamp.cast_signed());
        statement.execute(params![record.id.as_str(), path, size, stamp, file.mime])?;
    }
    Ok(())
}

fn all(connection: &Connection) -> rusqlite::Result<Vec<Record>> {
    let mut statement = connection.prepare("SELECT * FROM sessions ORDER BY created, id")?;
    let mut records = statement.query_map([], record)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut statement = connection.prepare("SELECT path, size, stamp, mime FROM files WHERE session = ?1")?;
    for record in &mut records {
        let files = statement.query_map([record.id.as_str()], |row| {
            Ok((row.get(0)?, KnownFile { size: unsigned(row, 1)?, stamp: unsigned(row, 2)?, mime: row.get(3)? }))
        })?;
        record.files = files.collect::<rusqlite::Result<_>>()?;
    }
    Ok(records)
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let wrong = |column: usize, what: &str| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.to_owned().into())
    };
    let id: String = row.get("id")?;
    let state: String = row.get("state")?;
    let image = match row.get::<_, Option<String>>("image")? {
        // It becomes a path: a registry that somebody changed must not lead out of its directory.
        Some(name) if name.contains('/') => return Err(wrong(6, "an image's name is a path")),
        Some(name) => Some(ImageFile { name, bytes: unsigned(row, 7)?, generation: unsigned(row, 8)? }),
        None => None,
    };
    Ok(Record {
        id: SessionId::parse(&id).ok_or_else(|| wrong(0, "an id that is none"))?,
        principal: row.get("principal")?,
        created: row.get("created")?,
        last_used: row.get("last_used")?,
        state: SessionState::parse(&state).ok_or_else(|| wrong(4, "an unknown state"))?,
        note: row.get("note")?,
        image,
        generation: unsigned(row, 9)?,
        executions: unsigned(row, 10)?,
        files: std::collections::BTreeMap::new(),
        // A registry that another process of an earlier version keeps has no such column.
        packages: match row.get::<_, String>("packages") {
            Ok(text) => serde_json::from_str(&text).map_err(|_| wrong(11, "packages that are none"))?,
            Err(rusqlite::Error::InvalidColumnName(_)) => Vec::new(),
            Err(error) => return Err(error),
        },
    })
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::KnownLayer;

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
        assert_eq!(registry.all().await.unwrap(), expected);
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
        let mut record = registry.all().await.unwrap().remove(0);
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
