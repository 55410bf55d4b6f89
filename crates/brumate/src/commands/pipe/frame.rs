//! Frames of the protocol between the language packages and `brumate pipe`.
//!
//! A frame has four parts: the length of the JSON text, the number of bytes, the JSON text, and the bytes. Each of the
//! two lengths has 32 bits, little-endian.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Longest JSON of a frame, in bytes.
pub(crate) const MAX_JSON: usize = 96 << 20;

/// Most bytes in the last part of a frame, after the JSON. Larger files are sent in parts.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// A message.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    pub(crate) json: Value,
    pub(crate) bytes: Vec<u8>,
}

impl From<Value> for Frame {
    fn from(json: Value) -> Self {
        Self { json, bytes: Vec::new() }
    }
}

/// Reads the next frame. Returns `None` at the end of the stream.
///
/// # Errors
///
/// Fails if the stream ends within a frame, a part of the frame is too long, or the JSON is invalid.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Frame>> {
    let mut lengths = [0; 8];
    if stream.read(&mut lengths[..1]).await? == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut lengths[1..]).await?;
    let length = |at: usize, most: usize| {
        let four = [lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]];
        let length = u32::from_le_bytes(four) as usize;
        if length > most {
            Err(invalid(format!("a part of a frame has {length} bytes; at most {most} are allowed")))
        } else {
            Ok(length)
        }
    };
    let mut text = vec![0; length(0, MAX_JSON)?];
    let mut bytes = vec![0; length(4, MAX_BYTES)?];
    stream.read_exact(&mut text).await?;
    stream.read_exact(&mut bytes).await?;
    let json = serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
    Ok(Some(Frame { json, bytes }))
}

/// Writes a frame.
///
/// # Errors
///
/// Fails if the stream is closed, or if a part of the frame is too long.
pub(crate) async fn write(stream: &mut (impl AsyncWrite + Unpin), frame: &Frame) -> io::Result<()> {
    let text = frame.json.to_string();
    let length = |bytes: usize| u32::try_from(bytes).map_err(|_| invalid("a frame is too long".to_owned()));
    let mut head = Vec::with_capacity(8 + text.len() + frame.bytes.len());
    head.extend(length(text.len())?.to_le_bytes());
    head.extend(length(frame.bytes.len())?.to_le_bytes());
    head.extend(text.as_bytes());
    head.extend(&frame.bytes);
    stream.write_all(&head).await
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_frame_is_read_as_it_was_written() {
        let mut stream = Vec::new();
        write(&mut stream, &Frame { json: json!({"id": 1}), bytes: b"abc".to_vec() }).await.unwrap();
        write(&mut stream, &json!({"id": 2}).into()).await.unwrap();
        let mut stream = &stream[..];
        let first = read(&mut stream).await.unwrap().unwrap();
        assert_eq!((first.json, first.bytes), (json!({"id": 1}), b"abc".to_vec()));
        assert_eq!(read(&mut stream).await.unwrap().unwrap().json, json!({"id": 2}));
        assert!(read(&mut stream).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn what_is_no_frame_is_an_error() {
        for bytes in
            [&b"\x02\0\0"[..], b"\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\0\xff\xff\xff\xff", b"\x01\0\0\0\0\0\0\0{"]
        {
            read(&mut &bytes[..]).await.unwrap_err();
        }
    }
}
