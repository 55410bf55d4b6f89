//! The settings of all HTTP clients, and reading bodies of bounded size.

use crate::causes::causes;
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt as _;
use reqwest::{ClientBuilder, Response};

/// Returns the settings that all HTTP clients share: TLS with ring, and this crate as the user agent.
pub fn builder() -> ClientBuilder {
    // The program may have chosen another provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().user_agent(concat!("brumate-mcp/", env!("CARGO_PKG_VERSION")))
}

/// Reads a body.
///
/// # Errors
///
/// Returns a text without the URL if the body has more than `limit` bytes, or if the connection fails.
pub async fn read(response: Response, limit: usize) -> Result<Bytes, String> {
    let mut body = BytesMut::new();
    let mut stream = response.bytes_stream();
    while let Some(part) = stream.try_next().await.map_err(|error| causes(&error.without_url()))? {
        if body.len() + part.len() > limit {
            return Err(format!("its answer has more than {limit} bytes"));
        }
        body.extend_from_slice(&part);
    }
    Ok(body.freeze())
}
