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
    let last: Option<i64> = transaction
        .prepare_cached("SELECT MAX(number) FROM cells WHERE session = ?1")?
        .query_row([id], |row| row.get(0))?;
    let number = last.map_or(0, |last| last.saturating_add(1));
    transaction.prepare_cached("INSERT INTO cells VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(params![
        id,
        number,
        cell.bytes().cast_signed(),
        cell.execution_count.map(u64::cast_signed),
        cell.dropped.cast_signed(),
        cell.is_cut,
        cell.code,
        cell.outputs,
    ])?;
    let outdated = number.saturating_sub(MAX_HISTORY_CELLS.cast_signed());
    let freed: i64 = transaction
        .prepare_cached("SELECT COALESCE(SUM(bytes), 0) FROM cells WHERE session = ?1 AND number <= ?2")?
        .query_row(params![id, outdated], |row| row.get(0))?;
    transaction
        .prepare_cached("DELETE FROM cells WHERE session = ?1 AND number <= ?2")?
        .execute(params![id, outdated])?;
    let before: i64 = transaction
        .prepare_cached("SELECT history_bytes FROM sessions WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    let mut bytes = before.saturating_add(cell.bytes().cast_signed()).saturating_sub(freed);
    if bytes > MAX_HISTORY_BYTES.cast_signed() {
        bytes = shorten(transaction, id, bytes)?;
    }
    transaction.prepare_cached("UPDATE sessions SET history_bytes = ?2 WHERE id = ?1")?.execute(params![id, bytes])?;
    Ok(bytes.cast_unsigned())
}

/// Drops the outputs of the oldest cells, and then the oldest cells, until the history fits. Returns its bytes.
fn shorten(transaction: &Transaction<'_>, id: &str, mut bytes: i64) -> rusqlite::Result<i64> {
    let limit = MAX_HISTORY_BYTES.cast_signed();
    let mut with_outputs = transaction.prepare_cached(
        "SELECT number, OCTET_LENGTH(outputs) FROM cells WHERE session = ?1 AND outputs IS NOT NULL ORDER BY number",
    )?;
    let outputs = with_outputs.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let outputs: Vec<(i64, i64)> = outputs.collect::<rusqlite::Result<_>>()?;
    let sql = "UPDATE cells SET outputs = NULL, bytes = bytes - ?3 WHERE session = ?1 AND number = ?2";
    for (number, freed) in outputs {
        if bytes <= limit {
            return Ok(bytes);
        }
        transaction.prepare_cached(sql)?.execute(params![id, number, freed])?;
        bytes = bytes.saturating_sub(freed);
    }
    let mut cells = transaction.prepare_cached("SELECT number, bytes FROM cells WHERE session = ?1 ORDER BY number")?;
    let cells = cells.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let cells: Vec<(i64, i64)> = cells.collect::<rusqlite::Result<_>>()?;
    for (number, freed) in cells {
        if bytes <= limit {
            break;
        }
        let sql = "DELETE FROM cells WHERE session = ?1 AND number = ?2";
        transaction.prepare_cached(sql)?.execute(params![id, number])?;
        bytes = bytes.saturating_sub(freed);
    }
    Ok(bytes)
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
