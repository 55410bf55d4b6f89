//! Records of layers, and the sources of those that were returned.

use std::collections::{HashMap, VecDeque};

use brumate_engine_api::LayerId;
use brumate_packages::cache::{CachedWheel, Sha256Hash};
use serde::{Deserialize, Serialize};
use url::Url;

/// Record of a layer, with what is needed to get it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerRecord {
    /// The wheel's file name.
    pub file_name: String,
    /// SHA-256 of the wheel, lower-case hexadecimal.
    pub sha256: String,
    /// URL of the wheel, without credentials; `None` when it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl LayerRecord {
    pub(super) fn new(wheel: &CachedWheel, url: Option<&Url>) -> Self {
        let (file_name, sha256) = (wheel.summary().file_name.clone(), wheel.hash().to_string());
        Self { file_name, sha256, url: url.map(Url::to_string) }
    }

    /// Makes a record of a layer whose source is not known.
    pub(crate) fn without_source(id: &LayerId) -> Self {
        Self { file_name: id.name.clone(), sha256: Sha256Hash(id.sha256).to_string(), url: None }
    }

    /// Returns whether the record describes that layer.
    pub(crate) fn describes(&self, id: &LayerId) -> bool {
        self.file_name == id.name && self.sha256 == Sha256Hash(id.sha256).to_string()
    }
}

/// Most layers whose source is remembered; the oldest are forgotten.
const MAX_ORIGINS: usize = 8192;

/// Sources of the layers that were returned, by hash.
#[derive(Debug, Default)]
pub(super) struct LayerSources {
    known: HashMap<[u8; 32], LayerRecord>,
    order: VecDeque<[u8; 32]>,
}

impl LayerSources {
    /// Returns the record of a layer.
    pub(super) fn get(&self, id: &LayerId) -> Option<LayerRecord> {
        self.known.get(&id.sha256).filter(|known| known.describes(id)).cloned()
    }

    /// Remembers the record of a layer.
    pub(super) fn insert(&mut self, sha256: [u8; 32], known: LayerRecord) {
        if self.known.insert(sha256, known).is_none() {
            self.order.push_back(sha256);
        }
        if self.order.len() > MAX_ORIGINS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}
