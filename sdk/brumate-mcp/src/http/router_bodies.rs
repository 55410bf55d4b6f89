//! Bodies of requests to guarded routers and of their responses: streamed, within limits.

use super::budget::RequestCharge;
use super::request_body::BodyLimits;
use super::response::{Response, refusal};
use axum::body::Body;
use bytes::Bytes;
use http::StatusCode;
use http_body::{Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A piece of a body, its end or its error.
type PolledFrame = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

/// The reason for which the body of a request was cut off. Empty until then.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyRefusal(Arc<OnceLock<(StatusCode, String)>>);

impl BodyRefusal {
    /// Returns the answer to a request whose body was cut off; `None` if it was not.
    pub(crate) fn response(&self) -> Option<Response> {
        self.0.get().map(|(status, text)| refusal(*status, text.clone()))
    }

    fn set(&self, status: StatusCode, text: String) -> axum::Error {
        let error = io::Error::new(io::ErrorKind::InvalidData, text.clone());
        // The first reason stays.
        let _ = self.0.set((status, text));
        axum::Error::new(error)
    }
}

/// The body of a request. It ends with an error when it is too long, or when its next piece takes too long.
pub(crate) struct RequestBody {
    body: Body,
    left: usize,
    limits: BodyLimits,
    /// Runs while the router waits for a piece.
    timer: Option<Pin<Box<Sleep>>>,
    refused: BodyRefusal,
}

impl RequestBody {
    /// Limits a body. Returns the place where its refusal will be noted as well.
    pub(crate) fn new(body: Body, limits: &BodyLimits) -> (Self, BodyRefusal) {
        let refused = BodyRefusal::default();
        (Self { body, left: limits.bytes, limits: limits.clone(), timer: None, refused: refused.clone() }, refused)
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Pending => {
                let time = this.limits.time;
                let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(time)));
                if timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                let error = this.refused.set(StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned());
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(Some(Ok(frame))) => {
                this.timer = None;
                match this.left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
                    Some(left) => this.left = left,
                    None => {
                        let text = format!("a body has at most {} bytes", this.limits.bytes);
                        return Poll::Ready(Some(Err(this.refused.set(StatusCode::PAYLOAD_TOO_LARGE, text))));
                    }
                }
                Poll::Ready(Some(Ok(frame)))
            }
            end => end,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response. A connection asks it for more at least once in `interval`, as the search for unread answers
/// expects of a connection that reads.
pub(crate) struct RouterResponseBody {
    body: Body,
    interval: Duration,
    /// Runs while the router has nothing to send.
    timer: Option<Pin<Box<Sleep>>>,
    /// Fires when the stream is to end.
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
    /// The request is charged until the response is read.
    _charge: RequestCharge,
}

impl RouterResponseBody {
    pub(crate) fn new(body: Body, interval: Duration, ended: CancellationToken, charge: RequestCharge) -> Self {
        Self { body, interval, timer: None, ended: Box::pin(ended.cancelled_owned()), _charge: charge }
    }
}

impl http_body::Body for RouterResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
        let this = &mut *self;
        if this.ended.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        let polled = Pin::new(&mut this.body).poll_frame(context);
        if polled.is_ready() {
            this.timer = None;
            return polled;
        }
        let interval = this.interval;
        let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(interval)));
        while timer.as_mut().poll(context).is_ready() {
            timer.as_mut().reset(Instant::now() + interval);
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
