//! The solver's words for our matter: packages, ranges, and why something cannot be.

use std::convert::Infallible;
use std::fmt;

use pep440_rs::Version;
use pubgrub::{Dependencies, DependencyProvider, DerivationTree, PackageResolutionStatistics, Term};

use crate::index::IndexError;
use crate::resolver::package::{Package, Priorities, Priority};
use crate::resolver::ranges::{self, Versions};

/// Why a version cannot be taken, found when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// No source knows the distribution.
    NotFound,
    /// Sources that may know it could not be asked.
    Offline,
    /// `Requires-Python` in its metadata leaves the sandbox's out.
    Python(String),
    /// A requirement of it cannot be met by any version.
    Impossible(String),
    /// Its metadata cannot be read.
    Unreadable(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => formatter.write_str("was not found"),
            Self::Offline => formatter.write_str("is not in the cache, and the network is off"),
            Self::Python(required) => write!(formatter, "needs Python {required}"),
            Self::Impossible(requirement) => write!(formatter, "requires `{requirement}`, which nothing can meet"),
            Self::Unreadable(_) => formatter.write_str("has metadata that cannot be read"),
        }
    }
}

/// Types for the solver's state. The state is driven by [`Search`], so nothing is asked of it.
#[derive(Debug, Clone)]
pub(crate) struct Provider;

impl DependencyProvider for Provider {
    type P = Package;
    type V = Version;
    type VS = Versions;
    type Priority = Priority;
    type M = Reason;
    type Err = Infallible;

    fn prioritize(&self, package: &Package, _: &Versions, _: &PackageResolutionStatistics) -> Priority {
        Priorities::default().get(package)
    }

    fn choose_version(&self, _: &Package, _: &Versions) -> Result<Option<Version>, Infallible> {
        Ok(None)
    }

    fn get_dependencies(
        &self,
        _: &Package,
        _: &Version,
    ) -> Result<Dependencies<Package, Versions, Reason>, Infallible> {
        Ok(Dependencies::Unavailable(Reason::NotFound))
    }
}

/// Why there is no solution.
pub(crate) type Derivation = DerivationTree<Package, Versions, Reason>;

/// Why the search ended without a solution.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The requirements contradict each other, or something is missing.
    NoSolution(Box<Derivation>),
    /// A source could not be asked.
    Index(IndexError),
    /// Asked for by `requirement` of `parent`, but the URL is not one that the user gave.
    TransitiveUrl { parent: String, requirement: String },
    /// Too many distributions or steps.
    TooLarge(String),
    /// Nobody waits any more.
    Cancelled,
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Self {
        Self::Index(error)
    }
}

/// The range of a positive term.
pub(crate) fn positive(term: &Term<Versions>) -> Option<&Versions> {
    match term {
        Term::Positive(versions) => Some(versions),
        Term::Negative(_) => None,
    }
}

/// Is it every version that one can write?
pub(crate) fn is_all(versions: &Versions) -> bool {
    ranges::shown(versions).is_empty()
}
