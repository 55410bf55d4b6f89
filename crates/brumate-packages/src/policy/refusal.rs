//! Which rule refuses, and where it is written.

use std::fmt;

use thiserror::Error;

use super::table::{ByteSize, Origin};
use super::{Candidate, Way};

/// A package, or a set of them, that the operator does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Name and, if it is known, version; `None` when it is the set as a whole.
    pub package: Option<String>,
    /// How the package came to be asked for, for people; empty when it was asked for by name.
    way: String,
    /// The rule.
    pub reason: Reason,
    /// Where the rule is written.
    pub origin: Origin,
}

/// The rule that refuses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// On a deny list.
    #[error("`deny` has `{pattern}`")]
    Denied {
        /// The entry as written.
        pattern: String,
    },
    /// Not on the allow list.
    #[error("`allow` has no entry for it")]
    NotAllowed,
    /// Not in the bundle.
    #[error("`only-bundled` is set, and it is not in the bundle")]
    OnlyBundled,
    /// A direct reference.
    #[error("`no-urls` is set, and it comes from {url}")]
    Url {
        /// The URL, without what may be secret.
        url: String,
    },
    /// From elsewhere than the given indexes.
    #[error("`indexes` does not have {url}")]
    Index {
        /// The URL, without what may be secret.
        url: String,
    },
    /// No hash before it is fetched.
    #[error("`require-hashes` is set, and neither index nor lock file states its sha256")]
    NoHash,
    /// A wheel that is too large.
    #[error("its wheel has {bytes} bytes, and `max-wheel-size` is {limit}")]
    WheelSize {
        /// Length of the wheel.
        bytes: u64,
        /// The bound.
        limit: ByteSize,
    },
    /// Too many packages.
    #[error("they are {count}, and `max-packages` is {limit}")]
    Packages {
        /// How many there are.
        count: usize,
        /// The bound.
        limit: usize,
    },
    /// Too many bytes.
    #[error("their wheels have {bytes} bytes, and `max-total-size` is {limit}")]
    TotalSize {
        /// Length of all wheels.
        bytes: u64,
        /// The bound.
        limit: ByteSize,
    },
}

impl Refusal {
    pub(super) fn new(candidate: &Candidate<'_>, reason: Reason, origin: &Origin) -> Box<Self> {
        let package = match candidate.version {
            Some(version) => format!("{} {version}", candidate.name),
            None => candidate.name.to_string(),
        };
        let way = match candidate.way {
            Way::Requested => String::new(),
            Way::Imported(module) => format!(" (for `import {module}`)"),
            Way::RequiredBy(name) => format!(" (required by `{name}`)"),
            Way::Locked => " (named by the lock file)".to_owned(),
        };
        Box::new(Self { package: Some(package), way, reason, origin: origin.clone() })
    }

    pub(super) fn of_set(reason: Reason, origin: &Origin) -> Box<Self> {
        Box::new(Self { package: None, way: String::new(), reason, origin: origin.clone() })
    }

    /// The rule and where it is written, without the package.
    pub fn rule(&self) -> String {
        format!("{} ({})", self.reason, self.origin)
    }

    fn hint(&self) -> &'static str {
        match self.reason {
            Reason::Denied { .. } | Reason::WheelSize { .. } => "Use another version or package",
            Reason::NotAllowed => "Use a package or version that is allowed",
            Reason::OnlyBundled => "Use what is in the bundle",
            Reason::Url { .. } | Reason::Index { .. } => "Write the name alone, so that it comes from a given index",
            Reason::NoHash => "Use a lock file with hashes",
            Reason::Packages { .. } | Reason::TotalSize { .. } => "Ask for fewer packages",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.package {
            Some(package) => write!(formatter, "`{package}`{} is not allowed", self.way)?,
            None => write!(formatter, "so many packages are not allowed")?,
        }
        write!(
            formatter,
            ": {} ({}). {}, or ask whoever runs this Brumate to change that rule.",
            self.reason,
            self.origin,
            self.hint()
        )
    }
}

impl std::error::Error for Refusal {}
