//! Commands: READY and ERROR of the handshake, PING and PONG, and subscriptions of version 3.1.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::error::ProtocolError;
use crate::frame::put_command;
use crate::socket_type::SocketType;

/// Longest identity, and longest reason of ERROR, in bytes.
pub(crate) const SHORT_BYTES: usize = 255;
/// Longest context of PING, in bytes.
const CONTEXT_BYTES: usize = 16;

/// A command of a peer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// The peer is ready.
    Ready(Ready),
    /// The peer refuses, for this reason.
    Error(String),
    /// The peer asks for PONG with this context.
    Ping(Bytes),
    /// The peer subscribes to the topics with this beginning.
    Subscribe(Bytes),
    /// The peer cancels a subscription.
    Cancel(Bytes),
    /// A command without meaning here.
    Other,
}

/// Properties of READY.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    /// `None` when it is missing or unknown.
    pub(crate) socket_type: Option<SocketType>,
    /// Empty if the other side chooses one.
    pub(crate) identity: Bytes,
}

impl Command {
    /// Reads the body of a command frame.
    pub(crate) fn parse(mut body: Bytes) -> Result<Self, ProtocolError> {
        let name = take_short(&mut body)?;
        Ok(match &name[..] {
            b"READY" => Self::Ready(Ready::parse(body)?),
            b"ERROR" => Self::Error(String::from_utf8_lossy(&take_short(&mut body)?).escape_debug().to_string()),
            b"PING" => {
                // The time to live is of no interest: this side never waits for PING.
                take(&mut body, 2)?;
                body.truncate(CONTEXT_BYTES);
                Self::Ping(body)
            }
            b"SUBSCRIBE" => Self::Subscribe(body),
            b"CANCEL" => Self::Cancel(body),
            _ => Self::Other,
        })
    }
}

impl Ready {
    fn parse(mut properties: Bytes) -> Result<Self, ProtocolError> {
        let mut ready = Self { socket_type: None, identity: Bytes::new() };
        while !properties.is_empty() {
            let name = take_short(&mut properties)?;
            let length = take(&mut properties, 4)?.get_u32();
            let value = take(&mut properties, usize::try_from(length).unwrap_or(usize::MAX))?;
            if name.eq_ignore_ascii_case(b"Socket-Type") {
                ready.socket_type = SocketType::named(&value);
            } else if name.eq_ignore_ascii_case(b"Identity") {
                ready.identity = value;
            }
        }
        Ok(ready)
    }
}

/// Takes a text whose length is one byte.
fn take_short(from: &mut Bytes) -> Result<Bytes, ProtocolError> {
    let length = take(from, 1)?.get_u8();
    take(from, usize::from(length))
}

fn take(from: &mut Bytes, count: usize) -> Result<Bytes, ProtocolError> {
    if from.len() < count { Err(ProtocolError::Command) } else { Ok(from.split_to(count)) }
}

/// Returns the frame of READY.
pub(crate) fn ready(socket_type: SocketType, identity: &[u8]) -> Bytes {
    let mut properties = BytesMut::new();
    for (name, value) in [("Socket-Type", socket_type.name().as_bytes()), ("Identity", identity)] {
        // Names and values are short.
        properties.put_u8(u8::try_from(name.len()).unwrap_or(u8::MAX));
        properties.put_slice(name.as_bytes());
        properties.put_u32(u32::try_from(value.len()).unwrap_or(u32::MAX));
        properties.put_slice(value);
    }
    frame("READY", &properties)
}

/// Returns the frame of ERROR.
pub(crate) fn error(reason: &str) -> Bytes {
    let mut data = BytesMut::new();
    let reason = &reason.as_bytes()[..reason.len().min(SHORT_BYTES)];
    data.put_u8(u8::try_from(reason.len()).unwrap_or(u8::MAX));
    data.put_slice(reason);
    frame("ERROR", &data)
}

/// Returns the frame of PONG.
pub(crate) fn pong(context: &[u8]) -> Bytes {
    frame("PONG", context)
}

fn frame(name: &'static str, data: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    put_command(&mut frame, name, data);
    frame.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Decoded, Decoder};
    use crate::limits::Limits;

    fn body(frame: Bytes) -> Bytes {
        match Decoder::new(&Limits::default()).decode(&mut BytesMut::from(&frame[..])) {
            Ok(Some(Decoded::Command(body))) => body,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn commands_are_read_as_they_are_written() {
        let read = |frame| Command::parse(body(frame));
        let expected = Ready { socket_type: Some(SocketType::Router), identity: Bytes::from("me") };
        assert_eq!(read(ready(SocketType::Router, b"me")), Ok(Command::Ready(expected)));
        assert_eq!(read(error("no\n")), Ok(Command::Error("no\\n".to_owned())));
        assert_eq!(read(error(&"x".repeat(999))), Ok(Command::Error("x".repeat(255))));
        assert_eq!(read(pong(b"context")), Ok(Command::Other));
    }

    #[test]
    fn commands_are_bounded_by_their_frames() {
        for (body, expected) in [
            (&b"\x04PING\0\x0a0123456789abcdefgh"[..], Ok(Command::Ping(Bytes::from("0123456789abcdef")))),
            (b"\x09SUBSCRIBEtopic", Ok(Command::Subscribe(Bytes::from("topic")))),
            (b"\x06CANCEL", Ok(Command::Cancel(Bytes::new()))),
            (b"\x05READY", Ok(Command::Ready(Ready { socket_type: None, identity: Bytes::new() }))),
            (
                b"\x05READY\x0bsocket-TYPE\0\0\0\x03SUB\x01x\0\0\0\0",
                Ok(Command::Ready(Ready { socket_type: Some(SocketType::Sub), identity: Bytes::new() })),
            ),
            (b"\x04WHAT", Ok(Command::Other)),
            (b"", Err(ProtocolError::Command)),
            (b"\x05READ", Err(ProtocolError::Command)),
            (b"\x05READY\x0bSocket-Type\xff\xff\xff\xffSUB", Err(ProtocolError::Command)),
            (b"\x05READY\x01x\0\0", Err(ProtocolError::Command)),
            (b"\x04PING\0", Err(ProtocolError::Command)),
            (b"\x05ERROR\x05abc", Err(ProtocolError::Command)),
        ] {
            assert_eq!(Command::parse(Bytes::from_static(body)), expected, "{body:?}");
        }
    }
}
