//! Questions to the client: its user's input, its model, its roots.
//!
//! Before 2026-07-28 a question is a request from the server, and the handler waits for its answer. Since then there
//! are none: the handler is dropped where it waits, the client is told what is asked, and asks again with the answers;
//! the handler then runs from its beginning, and each question that has an answer returns at once. What was answered in
//! earlier rounds travels with the client, sealed.

use super::Context;
use crate::answers::{Answer, Root, Sampled, UrlAnswer};
use crate::error::Error;
use crate::message::Message;
use crate::schema::{self, Validator};
use rmcp::model as wire;
use rmcp::service::{OriginatingRequestId, ServiceError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The most questions that may be open at once.
const MAX_OPEN: usize = 32;

/// What earlier rounds of a request have brought, and what this one asks.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    rounds: Mutex<Rounds>,
    asked: Notify,
}

#[derive(Debug, Default)]
struct Rounds {
    known: Known,
    /// Answers that came with the request; those that nobody asks for are not carried on.
    fresh: BTreeMap<String, Value>,
    open: BTreeMap<String, wire::InputRequest>,
    /// How many questions of each kind this run has asked, for keys nobody chose.
    counts: BTreeMap<&'static str, usize>,
}

/// What is carried from round to round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Known {
    answers: BTreeMap<String, Value>,
    steps: BTreeMap<String, Value>,
}

