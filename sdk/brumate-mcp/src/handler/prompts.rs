//! Prompts and completions.

use super::outcome::HandlerOutcome;
use super::{Handler, identity, internal};
use crate::completion::{self, CompletionRequest, MAX_VALUES};
use crate::error::Error;
use crate::message::Message;
use crate::prompt::PromptRequest;
use crate::run::run;
use rmcp::model as wire;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl Handler {
    /// Answers `prompts/get`.
    pub(super) async fn prompt(
        &self,
        request: wire::GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::GetPromptResponse, ErrorData> {
        let prompt = self.server.shared.prompts.get(&request.name);
        let handler = prompt.as_ref().and_then(|prompt| prompt.handler.clone());
        let (Some(prompt), Some(handler)) = (prompt, handler) else {
            return Err(ErrorData::invalid_params(format!("unknown prompt: {}", request.name), None));
        };
        let arguments: BTreeMap<String, String> = request
            .arguments
            .unwrap_or_default()
            .into_iter()
            .map(|(name, value)| match value {
                Value::String(text) => (name, text),
                value => (name, value.to_string()),
            })
            .collect();
        let missing = prompt.missing(&arguments);
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(ErrorData::invalid_params(format!("prompt `{}` requires: {missing}", prompt.name), None));
        }
        let identity = identity(&context, json!(["prompts/get", request.name, arguments]));
        let context = self.context(context, (request.input_responses, request.request_state), &identity).await?;
        let work = {
            let context = context.clone();
            let request = PromptRequest { name: prompt.name.clone(), arguments };
            async move { handler(request, context).await }
        };
        let outcome = run(&context, work).await;
        match self.handler_outcome(outcome, &format!("prompt `{}`", prompt.name), &identity)? {
            HandlerOutcome::InputRequired(asks) => Ok(asks.into()),
            HandlerOutcome::Returned(messages) => {
                let messages = messages.map_err(Error::into_wire)?;
                let mut result = wire::GetPromptResult::new(messages.into_iter().map(Message::into_wire).collect());
                result.description = prompt.metadata.description.clone();
                Ok(result.into())
            }
        }
    }

    /// Answers `completion/complete`. A completion that is not registered has no values.
    pub(super) async fn completion(
        &self,
        request: wire::CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<wire::CompleteResult, ErrorData> {
        let key = match &request.r#ref {
            wire::Reference::Prompt(prompt) => completion::key("prompt", &prompt.name, &request.argument.name),
            wire::Reference::Resource(template) => completion::key("template", &template.uri, &request.argument.name),
            _ => return Ok(wire::CompleteResult::default()),
        };
        let Some(completion) = self.server.shared.completions.get(&key) else {
            return Ok(wire::CompleteResult::default());
        };
        let context = self.context(context, (None, None), "").await?;
        let arguments = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let handler = completion.handler.clone();
        let work = {
            let context = context.clone();
            let request =
                CompletionRequest { value: request.argument.value, arguments: arguments.into_iter().collect() };
            async move { handler(request, context).await }
        };
        let outcome = run(&context, work).await;
        match self.handler_outcome(outcome, "completion", "")? {
            HandlerOutcome::InputRequired(_) => Err(ErrorData::internal_error("completions cannot ask", None)),
            HandlerOutcome::Returned(suggestions) => {
                let mut values = suggestions.map_err(Error::into_wire)?;
                let total = values.len();
                values.truncate(MAX_VALUES);
                let mut info = wire::CompletionInfo::new(values).map_err(internal)?;
                info.total = u32::try_from(total).ok();
                info.has_more = Some(total > MAX_VALUES);
                Ok(wire::CompleteResult::new(info))
            }
        }
    }
}
