//! Refusals of the policy, with the rule and where it is written.

use std::fmt;

use thiserror::Error;

use super::table::{ByteSize, RuleOrigin};
use super::{Candidate, RequestReason};

/// Refusal of a package, or of a set of packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Name and, if known, version; `None` for the set as a whole.
    pub package: Option<String>,
    /// Reason of the request, for messages; empty if the package was requested by name.
    request_reason: String,
    /// Rule that refuses.
    pub reason: RefusalReason,
    /// Place in which the rule is written.
    pub origin: RuleOrigin,
}

/// Rule that refuses a package.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RefusalReason {
    /// A deny list has the package.
    #[error("`deny` has `{pattern}`")]
    Denied {
        /// The entry as written.
        pattern: String,
    },
    /// The allow list does not have the package.
    #[error("`allow` has no entry for it")]
    NotAllowed,
    /// The package is not in the bundle.
    #[error("`only-bundled` is set, and it is not in the bundle")]
    OnlyBundled,
    /// The package is a direct reference.
    #[error("`no-urls` is set, and it comes from {url}")]
    Url {
        /// URL without secrets.
        url: String,
    },
    /// The package comes from another index.
    #[error("`indexes` does not have {url}")]
    Index {
        /// URL without secrets.
        url: String,
    },
    /// The hash is not known before the download.
    #[error("`require-hashes` is set, and neither index nor lock file states its sha256")]
    NoHash,
    /// A wheel exceeds its limit.
    #[error("its wheel has {bytes} bytes, and `max-wheel-size` is {limit}")]
    WheelSize {
        /// Length of the wheel in bytes.
        bytes: u64,
        /// The limit.
        limit: ByteSize,
    },
    /// There are too many packages.
    #[error("they are {count}, and `max-packages` is {limit}")]
    Packages {
        /// Number of packages.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// All wheels together exceed their limit.
    #[error("their wheels have {bytes} bytes, and `max-total-size` is {limit}")]
    TotalSize {
        /// Length of all wheels in bytes.
        bytes: u64,
        /// The limit.
        limit: ByteSize,
    },
}

impl Refusal {
    pub(super) fn new(candidate: &Candidate<'_>, reason: RefusalReason, origin: &RuleOrigin) -> Box<Self> {
        let package = match candidate.version {
            Some(version) => format!("{} {version}", candidate.name),
            None => candidate.name.to_string(),
        };
        let request_reason = match candidate.request_reason {
            RequestReason::Requested => String::new(),
            RequestReason::Imported(module) => format!(" (for `import {module}`)"),
            RequestReason::RequiredBy(name) => format!(" (required by `{name}`)"),
            RequestReason::Locked => " (named by the lock file)".to_owned(),
        };
        Box::new(Self { package: Some(package), request_reason, reason, origin: origin.clone() })
    }

    pub(super) fn of_set(reason: RefusalReason, origin: &RuleOrigin) -> Box<Self> {
        Box::new(Self { package: None, request_reason: String::new(), reason, origin: origin.clone() })
    }

    /// Returns the rule and where it is written, without the package.
    pub fn rule(&self) -> String {
        format!("{} ({})", self.reason, self.origin)
    }

    fn hint(&self) -> &'static str {
        match self.reason {
            RefusalReason::Denied { .. } | RefusalReason::WheelSize { .. } => "Use another version or package",
            RefusalReason::NotAllowed => "Use a package or version that is allowed",
            RefusalReason::OnlyBundled => "Use what is in the bundle",
            RefusalReason::Url { .. } | RefusalReason::Index { .. } => {
                "Write the name alone, so that it comes from a given index"
            }
            RefusalReason::NoHash => "Use a lock file with hashes",
            RefusalReason::Packages { .. } | RefusalReason::TotalSize { .. } => "Ask for fewer packages",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.package {
            Some(package) => write!(formatter, "`{package}`{} is not allowed", self.request_reason)?,
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
