//! Requests of frontends, answered by a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use brumate_engine_api::{FrontendMessage, FrontendRequest, StopReason, StreamName};
use brumate_notebook::OutputPolicy;
use brumate_session::sessions::{CellReport, SessionError, Sessions};
use brumate_session::{CancellationToken, InputReply, InputRequest, InputRequests, Request, RunEvent, input_requests};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::checkpoints::{self, CheckpointError, Checkpoints, Wish};
use crate::kernel_info;
use brumate_jupyter_protocol::{Header, Message, new_id, object, parsed_object};

/// Name of the exception that a cell ends with when its interpreter has ended.
const SANDBOX_ERROR: &str = "SandboxError";

/// Key in the metadata of a cell: the name of the checkpoint that was made or resumed before it.
const CHECKPOINT: &str = "brumate_checkpoint";

/// Events of a cell that wait for slow frontends. Then the cell waits.
const EVENT_QUEUE: usize = 64;

/// Frontend that a message came from, and that its reply goes to: the identities in front of the message.
pub type Peer = Vec<Bytes>;

/// Place that a message goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// All frontends.
    Iopub,
    /// One frontend, as the reply to a request on its shell channel.
    Shell(Peer),
    /// One frontend, as the reply to a request on its control channel.
    Control(Peer),
    /// One frontend, which is asked for input.
    Stdin(Peer),
}

/// The frontends of a kernel.
#[async_trait]
pub trait Frontends: Send + Sync {
    /// Sends a message. Waits while a frontend that reads has much to read. A frontend that is gone gets nothing.
    async fn send(&self, to: Destination, message: Message);
}

/// Wish of a frontend that a kernel ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// Whether the frontend wants another kernel in its place.
    pub restart: bool,
}

/// Session of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelSession {
    /// A new one, which is removed when the kernel ends.
    New,
    /// The session with this id, which stays.
    Existing(String),
}

/// A kernel. Clones share it.
#[derive(Clone)]
pub struct Kernel {
    inner: Arc<Inner>,
}

struct Inner {
    sessions: Sessions,
    principal: String,
    wanted: KernelSession,
    policy: OutputPolicy,
    /// Id of the session, when there is one.
    session: Mutex<Option<Arc<str>>>,
    /// Taken while the session is made.
    making: tokio::sync::Mutex<()>,
    checkpoints: Checkpoints,
    /// Id of this kernel in the headers of its messages.
    id: String,
    frontends: Arc<dyn Frontends>,
    /// Whether a request on the shell channel is being answered.
    is_busy: AtomicBool,
    /// Receives the answer to the question that the running cell waits for.
    question: Mutex<Option<oneshot::Sender<InputReply>>>,
    /// Reason why the last request was stopped, if it was.
    stopped: Mutex<Option<StopReason>>,
}

