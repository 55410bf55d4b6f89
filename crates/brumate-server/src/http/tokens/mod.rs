//! Bearer tokens of a file, which holds their hashes.
//!
//! A token has 32 random bytes, so one round of SHA-256 is enough: nobody can guess it.

mod file;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brumate_mcp::Principal;
use brumate_session::{Allowance, Allowances};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use thiserror::Error;

use file::{HASH, TokenTable, check_name};

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;
/// Prefix of tokens. A token that is found somewhere shows which program accepts it.
const PREFIX: &str = "brumate_";

/// The reason why a tokens file cannot be used.
#[derive(Debug, Error)]
#[error("the tokens file {path} cannot be used: {reason}", path = path.display())]
pub struct TokensError {
    path: PathBuf,
    reason: String,
}

/// The tokens and limits of a server, from a tokens file. Clones share them.
#[derive(Debug, Clone)]
pub struct Tokens {
    path: Arc<Path>,
    table: Arc<RwLock<Arc<TokenTable>>>,
}

impl Tokens {
    /// Reads a tokens file.
    ///
    /// # Errors
    ///
    /// Returns [`TokensError`] if the file cannot be read, is writable by other users, or is invalid.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TokensError> {
        let path = path.into();
        let table = file::load(&path).map_err(|reason| TokensError { path: path.clone(), reason })?;
        Ok(Self { path: path.into(), table: Arc::new(RwLock::new(Arc::new(table))) })
    }

    /// Reads the file again if it was changed, or if `force`. Returns the principals that lost their last token, or `None` if the file
    /// was not read.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Tokens::open`]. The tokens and limits stay as they were.
    pub fn reload(&self, force: bool) -> Result<Option<Vec<String>>, TokensError> {
        let modified = std::fs::metadata(&self.path).and_then(|metadata| metadata.modified()).ok();
        if !force && modified == self.table().modified {
            return Ok(None);
        }
        let table = file::load(&self.path).map_err(|reason| TokensError { path: self.path.to_path_buf(), reason });
        let table = match table {
            Ok(table) => table,
            Err(error) => {
                // With the new time, an invalid file is reported once.
                let old = self.table();
                self.set(TokenTable { modified, ..TokenTable::clone(&old) });
                return Err(error);
            }
        };
        let before = self.principals();
        self.set(table);
        let revoked = self.allowances();
        Ok(Some(before.into_iter().filter(|name| revoked.of(name).revoked).collect()))
    }

    fn set(&self, table: TokenTable) {
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
    }

    fn table(&self) -> Arc<TokenTable> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the principal of a token. The time does not depend on whether the token is known.
    pub fn verify(&self, token: &str) -> Option<Principal> {
        let table = self.table();
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let (mut found, mut index) = (Choice::from(0), 0_u32);
        for (other, owner) in &table.hashes {
            let same = other.ct_eq(&hash);
            index.conditional_assign(owner, same);
            found |= same;
        }
        bool::from(found).then(|| table.principals.get(index as usize).cloned()).flatten()
    }

    /// Returns whether the access tokens of a subject are rejected.
    pub fn blocks(&self, subject: &str) -> bool {
        self.table().subjects.get(subject).is_some_and(|allowance| allowance.revoked)
    }

    /// Returns the limits of each principal. They follow the file when it is read again. A principal without a token may use
    /// nothing. Principals of access tokens have the limits of their subject.
    pub fn allowances(&self) -> Allowances {
        let this = self.clone();
        Allowances::new(move |name| {
            let table = this.table();
            if let Some(subject) = Principal::subject_of(name) {
                return table.subjects.get(subject).copied().unwrap_or(table.defaults);
            }
            let revoked = Allowance { revoked: true, ..table.defaults };
            table.allowances.get(name).copied().unwrap_or(revoked)
        })
    }

    /// Returns the names of the principals with a token, sorted.
    pub fn principals(&self) -> Vec<String> {
        self.table()
            .allowances
            .iter()
            .filter(|(_, allowance)| !allowance.revoked)
            .map(|(name, _)| name.clone())
            .collect()
    }
}

/// A new token.
pub struct NewToken {
    /// The token, for its owner alone.
    pub token: String,
    /// The entry for the tokens file.
    pub entry: String,
}

impl std::fmt::Debug for NewToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("NewToken").field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl NewToken {
    /// Makes a token for the principal `name`.
    ///
    /// # Errors
    ///
    /// Returns a text if the name is invalid, or if the system has no randomness.
    pub fn make(name: &str) -> Result<Self, String> {
        check_name(name)?;
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
        let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
        let hash: String = Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let key = if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            name.to_owned()
        } else {
            format!("\"{name}\"")
        };
        Ok(Self { token, entry: format!("[principal.{key}]\ntokens = [\"{HASH}{hash}\"]\n") })
    }
}

#[cfg(test)]
mod tests;
