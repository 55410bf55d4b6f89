//! Messages as lines over two streams.

use super::answers::{read, too_long};
use crate::exact_arguments::to_json;
use brumate_json::{Envelopes, MAX_ENVELOPES};
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

/// Longest line of a server, in bytes. A longer one fails the call that it answers.
const MAX_LINE_BYTES: usize = 16 << 20;

/// A connection to a server over two streams, with a line for each message.
pub(super) struct LineTransport<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// What is known of the messages of a line that is too long, while its rest is skipped.
    skipping: Option<Envelopes>,
    received: VecDeque<ServerJsonRpcMessage>,
    /// `None` after closing.
    output: Arc<Mutex<Option<W>>>,
}

impl<R: AsyncRead + Unpin, W> LineTransport<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            skipping: None,
            received: VecDeque::new(),
            output: Arc::new(Mutex::new(Some(output))),
        }
    }

    /// Reads until `received` has a message. Returns `false` at the end of the input.
    ///
    /// Cancel safe: no `await` lies between taking bytes from the input and keeping them.
    async fn fill(&mut self) -> io::Result<bool> {
        while self.received.is_empty() {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                self.end_line();
                return Ok(!self.received.is_empty());
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let length = newline.map_or(available.len(), |index| index + 1);
            if self.skipping.is_none() && self.line.len() + length > MAX_LINE_BYTES {
                let mut envelopes = Envelopes::default();
                envelopes.feed(&std::mem::take(&mut self.line));
                self.skipping = Some(envelopes);
            }
            match &mut self.skipping {
                Some(envelopes) => envelopes.feed(&available[..length]),
                None => self.line.extend_from_slice(&available[..length]),
            }
            self.input.consume(length);
            if newline.is_some() {
                self.end_line();
            }
        }
        Ok(true)
    }

    /// Takes the line that has ended.
    fn end_line(&mut self) {
        if let Some(envelopes) = self.skipping.take() {
            self.received.extend(too_long(envelopes, MAX_LINE_BYTES));
        } else {
            let line = self.line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&self.line).trim_ascii();
            let batch = line.starts_with(b"[").then(|| serde_json::from_slice::<Vec<&RawValue>>(line).ok()).flatten();
            match batch {
                Some(batch) => {
                    let messages = batch.into_iter().take(MAX_ENVELOPES);
                    self.received.extend(messages.filter_map(|message| read(message.get().as_bytes())));
                }
                None => self.received.extend(read(line)),
            }
        }
        self.line.clear();
        self.line.shrink_to(64 << 10);
    }
}

impl<R, W> Transport<RoleClient> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let mut line = to_json(&item)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            let Some(output) = output.as_mut() else {
                return Err(io::Error::new(io::ErrorKind::NotConnected, "the connection is closed"));
            };
            output.write_all(&line).await?;
            output.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        match self.fill().await {
            Ok(true) => self.received.pop_front(),
            Ok(false) => None,
            Err(error) => {
                tracing::debug!(%error, "cannot read the server's messages");
                None
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.take();
        Ok(())
    }
}
