//! Messages of running code to the Jupyter frontends of its session.

use serde::{Deserialize, Serialize};

use crate::bounded;

/// Most buffers of one [`FrontendMessage`].
pub const MAX_BUFFERS: usize = 256;

/// Message of running code to Jupyter frontends (source: the Jupyter messaging specification 5.4). Sent in
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
