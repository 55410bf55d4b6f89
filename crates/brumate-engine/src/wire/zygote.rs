//! Messages between the server and a zygote, a builder of images, and the first process of a jail.

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use super::MachineRequest;
use super::{LAYERS_AT_ONCE, LayerInfo, MAX_LIST, ModuleReply, ModuleRequest};
use crate::api::bounded;

/// Server → zygote.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToZygote {
    /// First message to a zygote. Four descriptors follow: the compiled main module, the trampoline helper, the image, and the
    /// socket of [`FromInit`].
    Load {
        /// Every wall must stand.
        require_jail: bool,
        /// Few machines will be forked: start soon rather than fork fast.
        brief: bool,
        /// So many layers are mounted in the image; they follow in [`ToZygote::Layers`].
        layers: u32,
    },
    /// First message to the builder of an image. Three descriptors follow: the compiled main module, the trampoline helper, a
    /// file to write the image to.
    Build {
        /// Every wall must stand.
        require_jail: bool,
        /// Packages to import.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        preload: Vec<String>,
        /// So many layers are to be mounted first; they follow in [`ToZygote::Layers`].
        layers: u32,
    },
    /// Layers, as in [`MachineRequest::Layers`].
    Layers(#[serde(deserialize_with = "bounded::list::<_, _, LAYERS_AT_ONCE>")] Vec<LayerInfo>),
    /// Fork a machine; its socket is the one descriptor that follows.
    Fork,
    /// Answer to [`FromZygote::Module`].
    Module(ModuleReply),
}

/// Zygote → server.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromZygote {
    /// The image is loaded and the jail is closed; lists missing walls.
    Ready {
        /// Walls that could not be raised, with the reason.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        missing_walls: Vec<String>,
    },
    /// The image is written.
    Built,
    /// Loading or building failed.
    Failed(String),
    /// A machine could not be forked, and why.
    ForkFailed(String),
    /// The zygote needs a compiled module.
    Module(ModuleRequest),
}

/// First process of a zygote's jail → server.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromInit {
    /// A process of the jail has ended.
    Exited {
        /// Which one, as it saw itself.
        pid: i32,
        /// Signal that killed it.
        signal: Option<i32>,
        /// Most memory that it had resident, in bytes, with what it shared with others.
        peak_memory_bytes: u64,
    },
}