impl Questions {
    /// With what earlier rounds brought and the answers of this one.
    pub(crate) fn new(known: Known, fresh: BTreeMap<String, Value>) -> Self {
        Self { rounds: Mutex::new(Rounds { known, fresh, ..Rounds::default() }), asked: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which question of its kind the next one is.
    fn count(&self, kind: &'static str) -> usize {
        let mut rounds = self.lock();
        let count = rounds.counts.entry(kind).or_default();
        *count += 1;
        *count
    }

    /// Waits until something is asked that has no answer.
    pub(crate) async fn asked(&self) {
        loop {
            let asked = self.asked.notified();
            if !self.lock().open.is_empty() {
                return;
            }
            asked.await;
        }
    }

    /// What is asked, and what is to be carried on.
    pub(crate) fn take(&self) -> (BTreeMap<String, wire::InputRequest>, Known) {
        let mut rounds = self.lock();
        (std::mem::take(&mut rounds.open), rounds.known.clone())
    }
}

/// A question for the client's user: a form, or a page to visit.
#[derive(Clone, Debug)]
pub struct Elicitation<T = Value> {
    key: Option<String>,
    message: String,
    schema: Result<Value, String>,
    answer: PhantomData<fn() -> T>,
}

impl<T: JsonSchema + DeserializeOwned> Elicitation<T> {
    /// A form whose fields are those of the struct `T`: strings, numbers, booleans and enums, optional or not, with
    /// their doc comments.
    pub fn form(message: impl Into<String>) -> Self {
        Self { key: None, message: message.into(), schema: schema::form(schema::inline::<T>()), answer: PhantomData }
    }
}

impl Elicitation<Value> {
    /// A form by its JSON Schema, of which MCP allows flat objects.
    pub fn schema(message: impl Into<String>, schema: Value) -> Self {
        Self { key: None, message: message.into(), schema: Ok(schema), answer: PhantomData }
    }
}

impl<T> Elicitation<T> {
    /// The question's name, if a handler asks in no fixed order. Without one, questions are told apart by their order.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

/// A request to the client's model.
///
/// Deprecated by the protocol (SEP-2577), which keeps it until July 2027 at least.
#[derive(Clone, Debug)]
pub struct Sampling {
    key: Option<String>,
    messages: Vec<Message>,
    params: Map<String, Value>,
}

impl Sampling {
    /// Asks with one message of the user's, for at most 1024 tokens.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self::conversation(vec![Message::user(prompt.into())])
    }

    /// Asks with a conversation.
    pub fn conversation(messages: Vec<Message>) -> Self {
        Self { key: None, messages, params: Map::new() }.param("maxTokens", 1024)
    }

    /// The most tokens to generate.
    #[must_use]
    pub fn max_tokens(self, tokens: u32) -> Self {
        self.param("maxTokens", tokens)
    }

    /// The system prompt.
    #[must_use]
    pub fn system_prompt(self, prompt: impl Into<String>) -> Self {
        self.param("systemPrompt", prompt.into())
    }

    /// The temperature, from 0 to 1.
    #[must_use]
    pub fn temperature(self, temperature: f32) -> Self {
        self.param("temperature", temperature)
    }

    /// Any other parameter of `sampling/createMessage`, such as `modelPreferences` or `tools`.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.params.insert(name.into(), value.into());
        self
    }

    /// The question's name; see [`Elicitation::key`].
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl Context {
    /// Asks the client's user to fill in a form.
    ///
    /// # Errors
    ///
    /// The client cannot ask its users, goes away, or sends what does not fit the form.
    pub async fn elicit<T: DeserializeOwned>(&self, question: Elicitation<T>) -> Result<Answer<T>, Error> {
        let schema = question.schema.map_err(Error::new)?;
        self.require(self.can_elicit(), "elicitation", json!({"elicitation": {"form": {}}}))?;
        let validator = match &schema {
            Value::Object(schema) => Validator::new(schema).map_err(Error::new)?,
            _ => return Err(Error::new("the schema of a form must be an object")),
        };
        let params = json!({"mode": "form", "message": question.message, "requestedSchema": schema});
        let answer = self.ask("elicitation", question.key, "elicitation/create", params).await?;
        match self.action(&answer)? {
            Answer::Accepted(()) => {
                let content = answer.get("content").cloned().unwrap_or_else(|| json!({}));
                validator.check(&content).map_err(|error| {
                    Error::invalid_answer(self, format!("the form's content does not fit its schema: {error}"))
                })?;
                Ok(Answer::Accepted(serde_json::from_value(content)?))
            }
            Answer::Declined => Ok(Answer::Declined),
            Answer::Cancelled => Ok(Answer::Cancelled),
        }
    }

    /// Asks the client's user to visit `url`, for what must not pass through the client: signing in, paying, keys. The
    /// answer says whether they agreed to, not whether they have done there what they were to do.
    ///
    /// # Errors
    ///
    /// The client cannot ask its users to, or goes away.
    pub async fn elicit_url(&self, message: impl Into<String>, url: impl Into<String>) -> Result<UrlAnswer, Error> {
        self.require(self.can_elicit_url(), "elicitation by URL", json!({"elicitation": {"url": {}}}))?;
        let (message, url) = (message.into(), url.into());
        let id = crate::random_id();
        let params = json!({"mode": "url", "message": message, "url": url, "elicitationId": id});
        let answer = self.ask("elicitation", None, "elicitation/create", params).await?;
        self.action(&answer)
    }

    /// Asks the client's model.
    ///
    /// # Errors
    ///
    /// The client offers none, its user refuses, or it goes away.
    pub async fn sample(&self, sampling: Sampling) -> Result<Sampled, Error> {
        self.require(self.can_sample(), "sampling", json!({"sampling": {}}))?;
        let messages: Vec<_> = sampling.messages.into_iter().map(Message::into_wire).collect();
        let mut params = sampling.params;
        params.insert("messages".into(), serde_json::to_value(messages)?);
        let answer = self.ask("sampling", sampling.key, "sampling/createMessage", Value::Object(params)).await?;
        serde_json::from_value(answer).map_err(|error| Error::invalid_answer(self, format!("sampling: {error}")))
    }

    /// Asks the client for its roots.
    ///
    /// Deprecated by the protocol (SEP-2577), which keeps it until July 2027 at least.
    ///
    /// # Errors
    ///
    /// The client has none to tell, or goes away.
    pub async fn roots(&self) -> Result<Vec<Root>, Error> {
        self.roots_as(None).await
    }

    /// As [`Context::roots`], with a name for the question; see [`Elicitation::key`].
    ///
    /// # Errors
    ///
    /// As [`Context::roots`].
    pub async fn roots_as(&self, key: Option<&str>) -> Result<Vec<Root>, Error> {
        #[derive(Deserialize)]
        struct Roots {
            roots: Vec<Root>,
        }
        self.require(self.can_list_roots(), "roots", json!({"roots": {}}))?;
        let answer = self.ask("roots", key.map(str::to_owned), "roots/list", json!({})).await?;
        let roots = serde_json::from_value::<Roots>(answer);
        Ok(roots.map_err(|error| Error::invalid_answer(self, format!("roots: {error}")))?.roots)
    }

    /// Does something once, though the handler may run several times because it asks: later rounds get the result of
    /// the first. The result travels with the client, sealed but readable.
    ///
    /// # Errors
    ///
    /// What `step` fails with, or a result that is no JSON.
    pub async fn once<T, F>(&self, key: &str, step: F) -> Result<T, Error>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T, Error>>,
    {
        match self.step_done(key)? {
            Some(done) => Ok(done),
            None => self.keep_step(key, step.await?),
        }
    }

    /// What the step called `key` returned in an earlier round.
    pub(super) fn step_done<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        let known = self.questions().lock().known.steps.get(key).cloned();
        Ok(known.map(serde_json::from_value).transpose()?)
    }

    /// Keeps what a step has returned for later rounds.
    pub(super) fn keep_step<T: Serialize>(&self, key: &str, done: T) -> Result<T, Error> {
        if self.is_modern() {
            self.questions().lock().known.steps.insert(key.to_owned(), serde_json::to_value(&done)?);
        }
        Ok(done)
    }

    /// Whether the client's user can be asked to fill in forms.
    pub fn can_elicit(&self) -> bool {
        // An empty capability is one for forms, as before there were others.
        self.capability(|client| client.elicitation.as_ref().is_some_and(|e| e.form.is_some() || e.url.is_none()))
    }

    /// Whether the client's user can be asked to visit pages.
    pub fn can_elicit_url(&self) -> bool {
        self.capability(|client| client.elicitation.as_ref().is_some_and(|elicitation| elicitation.url.is_some()))
    }

    /// Whether the client's model can be asked.
    pub fn can_sample(&self) -> bool {
        self.capability(|client| client.sampling.is_some())
    }

    /// Whether the client has roots to tell.
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
        if self.is_modern() {
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

    /// Whether the request came over HTTP and belongs to no session, so that nobody knows what the client can do.
    fn lacks_session(&self) -> bool {
        let of_session = |head: &http::request::Parts| {
            head.headers.contains_key("mcp-session-id") || head.uri.query().is_some_and(|q| q.contains("session_id="))
        };
        self.http().is_some_and(|head| !of_session(head))
    }

    fn action(&self, answer: &Value) -> Result<UrlAnswer, Error> {
        match answer.get("action").and_then(Value::as_str) {
            Some("accept") => Ok(Answer::Accepted(())),
            Some("decline") => Ok(Answer::Declined),
            Some("cancel") => Ok(Answer::Cancelled),
            _ => {
                let message = "the answer to an elicitation has an `action`: accept, decline or cancel";
                Err(Error::invalid_answer(self, message.to_owned()))
            }
        }
    }

    async fn ask(
        &self,
        kind: &'static str,
        key: Option<String>,
        method: &'static str,
        params: Value,
    ) -> Result<Value, Error> {
        let request: wire::InputRequest = serde_json::from_value(json!({"method": method, "params": params}))
            .map_err(|error| Error::new(format!("a question the protocol does not know: {error}")))?;
        if let Some(task) = self.task() {
            let key = key.unwrap_or_else(|| format!("{kind}-{}", self.questions().count(kind)));
            task.ask(&key, request).await.map_err(Error::new)
        } else if self.is_modern() {
            self.ask_client_to_retry(kind, key, request).await
        } else {
            self.ask_client(request).await
        }
    }

    async fn ask_client_to_retry(
        &self,
        kind: &'static str,
        key: Option<String>,
        request: wire::InputRequest,
    ) -> Result<Value, Error> {
        {
            let count = self.questions().count(kind);
            let mut rounds = self.questions().lock();
            let key = key.unwrap_or_else(|| format!("{kind}-{count}"));
            if let Some(answer) = rounds.fresh.remove(&key) {
                rounds.known.answers.insert(key, answer.clone());
                return Ok(answer);
            }
            if let Some(answer) = rounds.known.answers.get(&key) {
                return Ok(answer.clone());
            }
            if rounds.open.len() >= MAX_OPEN {
                return Err(Error::new(format!("more than {MAX_OPEN} questions at once")));
            }
            rounds.open.insert(key, request);
        }
        self.questions().asked.notify_waiters();
        // Whoever runs the handler drops it here.
        std::future::pending().await
    }

    async fn ask_client(&self, request: wire::InputRequest) -> Result<Value, Error> {
        let originating = OriginatingRequestId(self.request().id.clone());
        let request = match request {
            wire::InputRequest::Elicitation(mut request) => {
                request.extensions.insert(originating);
                wire::ServerRequest::ElicitRequest(request)
            }
            wire::InputRequest::CreateMessage(mut request) => {
                request.extensions.insert(originating);
                wire::ServerRequest::CreateMessageRequest(request)
            }
            wire::InputRequest::ListRoots(mut request) => {
                request.extensions.insert(originating);
                wire::ServerRequest::ListRootsRequest(request)
            }
            _ => return Err(Error::new("a question the protocol does not know")),
        };
        match self.request().peer.send_request(request).await {
            Ok(answer) => Ok(serde_json::to_value(answer)?),
            Err(ServiceError::McpError(error)) => Err(Error::new(format!("the client refused: {}", error.message))),
            Err(error) => Err(Error::new(format!("the client could not be asked: {error}"))),
        }
    }
}

impl Error {
    /// An answer that does not fit: since 2026-07-28 the request that brings it is invalid.
    fn invalid_answer(context: &Context, message: String) -> Self {
        if context.is_modern() && !context.is_task() {
            Self::protocol(wire::ErrorCode::INVALID_PARAMS.0, message, None)
        } else {
            Self::new(message)
        }
    }
}
