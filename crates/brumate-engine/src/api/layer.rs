//! Wheels as read-only layers of a machine: what is mounted, and how a guest asks for more.

use std::cmp::Ordering;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bounded;

/// Layers of one machine.
pub const MAX_LAYERS: usize = 512;

/// Bytes of all archives of one machine's layers together, as they are on disk.
pub const MAX_LAYER_BYTES: u64 = 4 << 30;

/// Bytes of a layer's name.
pub const MAX_LAYER_NAME: usize = 255;

/// Requirements, and constraints, of one [`InstallRequest`].
pub const MAX_REQUIREMENTS: usize = 1000;

/// Bytes of one requirement or constraint.
pub const MAX_REQUIREMENT: usize = 4096;

/// Bytes of the text that refuses an [`InstallRequest`]; longer ones are cut.
pub const MAX_REFUSAL: usize = 64 << 10;

/// A wheel whose files a machine sees below [`PACKAGES`], without copying them.
///
/// Two layers are equal when their names and digests are.
#[derive(Clone)]
pub struct Layer {
    /// The wheel's file name: `rich-12.6.0-py3-none-any.whl`.
    pub name: String,
    /// SHA-256 of the archive. It is taken at its word: whoever makes a layer has checked it.
    pub sha256: [u8; 32],
    /// The wheel, opened for reading. Machines map it: nobody may write to it or shorten it as long as one lives.
    pub archive: Arc<File>,
    /// A zip archive of `__pycache__` directories as [`Sandbox::bytecode`](crate::client::Sandbox::bytecode) makes it, opened like
    /// `archive`.
    pub bytecode: Option<Arc<File>>,
}

/// Where the guest finds the files of layers: on `sys.path` behind the program's own directory and the standard library and
/// before the packages of the bundle.
pub const PACKAGES: &str = "/lib/python3.14/packages";

impl Layer {
    /// What tells this layer from others, without its files.
    pub fn id(&self) -> LayerId {
        LayerId { name: self.name.clone(), sha256: self.sha256 }
    }
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layer").field("name", &self.name).field("bytecode", &self.bytecode.is_some()).finish()
    }
}

impl PartialEq for Layer {
    fn eq(&self, other: &Layer) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Layer {}

impl PartialOrd for Layer {
    fn partial_cmp(&self, other: &Layer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Layer {
    fn cmp(&self, other: &Layer) -> Ordering {
        (&self.name, &self.sha256).cmp(&(&other.name, &other.sha256))
    }
}

impl Hash for Layer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, &self.sha256).hash(state);
    }
}

/// What a sleeping session remembers of a layer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LayerId {
    /// The wheel's file name.
    pub name: String,
    /// SHA-256 of the archive.
    pub sha256: [u8; 32],
}

/// What `pip install` or `micropip.install` in the guest asks for. Every text is the guest's own and means nothing until it
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

/// The answer to an [`InstallRequest`]; see [`Interrupter::install`](crate::client::Interrupter::install).
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
