//! A store of tokens in a keyring.

use super::store::{FileTokenStore, StoredTokens, TokenStore, TokenStoreError};
use async_trait::async_trait;
use keyring_core::{CredentialStore, Entry};
use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A store of tokens in the system's keyring: the Secret Service of GNOME and KDE. Processes that share it replace
/// tokens one at a time, with the locks of a [`FileTokenStore`].
#[derive(Clone)]
pub struct KeyringTokenStore {
    store: Arc<CredentialStore>,
    program: String,
    locks: FileTokenStore,
}

impl std::fmt::Debug for KeyringTokenStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyringTokenStore").field("program", &self.program).finish_non_exhaustive()
    }
}

impl KeyringTokenStore {
    /// Opens the Secret Service. Tokens are stored under the name of the program, and locks are where
    /// [`FileTokenStore::in_config_dir`] has files.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no Secret Service, for example because nobody is logged in; also the errors of
    /// [`FileTokenStore::in_config_dir`].
    pub async fn new(program: impl Into<String>) -> Result<Self, TokenStoreError> {
        let program = program.into();
        let locks = FileTokenStore::in_config_dir(&program)?;
        let store = apart(zbus_secret_service_keyring_store::Store::new).await?;
        let store = store.map_err(|error| TokenStoreError::new(format!("there is no Secret Service: {error}")))?;
        Ok(Self { store, program, locks })
    }

    /// Uses any store of the crate `keyring-core`. The locks are files of a directory, which is created if needed.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be created.
    pub fn in_store(
        store: Arc<CredentialStore>,
        program: impl Into<String>,
        locks: impl Into<PathBuf>,
    ) -> Result<Self, TokenStoreError> {
        Ok(Self { store, program: program.into(), locks: FileTokenStore::new(locks)? })
    }

    /// Does something with a server's entry.
    async fn with_entry<T: Send + 'static>(
        &self,
        server: &str,
        act: impl FnOnce(Entry) -> keyring_core::Result<T> + Send + 'static,
    ) -> Result<Option<T>, TokenStoreError> {
        let (store, program, server) = (self.store.clone(), self.program.clone(), server.to_owned());
        let done = apart(move || Entry::new_in_store(&store, &program, &server).and_then(act)).await?;
        match done {
            Ok(done) => Ok(Some(done)),
            Err(keyring_core::Error::NoEntry) => Ok(None),
            Err(error) => Err(TokenStoreError::new(format!("the keyring: {error}"))),
        }
    }
}

/// Runs what waits for the keyring, which may ask a person for a password, on a thread of its own.
async fn apart<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> Result<T, TokenStoreError> {
    tokio::task::spawn_blocking(act).await.map_err(|error| TokenStoreError::new(format!("the keyring: {error}")))
}

#[async_trait]
impl TokenStore for KeyringTokenStore {
    async fn load(&self, server: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
        let Some(bytes) = self.with_entry(server, |entry| entry.get_secret()).await? else { return Ok(None) };
        StoredTokens::read(server, &Zeroizing::new(bytes)).map(Some)
    }

    async fn save(&self, server: &str, stored: &StoredTokens) -> Result<(), TokenStoreError> {
        let bytes = stored.write()?;
        self.with_entry(server, move |entry| entry.set_secret(&bytes)).await.map(|_| ())
    }

    async fn remove(&self, server: &str) -> Result<(), TokenStoreError> {
        self.with_entry(server, |entry| entry.delete_credential()).await.map(|_| ())
    }

    async fn lock(&self, server: &str) -> Result<Box<dyn Any + Send>, TokenStoreError> {
        self.locks.lock(server).await
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::tests::stored;
    use super::*;
    use keyring_core::mock;
    use std::time::Duration;

    #[tokio::test]
    async fn a_keyring_keeps_tokens() {
        let directory = tempfile::tempdir().unwrap();
        let store = mock::Store::new().unwrap();
        let open = || KeyringTokenStore::in_store(store.clone(), "test", directory.path()).unwrap();
        let tokens = open();
        assert_eq!(tokens.load("https://server").await.unwrap(), None);
        tokens.save("https://server", &stored("one")).await.unwrap();
        assert_eq!(open().load("https://server").await.unwrap(), Some(stored("one")));
        assert_eq!(tokens.load("https://other").await.unwrap(), None);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing of it is in files");

        let held = tokens.lock("https://server").await.unwrap();
        let other = open();
        let waiting = tokio::spawn(async move { drop(other.lock("https://server").await.unwrap()) });
        tokio::time::sleep(Duration::from_millis(120)).await;
        assert!(!waiting.is_finished());
        drop(held);
        waiting.await.unwrap();

        let entry = Entry::new_in_store(&(store.clone() as Arc<CredentialStore>), "test", "https://server").unwrap();
        let fail = |entry: &Entry| {
            let credential: &mock::Cred = entry.as_any().downcast_ref().unwrap();
            credential.set_error(keyring_core::Error::NoStorageAccess("it is locked".into()));
        };
        fail(&entry);
        let error = tokens.load("https://server").await.unwrap_err().to_string();
        assert!(error.contains("keyring") && error.contains("locked"), "{error}");
        entry.set_secret(b"{\"secret").unwrap();
        let error = tokens.load("https://server").await.unwrap_err().to_string();
        assert!(error.contains("https://server is damaged") && !error.contains("secret"), "{error}");
        tokens.remove("https://server").await.unwrap();
        tokens.remove("https://server").await.unwrap();
        assert_eq!(tokens.load("https://server").await.unwrap(), None);
    }
}
