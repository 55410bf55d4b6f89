//! Tables of the registry, and the mapping between records and rows.

use std::collections::{BTreeMap, HashMap};

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::super::super::id::SessionId;
use super::super::super::record::{FileRecord, SessionRecord, SessionState, StateFile};

/// Version of the tables.
pub(super) const SCHEMA: i64 = 3;
/// Migration from version 1: packages of sessions.
pub(super) const PACKAGES: &str = "ALTER TABLE sessions ADD COLUMN packages TEXT NOT NULL DEFAULT '[]';";

pub(super) const TABLES: &str = "
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

/// Writes a session without its files.
pub(super) fn put(connection: &Connection, record: &SessionRecord) -> rusqlite::Result<()> {
    let file = record.file.as_ref();
    let packages = serde_json::to_string(&record.packages)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    // SQLite has signed integers only; the bits are kept.
    let mut statement = connection.prepare_cached(
        "INSERT INTO sessions (id, principal, created, last_used, state, note, image, image_bytes, image_generation,
             generation, executions, packages)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
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
        file.map(|file| file.name.as_str()),
        // The estimated bytes, if there is no file.
        file.map_or(record.estimated_bytes, |file| file.bytes).cast_signed(),
        file.map_or(0, |file| file.generation.cast_signed()),
        record.generation.cast_signed(),
        record.executions.cast_signed(),
        packages,
    ])?;
    Ok(())
}

/// Writes the list of a session's files.
pub(super) fn put_files(transaction: &Transaction<'_>, record: &SessionRecord) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM files WHERE session = ?1")?.execute([record.id.as_str()])?;
    let mut statement = transaction.prepare_cached("INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (path, file) in &record.files {
        let (size, stamp) = (file.size.cast_signed(), file.stamp.cast_signed());
        statement.execute(params![record.id.as_str(), path, size, stamp, file.mime])?;
    }
    Ok(())
}

/// Reads every session, the oldest first.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<SessionRecord>> {
    let mut statement = connection.prepare_cached("SELECT * FROM sessions ORDER BY created, id")?;
    let mut records = statement.query_map([], record)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut statement = connection.prepare_cached("SELECT session, path, size, stamp, mime FROM files")?;
    let mut files: HashMap<String, BTreeMap<String, FileRecord>> = HashMap::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        files.entry(row.get(0)?).or_default().insert(row.get(1)?, known_file(row)?);
    }
    for record in &mut records {
        record.files = files.remove(record.id.as_str()).unwrap_or_default();
    }
    Ok(records)
}

/// Reads one session; `None` if it does not exist.
pub(super) fn one(connection: &Connection, id: &SessionId) -> rusqlite::Result<Option<SessionRecord>> {
    let mut statement = connection.prepare_cached("SELECT * FROM sessions WHERE id = ?1")?;
    let Some(mut record) = statement.query_row([id.as_str()], record).optional()? else { return Ok(None) };
    let mut statement =
        connection.prepare_cached("SELECT session, path, size, stamp, mime FROM files WHERE session = ?1")?;
    let files = statement.query_map([id.as_str()], |row| Ok((row.get(1)?, known_file(row)?)))?;
    record.files = files.collect::<rusqlite::Result<_>>()?;
    Ok(Some(record))
}

fn known_file(row: &Row<'_>) -> rusqlite::Result<FileRecord> {
    Ok(FileRecord { size: unsigned(row, 2)?, stamp: unsigned(row, 3)?, mime: row.get(4)? })
}

fn record(row: &Row<'_>) -> rusqlite::Result<SessionRecord> {
    let wrong = |column: usize, what: &str| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.to_owned().into())
    };
    let id: String = row.get("id")?;
    let state: String = row.get("state")?;
    let file = match row.get::<_, Option<String>>("image")? {
        // The name becomes a path: a changed registry must not lead out of the directory.
        Some(name) if name.contains('/') => return Err(wrong(6, "a file's name is a path")),
        Some(name) => Some(StateFile { name, bytes: unsigned(row, 7)?, generation: unsigned(row, 8)? }),
        None => None,
    };
    Ok(SessionRecord {
        id: SessionId::parse(&id).ok_or_else(|| wrong(0, "an id that is none"))?,
        principal: row.get("principal")?,
        created: row.get("created")?,
        last_used: row.get("last_used")?,
        state: SessionState::parse(&state).ok_or_else(|| wrong(4, "an unknown state"))?,
        note: row.get("note")?,
        estimated_bytes: if file.is_some() { 0 } else { unsigned(row, 7)? },
        file,
        generation: unsigned(row, 9)?,
        executions: unsigned(row, 10)?,
        files: BTreeMap::new(),
        // A registry that a process of an earlier version keeps has no such column.
        packages: match row.get::<_, String>("packages") {
            Ok(text) => serde_json::from_str(&text).map_err(|_| wrong(11, "packages that are none"))?,
            Err(rusqlite::Error::InvalidColumnName(_)) => Vec::new(),
            Err(error) => return Err(error),
        },
        history_bytes: match row.get::<_, i64>("history_bytes") {
            Ok(bytes) => bytes.cast_unsigned(),
            Err(rusqlite::Error::InvalidColumnName(_)) => 0,
            Err(error) => return Err(error),
        },
    })
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}
