//! Messages as lines over two streams.

use super::answers::{fail_all, read, too_long};
use crate::bounded_lines::{BoundedLines, Line, MAX_LINE_BYTES};
use crate::exact_arguments::to_json;
use brumate_json::Envelopes;
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;

/// A connection to a server over two streams, with a line for each message.
pub(super) struct LineTransport<R, W> {
    input: BoundedLines<R>,
    received: VecDeque<ServerJsonRpcMessage>,
    /// `None` after closing.
    output: Arc<Mutex<Option<W>>>,
}

impl<R: AsyncRead + Unpin, W> LineTransport<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self { input: BoundedLines::new(input), received: VecDeque::new(), output: Arc::new(Mutex::new(Some(output))) }
    }

    /// Reads until `received` has a message. Returns `false` at the end of the input. Cancel safe.
    async fn fill(&mut self) -> io::Result<bool> {
        while self.received.is_empty() {
            match self.input.next().await? {
                Some(Line::Whole(line)) => self.received.extend(messages(&line)),
                Some(Line::TooLong(envelopes)) => {
                    self.received.extend(fail_all(envelopes, &too_long(MAX_LINE_BYTES)));
                }
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

/// Reads the message of a line, or the messages of a batch. A batch that is no JSON fails its calls.
fn messages(line: &[u8]) -> Vec<ServerJsonRpcMessage> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    if !line.starts_with(b"[") {
        return read(line).into_iter().collect();
    }
    // Bytes that are not UTF-8 become U+FFFD.
    let text = String::from_utf8_lossy(line);
    match serde_json::from_str::<Vec<&RawValue>>(&text) {
        Ok(batch) => batch.into_iter().filter_map(|message| read(message.get().as_bytes())).collect(),
        Err(error) => {
            let reason = format!("the server's messages cannot be parsed: {error}");
            fail_all(Envelopes::read(text.as_bytes()), &reason)
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_answer_of_a_batch_is_lost() {
        let answer = |id: usize, text: &[u8]| {
            let start = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"x\":\"");
            [start.as_bytes(), text, b"\"}}"].concat()
        };
        let batch = |texts: &[&[u8]]| {
            let answers: Vec<_> = texts.iter().enumerate().map(|(id, text)| answer(id, text)).collect();
            messages(&[b"[", &answers.join(&b","[..])[..], b"]\n"].concat())
        };
        let is_response = |message: &ServerJsonRpcMessage| matches!(message, ServerJsonRpcMessage::Response(_));
        // Bad UTF-8 is U+FFFD.
        let read = batch(&[b"a", b"\xff"]);
        assert!(read.len() == 2 && read.iter().all(is_response), "{read:?}");
        let read = batch(&[b"a", b"\0", b"c"]);
        assert!(read.len() == 3 && !read.iter().any(is_response), "{read:?}");
        assert_eq!(batch(&[&b"a"[..]; 1000]).len(), 1000);
    }
}
