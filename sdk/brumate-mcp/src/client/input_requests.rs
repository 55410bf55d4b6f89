//! Input requests of servers, and the callbacks that answer them.

use crate::client_features::{ElicitationResult, Root, SamplingResult, UrlElicitationResult};
use crate::error::Error;
use crate::message::Message;
use futures::future::BoxFuture;
use rmcp::model as wire;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A request to the client's model (`sampling/createMessage`).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SamplingRequest {
    /// All parameters, as the protocol has them.
    pub params: Map<String, Value>,
}

impl SamplingRequest {
    /// Returns the conversation. Messages with content that prompts do not have are left out.
    pub fn messages(&self) -> Vec<Message> {
        let messages = self.params.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let read = |message: &Value| serde_json::from_value::<wire::PromptMessage>(message.clone()).ok();
        messages.iter().filter_map(read).map(Message::from_wire).collect()
    }

    /// Returns the text of the last message.
    pub fn prompt(&self) -> String {
        self.messages().last().and_then(|message| message.content.as_text().map(str::to_owned)).unwrap_or_default()
    }

    /// Returns the system prompt.
    pub fn system_prompt(&self) -> Option<&str> {
        self.params.get("systemPrompt")?.as_str()
    }

    /// Returns the most tokens to generate.
    pub fn max_tokens(&self) -> Option<u64> {
        self.params.get("maxTokens")?.as_u64()
    }
}

/// A form for the client's user to fill in (`elicitation/create`).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FormRequest {
    /// The server's text for the user.
    pub message: String,
    /// The JSON Schema of its fields: a flat object.
    pub schema: Map<String, Value>,
}

impl FormRequest {
    /// Returns the fields that have a default, with it (SEP-1034).
    pub fn defaults(&self) -> Map<String, Value> {
        let fields = self.schema.get("properties").and_then(Value::as_object);
        let default = |(name, field): (&String, &Value)| Some((name.clone(), field.get("default")?.clone()));
        fields.into_iter().flatten().filter_map(default).collect()
    }
}

/// A page for the client's user to visit (`elicitation/create`, mode `url`). The page may ask for anything: show people
/// its whole URL, and open it in their own browser.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UrlRequest {
    /// The server's text for the user.
    pub message: String,
    /// The URL of the page.
    pub url: String,
    /// The server's id of this request.
    pub id: String,
}

pub(super) type Callback<In, Out> = Arc<dyn Fn(In) -> BoxFuture<'static, Result<Out, Error>> + Send + Sync>;

/// Makes a callback of a function that does not fail.
pub(super) fn infallible<In, Out, F, Fut>(function: F) -> Callback<In, Out>
where
    F: FnOnce(In) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Out> + Send + 'static,
{
    Arc::new(move |question| {
        let answer = function.clone()(question);
        Box::pin(async move { Ok(answer.await) })
    })
}

/// The callbacks that answer the server's input requests.
#[derive(Clone, Default)]
pub(super) struct InputCallbacks {
    pub(super) sampling: Option<Callback<SamplingRequest, SamplingResult>>,
    pub(super) form: Option<Callback<FormRequest, ElicitationResult<Map<String, Value>>>>,
    pub(super) url: Option<Callback<UrlRequest, UrlElicitationResult>>,
    pub(super) roots: Option<Callback<(), Vec<Root>>>,
}

impl InputCallbacks {
    /// Returns the client's capabilities: one for each callback.
    pub(super) fn capabilities(&self) -> Value {
        let mut capabilities = json!({});
        if self.sampling.is_some() {
            capabilities["sampling"] = json!({});
        }
        if self.roots.is_some() {
            capabilities["roots"] = json!({"listChanged": true});
        }
        if self.form.is_some() || self.url.is_some() {
            capabilities["elicitation"] = json!({});
        }
        if self.form.is_some() {
            capabilities["elicitation"]["form"] = json!({});
        }
        if self.url.is_some() {
            capabilities["elicitation"]["url"] = json!({});
        }
        capabilities
    }

    /// Answers an input request that came with a result (2026-07-28).
    ///
    /// # Errors
    ///
    /// Returns an error if there is no callback for it, or if the callback fails.
    pub(super) async fn answer(&self, question: wire::InputRequest) -> Result<Value, Error> {
        match question {
            wire::InputRequest::CreateMessage(request) => self.sample(serde_json::to_value(request.params)?).await,
            wire::InputRequest::Elicitation(request) => self.elicit(serde_json::to_value(request.params)?).await,
            wire::InputRequest::ListRoots(_) => self.list_roots().await,
            _ => Err(Error::new("it is of a kind that this version does not know")),
        }
    }

