//! Types of the solver: packages, ranges, and reasons.

use std::convert::Infallible;
use std::fmt;

use pep440_rs::Version;
use pubgrub::{Dependencies, DependencyProvider, DerivationTree, PackageResolutionStatistics, Term};

use crate::index::IndexError;
use crate::resolver::package::{Package, Priorities, Priority};
use crate::resolver::ranges::{self, Versions};

/// Reason why a version cannot be used, found when it was examined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnusableReason {
    /// No source has the distribution.
    NotFound,
    /// Sources that may have it could not be asked.
    Offline,
    /// `Requires-Python` in its metadata excludes the sandbox's Python.
    Python(String),
    /// No version can meet a requirement of it.
    Impossible(String),
    /// Its metadata cannot be read.
    Unreadable(String),
    /// It comes as source code, with these parts that the sandbox cannot compile.
    Compiled(String),
    /// It comes as source code, and the requirements of its build are not available, for this reason.
    BuildRequirements(String),
    /// It comes as source code that was not looked at, since newer versions could not be built.
    Untried,
}

impl fmt::Display for UnusableReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => formatter.write_str("was not found"),
            Self::Offline => formatter.write_str("is not in the cache, and the network is off"),
            Self::Python(required) => write!(formatter, "needs Python {required}"),
            Self::Impossible(requirement) => write!(formatter, "requires `{requirement}`, which nothing can meet"),
            Self::Compiled(parts) => {
                write!(formatter, "comes as source code and has parts that the sandbox cannot compile ({parts})")
            }
            Self::BuildRequirements(reason) => {
                write!(formatter, "comes as source code and the requirements of its build are not available: {reason}")
            }
            Self::Untried => formatter.write_str("comes as source code, and newer versions cannot be built"),
            Self::Unreadable(_) => formatter.write_str("has metadata that cannot be read"),
        }
    }
}

/// Types for the solver's state. [`Search`] drives that state, so the methods are never called.
#[derive(Debug, Clone)]
pub(crate) struct SolverTypes;

impl DependencyProvider for SolverTypes {
    type P = Package;
    type V = Version;
    type VS = Versions;
    type Priority = Priority;
    type M = UnusableReason;
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
    ) -> Result<Dependencies<Package, Versions, UnusableReason>, Infallible> {
        Ok(Dependencies::Unavailable(UnusableReason::NotFound))
    }
}

/// Explanation of a contradiction.
pub(crate) type Derivation = DerivationTree<Package, Versions, UnusableReason>;

/// End of a search without a solution.
#[derive(Debug)]
pub(crate) enum SearchFailure {
    /// The requirements contradict each other, or something is missing.
    NoSolution(Box<Derivation>),
    /// A source failed.
    Index(IndexError),
    /// `parent` requires a URL that the user did not give.
    TransitiveUrl { parent: String, requirement: String },
    /// There are too many distributions or steps.
    TooLarge(String),
    /// The search was cancelled.
    Cancelled,
}

impl From<IndexError> for SearchFailure {
    fn from(error: IndexError) -> Self {
        Self::Index(error)
    }
}

/// Returns the range of a positive term.
pub(crate) fn positive(term: &Term<Versions>) -> Option<&Versions> {
    match term {
        Term::Positive(versions) => Some(versions),
        Term::Negative(_) => None,
    }
}

/// Returns whether a range has every version that can be written.
pub(crate) fn is_all(versions: &Versions) -> bool {
    ranges::specifiers(versions).is_empty()
}
