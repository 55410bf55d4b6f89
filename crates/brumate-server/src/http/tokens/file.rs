//! The tokens file: its format, its checks, and its content in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use brumate_mcp::Principal;
use brumate_session::Allowance;
use brumate_session::sessions::LOCAL_PRINCIPAL;
use brumate_session::units::{parse_duration, parse_size};
use serde::Deserialize;

/// Prefix of a token's hash.
pub(super) const HASH: &str = "sha256:";
/// Longest name of a principal, in bytes.
const MAX_NAME: usize = 64;
/// Most principals and subjects of a file.
const MAX_PRINCIPALS: usize = 10_000;
/// Most tokens of a principal: the old one, the new one, and tokens of a few machines.
const MAX_TOKENS: usize = 32;
/// Largest file, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The content of a tokens file.
#[derive(Debug, Clone, Default)]
pub(super) struct TokenTable {
    /// Hashes of tokens, each with the index of its principal.
    pub(super) hashes: Vec<([u8; 32], u32)>,
    pub(super) principals: Vec<Principal>,
    pub(super) allowances: BTreeMap<String, Allowance>,
    pub(super) subjects: BTreeMap<String, Allowance>,
    pub(super) defaults: Allowance,
    /// Time of the file's last change.
    pub(super) modified: Option<SystemTime>,
}

/// The tokens file, as TOML.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensFile {
    /// Limits of principals and subjects without their own.
    #[serde(default)]
    defaults: LimitsEntry,
    #[serde(default)]
    principal: BTreeMap<String, PrincipalEntry>,
    /// Subjects of access tokens from an authorization server.
    #[serde(default)]
    subject: BTreeMap<String, SubjectEntry>,
}

/// The entry of a subject.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectEntry {
    /// Whether all access tokens of the subject are rejected.
    #[serde(default)]
    blocked: bool,
    runs: Option<usize>,
    sessions: Option<usize>,
    disk: Option<String>,
    cpu_per_hour: Option<String>,
}

/// The entry of a principal.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrincipalEntry {
    /// Hashes of its tokens.
    tokens: Vec<String>,
    runs: Option<usize>,
    sessions: Option<usize>,
    disk: Option<String>,
    cpu_per_hour: Option<String>,
}

/// Limits of a principal. Sizes and durations have units, such as `1GiB` and `30m`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsEntry {
    runs: Option<usize>,
    sessions: Option<usize>,
    disk: Option<String>,
    cpu_per_hour: Option<String>,
}

impl LimitsEntry {
    /// Returns the allowance. Missing limits come from `defaults`.
    fn allowance(&self, defaults: Allowance) -> Result<Allowance, String> {
        let disk = self.disk.as_deref().map(parse_size).transpose().map_err(|error| format!("`disk`: {error}"))?;
        let cpu = self.cpu_per_hour.as_deref().map(parse_duration).transpose();
        let cpu = cpu.map_err(|error| format!("`cpu_per_hour`: {error}"))?;
        if self.runs == Some(0) || cpu.is_some_and(|cpu| cpu.is_zero()) {
            return Err(
                "`runs` and `cpu_per_hour` must be at least 1; to revoke access, set `tokens = []` or `blocked = true`"
                    .to_owned(),
            );
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

/// Reads and parses a tokens file.
#[expect(clippy::disallowed_methods, reason = "at most a named number of bytes")]
pub(super) fn load(path: &Path) -> Result<TokenTable, String> {
    use std::io::Read as _;
    use std::os::unix::fs::MetadataExt as _;
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if metadata.mode() & 0o022 != 0 {
        return Err("users other than its owner may write it; run `chmod go-w` on it".to_owned());
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it is larger than {MAX_FILE_BYTES} bytes"));
    }
    let mut table = parse(&text)?;
    table.modified = metadata.modified().ok();
    Ok(table)
}

fn parse(text: &str) -> Result<TokenTable, String> {
    let file: TokensFile = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.principal.len() + file.subject.len() > MAX_PRINCIPALS {
        return Err(format!("it has more than {MAX_PRINCIPALS} principals"));
    }
    let defaults = file.defaults.allowance(Allowance::default()).map_err(|error| format!("`defaults`: {error}"))?;
    let mut table = TokenTable { defaults, ..TokenTable::default() };
    for (name, entry) in file.principal {
        check_name(&name)?;
        if entry.tokens.len() > MAX_TOKENS {
            return Err(format!("`{name}` has more than {MAX_TOKENS} tokens"));
        }
        let index = u32::try_from(table.principals.len()).map_err(|error| error.to_string())?;
        for token in &entry.tokens {
            let hash = read_hash(token).ok_or_else(|| {
                format!(
                    "`{name}`: an entry of `tokens` must be `{HASH}` and 64 hexadecimal digits; `brumate token {name}` makes one"
                )
            })?;
            if table.hashes.iter().any(|(other, _)| *other == hash) {
                return Err(format!("`{name}`: this token is in the file twice"));
            }
            table.hashes.push((hash, index));
        }
        let PrincipalEntry { runs, sessions, disk, cpu_per_hour, .. } = entry;
        let limits = LimitsEntry { runs, sessions, disk, cpu_per_hour };
        let mut allowance = limits.allowance(defaults).map_err(|error| format!("`{name}`: {error}"))?;
        allowance.revoked = entry.tokens.is_empty();
        table.allowances.insert(name.clone(), allowance);
        table.principals.push(Principal::new(name));
    }
    for (subject, entry) in file.subject {
        let SubjectEntry { blocked, runs, sessions, disk, cpu_per_hour } = entry;
        let limits = LimitsEntry { runs, sessions, disk, cpu_per_hour };
        let mut allowance = limits.allowance(defaults).map_err(|error| format!("subject `{subject}`: {error}"))?;
        allowance.revoked = blocked;
        table.subjects.insert(subject, allowance);
    }
    Ok(table)
}

/// Checks the name of a principal.
///
/// # Errors
///
/// Returns a text with the reason.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'@' | b'+');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fits) {
        let name: String = name.escape_debug().take(MAX_NAME).collect();
        return Err(format!("`{name}` is not a valid name: use 1 to {MAX_NAME} letters, digits and `-_.@+`"));
    }
    if name == LOCAL_PRINCIPAL {
        return Err(format!(
            "the name `{LOCAL_PRINCIPAL}` is reserved for clients without a token; choose another one"
        ));
    }
    Ok(())
}

/// Parses the hash of a token.
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
