//! The stdio transport: one JSON-RPC message per line.
//!
//! It counts the unanswered requests. At the end of the input they have time to end, and their answers are still sent.
//! rmcp itself would drop answers that take longer than five seconds.

use super::in_flight::{InFlight, MAX_IN_FLIGHT, RejectReason};
use super::line::{ParsedLine, parse_line, too_long};
use super::response_budget::ResponseBudget;
use crate::bounded_lines::{BoundedLines, Line, MAX_LINE_BYTES};
use crate::http::DrainSignal;
use crate::http::rpc_errors::{duplicate_id_error, not_sent, too_many_requests_error};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions as _, GetMeta, JsonRpcError, JsonRpcMessage,
    ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// Longest line that is written, in bytes. As over HTTP, it has room for a resource of 32 MiB in base64.
const MAX_OUTPUT_BYTES: usize = 48 << 20;
/// Most invalid lines without an id that are answered with an error. Without it, a peer that echoes its input would cause an
/// endless exchange.
const MAX_ERROR_ANSWERS: usize = 1000;
/// Most error answers that wait to be written. Nothing is read until one of them is written.
const MAX_WAITING_ERROR_ANSWERS: usize = 64;
/// Longest wait until one of so many error answers is written. A client that reads none of them meanwhile is gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// A line-based transport over two byte streams.
pub(super) struct LineTransport<R, W> {
    input: BoundedLines<R>,
    received: VecDeque<ParsedLine>,
    output: Arc<OutputStream<W>>,
    in_flight: Arc<InFlight>,
    budget: ResponseBudget,
    /// Whether the client has opened an MCP session. Before that, rmcp ends the connection at any message but a
    /// request.
    opened: bool,
    error_answers_left: usize,
    error_answers: JoinSet<()>,
    drain_phase: Option<DrainPhase>,
    drain_timeout: Duration,
    interrupt: CancellationToken,
    grace: Duration,
}

/// The output. Tasks that write share it.
struct OutputStream<W> {
    /// `None` after closing.
    stream: Mutex<Option<W>>,
    /// Cancelled when writing failed: the client no longer reads.
    broken: CancellationToken,
}

/// The phase of a connection after the end of the input.
#[derive(Clone, Copy)]
enum DrainPhase {
    /// Running requests may end by themselves until this time.
    Draining(Instant),
    /// Running requests were cancelled, and may answer until this time.
    Stopping(Instant),
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Makes a transport. `interrupt` is cancelled when requests still run `drain_timeout` after the end of the input. They
    /// have `grace` to answer then.
    pub(super) fn new(
        input: R,
        output: W,
        drain_timeout: Duration,
        interrupt: CancellationToken,
        grace: Duration,
    ) -> Self {
        let output = OutputStream { stream: Mutex::new(Some(output)), broken: CancellationToken::new() };
        Self {
            input: BoundedLines::new(input),
            received: VecDeque::new(),
            output: Arc::new(output),
            in_flight: Arc::default(),
            budget: ResponseBudget::default(),
            opened: false,
            error_answers_left: MAX_ERROR_ANSWERS,
            error_answers: JoinSet::new(),
            drain_phase: None,
            drain_timeout,
            interrupt,
            grace,
        }
    }

