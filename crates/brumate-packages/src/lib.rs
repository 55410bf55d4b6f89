//! Resolves the requirements of scripts to wheels.
//!
//! ```
//! use brumate_packages::{Bundle, Distribution, Requirement, ScriptMetadata};
//!
//! let bundle = Bundle::new([Distribution::new("numpy", "2.4.6").provides(["numpy"])])?;
//! let script = "# /// script\n# dependencies = [\"numpy>=2\"]\n# ///\nimport numpy\n";
//! let metadata = ScriptMetadata::parse(script)?.expect("the block above");
//! let wanted: Vec<Requirement> =
//!     metadata.dependencies.unwrap().iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
//! assert_eq!(bundle.resolve(&wanted)?.wheels, ["numpy"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Vocabulary, as PyPA uses it: a *distribution* has a name and a version and comes as a *wheel*. A *requirement* (PEP
//! 508) names a distribution and restricts its version (PEP 440) and its environments (*markers*). An *import name* is
//! what code writes after `import`. The *bundle* is the fixed set of wheels that a Brumate ships.
//!
//! Requirements come from strangers, so everything here has limits and no global state. Markers are evaluated while
//! they are parsed instead of being interned, which is why this crate has its own PEP 508 parser.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read files that they wrote"))]

mod bundle;
pub mod cache;
mod error;
mod fetch;
pub mod import_names;
pub mod index;
mod lenient;
pub mod lock;
mod marker;
mod name;
mod offer;
mod order;
pub mod policy;
mod requirement;
mod resolve;
pub mod resolver;
mod scan;
mod script;
pub mod settings;
mod source;
pub mod wheel;

pub use bundle::{Bundle, Distribution};
pub use error::{BundleError, RequirementError, ResolveError, ResolveProblem, ScriptMetadataError};
pub use marker::{MarkerEnvironment, PYTHON_FULL_VERSION, PYTHON_VERSION};
pub use name::DistributionName;
pub use offer::Offer;
/// A version (PEP 440).
pub use pep440_rs::Version;
pub use requirement::{Requirement, RequirementSource};
pub use resolve::BundleResolution;
pub use script::{MAX_SCRIPT_METADATA_BYTES, ScriptMetadata};
pub use source::{BuildError, BuildProblem, MAX_SOURCE_BYTES, source_distribution_name};

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
