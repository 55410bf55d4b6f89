//! The stdio transport: one JSON-RPC message per line.
//!
//! Beside reading and writing it knows which requests are not answered yet, so that the end of the input lets them
//! end in order: rmcp would drop the answers of all that take longer than its fixed five seconds.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use brumate_mcp::lowlevel::{self, ResponseBudget};
use brumate_session::CancellationToken;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions as _, GetMeta, JsonRpcMessage,
    ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::inflight::{InFlight, MAX_IN_FLIGHT, NotBegun};
use crate::wire::{Parsed, parse_line, too_long};

/// Longest line that is read: room for the longest code that is run, with every byte escaped.
const MAX_LINE_BYTES: usize = 16 << 20;
/// How many lines that are no messages are answered. A peer that echoes what it gets must not keep us busy for ever.
const MAX_REFUSALS: usize = 1000;
/// Refusals that wait to be written. A client that does not read misses those beyond.
const MAX_WAITING_REFUSALS: usize = 64;
/// After the end of the input, calls may take this long to end on their own.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);

/// A line-based transport over two byte streams.
pub(crate) struct LineTransport<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// The rest of a line that is too long is being skipped.
    skipping: bool,
    received: VecDeque<Parsed>,
    output: Arc<Output<W>>,
    calls: Arc<InFlight>,
    budget: ResponseBudget,
    /// The client has begun a session; before that rmcp takes anything but a request as a reason to give up.
    opened: bool,
    refusals_left: usize,
    refusals: JoinSet<()>,
    ending: Option<Ending>,
    stop: CancellationToken,
    grace: Duration,
}

struct Output<W> {
    /// `None` after closing.
    stream: Mutex<Option<W>>,
    /// Cancelled when the client does not read any more.
    broken: CancellationToken,
}

