//! Lines of a bounded length, which is how messages come over two streams.

use brumate_json::{Envelope, Envelopes};
use std::io;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Longest line of a peer, in bytes. A longer one is skipped, and its messages are answered with an error or fail their calls.
pub(crate) const MAX_LINE_BYTES: usize = 16 << 20;

/// A line of the input.
pub(crate) enum Line {
    /// The line, with its line feed if it has one.
    Whole(Vec<u8>),
    /// The messages of a line that is longer than [`MAX_LINE_BYTES`], as far as they are known.
    TooLong(Vec<Envelope>),
}

/// Reads lines of at most [`MAX_LINE_BYTES`].
pub(crate) struct BoundedLines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Messages of a line that is too long, while its rest is skipped.
    skipping: Option<Envelopes>,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input: BufReader::new(input), line: Vec::new(), skipping: None }
    }

    /// Returns the next line; `None` at the end of the input. The last line need not end with a line feed.
    ///
    /// Cancel safe: no `await` lies between taking bytes from the input and keeping them.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                let is_empty = self.line.is_empty() && self.skipping.is_none();
                return Ok((!is_empty).then(|| self.take()));
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
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        self.skipping.take().map_or(Line::Whole(line), |envelopes| Line::TooLong(envelopes.finish()))
    }
}
