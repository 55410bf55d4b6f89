//! Requests for prompts.

use super::error::ClientError;
use super::{Client, Inner, unexpected, with_timeout};
use crate::message::Message;
use futures::future::BoxFuture;
use rmcp::model as wire;
use rmcp::model::{ClientRequest, ServerResult};
use serde_json::{Map, Value};

/// The messages of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GetPromptResult {
    /// A description.
    pub description: Option<String>,
    /// The messages.
    pub messages: Vec<Message>,
}

impl GetPromptResult {
    /// Returns the messages as the protocol writes them (`GetPromptResult`).
    pub fn to_json(&self) -> Value {
        let messages: Vec<wire::PromptMessage> = self.messages.iter().cloned().map(Message::into_wire).collect();
        let mut result = serde_json::json!({"messages": messages});
        if let Some(description) = &self.description {
            result["description"] = description.as_str().into();
        }
        result
    }
}

impl Client {
    /// Gets a prompt; `.await` sends the request.
    pub fn prompt(&self, name: impl Into<String>) -> GetPromptRequest {
        GetPromptRequest { client: self.clone(), name: name.into(), arguments: Map::new() }
    }
}

/// A request for a prompt (`prompts/get`); `.await` sends it.
#[derive(Debug)]
#[must_use = "a request is sent when it is awaited"]
pub struct GetPromptRequest {
    client: Client,
    name: String,
    arguments: Map<String, Value>,
}

impl GetPromptRequest {
    /// Sets an argument.
    pub fn arg(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.arguments.insert(name.into(), Value::String(value.into()));
        self
    }

    async fn run(self) -> Result<GetPromptResult, ClientError> {
        let Inner { requests, timeout, .. } = &*self.client.inner;
        let mut params = wire::GetPromptRequestParams::new(self.name);
        params.arguments = (!self.arguments.is_empty()).then_some(self.arguments);
        let make = |answers, state| {
            let mut params = params.clone();
            (params.input_responses, params.request_state) = (answers, state);
            ClientRequest::GetPromptRequest(wire::GetPromptRequest::new(params))
        };
        let options = self.client.options();
        match with_timeout(*timeout, requests.send_in_rounds(&options, make)).await? {
            ServerResult::GetPromptResult(result) => {
                let messages = result.messages.into_iter().map(Message::from_wire).collect();
                Ok(GetPromptResult { description: result.description, messages })
            }
            other => Err(unexpected("prompts/get", &other)),
        }
    }
}

impl IntoFuture for GetPromptRequest {
    type Output = Result<GetPromptResult, ClientError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