/// How the connection winds up.
#[derive(Clone, Copy)]
enum Ending {
    /// Calls may end on their own until then.
    Draining(Instant),
    /// Calls were cancelled; their answers are waited for until then.
    Stopping(Instant),
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// A transport that cancels `stop` when calls outlive the input; these get `grace` to answer nevertheless.
    pub(crate) fn new(input: R, output: W, stop: CancellationToken, grace: Duration) -> Self {
        let output = Output { stream: Mutex::new(Some(output)), broken: CancellationToken::new() };
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            skipping: false,
            received: VecDeque::new(),
            output: Arc::new(output),
            calls: Arc::default(),
            budget: ResponseBudget::default(),
            opened: false,
            refusals_left: MAX_REFUSALS,
            refusals: JoinSet::new(),
            ending: None,
            stop,
            grace,
        }
    }

    /// Reads until there is something in `received`; `false` at the end of the input.
    ///
    /// Nothing is lost when the future is dropped: bytes are consumed and kept in one go.
    async fn read(&mut self) -> io::Result<bool> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                // A last line without an end is still a line.
                let line = std::mem::take(&mut self.line);
                self.received.extend(parse_line(&line));
                return Ok(!self.received.is_empty());
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let length = newline.map_or(available.len(), |index| index + 1);
            if !self.skipping && self.line.len() + length > MAX_LINE_BYTES {
                self.skipping = true;
                self.line = Vec::new();
                self.received.push_back(Parsed::Refused(Box::new(too_long(MAX_LINE_BYTES))));
            }
            if !self.skipping {
                self.line.extend_from_slice(&available[..length]);
            }
            self.input.consume(length);
            if newline.is_some() && !std::mem::take(&mut self.skipping) {
                self.received.extend(parse_line(&self.line));
                self.line.clear();
                // One long line must not hold its memory for the rest of the session.
                self.line.shrink_to(64 << 10);
            }
            if !self.received.is_empty() {
                return Ok(true);
            }
        }
    }

    /// The next message for the server; everything else is dealt with here.
    fn take_received(&mut self) -> Option<ClientJsonRpcMessage> {
        while let Some(parsed) = self.received.pop_front() {
            match parsed {
                Parsed::Message(mut message) => match self.accept(&mut message) {
                    Ok(true) => return Some(*message),
                    Ok(false) => {}
                    Err(answer) => self.refuse(answer),
                },
                Parsed::Refused(answer) if self.refusals_left > 0 => {
                    self.refusals_left -= 1;
                    self.refuse(answer);
                }
                Parsed::Refused(_) => {}
            }
        }
        None
    }

    /// Answers what is not passed on.
    fn refuse(&mut self, answer: Box<ServerJsonRpcMessage>) {
        while self.refusals.try_join_next().is_some() {}
        if self.refusals.len() >= MAX_WAITING_REFUSALS {
            return;
        }
        let output = Arc::clone(&self.output);
        // In a task, because `receive` may be dropped at any time and half a line must not be written. A client that does not read
        // is noticed by the output itself.
        self.refusals.spawn(async move {
            let _ = output.write(&answer).await;
        });
    }

    /// Takes note of a message; whether it is passed on.
    ///
    /// # Errors
    ///
    /// The answer to a request whose id is in use, or that is one too many.
    fn accept(&mut self, message: &mut ClientJsonRpcMessage) -> Result<bool, Box<ServerJsonRpcMessage>> {
        match message {
            JsonRpcMessage::Request(request) => {
                let room = self.budget.enter(request.request.extensions_mut());
                self.calls.begin(request.id.clone(), room).map_err(|reason| not_begun(&request.id, reason))?;
                self.opened |= opens_session(&request.request);
                Ok(true)
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.calls.end(id);
                }
                Ok(self.opened)
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Ok(self.opened),
        }
    }

    /// After the end of the input: waits for the calls, cancels them when they take too long, waits again.
    async fn wind_up(&mut self) {
        loop {
            let ending = *self.ending.get_or_insert_with(|| Ending::Draining(Instant::now() + DRAIN));
            let (until, cancel) = match ending {
                Ending::Draining(until) => (until, true),
                Ending::Stopping(until) => (until, false),
            };
            tokio::select! {
                () = self.calls.idle() => return,
                () = self.output.broken.cancelled() => {
                    self.stop.cancel();
                    return;
                }
                () = sleep_until(until) => {
                    if !cancel {
                        return;
                    }
                    tracing::info!("the input ended; calls that are still running are cancelled");
                    self.stop.cancel();
                    self.ending = Some(Ending::Stopping(Instant::now() + self.grace + Duration::from_secs(1)));
                }
            }
        }
    }
}

/// Answers a request that is not begun.
fn not_begun(id: &RequestId, reason: NotBegun) -> Box<ServerJsonRpcMessage> {
    Box::new(match reason {
        NotBegun::IdInUse => lowlevel::duplicate_id_error(id),
        NotBegun::TooMany => lowlevel::too_many_requests_error(id, MAX_IN_FLIGHT),
    })
}

/// Does rmcp leave its opening phase at this request? Others are answered, and the phase goes on.
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

impl<W: AsyncWrite + Unpin> Output<W> {
    async fn write(&self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut stream = self.stream.lock().await;
        let Some(stream) = stream.as_mut() else {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the transport is closed"));
        };
        let written = async {
            stream.write_all(&line).await?;
            stream.flush().await
        };
        let result = written.await;
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
        let (output, calls) = (Arc::clone(&self.output), Arc::clone(&self.calls));
        async move {
            let result = output.write(&message).await;
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            if let Some(id) = answered {
                calls.end(id);
            }
            result
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.take_received() {
                return Some(message);
            }
            if self.ending.is_some() {
                self.wind_up().await;
                while self.refusals.join_next().await.is_some() {}
                return None;
            }
            let output = Arc::clone(&self.output);
            let read = tokio::select! {
                read = self.read() => read,
                () = output.broken.cancelled() => {
                    self.stop.cancel();
                    return None;
                }
            };
            match read {
                Ok(true) => {}
                Ok(false) => self.ending = Some(Ending::Draining(Instant::now() + DRAIN)),
                Err(error) => {
                    tracing::error!(%error, "cannot read the input");
                    self.ending = Some(Ending::Draining(Instant::now() + DRAIN));
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.stream.lock().await.take();
        Ok(())
    }
}
