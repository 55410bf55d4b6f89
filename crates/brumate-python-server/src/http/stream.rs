//! One request on its way through a machine: what is to be sent to the guest, and what came from it.

use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use tokio::sync::oneshot;

use super::frames::{CREDIT, HostFrame, ProtocolError, StreamFrame};
use super::response_head::ResponseHead;

/// Longest piece of a body, in bytes.
pub(super) const PIECE: usize = 64 << 10;
/// The guest is told that it may send more when at least so many bytes were read.
const WINDOW_STEP: usize = CREDIT / 4;

/// The reason for which a request has no complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamFailure {
    /// The application failed.
    Application,
    /// The machine has ended.
    Machine,
    /// The request's body could not be read.
    RequestBody,
}

/// The part of a response that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseProgress {
    Awaited,
    Started,
    Complete,
    Failed(StreamFailure),
}

/// A request, from OPEN to CLOSED.
#[derive(Debug)]
pub(super) struct Stream {
    /// The payload of OPEN, until it is sent.
    open: Option<Bytes>,
    /// A piece of the request's body that is to be sent.
    piece: Bytes,
    /// Whether the request's body is complete; `None` when the guest has been told so.
    complete: Option<bool>,
    /// Bytes of the request's body that may be sent.
    credit: usize,
    /// Waker of the task that sends the request's body.
    body_sender: Option<Waker>,
    /// Whether the client is gone, whether it has not sent its whole body, and whether the guest is to be told of either.
    client_gone: bool,
    body_failed: bool,
    abort: bool,
    /// The application has returned.
    closed: bool,
    /// Whether the table knows that there is something to send.
    pub(super) queued: bool,

    response: ResponseProgress,
    head: Option<oneshot::Sender<Result<ResponseHead, StreamFailure>>>,
    /// Bytes of the response's body that were not read.
    received: BytesMut,
    /// Bytes that the guest may send, and bytes that were read of which it has not been told.
    allowed: usize,
    unreturned: usize,
    /// Waker of the task that reads the response's body.
    reader: Option<Waker>,
}

impl Stream {
    /// Begins a request. `head` gets the head of its response.
    pub(super) fn new(open: Bytes, head: oneshot::Sender<Result<ResponseHead, StreamFailure>>) -> Self {
        Self {
            open: Some(open),
            piece: Bytes::new(),
            complete: Some(false),
            credit: CREDIT,
            body_sender: None,
            client_gone: false,
            body_failed: false,
            abort: false,
            closed: false,
            queued: false,
            response: ResponseProgress::Awaited,
            head: Some(head),
            received: BytesMut::new(),
            allowed: CREDIT,
            unreturned: 0,
            reader: None,
        }
    }

    /// Returns whether nobody needs the request's body any more.
    fn is_over(&self) -> bool {
        self.client_gone || self.body_failed || self.has_ended()
    }

    /// Returns whether no more of the response comes.
    fn has_ended(&self) -> bool {
        matches!(self.response, ResponseProgress::Complete | ResponseProgress::Failed(_))
    }

