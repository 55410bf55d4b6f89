//! Bodies of requests: read whole, within bounds of size and time, before anything is done with them.

use super::service::{Response, refusal};
use axum::body::Body;
use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use std::time::Duration;

/// What a body may take.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

impl Bounds {
    /// Reads a body to its end.
    ///
    /// # Errors
    ///
    /// The refusal of one that is too large, too slow, or breaks off.
    pub(crate) async fn read(&self, body: Body) -> Result<Bytes, Box<Response>> {
        let refused = |status, text: String| Err(Box::new(refusal(status, text)));
        let read = Limited::new(body, self.bytes).collect();
        match tokio::time::timeout(self.time, read).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                refused(StatusCode::PAYLOAD_TOO_LARGE, format!("a message has at most {} bytes", self.bytes))
            }
            Ok(Err(_)) => refused(StatusCode::BAD_REQUEST, "the body could not be read".to_owned()),
            Err(_) => refused(StatusCode::REQUEST_TIMEOUT, "the body did not come in time".to_owned()),
        }
    }
}
