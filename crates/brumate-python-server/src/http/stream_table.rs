//! All requests of a machine, and the frames that wait to be written to it. There is no I/O here.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use tokio::sync::{Notify, oneshot, watch};

use super::frames::{GuestFrame, HostFrame, ProtocolError};
use super::response_head::ResponseHead;
use super::stream::{PIECE, Stream, StreamFailure};

/// Most requests of a machine at the same time. Requests whose response is complete count until the application has returned.
pub(super) const MAX_STREAMS: usize = 1024;

/// A request cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenRefusal {
    /// [`MAX_STREAMS`] are open.
    TooMany,
    /// The machine has ended.
    Ended,
}

/// The head of a response, once it is there.
pub(super) type AwaitedHead = oneshot::Receiver<Result<ResponseHead, StreamFailure>>;

/// The progress of the application's start, as it has reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StartProgress {
    /// Nothing.
    Awaited,
    /// It has started.
    Ready,
    /// It has not, for this reason.
    Failed(String),
}

/// The requests of a machine.
#[derive(Debug)]
pub(super) struct StreamTable {
    streams: HashMap<u32, Stream>,
    /// The number of streams whose application has not returned.
    open: usize,
    /// The last number of a stream.
    last: u32,
    /// Streams with something to send.
    outgoing: VecDeque<u32>,
    /// Tells the writer that there is something to send.
    writer: Arc<Notify>,
    start: watch::Sender<StartProgress>,
    ping: bool,
    shutdown: bool,
    shutdown_sent: bool,
    /// A PING has been sent, or is to be, and has no answer.
    unanswered: watch::Sender<bool>,
    /// Whether the application works on a stream.
    busy: watch::Sender<bool>,
    ended: bool,
}

impl StreamTable {
    /// Makes a table. `writer` is told when there is something to send.
    pub(super) fn new(writer: Arc<Notify>) -> Self {
        Self {
            streams: HashMap::new(),
            open: 0,
            last: 0,
            outgoing: VecDeque::new(),
            writer,
            start: watch::Sender::new(StartProgress::Awaited),
            ping: false,
            shutdown: false,
            shutdown_sent: false,
            unanswered: watch::Sender::new(false),
            busy: watch::Sender::new(false),
            ended: false,
        }
    }

    /// Returns what the application says of its start.
    pub(super) fn start(&self) -> watch::Receiver<StartProgress> {
        self.start.subscribe()
    }

    /// Returns whether the application works on a stream.
    pub(super) fn busy(&self) -> watch::Receiver<bool> {
        self.busy.subscribe()
    }

    /// Opens a stream. Returns its number, and where the head of its response comes.
    pub(super) fn open(&mut self, payload: Bytes) -> Result<(u32, AwaitedHead), OpenRefusal> {
        if self.is_ended() {
            return Err(OpenRefusal::Ended);
        }
        if self.streams.len() >= MAX_STREAMS {
            return Err(OpenRefusal::TooMany);
        }
        // There are far fewer streams than numbers.
        self.last = self.last.wrapping_add(1).max(1);
        while self.streams.contains_key(&self.last) {
            self.last = self.last.wrapping_add(1).max(1);
        }
        let (sender, head) = oneshot::channel();
        self.streams.insert(self.last, Stream::new(payload, sender));
        self.open += 1;
        self.enqueue(self.last);
        self.note_busy();
        Ok((self.last, head))
    }

    fn note_busy(&self) {
        let busy = self.open > 0;
        self.busy.send_if_modified(|noted| std::mem::replace(noted, busy) != busy);
    }