    /// Waits until the request's body is not needed any more.
    pub(super) fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.is_over() {
            return Poll::Ready(());
        }
        self.body_sender = Some(context.waker().clone());
        Poll::Pending
    }

    /// Waits for room for a piece of the request's body. Returns its most bytes; `None` when the body is not needed any more.
    pub(super) fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<Option<usize>> {
        if self.is_over() {
            return Poll::Ready(None);
        }
        if self.piece.is_empty() && self.credit > 0 {
            return Poll::Ready(Some(self.credit.min(PIECE)));
        }
        self.body_sender = Some(context.waker().clone());
        Poll::Pending
    }

    /// Puts a piece of the request's body where [`Stream::poll_room`] has found room.
    pub(super) fn put_piece(&mut self, piece: Bytes) {
        self.credit = self.credit.saturating_sub(piece.len());
        self.piece = piece;
    }

    /// Notes that the request's body is complete.
    pub(super) fn complete_body(&mut self) {
        self.complete = self.complete.map(|_| true);
    }

    /// Notes that the request's body could not be read. The response fails with that.
    pub(super) fn fail_body(&mut self) {
        if self.is_over() {
            return;
        }
        self.abort = true;
        self.body_failed = true;
        if let Some(head) = self.head.take() {
            // The client may be gone.
            let _ = head.send(Err(StreamFailure::RequestBody));
        }
        wake(&mut self.reader);
    }

    /// Notes that the client is gone. Returns whether the stream can be forgotten: the guest has not heard of it, or has forgotten it.
    pub(super) fn abandon(&mut self) -> bool {
        self.abort |= !self.is_over();
        self.client_gone = true;
        self.received = BytesMut::new();
        self.piece = Bytes::new();
        wake(&mut self.body_sender);
        self.open.is_some() || self.closed
    }

    /// Notes that the application has returned. Returns whether the stream can be forgotten.
    pub(super) fn close(&mut self) -> bool {
        self.closed = true;
        self.client_gone
    }

    /// Returns whether the application has returned.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Notes that there will be no more of the response.
    pub(super) fn fail(&mut self, failure: StreamFailure) {
        if self.response == ResponseProgress::Complete {
            return;
        }
        self.response = ResponseProgress::Failed(failure);
        if let Some(head) = self.head.take() {
            // The client may be gone.
            let _ = head.send(Err(failure));
        }
        self.wake_all();
    }

    fn wake_all(&mut self) {
        wake(&mut self.body_sender);
        wake(&mut self.reader);
    }

    /// Takes a frame of the guest's. Returns whether it was the last one.
    pub(super) fn take(&mut self, frame: StreamFrame) -> Result<bool, ProtocolError> {
        if self.open.is_some() {
            return Err(ProtocolError::WrongOrder("a frame of a stream that the guest has not heard of"));
        }
        match frame {
            StreamFrame::Start(head) => {
                if self.response != ResponseProgress::Awaited {
                    return Err(ProtocolError::WrongOrder("START"));
                }
                self.response = ResponseProgress::Started;
                if let Some(sender) = self.head.take() {
                    // The client may be gone.
                    let _ = sender.send(Ok(head));
                }
            }
            StreamFrame::Data(data) => {
                if self.response != ResponseProgress::Started {
                    return Err(ProtocolError::WrongOrder("DATA"));
                }
                self.allowed = self.allowed.checked_sub(data.len()).ok_or(ProtocolError::BeyondCredit)?;
                if !self.client_gone && !self.body_failed {
                    // Copied, so that small pieces cost no more than their bytes.
                    self.received.extend_from_slice(&data);
                    wake(&mut self.reader);
                }
            }
            StreamFrame::Finish => {
                if self.response != ResponseProgress::Started {
                    return Err(ProtocolError::WrongOrder("FINISH"));
                }
                self.response = ResponseProgress::Complete;
                self.wake_all();
            }
            StreamFrame::Abort if !self.has_ended() => self.fail(StreamFailure::Application),
            StreamFrame::Abort => return Err(ProtocolError::WrongOrder("ABORT")),
            StreamFrame::Window(count) => {
                let credit = self.credit.saturating_add(count);
                if credit + self.piece.len() > CREDIT {
                    return Err(ProtocolError::Window);
                }
                self.credit = credit;
                wake(&mut self.body_sender);
            }
            StreamFrame::Closed if self.has_ended() => return Ok(true),
            StreamFrame::Closed => return Err(ProtocolError::WrongOrder("CLOSED")),
        }
        Ok(false)
    }

    /// Returns the next piece of the response's body; `None` at its end. A failure comes after all pieces.
    pub(super) fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamFailure>>> {
        if !self.received.is_empty() {
            let piece = self.received.split_to(self.received.len().min(PIECE)).freeze();
            self.unreturned += piece.len();
            return Poll::Ready(Some(Ok(piece)));
        }
        match self.response {
            _ if self.body_failed => Poll::Ready(Some(Err(StreamFailure::RequestBody))),
            ResponseProgress::Complete => Poll::Ready(None),
            ResponseProgress::Failed(failure) => Poll::Ready(Some(Err(failure))),
            ResponseProgress::Awaited | ResponseProgress::Started => {
                self.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Returns the bytes of the response's body that wait to be read.
    pub(super) fn held_bytes(&self) -> usize {
        self.received.len()
    }

    /// Returns whether there is something to send.
    pub(super) fn has_output(&self) -> bool {
        self.open.is_some() || self.abort || self.has_body_output() || self.has_window()
    }

    fn has_body_output(&self) -> bool {
        !self.is_over() && (!self.piece.is_empty() || self.complete == Some(true))
    }

    fn has_window(&self) -> bool {
        !self.is_over() && self.unreturned >= WINDOW_STEP
    }

    /// Adds what is to be sent to `to_write`.
    pub(super) fn write_frames(&mut self, number: u32, to_write: &mut BytesMut) {
        if let Some(open) = self.open.take() {
            HostFrame::Open(&open).encode(number, to_write);
        }
        if self.has_body_output() {
            if !self.piece.is_empty() {
                HostFrame::Body(&std::mem::take(&mut self.piece)).encode(number, to_write);
                wake(&mut self.body_sender);
            }
            if self.complete == Some(true) {
                self.complete = None;
                HostFrame::End.encode(number, to_write);
            }
        }
        if self.has_window() {
            // At most the credit, which is far below 4 GiB.
            HostFrame::Window(u32::try_from(self.unreturned).unwrap_or(u32::MAX)).encode(number, to_write);
            self.allowed += std::mem::take(&mut self.unreturned);
        }
        if std::mem::take(&mut self.abort) {
            HostFrame::Abort.encode(number, to_write);
        }
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}
