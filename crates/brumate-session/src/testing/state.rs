//! State of the fake engine's sessions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use brumate_engine_api::EngineError;
use serde::{Deserialize, Serialize};

use super::FakeEngineState;

/// State of a session.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct FakeSessionState {
    pub(super) variables: BTreeMap<String, String>,
    /// Contents and stamps by relative path.
    pub(super) files: BTreeMap<String, (Vec<u8>, u64)>,
}

impl FakeSessionState {
    pub(super) fn write(&mut self, state: &FakeEngineState, path: &str, bytes: Vec<u8>) {
        let stamp = state.stamps.fetch_add(1, Ordering::SeqCst) + 1;
        self.files.insert(path.to_owned(), (bytes, stamp));
    }

    #[expect(clippy::disallowed_methods, reason = "it reads what it wrote")]
    pub(super) fn read(path: &Path) -> Result<Self, EngineError> {
        let snapshot = crash_snapshot_of(path);
        if snapshot.exists() {
            std::fs::rename(&snapshot, path)?;
        }
        let bytes = std::fs::read(path)?;
        let damaged = |_| EngineError::Image("the sleeping session is damaged: its checksum is wrong".to_owned());
        serde_json::from_slice(&bytes).map_err(damaged)
    }
}

/// Returns the path of a session's crash snapshot. The real engine uses more files with such names.
pub(super) fn crash_snapshot_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".will");
    name.into()
}
