//! SQLite databases of a server: one file in a directory that only its owner can enter, opened by one process at a
//! time.

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::error::Error;
use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

/// The tables of a database, and their version. A database with another version is not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) version: i64,
    pub(crate) tables: &'static str,
}

/// The failure that a committed change survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The end of the process. The last changes may be lost when the machine loses power.
    Process,
    /// A loss of power as well.
    #[cfg(feature = "auth-server")]
    Power,
}

/// Opens the database `file` in `directory`, and creates both if needed.
///
/// # Errors
///
/// Returns an error if the directory cannot be used, or if other users can enter it. Returns it also if another process
/// has the database open, or if another version has made it.
pub(crate) fn open(
    directory: &Path,
    file: &str,
    layout: Layout,
    durability: Durability,
) -> Result<Connection, Box<dyn Error + Send + Sync>> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mode = std::fs::metadata(directory)?.permissions().mode();
    if mode & 0o077 != 0 {
        let text = format!("{}: others than its owner may enter it; chmod 700 it", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text).into());
    }
    let file = directory.join(file);
    // SQLite gives the files beside it the same mode.
    OpenOptions::new().create(true).append(true).mode(0o600).open(&file)?;
    open_file(&file, layout, durability).map_err(|error| match error.downcast_ref::<rusqlite::Error>() {
        Some(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            let text = format!("{}: another server uses it; each server needs a directory of its own", file.display());
            io::Error::new(io::ErrorKind::ResourceBusy, text).into()
        }
        _ => error,
    })
}

fn open_file(file: &Path, layout: Layout, durability: Durability) -> Result<Connection, Box<dyn Error + Send + Sync>> {
    let mut connection = Connection::open(file)?;
    // Waiting for the lock of another server would not help: it holds it as long as it runs.
    connection.busy_timeout(Duration::ZERO)?;
    connection.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(()))?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.query_row("PRAGMA secure_delete = FAST", [], |_| Ok(()))?;
    let synchronous = if durability == Durability::Process { "OFF" } else { "FULL" };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match transaction.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? {
        0 => {
            transaction.execute_batch(layout.tables)?;
            transaction.pragma_update(None, "user_version", layout.version)?;
        }
        version if version == layout.version => {}
        other => {
            let text =
                format!("{}: layout {other}, and this version has {}; remove it", file.display(), layout.version);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text).into());
        }
    }
    transaction.commit()?;
    Ok(connection)
}
