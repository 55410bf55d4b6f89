//! Cells of sessions in the registry.

use rusqlite::{Connection, Row, Transaction, params};

use super::super::super::history::{CellRecord, MAX_HISTORY_BYTES, MAX_HISTORY_CELLS};
use super::super::super::id::SessionId;

/// Migration from version 2: cells of sessions.
pub(super) const CELLS: &str = "
    ALTER TABLE sessions ADD COLUMN history_bytes INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE cells (
        session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        execution_count INTEGER,
        dropped INTEGER NOT NULL,
        is_cut INTEGER NOT NULL,
        code TEXT NOT NULL,
        outputs TEXT,
        PRIMARY KEY (session, number)
    ) STRICT;
";

/// Adds a cell, and drops outputs and cells that are too old for the bounds. Returns the bytes of the history.
pub(super) fn add(transaction: &Transaction<'_>, id: &SessionId, cell: &CellRecord) -> rusqlite::Result<u64> {
    let id = id.as_str();
    let insert = "INSERT INTO cells SELECT ?1, COALESCE(MAX(number), -1) + 1, ?2, ?3, ?4, ?5, ?6, ?7 FROM cells
         WHERE session = ?1 RETURNING number";
    let values = params![
        id,
        cell.bytes().cast_signed(),
        cell.execution_count.map(u64::cast_signed),
        cell.dropped.cast_signed(),
        cell.is_cut,
        cell.code,
        cell.outputs,
    ];
    let number: i64 = transaction.prepare_cached(insert)?.query_row(values, |row| row.get(0))?;
    let mut added = cell.bytes().cast_signed();
    if let Some(outdated) = number.checked_sub(MAX_HISTORY_CELLS.cast_signed()).filter(|outdated| *outdated >= 0) {
        let sql = "DELETE FROM cells WHERE session = ?1 AND number <= ?2 RETURNING bytes";
        let mut statement = transaction.prepare_cached(sql)?;
        let freed = statement.query_map(params![id, outdated], |row| row.get::<_, i64>(0))?;
        added -= freed.sum::<rusqlite::Result<i64>>()?;
    }
    let bytes = add_bytes(transaction, id, added)?;
    let bytes = match shorten(transaction, id, bytes)? {
        0 => bytes,
        freed => add_bytes(transaction, id, -freed)?,
    };
    Ok(bytes.cast_unsigned())
}

/// Adds to the bytes of a session's history. Returns them.
fn add_bytes(transaction: &Transaction<'_>, id: &str, added: i64) -> rusqlite::Result<i64> {
    let sql = "UPDATE sessions SET history_bytes = history_bytes + ?2 WHERE id = ?1 RETURNING history_bytes";
    transaction.prepare_cached(sql)?.query_row(params![id, added], |row| row.get(0))
}

/// Drops the outputs of the oldest cells, and then the oldest cells, until the history of `bytes` fits. Returns the bytes that this frees.
fn shorten(transaction: &Transaction<'_>, id: &str, bytes: i64) -> rusqlite::Result<i64> {
    let surplus = bytes - MAX_HISTORY_BYTES.cast_signed();
    if surplus <= 0 {
        return Ok(0);
    }
    let with_outputs =
        "SELECT number, OCTET_LENGTH(outputs) FROM cells WHERE session = ?1 AND outputs IS NOT NULL ORDER BY number";
    let drop_outputs = "UPDATE cells SET outputs = NULL, bytes = bytes - ?3 WHERE session = ?1 AND number = ?2";
    let all = "SELECT number, bytes FROM cells WHERE session = ?1 ORDER BY number";
    let drop_cell = "DELETE FROM cells WHERE session = ?1 AND number = ?2 AND ?3 >= 0";
    let mut freed = 0;
    for (list, drop) in [(with_outputs, drop_outputs), (all, drop_cell)] {
        if freed >= surplus {
            break;
        }
        let mut list = transaction.prepare(list)?;
        let found = list.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let found: Vec<(i64, i64)> = found.collect::<rusqlite::Result<_>>()?;
        for (number, bytes) in found {
            if freed >= surplus {
                break;
            }
            transaction.prepare_cached(drop)?.execute(params![id, number, bytes])?;
            freed += bytes;
        }
    }
    Ok(freed)
}

/// Removes all cells of a session.
pub(super) fn remove(transaction: &Transaction<'_>, id: &SessionId) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM cells WHERE session = ?1", [id.as_str()])?;
    transaction.execute("UPDATE sessions SET history_bytes = 0 WHERE id = ?1", [id.as_str()])?;
    Ok(())
}

/// Reads the cells of a session, the oldest first.
pub(super) fn all(connection: &Connection, id: &SessionId) -> rusqlite::Result<Vec<CellRecord>> {
    let sql = "SELECT execution_count, dropped, is_cut, code, outputs FROM cells WHERE session = ?1 ORDER BY number";
    let mut statement = connection.prepare_cached(sql)?;
    let cell = |row: &Row<'_>| {
        Ok(CellRecord {
            execution_count: row.get::<_, Option<i64>>(0)?.map(i64::cast_unsigned),
            dropped: row.get::<_, i64>(1)?.cast_unsigned(),
            is_cut: row.get(2)?,
            code: row.get(3)?,
            outputs: row.get(4)?,
        })
    };
    statement.query_map([id.as_str()], cell)?.collect()
}
