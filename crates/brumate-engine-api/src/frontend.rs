//! Requests of Jupyter frontends to a session, and messages of its running code to them.
//!
//! Source of kinds and contents: the Jupyter messaging specification, 5.4.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::bounded;

/// Most buffers of one [`FrontendMessage`].
pub const MAX_BUFFERS: usize = 256;

/// Request of a Jupyter frontend. Its JSON is the code of [`ExecuteMode::Frontend`](crate::ExecuteMode::Frontend).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontendRequest {
    /// The `msg_type`: `execute_request`, `complete_request`, `comm_msg`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Content: an object.
    pub content: Value,
    /// Metadata: an object.
    #[serde(default)]
    pub metadata: Value,
    /// An object with the request's `header`, which code sees as its parent.
    #[serde(default)]
    pub parent: Value,
    /// Binary parts, in base64.
    #[serde(default)]
    pub buffers: Vec<String>,
    /// Whether the frontends show widgets.
    #[serde(default)]
    pub comms: bool,
}

impl FrontendRequest {
    /// Makes a request with this content and header, without metadata and binary parts, of a frontend without widgets.
    pub fn new(kind: impl Into<String>, content: Value, header: &impl Serialize) -> Self {
        let (metadata, parent) = (json!({}), json!({"header": header}));
        Self { kind: kind.into(), content, metadata, parent, buffers: Vec::new(), comms: false }
    }

    /// Reads the code of [`ExecuteMode::Frontend`](crate::ExecuteMode::Frontend).
    ///
    /// # Errors
    /// If the code is no such JSON.
    pub fn parse(code: &str) -> serde_json::Result<Self> {
        serde_json::from_str(code)
    }

    /// Returns the code of the cell, if the request is a cell that belongs to the notebook: one that is neither silent nor kept out of
    /// the history.
    pub fn cell(&self) -> Option<&str> {
        let is_hidden = self.content["silent"] == true || self.content["store_history"] == false;
        let is_cell = self.kind == "execute_request" && !is_hidden;
        self.content["code"].as_str().filter(|_| is_cell)
    }
}

/// Returns the code of [`ExecuteMode::Frontend`](crate::ExecuteMode::Frontend).
impl std::fmt::Display for FrontendRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}

/// Message of running code to Jupyter frontends. Sent in
/// [`ExecuteMode::Frontend`](crate::ExecuteMode::Frontend). All of it is the guest's own, so content and metadata may be no JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontendMessage {
    /// Kind of the message.
    pub kind: FrontendKind,
    /// Content: a JSON object as text.
    pub content: String,
    /// Metadata: a JSON object as text.
    pub metadata: String,
    /// Binary parts.
    #[serde(deserialize_with = "bounded::list::<_, _, MAX_BUFFERS>")]
    pub buffers: Vec<Vec<u8>>,
}

/// Kinds of messages that code may send to frontends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrontendKind {
    /// The code of a cell that begins, and its number.
    ExecuteInput,
    /// A displayed object.
    DisplayData,
    /// New content of a displayed object.
    UpdateDisplayData,
    /// The value of a cell's last expression.
    ExecuteResult,
    /// An exception.
    Error,
    /// The output so far is to be removed.
    ClearOutput,
    /// A comm begins.
    CommOpen,
    /// A message of a comm.
    CommMsg,
    /// A comm ends.
    CommClose,
}

impl FrontendKind {
    /// Returns the `msg_type` of the message.
    pub fn as_str(self) -> &'static str {
        match self {
            FrontendKind::ExecuteInput => "execute_input",
            FrontendKind::DisplayData => "display_data",
            FrontendKind::UpdateDisplayData => "update_display_data",
            FrontendKind::ExecuteResult => "execute_result",
            FrontendKind::Error => "error",
            FrontendKind::ClearOutput => "clear_output",
            FrontendKind::CommOpen => "comm_open",
            FrontendKind::CommMsg => "comm_msg",
            FrontendKind::CommClose => "comm_close",
        }
    }

    /// Reads the `msg_type` of a message. `None` for kinds that code may not send.
    pub fn parse(name: &str) -> Option<Self> {
        const ALL: [FrontendKind; 9] = [
            FrontendKind::ExecuteInput,
            FrontendKind::DisplayData,
            FrontendKind::UpdateDisplayData,
            FrontendKind::ExecuteResult,
            FrontendKind::Error,
            FrontendKind::ClearOutput,
            FrontendKind::CommOpen,
            FrontendKind::CommMsg,
            FrontendKind::CommClose,
        ];
        ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}
