//! Stores of tokens: in memory, and in files.

use super::token::{Identity, Tokens};
use crate::oauth::sha256_hex;
use async_trait::async_trait;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;
use zeroize::Zeroizing;

/// Time between two attempts to take a lock that another process has.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The tokens for one server, and the client's identity at its authorization server. Stores write it as JSON; its
/// fields are private.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredTokens {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) identity: Identity,
    pub(super) tokens: Option<Tokens>,
    pub(super) scopes: Vec<String>,
}

impl StoredTokens {
    /// Reads what [`StoredTokens::write`] has written for a server.
    pub(super) fn read(server: &str, bytes: &[u8]) -> Result<Self, TokenStoreError> {
        serde_json::from_slice(bytes).map_err(|error| {
            // The error's own text may show secrets.
            let (line, column) = (error.line(), error.column());
            TokenStoreError(format!("what is kept for {server} is damaged at line {line}, column {column}"))
        })
    }

    /// Writes it as JSON.
    pub(super) fn write(&self) -> Result<Zeroizing<Vec<u8>>, TokenStoreError> {
        serde_json::to_vec(self).map(Zeroizing::new).map_err(|error| TokenStoreError(error.to_string()))
    }
}

/// The reason why a store cannot store or find tokens.
#[derive(Debug, thiserror::Error)]
#[error("tokens cannot be kept: {0}")]
pub struct TokenStoreError(String);

impl TokenStoreError {
    /// Makes an error with a text for people.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<std::io::Error> for TokenStoreError {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// A store of tokens, by the URLs of the servers that the tokens are for.
#[async_trait]
pub trait TokenStore: Send + Sync + 'static {
    /// Returns what is stored for a server.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be read.
    async fn load(&self, server: &str) -> Result<Option<StoredTokens>, TokenStoreError>;

    /// Replaces what is stored for a server.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written.
    async fn save(&self, server: &str, stored: &StoredTokens) -> Result<(), TokenStoreError>;

    /// Removes what is stored for a server.
    ///
    /// # Errors
    ///
    /// Returns an error if the store cannot be written.
    async fn remove(&self, server: &str) -> Result<(), TokenStoreError>;

    /// Takes the lock for replacing a server's tokens. It excludes all processes that share the store, until the
    /// returned value is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if the lock cannot be taken.
    async fn lock(&self, server: &str) -> Result<Box<dyn Any + Send>, TokenStoreError>;
}

/// A store of tokens in memory. They end with the process.
#[derive(Debug, Default)]
pub struct MemoryTokenStore {
    kept: Mutex<HashMap<String, StoredTokens>>,
    lock: Arc<AsyncMutex<()>>,
}

#[async_trait]
impl TokenStore for MemoryTokenStore {
    async fn load(&self, server: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
        Ok(self.kept.lock().get(server).cloned())
    }

    async fn save(&self, server: &str, stored: &StoredTokens) -> Result<(), TokenStoreError> {
        self.kept.lock().insert(server.to_owned(), stored.clone());
        Ok(())
    }

    async fn remove(&self, server: &str) -> Result<(), TokenStoreError> {
        self.kept.lock().remove(server);
        Ok(())
    }

    async fn lock(&self, _server: &str) -> Result<Box<dyn Any + Send>, TokenStoreError> {
        Ok(Box::new(self.lock.clone().lock_owned().await))
    }
}

/// A store of tokens in a directory that only its owner can read, with a file for each server. Processes that share it
/// replace tokens one at a time.
#[derive(Clone, Debug)]
pub struct FileTokenStore {
    directory: PathBuf,
}

impl FileTokenStore {
    /// Uses a directory, which is created if needed.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be created.
    pub fn new(directory: impl Into<PathBuf>) -> Result<Self, TokenStoreError> {
        let tokens = Self { directory: directory.into() };
        tokens.make_directory()?;
        Ok(tokens)
    }

    /// Uses the directory where programs keep their settings: `tokens` below the directory `program` of
    /// `$XDG_CONFIG_HOME` or of `~/.config`. It is created with the first token.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no home directory.
    pub fn in_config_dir(program: &str) -> Result<Self, TokenStoreError> {
        let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let config = config.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")));
        let config = config.ok_or_else(|| TokenStoreError("neither XDG_CONFIG_HOME nor HOME is set".to_owned()))?;
        Ok(Self { directory: config.join(program).join("tokens") })
    }

