//! Requests of a guest for packages, and their answers.

use serde::{Deserialize, Serialize};

use crate::{Layer, bounded};

/// Requirements, and constraints, of one [`InstallRequest`].
pub const MAX_REQUIREMENTS: usize = 1000;

/// Bytes of one requirement or constraint.
pub const MAX_REQUIREMENT: usize = 4096;

/// Bytes of the text that refuses an [`InstallRequest`]; longer ones are cut.
pub const MAX_REFUSAL: usize = 64 << 10;

/// Request of `pip install` or `micropip.install` in the guest. Every text is the guest's own and means nothing until it
/// is parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallRequest {
    /// Requirements as they were written (PEP 508), or addresses of wheels.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_REQUIREMENTS>")]
    pub requirements: Vec<String>,
    /// Packages to be taken away, normalised names; the engine does that and asks nobody. What else is asked for is passed over
    /// then.
    #[serde(default, deserialize_with = "bounded::list::<_, _, MAX_REQUIREMENTS>")]
    pub uninstall: Vec<String>,
    /// Constraints as they were written.
    #[serde(default, deserialize_with = "bounded::list::<_, _, MAX_REQUIREMENTS>")]
    pub constraints: Vec<String>,
    /// Take the newest versions of what is named, even if others are installed.
    #[serde(default)]
    pub upgrade: bool,
    /// Take pre-releases.
    #[serde(default)]
    pub pre: bool,
    /// Leave out what the named ones require.
    #[serde(default)]
    pub no_deps: bool,
    /// When it cannot be met, say of each requirement that cannot be met why.
    #[serde(default)]
    pub keep_going: bool,
}

/// Answer to an [`InstallRequest`]; see [`Interrupter::install`](crate::Interrupter::install).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallAnswer {
    /// What is to be mounted. Layers that are mounted already may be among them; one of another version of a package that is
    /// mounted takes its place.
    pub layers: Vec<Layer>,
    /// Name and version of what is new.
    pub installed: Vec<(String, String)>,
    /// Name and version of what was there already and satisfies what was asked for.
    pub satisfied: Vec<(String, String)>,
}
