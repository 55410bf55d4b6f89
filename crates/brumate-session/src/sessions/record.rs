//! Records of sessions in the registry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::id::SessionId;
use crate::packages::LayerRecord;

/// State of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// The session has no state yet; its next cell starts it.
    Fresh,
    /// The state is in a machine.
    Live,
    /// The state is in a file: the session is hibernated.
    Hibernated,
    /// The state is lost.
    Lost,
}

impl SessionState {
    /// Returns the name of the state, as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionState::Fresh => "fresh",
            SessionState::Live => "live",
            SessionState::Hibernated => "asleep",
            SessionState::Lost => "lost",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let all = [SessionState::Fresh, SessionState::Live, SessionState::Hibernated, SessionState::Lost];
        all.into_iter().find(|state| state.as_str() == text)
    }
}

/// File with the state of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateFile {
    /// Name in the directory of session files.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// [`SessionRecord::generation`] of the state in it.
    pub generation: u64,
}

/// File in a session's working directory, as it was after the last cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Size in bytes.
    pub size: u64,
    /// See [`FileInfo::stamp`](brumate_engine_api::FileInfo::stamp).
    pub stamp: u64,
    /// MIME type.
    pub mime: String,
}

/// Record of a session in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Id of the session.
    pub id: SessionId,
    /// Principal that the session belongs to.
    pub principal: String,
    /// Time of creation, in milliseconds since 1970.
    pub created: i64,
    /// Start or end of the last call, in milliseconds since 1970.
    pub last_used: i64,
    /// State of the session.
    pub state: SessionState,
    /// Reason for which the session is lost; empty otherwise.
    pub note: String,
    /// File of the session, if it has one.
    pub file: Option<StateFile>,
    /// Estimated bytes of a file of the present state; 0 if there is one.
    pub estimated_bytes: u64,
    /// Number of changes of the state: cells, uploads, resets.
    pub generation: u64,
    /// Cells that were run.
    pub executions: u64,
    /// Files in its working directory, by path.
    pub files: BTreeMap<String, FileRecord>,
    /// Packages that were installed in the session, in the order of their layers.
    pub packages: Vec<LayerRecord>,
    /// Bytes of the cells that are kept for notebooks.
    pub history_bytes: u64,
}

impl SessionRecord {
    pub(crate) fn new(id: SessionId, principal: &str, now: i64) -> Self {
        Self {
            id,
            principal: principal.to_owned(),
            created: now,
            last_used: now,
            state: SessionState::Fresh,
            note: String::new(),
            file: None,
            estimated_bytes: 0,
            generation: 0,
            executions: 0,
            files: BTreeMap::new(),
            packages: Vec::new(),
            history_bytes: 0,
        }
    }

    /// Returns the file that holds the present state, if there is one.
    pub(crate) fn current_file(&self) -> Option<&StateFile> {
        self.file.as_ref().filter(|file| file.generation == self.generation)
    }

    pub(crate) fn lose(&mut self, reason: &str) {
        self.state = SessionState::Lost;
        self.note = reason.to_owned();
    }
}
