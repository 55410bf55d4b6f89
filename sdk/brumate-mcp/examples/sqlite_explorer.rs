//! A database to look at: its schema as a resource, queries as a tool. The database is the first argument.

use brumate_mcp::{Error, ServeError, Server, State, resource, tool};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The most rows of an answer.
const MAX_ROWS: usize = 1000;

/// Where the database is.
struct Database(PathBuf);

impl Database {
    /// For reading only: no statement can change it.
    fn open(&self) -> rusqlite::Result<Connection> {
        Connection::open_with_flags(&self.0, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
    }
}

/// The database's schema.
#[resource("schema://main", name = "schema", mime_type = "application/sql")]
fn database_schema(database: State<Database>) -> Result<String, Error> {
    let connection = database.open()?;
    let mut statement = connection.prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")?;
    let lines: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(lines.join(";\n"))
}

/// Runs a query and returns its rows, at most 1000.
#[tool(read_only)]
fn query(
    /// One SQL statement that reads.
    sql: String,
    database: State<Database>,
) -> Result<Vec<Map<String, Value>>, Error> {
    let connection = database.open()?;
    let mut statement = connection.prepare(&sql)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if found.len() == MAX_ROWS {
            break;
        }
        let mut object = Map::new();
        for (index, name) in names.iter().enumerate() {
            let value = match row.get_ref(index)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => number.into(),
                ValueRef::Real(number) => number.into(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
                ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()).into(),
            };
            object.insert(name.clone(), value);
        }
        found.push(object);
    }
    Ok(found)
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "database.db".to_owned());
    Server::new("SQLite Explorer").state(Database(path.into())).resource(database_schema).tool(query).run_stdio().await
}
