//! Who may use the server: bearer tokens, of which a file holds the hashes.
//!
//! Tokens are made by us, from 32 random bytes, so that one round of SHA-256 is enough: nobody guesses them, slowly or fast.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use brumate_mcp::Principal;
use brumate_session::sessions::LOCAL_PRINCIPAL;
use brumate_session::units::{parse_duration, parse_size};
use brumate_session::{Allowance, Allowances};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use thiserror::Error;

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;
/// What tokens begin with, so that those who find one know what it opens.
const PREFIX: &str = "brumate_";
/// How hashes are written.
const HASH: &str = "sha256:";
/// Longest name of a principal.
const MAX_NAME: usize = 64;
/// Most principals of a file.
const MAX_PRINCIPALS: usize = 10_000;
/// Most tokens of a principal: the old one, the new one, and those of a few machines.
const MAX_TOKENS: usize = 32;
/// Largest file.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Why a file of tokens is not used.
#[derive(Debug, Error)]
#[error("{path}: {reason}", path = path.display())]
pub struct TokensError {
    path: PathBuf,
    reason: String,
}

/// The file, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Of principals that say nothing else.
    #[serde(default)]
    defaults: Limits,
    #[serde(default)]
    principal: BTreeMap<String, Entry>,
    /// Subjects of access tokens that an authorization server issues.
    #[serde(default)]
    subject: BTreeMap<String, SubjectEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectEntry {
    /// The subject may use nothing, whatever tokens it has.
    #[serde(default)]
    blocked: bool,
    runs: Option<usize>,
    sessions: Option<usize>,
    disk: Option<String>,
    cpu_per_hour: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    tokens: Vec<String>,
    runs: Option<usize>,
    sessions: Option<usize>,
    disk: Option<String>,
    cpu_per_hour: Option<String>,
}

/// What a principal may use, as the file says it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    runs: Option<usize>,
    sessions: Option<usize>,
    disk: Option<String>,
    cpu_per_hour: Option<String>,
}

impl Limits {
    fn read(&self, defaults: Allowance) -> Result<Allowance, String> {
        let disk = self.disk.as_deref().map(parse_size).transpose().map_err(|error| format!("`disk`: {error}"))?;
        let cpu = self.cpu_per_hour.as_deref().map(parse_duration).transpose();
        let cpu = cpu.map_err(|error| format!("`cpu_per_hour`: {error}"))?;
        if self.runs == Some(0) || cpu.is_some_and(|cpu| cpu.is_zero()) {
            return Err("`runs` and `cpu_per_hour` are at least 1; who may nothing needs no token".to_owned());
        }
        Ok(Allowance {
            runs: self.runs.or(defaults.runs),
            sessions: self.sessions.or(defaults.sessions),
            disk_bytes: disk.or(defaults.disk_bytes),
            cpu_per_hour: cpu.or(defaults.cpu_per_hour),
            revoked: false,
        })
    }
}

/// Hashes, and whose they are.
#[derive(Debug, Clone, Default)]
struct Known {
    hashes: Vec<([u8; 32], u32)>,
    principals: Vec<Principal>,
    allowances: BTreeMap<String, Allowance>,
    subjects: BTreeMap<String, Allowance>,
    defaults: Allowance,
    changed: Option<SystemTime>,
}

/// Who may use a server. Clones share it.
#[derive(Debug, Clone)]
pub struct Tokens {
    path: Arc<Path>,
    known: Arc<RwLock<Arc<Known>>>,
}

