//! Requests for input from the client: from its user, its model, its roots.
//!
//! Before 2026-07-28 such a request is a JSON-RPC request of the server, and the handler waits for its answer. Since
//! then there are no such requests: the handler is dropped where it waits, and the client gets the input requests as
//! the result. The client sends its request again with the answers. The handler runs from its beginning, and each input
//! request that has an answer returns at once. Answers of earlier rounds travel with the client in the sealed
//! `requestState`. The handler of a call that [suspends](crate::Suspension) waits instead.

use super::ask::Question;
use super::{Context, Elicitation, Sampling};
use crate::client_features::{ElicitationResult, Root, SamplingResult, UrlElicitationResult};
use crate::error::{Error, InputError};
use crate::message::Message;
use crate::schema::Validator;
use rmcp::model as wire;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

impl Context {
    /// Asks the client's user to fill in a form.
    ///
    /// # Errors
    ///
    /// Returns an error if the client does not support forms, goes away, or sends content that does not fit the form.
    pub async fn elicit<T: DeserializeOwned>(&self, question: Elicitation<T>) -> Result<ElicitationResult<T>, Error> {
        let schema = question.schema.map_err(Error::new)?;
        self.require(self.can_elicit(), "elicitation", json!({"elicitation": {"form": {}}}))?;
        let validator = match &schema {
            Value::Object(schema) if question.is_checked => Some(Validator::new(schema).map_err(Error::new)?),
            Value::Object(_) => None,
            _ => return Err(Error::new("the schema of a form must be an object")),
        };
        let params = json!({"mode": "form", "message": question.message, "requestedSchema": schema});
        let asked =
            Question::new("elicitation", "elicitation/create", params).key(question.key).timeout(question.timeout);
        let answer = self.ask(asked).await?;
        match self.action(&answer)? {
            ElicitationResult::Accepted(()) => {
                let content = answer.get("content").cloned().unwrap_or_else(|| json!({}));
                if let Some(Err(error)) = validator.map(|validator| validator.check(&content)) {
                    let message = format!("the form's content does not fit its schema: {error}");
                    return Err(Error::invalid_answer(self, message));
                }
                Ok(ElicitationResult::Accepted(crate::numbers::read(content, serde_json::from_value)?))
            }
            ElicitationResult::Declined => Ok(ElicitationResult::Declined),
            ElicitationResult::Cancelled => Ok(ElicitationResult::Cancelled),
        }
    }

