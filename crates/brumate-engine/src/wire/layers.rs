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

/// What a guest that wanted packages is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum InstallReply {
    /// Nobody installs anything here.
    Nobody,
    /// They cannot be had, and why.
    Refused(String),
    /// They are there: names and versions.
    Done {
        /// What is new.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        installed: Vec<(String, String)>,
        /// What was there.
        #[serde(deserialize_with = "bounded::list::<_, _, MAX_LIST>")]
        satisfied: Vec<(String, String)>,
    },
}