    /// Returns the result of `sampling/createMessage`.
    pub(super) async fn sample(&self, params: Value) -> Result<Value, Error> {
        let callback = self.sampling.as_ref().ok_or_else(|| Error::new("the client has no model to ask"))?;
        let Value::Object(params) = params else { return Err(Error::new("its parameters are no object")) };
        let mut result = serde_json::to_value(callback(SamplingRequest { params }).await?)?;
        result["role"] = json!("assistant");
        Ok(result)
    }

    /// Returns the result of `roots/list`.
    pub(super) async fn list_roots(&self) -> Result<Value, Error> {
        let callback = self.roots.as_ref().ok_or_else(|| Error::new("the client has no roots"))?;
        Ok(json!({"roots": callback(()).await?}))
    }

    /// Returns the result of `elicitation/create`. Accepted content is completed with the form's defaults.
    pub(super) async fn elicit(&self, params: Value) -> Result<Value, Error> {
        let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        if params.get("mode").and_then(Value::as_str) == Some("url") {
            let callback = self.url.as_ref().ok_or_else(|| Error::new("the client shows no pages"))?;
            let request = UrlRequest { message: text("message"), url: text("url"), id: text("elicitationId") };
            return Ok(action(callback(request).await?).0);
        }
        let callback = self.form.as_ref().ok_or_else(|| Error::new("the client shows no forms"))?;
        let schema = params.get("requestedSchema").and_then(Value::as_object).cloned().unwrap_or_default();
        let request = FormRequest { message: text("message"), schema };
        let mut content = request.defaults();
        let (mut result, given) = action(callback(request).await?);
        if let Some(given) = given {
            content.extend(given);
            result["content"] = content.into();
        }
        Ok(result)
    }
}

/// Returns an answer's action, and the accepted value.
fn action<T>(answer: ElicitationResult<T>) -> (Value, Option<T>) {
    match answer {
        ElicitationResult::Accepted(value) => (json!({"action": "accept"}), Some(value)),
        ElicitationResult::Declined => (json!({"action": "decline"}), None),
        ElicitationResult::Cancelled => (json!({"action": "cancel"}), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_accepted_is_completed_with_defaults() {
        let form: Callback<FormRequest, ElicitationResult<Map<String, Value>>> = Arc::new(|_| {
            Box::pin(async { Ok(ElicitationResult::Accepted(json!({"name": "Ada"}).as_object().unwrap().clone())) })
        });
        let input_callbacks = InputCallbacks { form: Some(form), ..InputCallbacks::default() };
        let schema = json!({"properties": {"name": {"default": "nobody"}, "age": {"default": 30}, "city": {}}});
        let result = input_callbacks.elicit(json!({"message": "who?", "requestedSchema": schema})).await.unwrap();
        assert_eq!(result, json!({"action": "accept", "content": {"name": "Ada", "age": 30}}));
        let error = input_callbacks.elicit(json!({"mode": "url", "url": "https://a"})).await.unwrap_err();
        assert_eq!(error.message(), "the client shows no pages");
    }

    #[tokio::test]
    #[expect(deprecated, reason = "sampling")]
    async fn the_answer_of_a_model_has_its_role() {
        let sampling: Callback<SamplingRequest, SamplingResult> =
            Arc::new(|_| Box::pin(async { Ok(SamplingResult::new("model", "roses")) }));
        let input_callbacks = InputCallbacks { sampling: Some(sampling), ..InputCallbacks::default() };
        let result = input_callbacks.sample(json!({"messages": [], "maxTokens": 1})).await.unwrap();
        assert_eq!(result["role"], "assistant");
        serde_json::from_value::<wire::CreateMessageResult>(result).unwrap();
    }

    #[test]
    fn what_nobody_answers_is_not_offered() {
        assert_eq!(InputCallbacks::default().capabilities(), json!({}));
        let roots: Callback<(), Vec<Root>> = Arc::new(|()| Box::pin(async { Ok(Vec::new()) }));
        let input_callbacks = InputCallbacks { roots: Some(roots), ..InputCallbacks::default() };
        assert_eq!(input_callbacks.capabilities(), json!({"roots": {"listChanged": true}}));
    }
}
