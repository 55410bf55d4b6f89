//! The registry of a data directory as commands see it that are not its server: read, checked, copied, and changed where
//! nobody uses it.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};

use super::super::directory::{DataDir, DataDirError, private_file};
use super::super::id::SessionId;
use super::super::record::{Record, SessionState};
use super::Registry;
use super::rows::{all, put, put_files};

impl Registry {
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
}
