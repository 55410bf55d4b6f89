//! An event store in a SQLite database.

use super::store::{EventStore, StoreError, StoredSession, StoredStream};
use crate::database::{self, Durability, Layout};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The name of the database in its directory.
const FILE: &str = "events.db";

/// The version of the tables. A database with another version is not read.
const LAYOUT: i64 = 1;

/// The most bytes of all messages together, unless [`SqliteEventStore::limits`] sets another limit.
const MAX_BYTES: u64 = 1 << 30;

/// The most messages of all sessions together.
const MAX_EVENTS: u64 = 1_000_000;

const TABLES: &str = "
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, principal TEXT, initialize TEXT NOT NULL, level TEXT, used INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX sessions_used ON sessions (used);
    CREATE TABLE streams (
        session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        id INTEGER NOT NULL, request TEXT, next INTEGER NOT NULL DEFAULT 1,
        PRIMARY KEY (session, id)
    ) WITHOUT ROWID;
    CREATE TABLE events (
        session TEXT NOT NULL, stream INTEGER NOT NULL, number INTEGER NOT NULL, message TEXT NOT NULL,
        PRIMARY KEY (session, stream, number),
        FOREIGN KEY (session, stream) REFERENCES streams (session, id) ON DELETE CASCADE
    ) WITHOUT ROWID;
    CREATE TABLE totals (events INTEGER NOT NULL, bytes INTEGER NOT NULL);
    INSERT INTO totals VALUES (0, 0);
    CREATE TRIGGER more AFTER INSERT ON events BEGIN
        UPDATE totals SET events = events + 1, bytes = bytes + length(CAST(NEW.message AS BLOB));
    END;
    CREATE TRIGGER fewer AFTER DELETE ON events BEGIN
        UPDATE totals SET events = events - 1, bytes = bytes - length(CAST(OLD.message AS BLOB));
    END;
";

/// Sessions and messages in a SQLite database, in files that only their owner can read.
///
/// ```no_run
/// use brumate_mcp::{HttpOptions, Server, SqliteEventStore};
/// use std::path::Path;
/// use std::sync::Arc;
///
/// # async fn run(server: Server) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let store = Arc::new(SqliteEventStore::open(Path::new("./events"))?);
/// server.run_http("127.0.0.1:8000", HttpOptions::new().event_store(store)).await?;
/// # Ok(())
/// # }
/// ```
///
/// Messages survive the end of the process, whatever ends it. The last ones may be lost when the machine loses power,
/// because the store does not wait for the disk. It keeps at most 1 GiB and a million messages of all sessions
/// together. Beyond, it removes the sessions that were used least recently.
pub struct SqliteEventStore {
    connection: Mutex<Connection>,
    max_bytes: u64,
    max_events: u64,
}

impl fmt::Debug for SqliteEventStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteEventStore").finish_non_exhaustive()
    }
}

impl SqliteEventStore {
    /// Opens the store in `directory`, which is created if needed. One process at a time can have a store open.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be used, or if other users can enter it. Returns it also if another
    /// process has the store open, or if another version has made it.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let connection =
            database::open(directory, FILE, Layout { version: LAYOUT, tables: TABLES }, Durability::Process)?;
        Ok(Self { connection: Mutex::new(connection), max_bytes: MAX_BYTES, max_events: MAX_EVENTS })
    }

    /// Sets the most bytes and messages of all sessions together; 1 GiB and a million by default.
    #[must_use]
    pub fn limits(mut self, bytes: u64, events: u64) -> Self {
        (self.max_bytes, self.max_events) = (bytes, events);
        self
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes sessions until everything fits, but never `session`.
    fn make_room(&self, connection: &Connection, session: &str) -> Result<(), StoreError> {
        loop {
            let (events, bytes) = connection
                .prepare_cached("SELECT events, bytes FROM totals")?
                .query_row([], |row| Ok((count(row.get(0)?), count(row.get(1)?))))?;
            if events <= self.max_events && bytes <= self.max_bytes {
                return Ok(());
            }
            let forgotten = connection
                .prepare_cached(
                    "DELETE FROM sessions WHERE id = (SELECT id FROM sessions WHERE id <> ?1 ORDER BY used LIMIT 1)",
                )?
                .execute([session])?;
            if forgotten == 0 {
                // The server bounds the messages of one session.
                return Ok(());
            }
            tracing::warn!("the event store is full: the session that was used least recently was forgotten");
        }
    }
}

