//! Answers to requests, as layers see them.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, GetPromptResponse, ReadResourceResponse};
use serde_json::Value;
use std::any::Any;
use std::fmt;

/// The answer to a request that is no error; see [`RequestLayer`](super::RequestLayer).
pub struct McpAnswer {
    kind: AnswerKind,
    /// The answer, of the type of its method.
    inner: Box<dyn Any + Send>,
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerKind {
    /// The result of the method.
    Result,
    /// A request for input, with which the client sends its request again (since 2026-07-28).
    InputRequired,
    /// A task that goes on with the call of a tool.
    Task,
}

impl fmt::Debug for McpAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpAnswer").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl McpAnswer {
    pub(super) fn new<T: Send + 'static>(answer: T) -> Self {
        let inner: Box<dyn Any + Send> = Box::new(answer);
        Self { kind: kind_of(&*inner), inner }
    }

    /// Returns the answer as the method has it.
    ///
    /// # Errors
    ///
    /// Returns an error if a layer has given the answer of another method.
    pub(super) fn into_inner<T: 'static>(self) -> Result<T, ErrorData> {
        let inner = self.inner.downcast::<T>().map(|inner| *inner);
        inner.map_err(|_| ErrorData::internal_error("a layer gave the answer of another request", None))
    }

    /// Returns the kind of the answer.
    pub fn kind(&self) -> AnswerKind {
        self.kind
    }

    /// Returns whether the answer is the result of a tool that failed (`isError`).
    pub fn is_error(&self) -> bool {
        self.tool_result().is_some_and(|result| result.is_error == Some(true))
    }

    /// Returns the structured content, if the answer is the result of a tool that has some.
    pub fn structured(&self) -> Option<&Value> {
        self.tool_result()?.structured_content.as_ref()
    }

    /// Returns the JSON of the answer, if it is the result of a tool.
    pub fn tool_result_json(&self) -> Option<String> {
        serde_json::to_string(self.tool_result()?).ok()
    }

    fn tool_result(&self) -> Option<&CallToolResult> {
        match self.inner.downcast_ref()? {
            CallToolResponse::Complete(result) => Some(result),
            _ => None,
        }
    }
}

/// Returns the kind of a method's answer.
fn kind_of(answer: &(dyn Any + Send)) -> AnswerKind {
    let asks = matches!(answer.downcast_ref(), Some(CallToolResponse::InputRequired(_)))
        || matches!(answer.downcast_ref(), Some(ReadResourceResponse::InputRequired(_)))
        || matches!(answer.downcast_ref(), Some(GetPromptResponse::InputRequired(_)));
    match answer.downcast_ref() {
        Some(CallToolResponse::Task(_)) => AnswerKind::Task,
        _ if asks => AnswerKind::InputRequired,
        _ => AnswerKind::Result,
    }
}
