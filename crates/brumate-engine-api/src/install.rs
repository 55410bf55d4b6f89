//! Requests of a guest for packages, and their answers.

use serde::{Deserialize, Serialize};

use crate::{Layer, bounded};

/// Requirements, and constraints, of one [`InstallRequest`].
pub const MAX_REQUIREMENTS: usize = 1000;

/// Missing modules of one [`InstallRequest`].
pub const MAX_MODULES: usize = 100;

/// Bytes of one requirement, constraint, or name of a module.
pub const MAX_REQUIREMENT: usize = 4096;

/// Bytes of the text that refuses an [`InstallRequest`]; longer ones are cut.
pub const MAX_REFUSAL: usize = 64 << 10;

/// Module that code imports and that no mounted package has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingModule {
    /// Its name at the top level.
    pub name: String,
    /// Requirements (PEP 508) that the importing library declares: only a package that one of them names is installed. Empty when the
    /// user's own code imports the module.
    #[serde(default, deserialize_with = "bounded::list::<_, _, MAX_REQUIREMENTS>")]
    pub among: Vec<String>,
}

/// Request of `pip install`, `micropip.install` or an `import` in the guest. Every text is the guest's own and means nothing until it
/// is parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallRequest {
    /// Requirements as they were written (PEP 508), or addresses of wheels.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_REQUIREMENTS>")]
    pub requirements: Vec<String>,
    /// Packages to be taken away, normalised names; the engine removes them without the caller. The other fields are ignored
    /// then.
    #[serde(default, deserialize_with = "bounded::list::<_, _, MAX_REQUIREMENTS>")]
    pub uninstall: Vec<String>,
    /// Modules whose packages are wanted besides.
    #[serde(default, deserialize_with = "bounded::list::<_, _, MAX_MODULES>")]
    pub modules: Vec<MissingModule>,
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

/// Answer to an [`InstallRequest`].
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
