//! Requests of jailed processes for compiled modules, and the answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::api::LayerId;

/// Content key of a compiled module: SHA-256 of its wasm bytes.
pub type ModuleKey = [u8; 32];

/// Asks for a compiled side module.
#[derive(Debug, Serialize, Deserialize)]
pub enum ModuleRequest {
    /// By content.
    Key(ModuleKey),
    /// A file of a layer that is mounted, after [`ModuleReply::Unknown`].
    Layer {
        /// Content.
        key: ModuleKey,
        /// Where it is.
        origin: Origin,
    },
    /// The bytes themselves, after [`ModuleReply::Unknown`]; answered by [`ModuleReply::Charged`]. The guest brought them and pays for
    /// compiling.
    Bytes {
        /// The module.
        bytes: Vec<u8>,
        /// Memory that compiling may take, in bytes.
        memory: u64,
        /// CPU time that it may take.
        cpu: Duration,
    },
}

/// A file of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Which layer.
    pub layer: LayerId,
    /// Path in its archive.
    pub path: String,
}

/// Answer to a [`ModuleRequest`].
#[derive(Debug, Serialize, Deserialize)]
pub enum ModuleReply {
    /// The compiled module is the one descriptor that follows.
    Compiled,
    /// Not in the cache: send the bytes.
    Unknown,
    /// It cannot be compiled.
    Failed(String),
    /// The compiled module is the one descriptor that follows, unless it failed.
    Charged {
        /// CPU time that compiling took.
        cpu: Duration,
        /// Why there is none.
        failed: Option<String>,
    },
}
