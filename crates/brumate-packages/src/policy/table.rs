//! The rules as they are written.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;
use url::Url;

use super::pattern::PackagePattern;

/// Largest policy file, in bytes.
const MAX_POLICY_BYTES: usize = 1 << 20;

/// Rules of one place. A key that is not known is an error: a rule that is misspelt must not be no rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PolicyTable {
    /// Packages that may be used besides the bundle; all, when there is no such list; none, when it is empty.
    pub allow: Option<Vec<PackagePattern>>,
    /// Packages that may not be used. Counts more than `allow`.
    pub deny: Vec<PackagePattern>,
    /// Wheels are fetched only if their sha256 is known before.
    pub require_hashes: bool,
    /// Largest wheel.
    pub max_wheel_size: Option<ByteSize>,
    /// Most bytes of all wheels of one set together.
    pub max_total_size: Option<ByteSize>,
    /// Most packages of one set, those of the bundle included.
    pub max_packages: Option<usize>,
    /// Nothing but the bundle.
    pub only_bundled: bool,
    /// URLs of the indexes that may be used; all that are configured, when there is no such list.
    pub indexes: Option<Vec<String>>,
    /// No direct references.
    pub no_urls: bool,
}

/// Where a rule is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A file.
    File(PathBuf),
    /// Flags.
    CommandLine,
    /// Variables.
    Environment,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::CommandLine => formatter.write_str("command line"),
            Self::Environment => formatter.write_str("environment"),
        }
    }
}

/// Rules and where they are from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyLayer {
    pub(super) table: PolicyTable,
    pub(super) origin: Origin,
}

/// Rules that cannot be read. Nothing may be used then: a policy that is not understood allows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the package policy ({origin}) cannot be used: {reason}")]
pub struct PolicyError {
    /// Where it is written.
    pub origin: Origin,
    /// What is wrong.
    pub reason: String,
}

impl PolicyLayer {
    /// Rules that were read as part of something else: a section of a file, flags.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] for an index that is not a URL.
    pub fn new(table: PolicyTable, origin: Origin) -> Result<Self, PolicyError> {
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
    /// [`PolicyError`] for what is not TOML, unknown keys, and values that are not what their key says.
    pub fn from_toml(text: &str, origin: Origin) -> Result<Self, PolicyError> {
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

/// A number of bytes, written as `4096`, `"50MiB"` or `"2 GB"`.
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

/// A URL for comparing: no user, password, query or fragment, one spelling, a slash at the end.
pub(super) fn normalised_url(text: &str) -> Option<Url> {
    let mut url = without_secrets(text)?;
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Some(url)
}

/// A URL, or a path, for people.
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
