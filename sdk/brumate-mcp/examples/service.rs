//! A type whose methods are tools, a resource and a prompt: `service journal.txt`.

use brumate_mcp::prelude::*;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest journal that is read, in entries.
const MAX_ENTRIES: usize = 10_000;

/// A journal in a file.
struct Journal {
    path: PathBuf,
    entries: Mutex<Vec<String>>,
}

impl Journal {
    fn open(path: &Path) -> Result<Self, Error> {
        use std::io::BufRead as _;
        let file = std::fs::File::options().create(true).append(true).read(true).open(path)?;
        let entries = std::io::BufReader::new(file).lines().take(MAX_ENTRIES).collect::<Result<_, _>>()?;
        Ok(Self { path: path.to_owned(), entries: Mutex::new(entries) })
    }

    fn entries(&self) -> MutexGuard<'_, Vec<String>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[tools]
impl Journal {
    /// Writes an entry; returns how many there are now.
    #[tool(destructive = false)]
    fn write(
        &self,
        /// One line.
        entry: String,
    ) -> Result<usize, Error> {
        if entry.contains('\n') {
            return Err(Error::new("an entry is one line"));
        }
        let mut entries = self.entries();
        if entries.len() == MAX_ENTRIES {
            return Err(Error::new("the journal is full"));
        }
        writeln!(std::fs::File::options().append(true).open(&self.path)?, "{entry}")?;
        entries.push(entry);
        Ok(entries.len())
    }

    /// The entries with a word.
    #[tool(read_only)]
    async fn search(&self, word: String) -> Vec<String> {
        self.entries().iter().filter(|entry| entry.contains(&word)).cloned().collect()
    }

    /// An entry, by its number.
    #[resource("journal://{number}", mime_type = "text/plain")]
    async fn entry(&self, number: usize) -> Result<String, Error> {
        self.entries().get(number).cloned().ok_or_else(|| Error::not_found(format!("there is no entry {number}")))
    }

    /// Asks for a summary of the journal.
    #[prompt]
    async fn summarize(&self) -> String {
        format!("Summarize this journal:\n\n{}", self.entries().join("\n"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "journal.txt".to_owned());
    Ok(Server::new("Journal").service(Journal::open(path.as_ref())?).run_stdio().await?)
}
