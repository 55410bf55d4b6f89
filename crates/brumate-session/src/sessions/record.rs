//! What is kept of a session beside its machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::id::SessionId;
use crate::packages::KnownLayer;

/// Where the state of a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// There is none yet: it begins with its next cell.
    Fresh,
    /// In a machine.
    Live,
    /// In a file.
    Asleep,
    /// Nowhere.
    Lost,
}

impl SessionState {
    /// The state's name, as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionState::Fresh => "fresh",
            SessionState::Live => "live",
            SessionState::Asleep => "asleep",
            SessionState::Lost => "lost",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let all = [SessionState::Fresh, SessionState::Live, SessionState::Asleep, SessionState::Lost];
        all.into_iter().find(|state| state.as_str() == text)
    }
}

/// A session asleep on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFile {
    /// Name in the directory of sessions.
    pub name: String,
    /// Size.
    pub bytes: u64,
    /// [`Record::generation`] of the state that it holds.
    pub generation: u64,
}

/// A file of a session as it was after its last cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownFile {
    /// Bytes.
    pub size: u64,
    /// See [`FileInfo::stamp`](brumate_engine_api::FileInfo::stamp).
    pub stamp: u64,
    /// Type of its content.
    pub mime: String,
}

/// One session in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub id: SessionId,
    /// Whom it belongs to.
    pub principal: String,
    /// Milliseconds since 1970.
    pub created: i64,
    /// Milliseconds since 1970; begin or end of the last call.
    pub last_used: i64,
    /// Where its state is.
    pub state: SessionState,
    /// Why it is lost; empty otherwise.
    pub note: String,
    /// Its file, if it has one.
    pub image: Option<ImageFile>,
    /// Bytes that a file of its present state would have, as far as is known; 0 when it has one.
    pub estimated_bytes: u64,
    /// Counts changes of its state: cells, uploads, resets.
    pub generation: u64,
    /// Cells that were run.
    pub executions: u64,
    /// Files in its working directory, by path.
    pub files: BTreeMap<String, KnownFile>,
    /// Packages that were installed in it, in the order of their layers.
    pub packages: Vec<KnownLayer>,
}

impl Record {
    pub(crate) fn new(id: SessionId, principal: &str, now: i64) -> Self {
        Self {
            id,
            principal: principal.to_owned(),
            created: now,
            last_used: now,
            state: SessionState::Fresh,
            note: String::new(),
            image: None,
            estimated_bytes: 0,
            generation: 0,
            executions: 0,
            files: BTreeMap::new(),
            packages: Vec::new(),
        }
    }

    /// The file that holds the present state, if one does.
    pub(crate) fn current_image(&self) -> Option<&ImageFile> {
        self.image.as_ref().filter(|image| image.generation == self.generation)
    }

    pub(crate) fn lose(&mut self, reason: &str) {
        self.state = SessionState::Lost;
        self.note = reason.to_owned();
    }
}
