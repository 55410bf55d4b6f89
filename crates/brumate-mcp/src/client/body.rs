//! Bodies of answers over HTTP: media types, and events of bounded size.

use super::answers::readable;
use ::http::header::CONTENT_TYPE;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use reqwest::Response;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};
use std::borrow::Cow;
use std::io;

/// The largest message, in bytes, and the largest event.
pub(super) const MAX_MESSAGE: usize = 16 << 20;

/// Returns an answer's media type, without its parameters.
pub(super) fn media_type(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Returns the events of an answer. Their messages are as rmcp can parse them.
pub(super) fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let events = SseStream::from_bytes_stream(bounded(response.bytes_stream(), MAX_MESSAGE));
    let prepare = |mut event: Sse| {
        if let Some(data) = event.data.as_mut().filter(|data| data.trim_ascii_start().starts_with('{'))
            && let Cow::Owned(mended) = readable(data)
        {
            *data = mended;
        }
        event
    };
    events.map(move |event| event.map(prepare)).boxed()
}

/// Passes bytes on until an event has more than `limit` of them: until so many have come without an empty line.
fn bounded<E: std::error::Error + Send + Sync + 'static>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    limit: usize,
) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + 'static {
    let (mut since, mut at_line_start) = (0usize, true);
    let check = move |part: Result<Bytes, E>| {
        let part = part.map_err(io::Error::other)?;
        for byte in &part {
            since += 1;
            match byte {
                b'\n' if at_line_start => since = 0,
                b'\n' => at_line_start = true,
                b'\r' => {}
                _ => at_line_start = false,
            }
            if since > limit {
                return Err(io::Error::other(format!("an event of more than {limit} bytes")));
            }
        }
        Ok(part)
    };
    bytes.map(check).scan(false, |ended, part| {
        let before = std::mem::replace(ended, part.is_err());
        std::future::ready((!before).then_some(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_are_bounded_and_streams_are_not() {
        let pass = |parts: &'static [&'static str]| async move {
            let parts =
                futures::stream::iter(parts).map(|part| Ok::<_, io::Error>(Bytes::from_static(part.as_bytes())));
            bounded(parts, 16).collect::<Vec<_>>().await
        };
        let fine = pass(&["data: a\n\n", "data: b\r\n\r\n", "data: c", "\n\n"]).await;
        assert!(fine.iter().all(Result::is_ok) && fine.len() == 4);
        let long = pass(&["data: a\n\n", "data: aaaaaaa\nda", "ta: b\n\n", "data: c\n\n"]).await;
        assert!(long.len() == 3 && long[1].is_ok() && long[2].is_err(), "{long:?}");
    }
}
