//! State that is opened once, used by all requests and closed at the end.

use brumate_mcp::{Error, ServeError, Server, State, tool};
use std::path::PathBuf;
use std::sync::Mutex;

/// A journal in a file.
struct Journal {
    path: PathBuf,
    entries: Mutex<Vec<String>>,
}

impl Journal {
    async fn open(path: PathBuf) -> Result<Self, Error> {
        let entries = match tokio::fs::read_to_string(&path).await {
            Ok(text) => text.lines().map(str::to_owned).collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::new(format!("{}: {error}", path.display()))),
        };
        Ok(Self { path, entries: Mutex::new(entries) })
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.entries.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn close(&self) {
        let text: String = self.entries().iter().map(|entry| format!("{entry}\n")).collect();
        if let Err(error) = tokio::fs::write(&self.path, text).await {
            eprintln!("{}: {error}", self.path.display());
        }
    }
}

/// Writes an entry; returns how many there are now.
#[tool]
async fn write(entry: String, journal: State<Journal>) -> usize {
    let mut entries = journal.entries();
    entries.push(entry);
    entries.len()
}

/// All entries.
#[tool(read_only)]
async fn read(journal: State<Journal>) -> Vec<String> {
    journal.entries().clone()
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "journal.txt".to_owned());
    Server::new("Journal")
        .lifespan(move || Journal::open(path.into()), async |journal| journal.close().await)
        .tool(write)
        .tool(read)
        .run_stdio()
        .await
}
