//! State that a server opens and closes.

use brumate_mcp::prelude::*;

struct Database;

impl Database {
    async fn open(url: String) -> Result<Self, Error> {
        if url.is_empty() { Err(Error::new("no URL")) } else { Ok(Self) }
    }

    async fn close(&self) {}
}

/// Asks the database.
#[tool]
async fn query(sql: String, database: State<Database>) -> Result<String, Error> {
    let _database: &Database = &database;
    Ok(sql)
}

fn server(url: String) -> Server {
    Server::new("Explorer").lifespan(move || Database::open(url), async |database| database.close().await).tool(query)
}
