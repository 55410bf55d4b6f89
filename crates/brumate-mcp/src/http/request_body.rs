//! Bodies of requests: read whole, within limits of size and time.

use super::budget::{Account, Charge};
use super::response::{Response, refusal};
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt as _;
use std::time::Duration;

/// The limits of a body.
#[derive(Clone, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

impl BodyLimits {
    /// Reads a body to its end, on an account. Returns the charge for it as well.
    ///
    /// # Errors
    ///
    /// Returns the refusal of a body that is too large or too slow, breaks off, or has no room on the account.
    pub(crate) async fn read(&self, body: Body, account: &Account) -> Result<(Bytes, Charge), Box<Response>> {
        match tokio::time::timeout(self.time, self.collect(body, account)).await {
            Ok(Ok(read)) => Ok(read),
            Ok(Err((status, text))) => Err(Box::new(refusal(status, text))),
            Err(_) => Err(Box::new(refusal(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"))),
        }
    }

    async fn collect(&self, mut body: Body, account: &Account) -> Result<(Bytes, Charge), (StatusCode, String)> {
        let mut charge = account.charge(0);
        let mut read = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the body could not be read".to_owned()))?;
            let Ok(bytes) = frame.into_data() else { continue };
            if read.len() + bytes.len() > self.bytes {
                return Err((StatusCode::PAYLOAD_TOO_LARGE, format!("a message has at most {} bytes", self.bytes)));
            }
            charge.try_grow(bytes.len()).map_err(|full| (StatusCode::SERVICE_UNAVAILABLE, full.to_string()))?;
            read.extend_from_slice(&bytes);
        }
        Ok((read.freeze(), charge))
    }
}
