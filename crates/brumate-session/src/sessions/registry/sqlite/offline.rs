//! Access to the registry for commands that are not its server: read, check, copy, and change where no server runs.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::super::super::directory::{DataDir, DataDirError, private_file};
use super::super::super::history::CellRecord;
use super::super::super::id::SessionId;
use super::super::super::record::SessionRecord;
use super::rows::{SCHEMA, all, one, put, put_files};
use super::{SqliteRegistry, cells};

impl SqliteRegistry {
    /// Reads the registry of a directory, also while a server uses it.
    ///
    /// # Errors
    ///
    /// Fails as [`SqliteRegistry::open`] does.
    pub(crate) fn read(directory: &DataDir) -> Result<Vec<SessionRecord>, DataDirError> {
        Self::with(directory, OpenFlags::SQLITE_OPEN_READ_ONLY, |connection| {
            // A file that was just made has no tables.
            if Self::version(connection)? == 0 { Ok(Vec::new()) } else { all(connection) }
        })
    }

    /// Reads one session as [`SqliteRegistry::read`] does; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails as [`SqliteRegistry::open`] does.
    pub(crate) fn read_one(directory: &DataDir, id: &SessionId) -> Result<Option<SessionRecord>, DataDirError> {
        Self::with(directory, OpenFlags::SQLITE_OPEN_READ_ONLY, |connection| one(connection, id))
    }

    /// Reads the history of a session as [`SqliteRegistry::read`] does; `None` if the session does not exist.
    ///
    /// # Errors
    ///
    /// Fails as [`SqliteRegistry::open`] does.
    pub(crate) fn read_cells(directory: &DataDir, id: &SessionId) -> Result<Option<Vec<CellRecord>>, DataDirError> {
        Self::with(directory, OpenFlags::SQLITE_OPEN_READ_ONLY, |connection| {
            match Self::version(connection)? {
                0 => Ok(None),
                _ if one(connection, id)?.is_none() => Ok(None),
                // An earlier version of Brumate has kept no cells.
                version if version < SCHEMA => Ok(Some(Vec::new())),
                _ => cells::all(connection, id).map(Some),
            }
        })
    }

    /// Reads the registry as [`SqliteRegistry::read`] does, after an integrity check by SQLite.
    ///
    /// # Errors
    ///
    /// Fails as [`SqliteRegistry::open`] does.
    pub(crate) fn check(directory: &DataDir) -> Result<Vec<SessionRecord>, DataDirError> {
        let failed = |reason: String| DataDirError::Registry { path: directory.root().to_owned(), reason };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let checked = Self::connect(&directory.registry(), flags).and_then(|connection| {
            connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0))
        });
        match checked {
            Ok(said) if said == "ok" => Self::read(directory),
            Ok(said) => Err(failed(said)),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Copies the registry of a directory to the file `to`, as it is at one moment, also while a server uses it.
    ///
    /// # Errors
    ///
    /// Fails as [`SqliteRegistry::open`] does.
    pub(crate) fn copy(directory: &DataDir, to: &Path) -> Result<(), DataDirError> {
        let failed = |reason: String| DataDirError::Registry { path: directory.root().to_owned(), reason };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let text = to.to_str().ok_or_else(|| failed("the name of the copy is not UTF-8".to_owned()))?;
        let copied = Self::connect(&directory.registry(), flags)
            .and_then(|connection| connection.execute("VACUUM INTO ?1", [text]).map(drop));
        copied.map_err(|error| failed(error.to_string()))?;
        // SQLite makes the file with default permissions.
        private_file(to).and_then(|file| file.sync_all()).map_err(|error| failed(error.to_string()))
    }

    /// Replaces the record of a session in the registry of an unused directory.
    ///
    /// # Errors
    ///
    /// Fails as [`SqliteRegistry::open`] does.
    pub(crate) fn replace(directory: &DataDir, record: &SessionRecord) -> Result<(), DataDirError> {
        Self::edit(directory, |connection| {
            put(connection, record)?;
            let transaction = connection.unchecked_transaction()?;
            put_files(&transaction, record)?;
            transaction.commit()
        })
    }

    /// Removes a session from the registry of an unused directory.
    ///
    /// # Errors
    ///
    /// Fails as [`SqliteRegistry::open`] does.
    pub(crate) fn forget(directory: &DataDir, id: &SessionId) -> Result<(), DataDirError> {
        let sql = "DELETE FROM sessions WHERE id = ?1";
        Self::edit(directory, |connection| connection.execute(sql, [id.as_str()]).map(drop))
    }

    fn edit(directory: &DataDir, change: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<(), DataDirError> {
        Self::with(directory, OpenFlags::SQLITE_OPEN_READ_WRITE, change)
    }

    /// Opens the registry of a directory with `access`, and does `work`.
    fn with<T>(
        directory: &DataDir,
        access: OpenFlags,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DataDirError> {
        let connection = Self::connect(&directory.registry(), access | OpenFlags::SQLITE_OPEN_NO_MUTEX);
        connection
            .and_then(|connection| work(&connection))
            .map_err(|error| DataDirError::Registry { path: directory.root().to_owned(), reason: error.to_string() })
    }
}