impl Kernel {
    /// Makes a kernel whose session belongs to `principal`.
    pub fn new(
        sessions: Sessions,
        principal: impl Into<String>,
        session: KernelSession,
        policy: OutputPolicy,
        frontends: Arc<dyn Frontends>,
    ) -> Self {
        let inner = Inner {
            sessions,
            principal: principal.into(),
            wanted: session,
            policy,
            session: Mutex::default(),
            making: tokio::sync::Mutex::default(),
            checkpoints: Checkpoints::default(),
            id: new_id(),
            frontends,
            is_busy: AtomicBool::new(false),
            question: Mutex::default(),
            stopped: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the kernel's id in the headers of its messages.
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// Returns the id of the session; `None` before it is made.
    pub fn session_id(&self) -> Option<Arc<str>> {
        self.inner.session.lock().clone()
    }

    /// Returns whether a request on the shell channel is being answered.
    pub fn is_busy(&self) -> bool {
        self.inner.is_busy.load(Ordering::Relaxed)
    }

    /// Returns the reason why the last request on the shell channel was stopped; `None` if it was not.
    pub fn last_stop(&self) -> Option<StopReason> {
        *self.inner.stopped.lock()
    }

    /// Makes the session, or resumes it. Requests do so themselves; this call comes before the first.
    ///
    /// # Errors
    ///
    /// [`SessionError`].
    pub async fn start(&self) -> Result<(), SessionError> {
        self.session().await.map(|_| ())
    }

    /// Returns the id of the session.
    async fn session(&self) -> Result<Arc<str>, SessionError> {
        let _making = self.inner.making.lock().await;
        if let Some(id) = self.session_id() {
            return Ok(id);
        }
        let place = match &self.inner.wanted {
            KernelSession::Existing(id) => Some(id.as_str()),
            KernelSession::New => None,
        };
        let request = Request::cell(place, "").with_principal(&self.inner.principal);
        let report = self.inner.sessions.execute(request, &CancellationToken::new(), &mut |_| {}).await?;
        let id: Arc<str> = report.id.as_str().into();
        *self.inner.session.lock() = Some(Arc::clone(&id));
        Ok(id)
    }

    /// Answers a request on the shell channel. Frontends learn on iopub that the kernel is busy, and when it is idle again.
    /// Returns whether a cell failed whose frontend wants that the cells behind it do not run.
    pub async fn shell(&self, peer: Peer, message: Message) -> bool {
        self.inner.is_busy.store(true, Ordering::Relaxed);
        self.status("busy", &message.header).await;
        let kind = message.header.msg_type.clone();
        let (reply, stops) = match kind.as_str() {
            "kernel_info_request" => (Some(kernel_info::content()), false),
            "connect_request" => (Some(json!({"status": "ok"})), false),
            "execute_request" => {
                let content = message.content();
                let reply = self.run(&peer, &message, content["allow_stdin"] == true).await;
                let stops = content["stop_on_error"] != false && reply["status"] == "error";
                (Some(reply), stops)
            }
            "complete_request"
            | "inspect_request"
            | "is_complete_request"
            | "history_request"
            | "comm_info_request" => (Some(self.run(&peer, &message, false).await), false),
            "comm_open" | "comm_msg" | "comm_close" => {
                self.comm(&peer, &message).await;
                (None, false)
            }
            "shutdown_request" | "interrupt_request" => (self.control_content(&message).await, false),
            _ => (unknown(&kind), false),
        };
        self.reply(Destination::Shell(peer), &message.header, reply).await;
        self.inner.is_busy.store(false, Ordering::Relaxed);
        self.status("idle", &message.header).await;
        stops
    }

    /// Passes a message of a comm to the code. Without active output there are no comms: one that a frontend opens is closed.
    async fn comm(&self, peer: &Peer, message: &Message) {
        if self.inner.policy == OutputPolicy::Active {
            self.run(peer, message, false).await;
        } else if message.header.msg_type == "comm_open" {
            let content = json!({"comm_id": message.content()["comm_id"], "data": {}});
            self.send(Destination::Iopub, "comm_close", &message.header, &content).await;
        }
    }

    /// Answers a request on the control channel, also while a cell runs. Returns its wish if it asks for the kernel's end.
    pub async fn control(&self, peer: Peer, message: Message) -> Option<Shutdown> {
        self.status("busy", &message.header).await;
        let ends = message.header.msg_type == "shutdown_request";
        let content = self.control_content(&message).await;
        if let (true, Some(content)) = (ends, &content) {
            self.send(Destination::Iopub, "shutdown_reply", &message.header, content).await;
        }
        self.reply(Destination::Control(peer), &message.header, content.clone()).await;
        self.status("idle", &message.header).await;
        ends.then(|| Shutdown { restart: content.is_some_and(|content| content["restart"] == true) })
    }

    async fn control_content(&self, message: &Message) -> Option<Value> {
        let content = message.content();
        match message.header.msg_type.as_str() {
            "kernel_info_request" => Some(kernel_info::content()),
            "shutdown_request" => Some(json!({"status": "ok", "restart": content["restart"] == true})),
            "interrupt_request" => {
                self.interrupt().await;
                Some(json!({"status": "ok"}))
            }
            "debug_request" => Some(json!({
                "type": "response",
                "request_seq": content["seq"],
                "success": false,
                "command": content["command"],
                "message": "this kernel has no debugger",
                "body": {},
            })),
            kind => unknown(kind),
        }
    }

    /// Takes a message on the stdin channel: the answer to the question that a cell waits for.
    pub fn stdin(&self, message: &Message) {
        if message.header.msg_type != "input_reply" {
            return;
        }
        if let Some(question) = self.inner.question.lock().take() {
            let reply = match &message.content()["value"] {
                Value::String(line) => InputReply::Line(line.clone()),
                _ => InputReply::End,
            };
            // The code may have stopped waiting.
            let _ = question.send(reply);
        }
    }

    /// Interrupts the running cell.
    pub async fn interrupt(&self) {
        if let Some(session) = self.session_id()
            && let Err(error) = self.inner.sessions.interrupt(&self.inner.principal, &session).await
        {
            tracing::warn!(%error, "the cell cannot be interrupted");
        }
    }

    /// Says that a request was not answered because a cell before it failed.
    pub async fn abort(&self, peer: Peer, message: &Message) {
        self.status("busy", &message.header).await;
        self.reply(Destination::Shell(peer), &message.header, Some(json!({"status": "aborted"}))).await;
        self.status("idle", &message.header).await;
    }

    /// Takes the place of the answer to the question that a cell waits for, when nobody can answer any more.
    pub fn end_question(&self) {
        if let Some(question) = self.inner.question.lock().take() {
            // The code may have stopped waiting.
            let _ = question.send(InputReply::End);
        }
    }

    /// Says that the kernel starts.
    pub async fn starting(&self) {
        self.announce("starting").await;
    }

    /// Says on iopub that the kernel is in a state, beside all requests: `starting`, `restarting` or `dead`.
    pub async fn announce(&self, state: &str) {
        self.status(state, &Header::default()).await;
    }

    /// Welcomes a frontend that has subscribed to a topic (JEP 65). Returns the message for that frontend alone.
    pub fn welcome(&self, topic: &str) -> Message {
        Message::new("iopub_welcome", &self.inner.id, &Header::default(), &json!({"subscription": topic}))
    }

    /// Ends the kernel: its running cell is killed. A session that was made for it is removed.
    pub async fn end(&self) {
        let Inner { sessions, principal, checkpoints, .. } = &*self.inner;
        checkpoints.clear(sessions, principal).await;
        if let Some(session) = self.session_id()
            && self.inner.wanted == KernelSession::New
        {
            checkpoints::remove(sessions, principal, &session).await;
        }
    }

    /// Does what a cell wishes for ([`Wish`]). Returns the name of the checkpoint, which the cell reads from its metadata.
    async fn meet(&self, wish: Wish) -> Result<String, CheckpointError> {
        let Inner { sessions, principal, checkpoints, wanted, .. } = &*self.inner;
        if *wanted != KernelSession::New {
            return Err(CheckpointError::Existing);
        }
        let present = self.session().await?;
        match wish {
            Wish::Keep(name) => checkpoints.keep(sessions, principal, &present, &name).await.map(|()| name),
            Wish::Return(name) => {
                let (session, name) = checkpoints.resume(sessions, principal, name.as_deref()).await?;
                *self.inner.session.lock() = Some(session);
                checkpoints::remove(sessions, principal, &present).await;
                Ok(name)
            }
        }
    }

    /// Serves a request in the session; its code may ask for input if `asks`. Returns the content of its reply.
    async fn run(&self, peer: &Peer, message: &Message, asks: bool) -> Value {
        let content = message.content();
        let mut metadata = parsed_object(message.metadata.get().as_bytes()).unwrap_or_else(|| json!({}));
        let is_cell = message.header.msg_type == "execute_request";
        if let Some(wish) = content["code"].as_str().filter(|_| is_cell).and_then(Wish::of) {
            match self.meet(wish).await {
                Ok(name) => metadata[CHECKPOINT] = name.into(),
                Err(error) => return self.failed(&error.to_string(), SANDBOX_ERROR, message).await,
            }
        }
        let session = match self.session().await {
            Ok(session) => session,
            Err(error) => return self.failed(&error.to_string(), SANDBOX_ERROR, message).await,
        };
        let frontend_request = FrontendRequest {
            metadata,
            buffers: message.buffers.iter().map(|buffer| BASE64_STANDARD.encode(buffer)).collect(),
            comms: self.inner.policy == OutputPolicy::Active,
            ..FrontendRequest::new(&message.header.msg_type, content, &message.header)
        };
        let request = Request::frontend(&session, &frontend_request)
            .with_principal(&self.inner.principal)
            .with_input_requests(asks.then(|| self.input_channel(peer.clone(), message.header.clone())));
        let (sender, mut events) = mpsc::channel(EVENT_QUEUE);
        let cancel = CancellationToken::new();
        let running = self.inner.sessions.execute_to(request, &cancel, sender);
        let forwarding = async {
            while let Some(event) = events.recv().await {
                self.forward(event, &mut events, &message.header).await;
            }
        };
        let (ran, ()) = tokio::join!(running, forwarding);
        *self.inner.question.lock() = None;
        *self.inner.stopped.lock() = match &ran {
            Ok(report) => report.run.stopped,
            Err(SessionError::Interrupted) => Some(StopReason::Cancelled),
            Err(_) => None,
        };
        match ran {
            Ok(report) => self.content_of(report, message).await,
            Err(SessionError::Interrupted) => {
                self.failed("the cell was interrupted", "KeyboardInterrupt", message).await
            }
            Err(error) => self.failed(&error.to_string(), SANDBOX_ERROR, message).await,
        }
    }

    /// Returns the content of the reply that the session gave; of an error, if its interpreter ended instead.
    async fn content_of(&self, report: CellReport, message: &Message) -> Value {
        match report.run.value.as_ref().and_then(|value| parsed_object(value.json.as_bytes())) {
            Some(reply) => {
                if let (Some(StopReason::TimeLimit | StopReason::CpuLimit), Some(reason)) =
                    (report.run.stopped, report.run.error)
                {
                    let content = json!({"name": "stderr", "text": format!("{reason}\n")});
                    self.send(Destination::Iopub, "stream", &message.header, &content).await;
                }
                self.inner.policy.reply(reply)
            }
            None => {
                let name = match report.run.stopped {
                    Some(StopReason::Cancelled) => "KeyboardInterrupt",
                    _ => SANDBOX_ERROR,
                };
                let reason = report.run.error.unwrap_or_else(|| "the interpreter sent no reply".to_owned());
                self.failed(&reason, name, message).await
            }
        }
    }

    /// Returns the content of the reply to a request that failed outside of its code. Frontends see the error of a cell.
    async fn failed(&self, reason: &str, name: &str, message: &Message) -> Value {
        let error = json!({"ename": name, "evalue": reason, "traceback": [format!("{name}: {reason}")]});
        if message.header.msg_type == "execute_request" {
            self.send(Destination::Iopub, "error", &message.header, &error).await;
        }
        let mut reply = json!({"status": "error", "user_expressions": {}, "payload": [], "execution_count": 0});
        if let (Value::Object(reply), Value::Object(error)) = (&mut reply, error) {
            reply.extend(error);
        }
        reply
    }

    /// Sends an event of a cell to the frontends. Texts of one stream that wait become one message.
    async fn forward(&self, event: RunEvent, events: &mut mpsc::Receiver<RunEvent>, parent: &Header) {
        let mut next = Some(event);
        while let Some(event) = next.take() {
            match event {
                RunEvent::Output { name, mut text } => {
                    while let Ok(event) = events.try_recv() {
                        match event {
                            RunEvent::Output { name: more, text: rest } if more == name => text.push_str(&rest),
                            other => {
                                next = Some(other);
                                break;
                            }
                        }
                    }
                    let name = match name {
                        StreamName::Stdout => "stdout",
                        StreamName::Stderr => "stderr",
                    };
                    let text = self.inner.policy.text(text);
                    self.send(Destination::Iopub, "stream", parent, &json!({"name": name, "text": text})).await;
                }
                RunEvent::Frontend(message) => self.forward_message(message, parent).await,
                _ => {}
            }
        }
    }

    /// Sends a message of the guest to the frontends. One that is no JSON harms nobody but the guest.
    async fn forward_message(&self, message: FrontendMessage, parent: &Header) {
        let (content, metadata) = (parsed_object(message.content.as_bytes()), object(message.metadata.as_bytes()));
        let (Some(content), Some(metadata)) = (content, metadata) else {
            tracing::debug!(kind = message.kind.as_str(), "a message of the guest is no JSON object");
            return;
        };
        let Some(content) = self.inner.policy.content(message.kind, content) else { return };
        let mut sent = Message::new(message.kind.as_str(), &self.inner.id, parent, &content);
        sent.metadata = metadata;
        sent.buffers = message.buffers.into_iter().map(Bytes::from).collect();
        self.inner.frontends.send(Destination::Iopub, sent).await;
    }

    /// Returns the channel that asks the frontend for input.
    fn input_channel(&self, peer: Peer, parent: Header) -> InputRequests {
        let (sender, mut receiver) = input_requests();
        let kernel = self.clone();
        tokio::spawn(async move {
            while let Some(InputRequest { prompt, password, reply, .. }) = receiver.recv().await {
                *kernel.inner.question.lock() = Some(reply);
                let content = json!({"prompt": prompt, "password": password});
                kernel.send(Destination::Stdin(peer.clone()), "input_request", &parent, &content).await;
            }
        });
        sender
    }

    async fn status(&self, state: &str, parent: &Header) {
        self.send(Destination::Iopub, "status", parent, &json!({"execution_state": state})).await;
    }

    /// Sends the reply to a request, if it has one.
    async fn reply(&self, to: Destination, request: &Header, content: Option<Value>) {
        if let Some(content) = content {
            let kind = request.msg_type.strip_suffix("_request").unwrap_or(&request.msg_type);
            self.send(to, &format!("{kind}_reply"), request, &content).await;
        }
    }

    async fn send(&self, to: Destination, kind: &str, parent: &Header, content: &Value) {
        self.inner.frontends.send(to, Message::new(kind, &self.inner.id, parent, content)).await;
    }
}

/// Returns the content of the reply to a request that this kernel does not know.
fn unknown(kind: &str) -> Option<Value> {
    kind.ends_with("_request").then(|| {
        let reason = format!("this kernel does not answer {kind}");
        json!({"status": "error", "ename": "NotImplementedError", "evalue": reason, "traceback": []})
    })
}