    /// Reads until `received` has a message. Returns `false` at the end of the input. Cancel safe.
    async fn read(&mut self) -> io::Result<bool> {
        while self.received.is_empty() {
            match self.input.next().await? {
                Some(Line::Whole(line)) => self.received.extend(parse_line(&line)),
                Some(Line::TooLong(envelopes)) => self.received.extend(too_long(envelopes, MAX_LINE_BYTES)),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns the next message for the server. Invalid lines and rejected requests are answered here, until there are too many answers
    /// that wait.
    fn take_received(&mut self) -> Option<ClientJsonRpcMessage> {
        while !self.too_many_answers_wait()
            && let Some(parsed) = self.received.pop_front()
        {
            match parsed {
                ParsedLine::Message(mut message) => match self.accept(&mut message) {
                    Ok(true) => return Some(*message),
                    Ok(false) => {}
                    Err(answer) => self.send_error(serde_json::to_vec(&answer).unwrap_or_default()),
                },
                ParsedLine::Invalid(answer) if answer.has_id() => self.send_error(answer.to_json().into_bytes()),
                ParsedLine::Invalid(answer) if self.error_answers_left > 0 => {
                    self.error_answers_left -= 1;
                    self.send_error(answer.to_json().into_bytes());
                }
                ParsedLine::Invalid(_) => {}
            }
        }
        None
    }

    fn too_many_answers_wait(&mut self) -> bool {
        while self.error_answers.try_join_next().is_some() {}
        self.error_answers.len() >= MAX_WAITING_ERROR_ANSWERS
    }

    /// Sends an error answer, in a task.
    fn send_error(&mut self, answer: Vec<u8>) {
        let output = Arc::clone(&self.output);
        // `receive` may be dropped at any time, and must not leave half a line in the output.
        self.error_answers.spawn(async move {
            let _ = output.write_line(answer).await;
        });
    }

    /// Counts a message. Returns whether it goes to the server.
    ///
    /// # Errors
    ///
    /// Returns the error answer to a request that is rejected.
    fn accept(&mut self, message: &mut ClientJsonRpcMessage) -> Result<bool, Box<ServerJsonRpcMessage>> {
        match message {
            JsonRpcMessage::Request(request) => {
                request.request.extensions_mut().insert(DrainSignal::new(self.interrupt.clone()));
                let room = self.budget.enter(request.request.extensions_mut());
                self.in_flight.begin(request.id.clone(), room).map_err(|reason| rejection(&request.id, reason))?;
                self.opened |= opens_session(&request.request);
                Ok(true)
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.in_flight.end(id);
                }
                Ok(self.opened)
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Ok(self.opened),
        }
    }

    /// Waits for running requests after the end of the input, cancels them after the drain timeout, and waits for their answers.
    async fn drain(&mut self) {
        loop {
            let end = Instant::now() + self.drain_timeout;
            let phase = *self.drain_phase.get_or_insert(DrainPhase::Draining(end));
            let (until, cancel) = match phase {
                DrainPhase::Draining(until) => (until, true),
                DrainPhase::Stopping(until) => (until, false),
            };
            tokio::select! {
                () = self.in_flight.idle() => return,
                () = self.output.broken.cancelled() => {
                    self.interrupt.cancel();
                    return;
                }
                () = sleep_until(until) => {
                    if !cancel {
                        return;
                    }
                    tracing::info!("the input ended; requests that still run are cancelled");
                    self.interrupt.cancel();
                    self.drain_phase = Some(DrainPhase::Stopping(Instant::now() + self.grace));
                }
            }
        }
    }
}

/// Returns the error answer to a request that is rejected.
fn rejection(id: &RequestId, reason: RejectReason) -> Box<ServerJsonRpcMessage> {
    Box::new(match reason {
        RejectReason::IdInUse => duplicate_id_error(id),
        RejectReason::TooMany => too_many_requests_error(id, MAX_IN_FLIGHT),
    })
}

/// Returns whether rmcp leaves its opening phase at this request. It answers other requests and stays in that phase.
fn opens_session(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let version = meta.protocol_version();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}

impl<W: AsyncWrite + Unpin> OutputStream<W> {
    /// Writes a message. An error takes the place of an answer that is too long. A notification that is too long is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if a request is too long, or if the client does not read any more.
    async fn write(&self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let line = serde_json::to_vec(message)?;
        if line.len() < MAX_OUTPUT_BYTES {
            return self.write_line(line).await;
        }
        let refused = format!(
            "it has {} bytes, and a message has at most {MAX_OUTPUT_BYTES} bytes: ask for less at a time",
            line.len()
        );
        drop(line);
        let id = match message {
            JsonRpcMessage::Response(response) => response.id.clone(),
            JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) => id.clone(),
            JsonRpcMessage::Request(_) => return Err(io::Error::new(io::ErrorKind::InvalidInput, refused)),
            JsonRpcMessage::Error(_) | JsonRpcMessage::Notification(_) => {
                tracing::warn!(reason = %refused, "a message to the client was dropped");
                return Ok(());
            }
        };
        tracing::warn!(reason = %refused, "an answer was replaced by an error");
        self.write_line(serde_json::to_vec(&not_sent(id, &refused))?).await
    }

    async fn write_line(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        let mut stream = self.stream.lock().await;
        let Some(stream) = stream.as_mut() else {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the transport is closed"));
        };
        let write = async {
            stream.write_all(&line).await?;
            stream.flush().await
        };
        let result = write.await;
        if result.is_err() {
            self.broken.cancel();
        }
        result
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, in_flight) = (Arc::clone(&self.output), Arc::clone(&self.in_flight));
        async move {
            let result = output.write(&message).await;
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            if let Some(id) = answered {
                in_flight.end(id);
            }
            result
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.take_received() {
                return Some(message);
            }
            let output = Arc::clone(&self.output);
            if !self.received.is_empty() {
                tokio::select! {
                    _ = self.error_answers.join_next() => continue,
                    () = output.broken.cancelled() => {
                        self.interrupt.cancel();
                        return None;
                    }
                    () = sleep(WRITE_TIMEOUT) => {
                        tracing::info!("the client does not read its answers");
                        output.broken.cancel();
                        self.interrupt.cancel();
                        return None;
                    }
                }
            }
            if self.drain_phase.is_some() {
                self.drain().await;
                let longest = self.grace.max(self.drain_timeout);
                let written = async { while self.error_answers.join_next().await.is_some() {} };
                // A client that does not read does not keep the connection open.
                let _ = timeout(longest, written).await;
                return None;
            }
            let read = tokio::select! {
                read = self.read() => read,
                () = output.broken.cancelled() => {
                    self.interrupt.cancel();
                    return None;
                }
            };
            match read {
                Ok(true) => {}
                Ok(false) => self.drain_phase = Some(DrainPhase::Draining(Instant::now() + self.drain_timeout)),
                Err(error) => {
                    tracing::error!(%error, "cannot read the input");
                    self.drain_phase = Some(DrainPhase::Draining(Instant::now() + self.drain_timeout));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.stream.lock().await.take();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends requests without a method, and reads no answer. Returns how long the transport waits.
    async fn unread(requests: usize) -> Duration {
        let lines: String = (0..requests).map(|id| format!("{{\"id\":{id}}}\n")).collect();
        let (output, _client) = tokio::io::duplex(1);
        let second = Duration::from_secs(1);
        let input = std::io::Cursor::new(lines.into_bytes());
        let mut transport = LineTransport::new(input, output, second, CancellationToken::new(), second);
        let begin = Instant::now();
        assert!(transport.receive().await.is_none());
        begin.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_no_error_answer_does_not_keep_the_connection() {
        assert!(unread(1).await < Duration::from_secs(2));
        let waited = unread(MAX_WAITING_ERROR_ANSWERS + 1).await;
        assert!(waited >= WRITE_TIMEOUT && waited < WRITE_TIMEOUT + Duration::from_secs(2), "{waited:?}");
    }
}