    fn enqueue(&mut self, number: u32) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if stream.has_output() && !std::mem::replace(&mut stream.queued, true) {
            self.outgoing.push_back(number);
            self.writer.notify_one();
        }
    }

    /// Waits until the request's body is not needed any more.
    pub(super) fn poll_over(&mut self, number: u32, context: &mut Context<'_>) -> Poll<()> {
        self.streams.get_mut(&number).map_or(Poll::Ready(()), |stream| stream.poll_over(context))
    }

    /// Waits for room for a piece of the request's body. Returns its most bytes; `None` when the body is not needed any more.
    pub(super) fn poll_room(&mut self, number: u32, context: &mut Context<'_>) -> Poll<Option<usize>> {
        self.streams.get_mut(&number).map_or(Poll::Ready(None), |stream| stream.poll_room(context))
    }

    /// Puts a piece of the request's body where [`StreamTable::poll_room`] has found room.
    pub(super) fn put_piece(&mut self, number: u32, piece: Bytes) {
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.put_piece(piece);
        }
        self.enqueue(number);
    }

    /// Notes that the request's body is complete.
    pub(super) fn complete_body(&mut self, number: u32) {
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.complete_body();
        }
        self.enqueue(number);
    }

    /// Notes that the client is gone.
    pub(super) fn abandon(&mut self, number: u32) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if stream.abandon() {
            self.open -= usize::from(!stream.is_closed());
            self.streams.remove(&number);
            self.outgoing.retain(|other| *other != number);
            self.note_busy();
        } else {
            self.enqueue(number);
        }
    }

    /// Notes that the request's body could not be read, which is the end of the request.
    pub(super) fn fail_body(&mut self, number: u32) {
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.fail_body();
        }
        self.enqueue(number);
    }

    /// Returns the next piece of the response's body; `None` at its end.
    pub(super) fn poll_data(
        &mut self,
        number: u32,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, StreamFailure>>> {
        let Some(stream) = self.streams.get_mut(&number) else {
            return Poll::Ready(Some(Err(StreamFailure::Machine)));
        };
        let polled = stream.poll_data(context);
        self.enqueue(number);
        polled
    }

    /// Takes a frame of the guest's.
    pub(super) fn take(&mut self, frame: GuestFrame) -> Result<(), ProtocolError> {
        let started = *self.start.borrow() == StartProgress::Ready;
        match frame {
            GuestFrame::Ready | GuestFrame::Failed(_) if *self.start.borrow() != StartProgress::Awaited => {
                return Err(ProtocolError::WrongOrder("READY or FAILED"));
            }
            GuestFrame::Ready => _ = self.start.send_replace(StartProgress::Ready),
            GuestFrame::Failed(text) => _ = self.start.send_replace(StartProgress::Failed(text)),
            GuestFrame::Pong => {
                if self.ping || !self.unanswered.send_replace(false) {
                    return Err(ProtocolError::WrongOrder("PONG"));
                }
            }
            GuestFrame::Stream(number, frame) => {
                let stream = self.streams.get_mut(&number).filter(|stream| started && !stream.is_closed());
                let stream = stream.ok_or(ProtocolError::UnknownStream(number))?;
                if stream.take(frame)? {
                    if stream.close() {
                        self.streams.remove(&number);
                        self.outgoing.retain(|other| *other != number);
                    }
                    self.open -= 1;
                    self.note_busy();
                } else {
                    self.enqueue(number);
                }
            }
        }
        Ok(())
    }

    /// Asks whether the loop is busy. What it returns is false when there is an answer.
    pub(super) fn ping(&mut self) -> watch::Receiver<bool> {
        self.ping = true;
        self.unanswered.send_replace(true);
        self.writer.notify_one();
        self.unanswered.subscribe()
    }

    /// Asks the application to end. No request can be opened any more.
    pub(super) fn shutdown(&mut self) {
        if !self.shutdown {
            self.shutdown = true;
            self.writer.notify_one();
        }
    }

    /// Notes that the machine has ended: the requests fail.
    pub(super) fn end(&mut self) {
        self.ended = true;
        for stream in self.streams.values_mut() {
            stream.fail(StreamFailure::Machine);
        }
    }

    /// Returns whether no request can be opened any more.
    pub(super) fn is_ended(&self) -> bool {
        self.ended || self.shutdown
    }

    /// Adds frames that wait to `to_write`, until it has a piece's bytes or more.
    pub(super) fn write_frames(&mut self, to_write: &mut BytesMut) {
        if self.shutdown && !std::mem::replace(&mut self.shutdown_sent, true) {
            HostFrame::Shutdown.encode(0, to_write);
        }
        if std::mem::take(&mut self.ping) {
            HostFrame::Ping.encode(0, to_write);
        }
        while to_write.len() < PIECE {
            let Some(number) = self.outgoing.pop_front() else { break };
            if let Some(stream) = self.streams.get_mut(&number) {
                stream.queued = false;
                stream.write_frames(number, to_write);
            }
        }
    }

    /// Returns the bytes of responses that wait to be read.
    pub(super) fn held_bytes(&self) -> usize {
        self.streams.values().map(Stream::held_bytes).sum()
    }
}

#[cfg(test)]
mod tests;
