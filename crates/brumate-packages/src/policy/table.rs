//! Rules of the policy as they are written.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;
use url::Url;

use super::pattern::PackagePattern;

/// Largest policy file, in bytes.
const MAX_POLICY_BYTES: usize = 1 << 20;

/// Rules of one place. An unknown key is an error: a misspelt rule must not be ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PolicyTable {
    /// Packages that are allowed besides the bundle; `None` allows all, an empty list none.
    pub allow: Option<Vec<PackagePattern>>,
    /// Packages that are refused, even if `allow` has them.
    pub deny: Vec<PackagePattern>,
    /// Whether a wheel's SHA-256 must be known before it is fetched.
    pub require_hashes: bool,
    /// Largest wheel.
    pub max_wheel_size: Option<ByteSize>,
    /// Most bytes of all wheels of one set together.
    pub max_total_size: Option<ByteSize>,
    /// Most packages of one set, those of the bundle included.
    pub max_packages: Option<usize>,
    /// Whether only the bundle is allowed.
    pub only_bundled: bool,
    /// URLs of the indexes that are allowed; `None` allows all that are configured.
    pub indexes: Option<Vec<String>>,
    /// Whether direct references are refused.
    pub no_urls: bool,
}

/// Place in which a rule is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleOrigin {
    /// A file.
    File(PathBuf),
    /// The command line.
    CommandLine,
    /// Environment variables.
    Environment,
}

impl fmt::Display for RuleOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::CommandLine => formatter.write_str("command line"),
            Self::Environment => formatter.write_str("environment"),
        }
    }
}

/// Rules of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyLayer {
    pub(super) table: PolicyTable,
    pub(super) origin: RuleOrigin,
}

/// Error of rules that cannot be read. Nothing is allowed then.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the package policy ({origin}) cannot be used: {reason}")]
pub struct PolicyError {
    /// Place of the rules.
    pub origin: RuleOrigin,
    /// What is wrong with them.
    pub reason: String,
}

impl PolicyLayer {
    /// Makes a layer of rules that were read as a part of something else: a section of a file, flags.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] for an index that is not a URL.
    pub fn new(table: PolicyTable, origin: RuleOrigin) -> Result<Self, PolicyError> {
        let invalid = |url: &&String| normalised_url(url).is_none();
        if let Some(url) = table.indexes.iter().flatten().find(invalid) {
            let reason = format!("`indexes` has `{}`, which is not a URL", shown_url(url));
            return Err(PolicyError { origin, reason });
        }
        Ok(Self { table, origin })
    }

    /// Reads a TOML document whose keys are those of [`PolicyTable`], written with `-`.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] for text that is not TOML, unknown keys, and invalid values.
    pub fn from_toml(text: &str, origin: RuleOrigin) -> Result<Self, PolicyError> {
        if text.len() > MAX_POLICY_BYTES {
            let reason = format!("it has more than {MAX_POLICY_BYTES} bytes");
            return Err(PolicyError { origin, reason });
        }
        match toml::from_str(text) {
            Ok(table) => Self::new(table, origin),
            Err(error) => Err(PolicyError { origin, reason: error.to_string().trim_end().to_owned() }),
        }
    }
}

/// Number of bytes, written as `4096`, `"50MiB"` or `"2 GB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "SizeText")]
pub struct ByteSize(pub u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum SizeText {
    Number(u64),
    Text(String),
}

impl TryFrom<SizeText> for ByteSize {
    type Error = String;

    fn try_from(size: SizeText) -> Result<Self, String> {
        match size {
            SizeText::Number(bytes) => Ok(Self(bytes)),
            SizeText::Text(text) => text.parse(),
        }
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let unit: u64 = match text[digits..].trim() {
            "" | "B" => 1,
            "kB" | "KB" => 1000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(format!("`{text}` is not a size like 50MiB")),
        };
        let number: u64 = text[..digits].parse().map_err(|_| format!("`{text}` is not a size like 50MiB"))?;
        number.checked_mul(unit).map(Self).ok_or_else(|| format!("`{text}` is too large"))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match units.into_iter().find(|(unit, _)| self.0 >= *unit && self.0.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(formatter, "{} {name}", self.0 / unit),
            None => write!(formatter, "{} bytes", self.0),
        }
    }
}

/// Normalises a URL for comparisons: without user, password, query and fragment, with a slash at the end.
pub(super) fn normalised_url(text: &str) -> Option<Url> {
    let mut url = without_secrets(text)?;
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Some(url)
}

/// Formats a URL or a path for messages.
pub(super) fn shown_url(text: &str) -> String {
    match without_secrets(text) {
        Some(url) => url.as_str().chars().take(200).collect(),
        None => "a path, or something that is not a URL".to_owned(),
    }
}

fn without_secrets(text: &str) -> Option<Url> {
    let mut url = Url::parse(text).ok().filter(|url| !url.cannot_be_a_base())?;
    // These fail only for URLs without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}
