//! Session files in a directory.

use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;

use super::super::file_store::FileStore;

/// Session files in the data directory.
#[derive(Debug, Clone)]
pub(crate) struct DirectoryFiles {
    directory: PathBuf,
}

impl DirectoryFiles {
    /// Names the directory of the files, which exists.
    pub(super) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }
}

#[async_trait]
impl FileStore for DirectoryFiles {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    async fn store(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    async fn fetch(&self, name: &str) -> io::Result<PathBuf> {
        Ok(self.path(name))
    }

    fn has(&self, name: &str) -> bool {
        self.path(name).is_file()
    }

    fn remove(&self, name: &str) {
        if let Err(error) = std::fs::remove_file(self.path(name))
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the file of a session cannot be removed");
        }
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }
}