    fn make_directory(&self) -> Result<(), TokenStoreError> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(|error| {
            TokenStoreError(format!("the directory {} cannot be made: {error}", self.directory.display()))
        })
    }

    fn path(&self, server: &str, ending: &str) -> PathBuf {
        self.directory.join(format!("{}.{ending}", sha256_hex(server)))
    }
}

#[async_trait]
impl TokenStore for FileTokenStore {
    #[expect(clippy::disallowed_methods, reason = "the program's own directory")]
    async fn load(&self, server: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
        match std::fs::read(self.path(server, "json")) {
            Ok(bytes) => StoredTokens::read(server, &Zeroizing::new(bytes)).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn save(&self, server: &str, stored: &StoredTokens) -> Result<(), TokenStoreError> {
        static SAVED: AtomicU64 = AtomicU64::new(0);
        self.make_directory()?;
        let text = stored.write()?;
        // Concurrent saves use different files.
        let ending = format!("{}-{}.new", std::process::id(), SAVED.fetch_add(1, Ordering::Relaxed));
        let (path, fresh) = (self.path(server, "json"), self.path(server, &ending));
        write_whole(&fresh, &text).and_then(|()| std::fs::rename(&fresh, &path))?;
        Ok(File::open(&self.directory)?.sync_all()?)
    }

    async fn remove(&self, server: &str) -> Result<(), TokenStoreError> {
        match std::fs::remove_file(self.path(server, "json")) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    async fn lock(&self, server: &str) -> Result<Box<dyn Any + Send>, TokenStoreError> {
        self.make_directory()?;
        let path = self.path(server, "lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Box::new(file)),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
    }
}

fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Secret;
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    pub(crate) fn stored(token: &str) -> StoredTokens {
        let identity = Identity {
            id: "id".into(),
            secret: None,
            method: None,
            redirect: None,
            secret_ends: None,
            is_refused: false,
        };
        let tokens = Tokens { access: Secret::new(token), refresh: None, ends: None };
        let (issuer, resource) = ("https://issuer".to_owned(), "https://server".to_owned());
        StoredTokens { issuer, resource, identity, tokens: Some(tokens), scopes: Vec::new() }
    }

    #[tokio::test]
    async fn files_are_their_owners_alone_and_whole() {
        let directory = tempfile::tempdir().unwrap();
        let tokens = FileTokenStore::new(directory.path().join("a/tokens")).unwrap();
        assert_eq!(tokens.load("https://server").await.unwrap(), None);
        tokens.save("https://server", &stored("one")).await.unwrap();
        tokens.save("https://server", &stored("two")).await.unwrap();
        assert_eq!(tokens.load("https://server").await.unwrap(), Some(stored("two")));
        assert_eq!(tokens.load("https://other").await.unwrap(), None);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&tokens.directory), 0o700);
        let files: Vec<PathBuf> =
            std::fs::read_dir(&tokens.directory).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        assert_eq!(mode(&files[0]), 0o600);
        std::fs::write(&files[0], "{").unwrap();
        let error = tokens.load("https://server").await.unwrap_err().to_string();
        assert!(error.contains("https://server is damaged"), "{error}");
        tokens.remove("https://server").await.unwrap();
        tokens.remove("https://server").await.unwrap();
    }

    #[tokio::test]
    async fn one_at_a_time_replaces_tokens() {
        let directory = tempfile::tempdir().unwrap();
        let stores: [Arc<dyn TokenStore>; 2] =
            [Arc::new(MemoryTokenStore::default()), Arc::new(FileTokenStore::new(directory.path()).unwrap())];
        for store in stores {
            let held = store.lock("https://server").await.unwrap();
            let other = store.clone();
            let waiting = tokio::spawn(async move { drop(other.lock("https://server").await.unwrap()) });
            tokio::time::sleep(Duration::from_millis(120)).await;
            assert!(!waiting.is_finished());
            drop(held);
            waiting.await.unwrap();
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let text = format!("{:?}", stored("very secret"));
        assert!(!text.contains("very secret") && text.contains("[secret]"), "{text}");
    }
}