impl Tokens {
    /// Reads a file of tokens.
    ///
    /// # Errors
    ///
    /// [`TokensError`] when it cannot be read, others may write it, or something in it is wrong.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TokensError> {
        let path = path.into();
        let known = load(&path).map_err(|reason| TokensError { path: path.clone(), reason })?;
        Ok(Self { path: path.into(), known: Arc::new(RwLock::new(Arc::new(known))) })
    }

    /// Reads the file again if it was changed, or in any case. Returns those who have no token any more, or `None` when it was not read.
    ///
    /// # Errors
    ///
    /// As [`Tokens::open`]; what was known before stays.
    pub fn reload(&self, in_any_case: bool) -> Result<Option<Vec<String>>, TokensError> {
        let changed = std::fs::metadata(&self.path).and_then(|metadata| metadata.modified()).ok();
        if !in_any_case && changed == self.known().changed {
            return Ok(None);
        }
        let known = load(&self.path).map_err(|reason| TokensError { path: self.path.to_path_buf(), reason });
        // One that cannot be read is complained about once.
        let known = match known {
            Ok(known) => known,
            Err(error) => {
                let old = self.known();
                self.set(Known { changed, ..Known::clone(&old) });
                return Err(error);
            }
        };
        let before = self.principals();
        self.set(known);
        let revoked = self.allowances();
        Ok(Some(before.into_iter().filter(|name| revoked.of(name).revoked).collect()))
    }

    fn set(&self, known: Known) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    fn known(&self) -> Arc<Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whose token it is. Takes as long for a token that is known as for any other.
    pub fn verify(&self, token: &str) -> Option<Principal> {
        let known = self.known();
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let (mut found, mut index) = (Choice::from(0), 0_u32);
        for (other, owner) in &known.hashes {
            let same = other.ct_eq(&hash);
            index.conditional_assign(owner, same);
            found |= same;
        }
        bool::from(found).then(|| known.principals.get(index as usize).cloned()).flatten()
    }

    /// Returns whether a subject of access tokens may use nothing.
    pub fn blocks(&self, subject: &str) -> bool {
        self.known().subjects.get(subject).is_some_and(|allowance| allowance.revoked)
    }

    /// Returns the limits of each principal, by the file as it is now. A principal without a token may use nothing. Principals of
    /// access tokens have the limits of their subject.
    pub fn allowances(&self) -> Allowances {
        let this = self.clone();
        Allowances::new(move |name| {
            let known = this.known();
            if let Some(subject) = Principal::subject_of(name) {
                return known.subjects.get(subject).copied().unwrap_or(known.defaults);
            }
            let revoked = Allowance { revoked: true, ..known.defaults };
            known.allowances.get(name).copied().unwrap_or(revoked)
        })
    }

    /// The names of those who have a token, in order.
    pub fn principals(&self) -> Vec<String> {
        self.known()
            .allowances
            .iter()
            .filter(|(_, allowance)| !allowance.revoked)
            .map(|(name, _)| name.clone())
            .collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
fn load(path: &Path) -> Result<Known, String> {
    use std::io::Read as _;
    use std::os::unix::fs::MetadataExt as _;
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if metadata.mode() & 0o022 != 0 {
        return Err("others than its owner may write it; `chmod go-w` it".to_owned());
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
    }
    let mut known = parse(&text)?;
    known.changed = metadata.modified().ok();
    Ok(known)
}

fn parse(text: &str) -> Result<Known, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.principal.len() + file.subject.len() > MAX_PRINCIPALS {
        return Err(format!("it has more than {MAX_PRINCIPALS} principals"));
    }
    let defaults = file.defaults.read(Allowance::default()).map_err(|error| format!("`defaults`: {error}"))?;
    let mut known = Known { defaults, ..Known::default() };
    for (name, entry) in file.principal {
        check_name(&name)?;
        if entry.tokens.len() > MAX_TOKENS {
            return Err(format!("`{name}` has more than {MAX_TOKENS} tokens"));
        }
        let index = u32::try_from(known.principals.len()).map_err(|error| error.to_string())?;
        for token in &entry.tokens {
            let hash = read_hash(token).ok_or_else(|| {
                format!(
                    "`{name}`: a token is written `{HASH}` and 64 hexadecimal digits; `brumate token {name}` makes one"
                )
            })?;
            if known.hashes.iter().any(|(other, _)| *other == hash) {
                return Err(format!("`{name}`: this token is there twice"));
            }
            known.hashes.push((hash, index));
        }
        let Entry { runs, sessions, disk, cpu_per_hour, .. } = entry;
        let limits = Limits { runs, sessions, disk, cpu_per_hour };
        let mut allowance = limits.read(defaults).map_err(|error| format!("`{name}`: {error}"))?;
        allowance.revoked = entry.tokens.is_empty();
        known.allowances.insert(name.clone(), allowance);
        known.principals.push(Principal::new(name));
    }
    for (subject, entry) in file.subject {
        let SubjectEntry { blocked, runs, sessions, disk, cpu_per_hour } = entry;
        let limits = Limits { runs, sessions, disk, cpu_per_hour };
        let mut allowance = limits.read(defaults).map_err(|error| format!("subject `{subject}`: {error}"))?;
        allowance.revoked = blocked;
        known.subjects.insert(subject, allowance);
    }
    Ok(known)
}

/// Is it fit to be a principal's name?
fn check_name(name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'@' | b'+');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fits) {
        let name: String = name.escape_debug().take(MAX_NAME).collect();
        return Err(format!("`{name}` is no name: 1 to {MAX_NAME} letters, digits and `-_.@+`"));
    }
    if name == LOCAL_PRINCIPAL {
        return Err(format!("the name `{LOCAL_PRINCIPAL}` belongs to those who need no token"));
    }
    Ok(())
}

