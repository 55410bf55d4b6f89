//! From what a script asks for to the wheels that give it.
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
//! Vocabulary, as PyPA uses it: a *distribution* is what has a name and a version and comes as a *wheel*; a
//! *requirement* (PEP 508) names a distribution and restricts its version (PEP 440) and the environments in which it
//! counts (*markers*); an *import name* is what code writes after `import`. The *bundle* is the fixed set of wheels that
//! a Brumate ships.
//!
//! Requirements come from strangers, so everything here is bounded and free of global state: markers are evaluated
//! as they are parsed instead of being interned, which is why the PEP 508 parser is our own.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests read what they wrote"))]

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
mod order;
pub mod policy;
mod requirement;
mod resolve;
pub mod resolver;
mod scan;
mod script;
pub mod settings;
pub mod wheel;

pub use bundle::{Bundle, Distribution};
pub use error::{BundleError, Problem, RequirementError, ResolveError, ScriptMetadataError};
pub use marker::{MarkerEnvironment, PYTHON_FULL_VERSION, PYTHON_VERSION};
pub use name::DistributionName;
/// A version (PEP 440).
pub use pep440_rs::Version;
pub use requirement::{Requirement, Source};
pub use resolve::Resolution;
pub use script::{MAX_SCRIPT_METADATA_BYTES, ScriptMetadata};

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
