//! Layers of a machine: which are given, and what became of them.

use serde::{Deserialize, Serialize};

use super::MAX_LIST;
use crate::api::{LayerId, bounded};

/// A layer that is given to a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerInfo {
    /// Which one.
    pub id: LayerId,
    /// A descriptor for its bytecode follows that of its archive.
    pub bytecode: bool,
}

/// Why a layer cannot be mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerProblem {
    /// The wheel's file name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// Reply to a guest's install request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum InstallReply {
    /// The server installs no packages.
    Unavailable,
    /// Refused, with the reason.
    Refused(String),
    /// Done: names and versions.
    Done {
        /// New packages.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        installed: Vec<(String, String)>,
        /// Packages that were there before.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        satisfied: Vec<(String, String)>,
    },
}