fn read_hash(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix(HASH)?;
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

/// A token that was just made.
pub struct NewToken {
    /// The token, for its owner alone.
    pub token: String,
    /// What the file of tokens says of it.
    pub entry: String,
}

impl std::fmt::Debug for NewToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("NewToken").field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl NewToken {
    /// Makes one for the principal `name`.
    ///
    /// # Errors
    ///
    /// A text, when that is no name, or the system has no randomness.
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
mod tests {
    use std::fs;

    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens.toml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        (directory, path)
    }

    #[test]
    fn a_token_is_known_by_its_hash_and_leads_to_its_principal() {
        let (ada, bob) = (NewToken::make("ada@example.org").unwrap(), NewToken::make("bob").unwrap());
        assert!(!ada.entry.contains(&ada.token) && ada.token.len() > 40);
        let (_directory, path) = file(&format!("{}\n{}", ada.entry, bob.entry));
        let tokens = Tokens::open(&path).unwrap();
        assert_eq!(tokens.verify(&ada.token), Some(Principal::new("ada@example.org")));
        assert_eq!(tokens.verify(&bob.token), Some(Principal::new("bob")));
        for wrong in ["", "brumate_", &ada.token[..ada.token.len() - 1], &format!("{}x", ada.token), &ada.entry] {
            assert_eq!(tokens.verify(wrong), None, "{wrong}");
        }
        assert_eq!(tokens.principals(), ["ada@example.org", "bob"]);
    }

    #[test]
    fn a_changed_file_counts_and_a_broken_one_does_not() {
        let (ada, bob) = (NewToken::make("ada").unwrap(), NewToken::make("bob").unwrap());
        let (_directory, path) = file(&ada.entry);
        let tokens = Tokens::open(&path).unwrap();
        assert_eq!(tokens.reload(false).unwrap(), None);
        fs::write(&path, &bob.entry).unwrap();
        assert_eq!(tokens.reload(true).unwrap(), Some(vec!["ada".to_owned()]));
        assert_eq!(tokens.reload(true).unwrap(), Some(vec![]));
        assert_eq!((tokens.verify(&ada.token), tokens.verify(&bob.token)), (None, Some(Principal::new("bob"))));
        fs::write(&path, "[principal.eve]\ntokens = [\"eve\"]\n").unwrap();
        let error = tokens.reload(true).unwrap_err().to_string();
        assert!(error.contains("brumate token eve"), "{error}");
        assert_eq!(tokens.verify(&bob.token), Some(Principal::new("bob")));
    }

    #[test]
    fn limits_are_those_of_the_principal_or_of_all() {
        let entry = NewToken::make("a").unwrap().entry;
        let (_directory, path) = file(&format!(
            "[defaults]\nruns = 2\ncpu_per_hour = \"30m\"\n{entry}\nruns = 4\ndisk = \"1GiB\"\nsessions = 3\n{}\n[principal.c]\ntokens = []\n",
            NewToken::make("b").unwrap().entry
        ));
        let tokens = Tokens::open(&path).unwrap();
        let allowances = tokens.allowances();
        let cpu_per_hour = Some(std::time::Duration::from_secs(1800));
        let own =
            Allowance { runs: Some(4), sessions: Some(3), disk_bytes: Some(1 << 30), cpu_per_hour, revoked: false };
        assert_eq!(allowances.of("a"), own);
        let of_all = Allowance { runs: Some(2), cpu_per_hour, ..Allowance::default() };
        assert_eq!(allowances.of("b"), of_all);
        // Who has no token any more may use nothing, whether the file has the name or not.
        for name in ["c", "d"] {
            assert_eq!(allowances.of(name), Allowance { revoked: true, ..of_all }, "{name}");
        }
        assert_eq!(tokens.principals(), ["a", "b"]);
    }

    #[test]
    fn subjects_of_access_tokens_have_limits_of_their_own() {
        let (_directory, path) = file(
            "[defaults]\nruns = 2\n[subject.\"auth0|ada\"]\nruns = 4\n[subject.eve]\nblocked = true\n\
             [principal.bob]\ntokens = []\n",
        );
        let tokens = Tokens::open(&path).unwrap();
        let allowances = tokens.allowances();
        let name = |subject: &str| format!("7:https:/{}:{subject}3:app", subject.len());
        assert_eq!(allowances.of(&name("auth0|ada")).runs, Some(4));
        // The name of a principal is no subject, nor the other way round.
        assert_eq!(allowances.of(&name("bob")), Allowance { runs: Some(2), ..Allowance::default() });
        assert!(allowances.of("auth0|ada").revoked && allowances.of(&name("eve")).revoked);
        assert!(tokens.blocks("eve") && !tokens.blocks("auth0|ada") && !tokens.blocks("bob"));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        for (text, part) in [
            ("[principal.local]\ntokens = []", "need no token"),
            ("[principal.\"a b\"]\ntokens = []", "is no name"),
            ("[principal.a]\ntoken = \"x\"", "token"),
            ("principals = 3", "principals"),
            ("[defaults]\nruns = 0", "at least 1"),
            ("[principal.a]\ntokens = []\ndisk = \"much\"", "`disk`"),
            ("[principal.a]\ntokens = [\"sha256:zz\"]", "64 hexadecimal digits"),
        ] {
            let (_directory, path) = file(text);
            let error = Tokens::open(&path).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let twice = NewToken::make("a").unwrap().entry;
        let (_directory, path) = file(&format!("{twice}{}", twice.replace("principal.a", "principal.b")));
        assert!(Tokens::open(&path).unwrap_err().to_string().contains("there twice"));
    }

    #[test]
    fn a_file_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_directory, path) = file("");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
        assert!(Tokens::open(&path).unwrap_err().to_string().contains("chmod go-w"));
    }
}