/// Returns milliseconds since the epoch.
fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Converts to SQLite's signed integers. Numbers of streams and messages stay far below their end.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

impl EventStore for SqliteEventStore {
    fn put_session(&self, id: &str, session: &StoredSession) -> Result<(), StoreError> {
        let StoredSession { principal, initialize, level } = session;
        self.lock()
            .prepare_cached(
                "INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET
                 principal = ?2, initialize = ?3, level = ?4, used = ?5",
            )?
            .execute(params![id, principal, initialize, level, milliseconds(SystemTime::now())])?;
        Ok(())
    }

    fn session(&self, id: &str) -> Result<Option<StoredSession>, StoreError> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("SELECT principal, initialize, level FROM sessions WHERE id = ?1")?;
        let found = statement.query_row([id], |row| {
            Ok(StoredSession { principal: row.get(0)?, initialize: row.get(1)?, level: row.get(2)? })
        });
        Ok(found.optional()?)
    }

    fn remove_session(&self, id: &str) -> Result<(), StoreError> {
        self.lock().prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id])?;
        Ok(())
    }

    fn open_stream(&self, session: &str, stream: u64, request: &str) -> Result<(), StoreError> {
        let connection = self.lock();
        let known = connection
            .prepare_cached("UPDATE sessions SET used = ?2 WHERE id = ?1")?
            .execute(params![session, milliseconds(SystemTime::now())])?;
        if known > 0 {
            connection
                .prepare_cached("INSERT OR REPLACE INTO streams (session, id, request) VALUES (?1, ?2, ?3)")?
                .execute(params![session, integer(stream), request])?;
        }
        Ok(())
    }

    fn append(&self, session: &str, stream: u64, number: u64, message: &str) -> Result<(), StoreError> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let known = transaction
            .prepare_cached(
                "INSERT INTO streams (session, id, next) SELECT id, ?2, ?3 FROM sessions WHERE id = ?1
                 ON CONFLICT (session, id) DO UPDATE SET next = ?3",
            )?
            .execute(params![session, integer(stream), integer(number + 1)])?;
        if known > 0 {
            transaction.prepare_cached("INSERT OR REPLACE INTO events VALUES (?1, ?2, ?3, ?4)")?.execute(params![
                session,
                integer(stream),
                integer(number),
                message
            ])?;
            self.make_room(&transaction, session)?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn end_stream(&self, session: &str, stream: u64) -> Result<(), StoreError> {
        self.lock()
            .prepare_cached("UPDATE streams SET request = NULL WHERE session = ?1 AND id = ?2")?
            .execute(params![session, integer(stream)])?;
        Ok(())
    }

    fn forget(&self, session: &str, stream: u64, up_to: Option<u64>) -> Result<(), StoreError> {
        let connection = self.lock();
        match up_to {
            Some(number) => connection
                .prepare_cached("DELETE FROM events WHERE session = ?1 AND stream = ?2 AND number <= ?3")?
                .execute(params![session, integer(stream), integer(number)])?,
            None => connection
                .prepare_cached("DELETE FROM streams WHERE session = ?1 AND id = ?2")?
                .execute(params![session, integer(stream)])?,
        };
        Ok(())
    }

    fn streams(&self, session: &str) -> Result<Vec<StoredStream>, StoreError> {
        let connection = self.lock();
        let mut streams: Vec<StoredStream> = connection
            .prepare_cached("SELECT id, request, next FROM streams WHERE session = ?1 ORDER BY id")?
            .query_map([session], |row| {
                Ok(StoredStream::new(count(row.get(0)?), row.get(1)?, count(row.get(2)?), Vec::new()))
            })?
            .collect::<Result<_, _>>()?;
        let mut events = connection
            .prepare_cached("SELECT number, message FROM events WHERE session = ?1 AND stream = ?2 ORDER BY number")?;
        for stream in &mut streams {
            let found =
                events.query_map(params![session, integer(stream.id)], |row| Ok((count(row.get(0)?), row.get(1)?)))?;
            stream.events = found.collect::<Result<_, _>>()?;
        }
        Ok(streams)
    }

    fn touch(&self, ids: &[&str]) -> Result<(), StoreError> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let now = milliseconds(SystemTime::now());
        for id in ids {
            transaction.prepare_cached("UPDATE sessions SET used = ?2 WHERE id = ?1")?.execute(params![id, now])?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn expire(&self, unused_since: SystemTime) -> Result<(), StoreError> {
        self.lock().prepare_cached("DELETE FROM sessions WHERE used < ?1")?.execute([milliseconds(unused_since)])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn session(principal: &str) -> StoredSession {
        StoredSession::new(Some(principal.to_owned()), "{}".to_owned())
    }

    #[test]
    fn what_is_kept_is_there_when_it_is_opened_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = directory.path().join("store");
        let store = SqliteEventStore::open(&place).expect("a store");
        store.put_session("a", &session("ada")).expect("kept");
        store.open_stream("a", 1, "7").expect("kept");
        store.open_stream("a", 2, "\"x\"").expect("kept");
        for number in 1..=3 {
            store.append("a", 1, number, &format!("{{\"n\":{number}}}")).expect("kept");
        }
        store.append("a", 0, 1, "{}").expect("kept");
        store.append("nobody", 0, 1, "{}").expect("passed over");
        store.forget("a", 1, Some(1)).expect("forgotten");
        store.end_stream("a", 2).expect("ended");
        let error = SqliteEventStore::open(&place).expect_err("it is open already").to_string();
        assert!(error.contains("another server uses it"), "{error}");
        drop(store);
        for file in std::fs::read_dir(&place).expect("files") {
            assert_eq!(file.expect("a file").metadata().expect("its mode").permissions().mode() & 0o077, 0);
        }
        let store = SqliteEventStore::open(&place).expect("a store");
        assert_eq!(store.session("a").expect("it works"), Some(session("ada")));
        let event = |number: u64| (number, format!("{{\"n\":{number}}}"));
        assert_eq!(
            store.streams("a").expect("it works"),
            [
                StoredStream::new(0, None, 2, vec![(1, "{}".to_owned())]),
                StoredStream::new(1, Some("7".to_owned()), 4, vec![event(2), event(3)]),
                StoredStream::new(2, None, 1, vec![]),
            ]
        );
        assert_eq!(store.streams("nobody").expect("it works"), []);
        store.forget("a", 1, None).expect("forgotten");
        assert_eq!(store.streams("a").expect("it works").len(), 2);
        store.remove_session("a").expect("forgotten");
        assert_eq!((store.session("a").expect("it works"), store.streams("a").expect("it works")), (None, vec![]));
    }

    #[test]
    fn it_is_bounded_in_bytes_messages_and_time() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o700)).expect("a mode");
        let store = SqliteEventStore::open(directory.path()).expect("a store").limits(1000, 5);
        for id in ["a", "b"] {
            store.put_session(id, &session(id)).expect("kept");
            store.lock().execute("UPDATE sessions SET used = ?2 WHERE id = ?1", params![id, id == "b"]).expect("set");
        }
        for number in 1..=3 {
            store.append("a", 0, number, "{}").expect("kept");
        }
        for number in 1..=2 {
            store.append("b", 0, number, "{}").expect("kept");
        }
        assert!(store.session("a").expect("it works").is_some());
        store.append("b", 0, 3, "{}").expect("kept");
        assert!(store.session("a").expect("it works").is_none(), "six messages are too many");
        store.put_session("c", &session("c")).expect("kept");
        store.append("c", 0, 1, &"x".repeat(2000)).expect("kept");
        assert!(store.session("b").expect("it works").is_none(), "2000 bytes are too many");
        assert_eq!(store.streams("c").expect("it works")[0].events.len(), 1);
        store.expire(SystemTime::now() + std::time::Duration::from_secs(1)).expect("it works");
        assert!(store.session("c").expect("it works").is_none());
    }

    #[test]
    fn a_directory_of_others_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let error = SqliteEventStore::open(directory.path()).expect_err("others may enter");
        assert!(error.to_string().contains("chmod 700"), "{error}");
    }
}
