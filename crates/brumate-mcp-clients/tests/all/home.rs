//! A directory with a client's configuration file.

use std::path::PathBuf;

use brumate_mcp_clients::{Change, Client, ConfigFile, Entry, InstallError, Mode};

/// A directory that is removed with everything in it.
pub(crate) struct Home {
    directory: tempfile::TempDir,
    client: Client,
}

impl Home {
    /// Returns an empty one, for Claude Desktop.
    pub(crate) fn new() -> Home {
        Home::of(Client::ClaudeDesktop)
    }

    /// Returns an empty one, for a client.
    pub(crate) fn of(client: Client) -> Home {
        Home { directory: tempfile::tempdir().expect("made"), client }
    }

    /// Returns one with a file in memory, for tests of many files that need not reach a disk.
    pub(crate) fn in_memory(text: impl AsRef<[u8]>) -> Home {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("made");
        let home = Home { directory, client: Client::ClaudeDesktop };
        home.write(text);
        home
    }

    /// Returns one with a file.
    pub(crate) fn with(text: impl AsRef<[u8]>) -> Home {
        let home = Home::new();
        home.write(text);
        home
    }

    /// Returns a path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the path of the file.
    pub(crate) fn config(&self) -> PathBuf {
        self.path("config.json")
    }

    /// Writes the file.
    pub(crate) fn write(&self, text: impl AsRef<[u8]>) {
        std::fs::write(self.config(), text).expect("written");
    }

    /// Reads the file. `None`: it does not exist.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        std::fs::read(self.config()).ok()
    }

    /// Reads the file as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes().expect("there")).expect("UTF-8")
    }

    /// Returns the names of everything in the directory.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).expect("a directory");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("read").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }

    /// Returns the file, as the crate has it.
    pub(crate) fn file(&self) -> ConfigFile {
        ConfigFile::new(self.client, self.config(), self.path("state"))
    }

    /// Installs an entry.
    pub(crate) fn install(&self, name: &str, entry: &Entry) -> Result<Change, InstallError> {
        self.file().install(name, entry, Mode::Write)
    }

    /// Takes an entry out.
    pub(crate) fn remove(&self, name: &str) -> Result<Change, InstallError> {
        self.file().remove(name, Mode::Write)
    }
}

/// Returns an entry with an argument and variables.
pub(crate) fn entry(argument: &str, env: &[(&str, &str)]) -> Entry {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Entry { command: "/usr/bin/brumate".to_owned(), args: vec!["run".to_owned(), argument.to_owned()], env }
}
