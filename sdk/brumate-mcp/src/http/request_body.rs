//! Reads the bodies of requests, within limits of size and time.

use super::budget::{Account, Charge};
use super::parse_errors;
use super::response::{Response, refusal};
use crate::incoming::{InvalidMessage, refuse_all};
use axum::body::Body;
use brumate_json::{Envelope, Envelopes};
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::header::EXPECT;
use http::request::Parts;
use http_body_util::BodyExt as _;
use std::sync::Arc;
use std::time::Duration;

/// Most bytes that are read of the body of a refused request.
const MAX_DISCARDED: usize = 64 << 10;
/// Most bytes that are read beyond the limit of a body that is too large. Only the envelopes in them are kept.
const MAX_SKIPPED: usize = 64 << 20;
/// Longest time that the body of a refused request is read.
const DISCARD_TIME: Duration = Duration::from_secs(1);

/// Reads the body of a refused request, up to a limit of size and time, and drops it.
///
/// A connection with an unread body is closed. A client that sends head and body apart could lose the answer then.
pub(crate) async fn discard(head: &Parts, mut body: Body) {
    if head.headers.contains_key(EXPECT) {
        // The client waits before it sends a body.
        return;
    }
    let read = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, Bytes::len);
            if bytes > MAX_DISCARDED {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DISCARD_TIME, read).await;
}

/// The error answers to the messages of a body that is too large. The response has them in its extensions.
#[derive(Clone, Debug)]
pub(crate) struct RefusedMessages(pub(crate) Arc<[InvalidMessage]>);

/// Reads the rest of a body that is too large, and keeps only its envelopes.
///
/// A client that still sends its body does not read the answer yet.
async fn skip(mut body: Body, envelopes: &mut Envelopes) {
    let mut left = MAX_SKIPPED;
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(bytes) = frame.into_data() else { continue };
        envelopes.feed(&bytes);
        match left.checked_sub(bytes.len()) {
            Some(less) => left = less,
            None => return,
        }
    }
}

/// Makes the refusal of a body of more than `limit` bytes. It has an error for each request in the body.
fn too_large(limit: usize, envelopes: Vec<Envelope>) -> Response {
    let refused = InvalidMessage::new(format!("the message is longer than {limit} bytes"), None);
    let refused = refuse_all(envelopes, &refused);
    let mut response = parse_errors::answer(&refused);
    *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
    response.extensions_mut().insert(RefusedMessages(refused.into()));
    response
}

/// The limits of a body.
#[derive(Clone, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

impl BodyLimits {
    /// Reads a body to its end, and charges its bytes to `account`. Returns the bytes and the charge.
    ///
    /// # Errors
    ///
    /// Returns the refusal, if the body is too large, is too slow, breaks off, or exceeds the account.
    pub(crate) async fn read(&self, body: Body, account: &Account) -> Result<(Bytes, Charge), Box<Response>> {
        let late = |_| Err(Box::new(refusal(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")));
        tokio::time::timeout(self.time, self.collect(body, account)).await.unwrap_or_else(late)
    }

    async fn collect(&self, mut body: Body, account: &Account) -> Result<(Bytes, Charge), Box<Response>> {
        let mut charge = account.charge(0);
        let mut read = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| refusal(StatusCode::BAD_REQUEST, "the body could not be read"))?;
            let Ok(bytes) = frame.into_data() else { continue };
            if read.len() + bytes.len() > self.bytes {
                let mut envelopes = Envelopes::default();
                envelopes.feed(&read);
                envelopes.feed(&bytes);
                drop((read, bytes, charge));
                skip(body, &mut envelopes).await;
                return Err(Box::new(too_large(self.bytes, envelopes.finish())));
            }
            charge.try_grow(bytes.len()).map_err(|full| refusal(StatusCode::SERVICE_UNAVAILABLE, full.to_string()))?;
            read.extend_from_slice(&bytes);
        }
        Ok((read.freeze(), charge))
    }
}
