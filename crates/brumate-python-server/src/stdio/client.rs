//! The messages of the client.

use brumate_json::{Envelope, Envelopes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::answers::{self, StopCause};
use super::envelope::{self, EnvelopeError, Message};
use super::lines::Line;
use super::requests::OpenRequest;
use super::supervisor::Supervisor;

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Supervisor<'_, R, W> {
    /// Passes a line of the client on. What is no message is answered.
    pub(super) async fn handle_client_line(&mut self, line: Line, shutdown: &CancellationToken) {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(envelopes) => {
                return self.refuse(&envelopes, &EnvelopeError::Invalid("the message is longer than 16 MiB"));
            }
        };
        // Servers read no text that is no Unicode.
        let text = String::from_utf8_lossy(&line);
        let text = brumate_json::mend_strings(&text);
        match envelope::split(text.as_bytes()) {
            Err(error) => self.refuse(&Envelopes::read(text.as_bytes()), &error),
            Ok(messages) => {
                for message in messages {
                    self.handle_client_message(message, shutdown).await;
                }
            }
        }
    }

    /// Answers the requests among messages that are refused; what has no id, once.
    fn refuse(&mut self, envelopes: &[Envelope], error: &EnvelopeError) {
        let ids: Vec<&str> = envelopes
            .iter()
            .filter(|envelope| envelope.is_request())
            .filter_map(|envelope| envelope.id.as_deref())
            .collect();
        for id in ids.iter().copied() {
            self.tell_client(answers::invalid(Some(id), error).as_bytes());
        }
        if ids.is_empty() && !envelopes.iter().any(Envelope::is_notification) {
            self.tell_client(answers::invalid(None, error).as_bytes());
        }
    }

    async fn handle_client_message(&mut self, text: &[u8], shutdown: &CancellationToken) {
        let message = match envelope::parse(text) {
            Ok(message) => message,
            Err(error) => return self.refuse(&Envelopes::read(text), &error),
        };
        let mut rewritten = None;
        match message {
            Message::Request { id, method } => {
                // Servers know integers: `1.0` is written as `1`.
                rewritten = id.plain().and_then(|plain| envelope::with_id(text, &plain));
                let text = rewritten.as_deref().unwrap_or(text);
                let request = OpenRequest { is_tool_call: method == "tools/call" };
                if method == "initialize" {
                    self.initialize = Some((id.clone(), text.to_vec()));
                }
                let is_initialize = method == "initialize";
                // The rest of a batch does not start a server that is given up.
                if self.machine.is_none() && self.given_up.is_none() {
                    self.start_for(is_initialize, shutdown).await;
                }
                if self.machine.is_none() {
                    let reason = "The server cannot be started; its log says why.";
                    let answer = answers::stopped(&id, &request, StopCause::MachineEnd, reason);
                    return self.tell_client(answer.as_bytes());
                }
                if let Err(refusal) = self.requests.begin(id.clone(), request) {
                    return self.tell_client(answers::refused(&id, refusal).as_bytes());
                }
            }
            Message::Notification { method, cancelled } => {
                if method == "notifications/initialized" {
                    self.initialized = Some(text.to_vec());
                }
                if let Some(id) = cancelled {
                    self.requests.cancelled(&id);
                    self.send(text);
                    // A tool that keeps the loop busy sees no message. Whatever is busy now belongs to no open request.
                    if !self.requests.any_open() {
                        self.probe();
                    }
                    return;
                }
            }
            // An answer that nobody waits for is dropped. The server gets its id as it has written it.
            Message::Response { id } => {
                let Some(own) = id.and_then(|id| self.requests.end_of_server(&id)) else { return };
                rewritten = envelope::with_id(text, &own);
            }
        }
        self.send(rewritten.as_deref().unwrap_or(text));
    }

    /// Starts a new machine for a message of the client. A client's own `initialize` takes the place of the one before.
    async fn start_for(&mut self, is_initialize: bool, shutdown: &CancellationToken) {
        let before = if is_initialize { self.initialize.take() } else { None };
        self.restart(shutdown).await;
        if is_initialize {
            self.initialize = before;
        }
    }

    /// Sends a message to the machine. Without a machine it is dropped: only requests start one.
    fn send(&mut self, text: &[u8]) {
        if let Some(machine) = &mut self.machine {
            machine.send(text);
        }
    }
}