    /// Asks the client's user to visit `url`. Use it for data that must not pass through the client: signing in,
    /// payments, keys. The answer says whether the user agreed to visit the page. It says nothing about the visit.
    ///
    /// # Errors
    ///
    /// Returns an error if the client does not support elicitation by URL, or goes away.
    pub async fn elicit_url(
        &self,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<UrlElicitationResult, Error> {
        self.require(self.can_elicit_url(), "elicitation by URL", json!({"elicitation": {"url": {}}}))?;
        let (message, url) = (message.into(), url.into());
        let id = crate::random_id();
        let params = json!({"mode": "url", "message": message, "url": url, "elicitationId": id});
        let answer = self.ask(Question::new("elicitation", "elicitation/create", params)).await?;
        self.action(&answer)
    }

    /// Asks the client's model.
    ///
    /// # Errors
    ///
    /// Returns an error if the client has no model, its user refuses, or it goes away.
    pub async fn sample(&self, sampling: Sampling) -> Result<SamplingResult, Error> {
        self.require(self.can_sample(), "sampling", json!({"sampling": {}}))?;
        let messages: Vec<_> = sampling.messages.into_iter().map(Message::into_wire).collect();
        let mut params = sampling.params;
        params.insert("messages".into(), serde_json::to_value(messages)?);
        let asked = Question::new("sampling", "sampling/createMessage", Value::Object(params)).key(sampling.key);
        let answer = self.ask(asked).await?;
        serde_json::from_value(answer).map_err(|error| Error::invalid_answer(self, format!("sampling: {error}")))
    }

    /// Asks the client for its roots.
    ///
    /// Deprecated by the protocol (SEP-2577), which keeps it until July 2027 at least.
    ///
    /// # Errors
    ///
    /// Returns an error if the client has no roots, or goes away.
    pub async fn roots(&self) -> Result<Vec<Root>, Error> {
        self.roots_as(None).await
    }

    /// Asks the client for its roots like [`Context::roots`], with a key for the input request; see
    /// [`Elicitation::key`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Context::roots`].
    pub async fn roots_as(&self, key: Option<&str>) -> Result<Vec<Root>, Error> {
        #[derive(Deserialize)]
        struct Roots {
            roots: Vec<Root>,
        }
        self.require(self.can_list_roots(), "roots", json!({"roots": {}}))?;
        let asked = Question::new("roots", "roots/list", json!({})).key(key.map(str::to_owned));
        let answer = self.ask(asked).await?;
        let roots = serde_json::from_value::<Roots>(answer);
        Ok(roots.map_err(|error| Error::invalid_answer(self, format!("roots: {error}")))?.roots)
    }

    /// Returns whether the client's user can be asked to fill in forms.
    pub fn can_elicit(&self) -> bool {
        // An empty capability stands for forms (protocols before elicitation by URL).
        self.capability(|client| client.elicitation.as_ref().is_some_and(|e| e.form.is_some() || e.url.is_none()))
    }

    /// Returns whether the client's user can be asked to visit pages.
    pub fn can_elicit_url(&self) -> bool {
        self.capability(|client| client.elicitation.as_ref().is_some_and(|elicitation| elicitation.url.is_some()))
    }

    /// Returns whether the client's model can be asked.
    pub fn can_sample(&self) -> bool {
        self.capability(|client| client.sampling.is_some())
    }

    /// Returns whether the client can list its roots.
    pub fn can_list_roots(&self) -> bool {
        self.capability(|client| client.roots.is_some())
    }

    fn capability(&self, has: impl FnOnce(&wire::ClientCapabilities) -> bool) -> bool {
        self.request().client_capabilities().is_some_and(|client| has(&client))
    }

    fn require(&self, supported: bool, what: &str, capability: Value) -> Result<(), Error> {
        if supported {
            return Ok(());
        }
        if self.is_stateless_protocol() {
            return Err(Error::protocol(
                wire::ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY.0,
                format!("this needs a client that supports {what}"),
                Some(json!({"requiredCapabilities": capability})),
            ));
        }
        if self.lacks_session() {
            let message = format!(
                "this needs {what}, which takes a session: the server keeps none, and the client's protocol is older than \
                 2026-07-28"
            );
            return Err(Error::new(message));
        }
        Err(Error::new(format!("this needs a client that supports {what}, and this one does not")))
    }

    /// Returns whether the request came over HTTP without a session. The client's capabilities are unknown then.
    fn lacks_session(&self) -> bool {
        let of_session = |head: &http::request::Parts| {
            head.headers.contains_key("mcp-session-id") || head.uri.query().is_some_and(|q| q.contains("session_id="))
        };
        self.http().is_some_and(|head| !of_session(head))
    }

    fn action(&self, answer: &Value) -> Result<UrlElicitationResult, Error> {
        match answer.get("action").and_then(Value::as_str) {
            Some("accept") => Ok(ElicitationResult::Accepted(())),
            Some("decline") => Ok(ElicitationResult::Declined),
            Some("cancel") => Ok(ElicitationResult::Cancelled),
            _ => {
                let message = "the answer to an elicitation has an `action`: accept, decline or cancel";
                Err(Error::invalid_answer(self, message.to_owned()))
            }
        }
    }
}

impl Error {
    /// Makes the error for an answer that does not fit. Since 2026-07-28 the request that brings the answer is invalid.
    fn invalid_answer(context: &Context, message: String) -> Self {
        if context.is_stateless_protocol() && !context.is_task() && !context.suspends() {
            Self::protocol(wire::ErrorCode::INVALID_PARAMS.0, message, None)
        } else {
            Self::input(InputError::Malformed(message))
        }
    }
}
