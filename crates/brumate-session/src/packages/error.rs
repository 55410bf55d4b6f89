//! Why packages cannot be had. The texts are read by models and people, who decide by them what to write next.

use std::sync::Arc;

use brumate_packages::ResolveError;
use brumate_packages::cache::CacheError;
use brumate_packages::index::IndexError;
use brumate_packages::lock::LockError;
use brumate_packages::policy::Refusal;
use brumate_packages::resolver::ResolutionError;
use thiserror::Error;

/// Packages that cannot be had.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The operator does not allow it.
    #[error("{0}")]
    Refused(#[from] Box<Refusal>),
    /// The bundle does not have it, and nothing else may be used.
    #[error("{0}")]
    Bundle(#[from] ResolveError),
    /// There is no set of versions that fits.
    #[error("{0}")]
    Resolution(ResolutionError),
    /// A source could not be asked.
    #[error("{0}")]
    Index(#[from] IndexError),
    /// A wheel was found and cannot be fetched or used.
    #[error("`{package}` cannot be installed: {reason}")]
    Wheel {
        /// Name and version.
        package: String,
        /// Why.
        reason: String,
    },
    /// The lock does not have it.
    #[error("{0}")]
    Lock(#[from] LockError),
    /// Wheels of a session that are in the cache no longer and cannot be fetched again.
    #[error("its package `{file_name}` is not in the cache any more and cannot be fetched again: {reason}")]
    Evicted {
        /// The wheel's file name.
        file_name: String,
        /// Why.
        reason: String,
    },
    /// More than a machine takes.
    #[error("{count} packages are needed; a machine has at most {limit} besides the bundle's. Ask for fewer.")]
    TooMany {
        /// How many.
        count: usize,
        /// The bound.
        limit: usize,
    },
    /// A text that is not a requirement, or one that asks for what cannot be.
    #[error("{0}")]
    Requirement(String),
    /// The cache cannot be used.
    #[error("{0}")]
    Cache(Arc<CacheError>),
    /// The work ended early.
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

    /// There is no solution, however often it is tried.
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
