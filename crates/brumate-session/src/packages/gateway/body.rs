//! Bodies of answers: texts, and files that arrive while they are sent.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use brumate_packages::index::{DownloadSink, IndexError};
use futures::stream;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Frame};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::session::GatewaySession;
use super::{TAKE_RATE, TAKE_TIMEOUT};

/// Pieces of a file that wait until the code takes them.
const MAX_WAITING: usize = 8;
/// Longest piece, in bytes.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// Body of an answer.
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Returns a body of these bytes.
pub(super) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Receiver of a download or a text: passes it to a connection.
pub(super) struct Passing {
    session: Arc<GatewaySession>,
    pieces: mpsc::Sender<Bytes>,
    /// Bytes that were taken from the source.
    bytes: u64,
    /// Time that the download has waited for the code.
    waited: Duration,
}

/// File or text that a task passes on. The task ends when this is dropped.
pub(super) struct Download {
    session: Arc<GatewaySession>,
    pieces: mpsc::Receiver<Bytes>,
    task: AbortOnDropHandle<Result<(), IndexError>>,
}

impl Passing {
    pub(super) fn new(session: Arc<GatewaySession>) -> (Self, mpsc::Receiver<Bytes>) {
        let (pieces, received) = mpsc::channel(MAX_WAITING);
        (Self { session, pieces, bytes: 0, waited: Duration::ZERO }, received)
    }

    /// Passes a text on, in pieces.
    ///
    /// # Errors
    ///
    /// The code does not read it.
    pub(super) async fn pass_all(&mut self, mut text: Bytes) -> Result<(), IndexError> {
        while !text.is_empty() {
            let piece = text.split_to(text.len().min(PIECE_BYTES));
            self.pass(piece).await?;
        }
        Ok(())
    }

    async fn pass(&mut self, piece: Bytes) -> Result<(), IndexError> {
        self.bytes += piece.len() as u64;
        let since = Instant::now();
        let sent = tokio::time::timeout(self.patience(), self.pieces.send(piece)).await;
        self.waited += since.elapsed();
        match sent {
            Ok(Ok(())) => Ok(()),
            _ => Err(stopped("the installer does not read it")),
        }
    }

    /// Returns the time that the download may go on waiting.
    fn patience(&self) -> Duration {
        (TAKE_TIMEOUT + Duration::from_secs(self.bytes / TAKE_RATE)).saturating_sub(self.waited)
    }
}

fn stopped(reason: &str) -> IndexError {
    IndexError::File { path: "the file".to_owned(), reason: reason.to_owned() }
}

#[async_trait]
impl DownloadSink for Passing {
    async fn begin(&mut self) -> Result<(), IndexError> {
        // The code has a part already.
        if self.bytes > 0 { Err(stopped("its source broke off")) } else { Ok(()) }
    }

    async fn take(&mut self, bytes: &[u8]) -> Result<(), IndexError> {
        for piece in bytes.chunks(PIECE_BYTES) {
            self.session.count_bytes(piece.len()).map_err(|error| stopped(&error.to_string()))?;
            self.pass(Bytes::copy_from_slice(piece)).await?;
        }
        Ok(())
    }
}

impl Download {
    /// Takes the task that passes the file on to `pieces`.
    pub(super) fn new(
        session: Arc<GatewaySession>,
        pieces: mpsc::Receiver<Bytes>,
        task: AbortOnDropHandle<Result<(), IndexError>>,
    ) -> Self {
        Self { session, pieces, task }
    }

    /// Waits for the first bytes, and returns the file as a body.
    ///
    /// # Errors
    ///
    /// The download's, if it fails before it has any bytes.
    pub(super) async fn body(mut self) -> Result<Body, IndexError> {
        let first = match self.pieces.recv().await {
            Some(first) => first,
            None => {
                self.finished().await?;
                return Ok(whole(Bytes::new()));
            }
        };
        let pieces = stream::unfold((Some(first), Some(self)), |(first, download)| async move {
            let mut download = download?;
            if let Some(first) = first {
                return Some((Ok(Frame::data(first)), (None, Some(download))));
            }
            match download.pieces.recv().await {
                Some(piece) => Some((Ok(Frame::data(piece)), (None, Some(download)))),
                // A file that is not whole ends as an error: the connection is closed.
                None => match download.finished().await {
                    Ok(()) => None,
                    Err(error) => {
                        download.session.note(&error.to_string());
                        Some((Err(io::Error::other(error)), (None, None)))
                    }
                },
            }
        });
        Ok(StreamBody::new(Box::pin(pieces)).boxed_unsync())
    }

    async fn finished(&mut self) -> Result<(), IndexError> {
        (&mut self.task).await.map_err(|error| stopped(&error.to_string()))?
    }
}
