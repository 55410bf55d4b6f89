//! Lines in, bytes out: the two directions of a stream, bounded.

use std::io;

use brumate_json::{Envelope, Envelopes};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

/// Longest line, in bytes.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;
/// Bytes that may wait to be written to one side before the other side is read no further.
const MAX_WAITING_BYTES: usize = 16 << 20;
/// Memory that an empty queue keeps, in bytes.
const KEPT_BYTES: usize = 64 << 10;

/// A line of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The line without its end.
    Whole(Vec<u8>),
    /// A line was longer than [`MAX_LINE_BYTES`]. It was skipped, but for what its messages are.
    TooLong(Vec<Envelope>),
}

/// Reads lines. Nothing is lost when the future of [`LineReader::next`] is dropped.
pub(super) struct LineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Known parts of the messages of a line that is too long, while its rest is skipped.
    skipping: Option<Envelopes>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: BufReader<R>) -> Self {
        Self { reader, line: Vec::new(), skipping: None }
    }

    /// Returns the next line that is not blank. `None` at the end; the last line may lack its end.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                self.skipping = None;
                let rest = std::mem::take(&mut self.line);
                return Ok((!rest.trim_ascii().is_empty()).then_some(Line::Whole(rest)));
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let used = part.len() + usize::from(end.is_some());
            if self.skipping.is_none() && self.line.len() + part.len() > MAX_LINE_BYTES {
                let mut envelopes = Envelopes::default();
                envelopes.feed(&std::mem::take(&mut self.line));
                self.skipping = Some(envelopes);
            }
            match &mut self.skipping {
                Some(envelopes) => envelopes.feed(part),
                None => self.line.extend_from_slice(part),
            }
            self.reader.consume(used);
            if end.is_some()
                && let Some(envelopes) = self.skipping.take()
            {
                return Ok(Some(Line::TooLong(envelopes.finish())));
            }
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                if !line.trim_ascii().is_empty() {
                    return Ok(Some(Line::Whole(line)));
                }
            }
        }
    }
}

/// Bytes that wait to be written to a stream.
#[derive(Debug, Default)]
pub(super) struct OutputQueue {
    bytes: Vec<u8>,
    written: usize,
}

impl OutputQueue {
    /// Adds a line.
    pub(super) fn push(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
    }

    /// Returns whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// Returns whether no more lines should be added for now.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() - self.written >= MAX_WAITING_BYTES
    }

    /// Drops what waits.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Writes what the stream takes now. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    ///
    /// The system's error; [`io::ErrorKind::WriteZero`] if the stream takes nothing any more.
    pub(super) async fn write_to(&mut self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let count = stream.write(&self.bytes[self.written..]).await?;
        if count == 0 && !self.is_empty() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.written += count;
        if self.is_empty() {
            self.written = 0;
            // A long message does not keep its memory.
            if self.bytes.capacity() > KEPT_BYTES {
                self.bytes = Vec::new();
            }
            self.bytes.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8]) -> Vec<Line> {
        let mut reader = LineReader::new(BufReader::new(text));
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn lines_come_without_their_ends() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(lines(b"").await, []);
        assert_eq!(lines(b"a\n\n  \r\nb\r\nc").await, [whole("a"), whole("b\r"), whole("c")]);
    }

    #[tokio::test]
    async fn long_lines_are_skipped() {
        let longest = vec![b'x'; MAX_LINE_BYTES];
        let mut text = longest.clone();
        text.extend_from_slice(b"\n");
        text.extend_from_slice(&longest);
        text.extend_from_slice(b"x\nafter\n");
        let found = lines(&text).await;
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], Line::Whole(longest));
        assert_eq!(found[1..], [Line::TooLong(Vec::new()), Line::Whole(b"after".to_vec())]);
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the test wrote a few bytes")]
    async fn what_waits_is_written_in_order() {
        let mut queue = OutputQueue::default();
        let (mut stream, mut other) = tokio::io::duplex(5);
        queue.push(b"hello");
        queue.push(b"world");
        let mut read = Vec::new();
        let reading = tokio::io::AsyncReadExt::read_to_end(&mut other, &mut read);
        let writing = async {
            while !queue.is_empty() {
                queue.write_to(&mut stream).await.unwrap();
            }
            drop(stream);
        };
        assert_eq!(tokio::join!(reading, writing).0.unwrap(), 12);
        assert_eq!(read, b"hello\nworld\n");
        assert!(!queue.is_full());
        queue.push(&vec![b'x'; MAX_WAITING_BYTES]);
        assert!(queue.is_full());
        queue.clear();
        assert!(queue.is_empty());
    }
}
