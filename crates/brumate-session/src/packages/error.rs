//! Errors of packages. Models and people read the texts and decide by them what to write next.

use std::sync::Arc;

use brumate_packages::ResolveError;
use brumate_packages::cache::CacheError;
use brumate_packages::index::IndexError;
use brumate_packages::lock::LockError;
use brumate_packages::policy::Refusal;
use brumate_packages::resolver::ResolutionError;
use thiserror::Error;

/// Error when packages cannot be installed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The operator's policy refuses a package.
    #[error("{0}")]
    Refused(#[from] Box<Refusal>),
    /// The bundle cannot meet a requirement, and no other source may be used.
    #[error("{0}")]
    Bundle(#[from] ResolveError),
    /// No set of versions meets the requirements.
    #[error("{0}")]
    Resolution(ResolutionError),
    /// A source could not be reached or gave an unusable answer.
    #[error("{0}")]
    Index(#[from] IndexError),
    /// A wheel was found, but cannot be fetched or used.
    #[error("`{package}` cannot be installed: {reason}")]
    Wheel {
        /// Name and version.
        package: String,
        /// Reason, for the user.
        reason: String,
    },
    /// The lock does not meet a requirement.
    #[error("{0}")]
    Lock(#[from] LockError),
    /// A session's wheel is not in the cache any more and cannot be fetched again.
    #[error("its package `{file_name}` is not in the cache any more and cannot be fetched again: {reason}")]
    Evicted {
        /// The wheel's file name.
        file_name: String,
        /// Reason, for the user.
        reason: String,
    },
    /// The set has more packages than a machine can mount.
    #[error("{count} packages are needed; a machine has at most {limit} besides the bundle's. Ask for fewer.")]
    TooMany {
        /// Packages in the set.
        count: usize,
        /// Most packages.
        limit: usize,
    },
    /// A text is not a requirement, or its requirement is impossible.
    #[error("{0}")]
    Requirement(String),
    /// The cache cannot be used.
    #[error("{0}")]
    Cache(Arc<CacheError>),
    /// Installing ended unexpectedly.
    #[error("the packages could not be installed: {0}")]
    Internal(String),
}

impl PackageError {
    pub(super) fn requirement(error: impl std::fmt::Display) -> Self {
        Self::Requirement(error.to_string())
    }

    pub(super) fn internal(error: impl std::fmt::Display) -> Self {
        Self::Internal(error.to_string())
    }

    pub(super) fn cache(error: CacheError) -> Self {
        Self::Cache(Arc::new(error))
    }

    /// Returns whether a repetition must fail as well, because the requirements contradict each other.
    pub(super) fn is_contradiction(&self) -> bool {
        matches!(self, Self::Resolution(ResolutionError::NoSolution(_)))
    }
}

impl From<ResolutionError> for PackageError {
    fn from(error: ResolutionError) -> Self {
        match error {
            ResolutionError::Index(error) => Self::Index(error),
            other => Self::Resolution(other),
        }
    }
}
