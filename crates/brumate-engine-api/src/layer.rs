//! Wheels that are mounted in a machine as read-only layers.

use std::cmp::Ordering;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Layers of one machine.
pub const MAX_LAYERS: usize = 512;

/// Bytes of all archives of one machine's layers together, as they are on disk.
pub const MAX_LAYER_BYTES: u64 = 4 << 30;

/// Bytes of a layer's name.
pub const MAX_LAYER_NAME: usize = 255;

/// Wheel whose files a machine sees below [`PACKAGES`], without copying them.
///
/// Two layers are equal when their names and digests are.
#[derive(Clone)]
pub struct Layer {
    /// The wheel's file name: `rich-12.6.0-py3-none-any.whl`.
    pub name: String,
    /// SHA-256 of the archive. The engine does not check it: the maker of a layer has done so.
    pub sha256: [u8; 32],
    /// The wheel, opened for reading. Machines map it: it must not be changed or shortened as long as a machine has it.
    pub archive: Arc<File>,
    /// A zip archive of `__pycache__` directories as [`Engine::bytecode`](crate::Engine::bytecode) makes it, opened like
    /// `archive`.
    pub bytecode: Option<Arc<File>>,
}

/// Directory in which the guest finds the files of layers: on `sys.path` behind the program's own directory and the standard
/// library and before the packages of the bundle.
pub const PACKAGES: &str = "/usr/lib/python3.14/dist-packages";

impl Layer {
    /// Makes the name of this layer: what tells it from others, without its files.
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

/// Name of a layer, as a hibernated session remembers it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LayerId {
    /// The wheel's file name.
    pub name: String,
    /// SHA-256 of the archive.
    pub sha256: [u8; 32],
}
