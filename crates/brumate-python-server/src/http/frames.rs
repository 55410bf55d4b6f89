//! Frames: what the host and the machine of an ASGI application send each other.
//!
//! A frame is `[u32 length of the payload][u8 number of its meaning][u32 stream]` in network order, then the payload. The guest's side,
//! `bridge.py`, has the table of all frames.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::response_head::{ResponseHead, ResponseHeadError};

/// Bytes of a body that either side may send before the other allows more.
pub(super) const CREDIT: usize = 256 << 10;
/// Longest START, in bytes.
pub(super) const MAX_START_BYTES: usize = 128 << 10;
/// Longest text of FAILED, in bytes.
const MAX_FAILED_BYTES: usize = 64 << 10;
/// Bytes before the payload of a frame.
pub(super) const HEAD_BYTES: usize = 9;

/// Numbers of the frames that the host sends.
mod host {
    pub(super) const OPEN: u8 = 1;
    pub(super) const BODY: u8 = 2;
    pub(super) const END: u8 = 3;
    pub(super) const SHUTDOWN: u8 = 7;
    pub(super) const PING: u8 = 8;
}

/// Numbers of the frames that both sides send.
mod both {
    pub(super) const ABORT: u8 = 4;
    pub(super) const WINDOW: u8 = 5;
}

/// Numbers of the frames that the guest sends.
mod guest {
    pub(super) const START: u8 = 16;
    pub(super) const DATA: u8 = 17;
    pub(super) const FINISH: u8 = 18;
    pub(super) const READY: u8 = 19;
    pub(super) const FAILED: u8 = 20;
    pub(super) const PONG: u8 = 21;
    pub(super) const CLOSED: u8 = 22;
}

/// The guest sent something that the protocol does not allow. Its machine is ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProtocolError {
    #[error("a frame with the unknown number {0}")]
    UnknownFrame(u8),
    #[error("a frame with the number {frame} and {length} bytes")]
    Length { frame: u8, length: usize },
    #[error("a frame with the number {0} on the wrong stream")]
    WrongStream(u8),
    #[error("a frame on stream {0}, which is not open")]
    UnknownStream(u32),
    #[error("{0} at the wrong time")]
    WrongOrder(&'static str),
    #[error("more of a body than was allowed")]
    BeyondCredit,
    #[error("a window that is larger than what was sent")]
    Window,
    #[error("the head of a response: {0}")]
    ResponseHead(#[from] ResponseHeadError),
}

/// A frame of the guest's.
#[derive(Debug)]
pub(super) enum GuestFrame {
    /// The application has started.
    Ready,
    /// The application has not started, for this reason.
    Failed(String),
    /// The answer to PING.
    Pong,
    /// A frame of one stream.
    Stream(u32, StreamFrame),
}

/// A frame of the guest's that belongs to a stream.
#[derive(Debug)]
pub(super) enum StreamFrame {
    /// Status and headers of the response.
    Start(ResponseHead),
    /// A piece of the response's body; never empty.
    Data(Bytes),
    /// The response is complete.
    Finish,
    /// The application failed.
    Abort,
    /// The host may send so many more bytes of the request's body; never 0.
    Window(usize),
    /// The application has returned. The last frame of each stream.
    Closed,
}

/// Takes the next frame off the front of `received`; `None` when it is not complete.
///
/// # Errors
///
/// [`ProtocolError`], as soon as the head of a frame is there that is not allowed.
pub(super) fn decode(received: &mut BytesMut) -> Result<Option<GuestFrame>, ProtocolError> {
    let Some(mut head) = received.get(..HEAD_BYTES) else { return Ok(None) };
    let (length, frame, stream) = (head.get_u32() as usize, head.get_u8(), head.get_u32());
    check_head(length, frame, stream)?;
    if received.len() < HEAD_BYTES + length {
        return Ok(None);
    }
    received.advance(HEAD_BYTES);
    let mut payload = received.split_to(length).freeze();
    let frame = match frame {
        guest::READY => return Ok(Some(GuestFrame::Ready)),
        guest::FAILED => return Ok(Some(GuestFrame::Failed(String::from_utf8_lossy(&payload).into_owned()))),
        guest::PONG => return Ok(Some(GuestFrame::Pong)),
        guest::START => StreamFrame::Start(ResponseHead::parse(&payload)?),
        guest::DATA => StreamFrame::Data(payload),
        guest::FINISH => StreamFrame::Finish,
        guest::CLOSED => StreamFrame::Closed,
        both::ABORT => StreamFrame::Abort,
        // Its length has been checked.
        _ => StreamFrame::Window(payload.get_u32() as usize),
    };
    Ok(Some(GuestFrame::Stream(stream, frame)))
}

fn check_head(length: usize, frame: u8, stream: u32) -> Result<(), ProtocolError> {
    let (of_stream, lengths) = match frame {
        guest::READY | guest::PONG => (false, 0..=0),
        guest::FAILED => (false, 0..=MAX_FAILED_BYTES),
        guest::START => (true, 2..=MAX_START_BYTES),
        guest::DATA => (true, 1..=CREDIT),
        both::WINDOW => (true, 4..=4),
        guest::FINISH | guest::CLOSED | both::ABORT => (true, 0..=0),
        _ => return Err(ProtocolError::UnknownFrame(frame)),
    };
    if !lengths.contains(&length) {
        return Err(ProtocolError::Length { frame, length });
    }
    if of_stream != (stream != 0) {
        return Err(ProtocolError::WrongStream(frame));
    }
    Ok(())
}

/// A frame of the host's.
#[derive(Debug)]
pub(super) enum HostFrame<'a> {
    /// A request begins; its head as JSON.
    Open(&'a [u8]),
    /// A piece of the request's body.
    Body(&'a [u8]),
    /// The request's body is complete.
    End,
    /// The client is gone.
    Abort,
    /// The guest may send so many more bytes of the response's body.
    Window(u32),
    /// The application is to end.
    Shutdown,
    /// Asks whether the loop is busy.
    Ping,
}

impl HostFrame<'_> {
    /// Adds the frame to what is to be written. `stream` is 0 for the application itself.
    pub(super) fn encode(&self, stream: u32, to_write: &mut BytesMut) {
        let window;
        let (frame, payload) = match self {
            HostFrame::Open(head) => (host::OPEN, *head),
            HostFrame::Body(piece) => (host::BODY, *piece),
            HostFrame::End => (host::END, &[][..]),
            HostFrame::Abort => (both::ABORT, &[][..]),
            HostFrame::Window(count) => {
                window = count.to_be_bytes();
                (both::WINDOW, &window[..])
            }
            HostFrame::Shutdown => (host::SHUTDOWN, &[][..]),
            HostFrame::Ping => (host::PING, &[][..]),
        };
        // Heads of requests and pieces of bodies have far less than 4 GiB.
        to_write.put_u32(u32::try_from(payload.len()).unwrap_or(u32::MAX));
        to_write.put_u8(frame);
        to_write.put_u32(stream);
        to_write.put_slice(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(length: u32, frame: u8, stream: u32, payload: &[u8]) -> BytesMut {
        let mut bytes = BytesMut::new();
        bytes.put_u32(length);
        bytes.put_u8(frame);
        bytes.put_u32(stream);
        bytes.put_slice(payload);
        bytes
    }

    #[test]
    fn frames_are_decoded_when_they_are_complete() {
        let whole = bytes(3, guest::DATA, 7, b"abc");
        for end in 0..whole.len() {
            assert!(decode(&mut BytesMut::from(&whole[..end])).unwrap().is_none(), "{end}");
        }
        let mut two = whole.clone();
        two.extend_from_slice(&bytes(4, both::WINDOW, 9, &[0, 1, 0, 0]));
        let Some(GuestFrame::Stream(7, StreamFrame::Data(data))) = decode(&mut two).unwrap() else { panic!() };
        assert_eq!(data, "abc");
        assert!(matches!(decode(&mut two), Ok(Some(GuestFrame::Stream(9, StreamFrame::Window(65536))))));
        assert!(two.is_empty());
    }

    #[test]
    fn what_the_protocol_does_not_allow_is_found_in_the_head_of_a_frame() {
        for (length, frame, stream, error) in [
            (0, 0, 1, ProtocolError::UnknownFrame(0)),
            (0, 99, 0, ProtocolError::UnknownFrame(99)),
            (0, host::OPEN, 1, ProtocolError::UnknownFrame(host::OPEN)),
            (u32::MAX, guest::DATA, 1, ProtocolError::Length { frame: guest::DATA, length: u32::MAX as usize }),
            (0, guest::DATA, 1, ProtocolError::Length { frame: guest::DATA, length: 0 }),
            (3, both::WINDOW, 1, ProtocolError::Length { frame: both::WINDOW, length: 3 }),
            (1, guest::FINISH, 1, ProtocolError::Length { frame: guest::FINISH, length: 1 }),
            (1 << 20, guest::FAILED, 0, ProtocolError::Length { frame: guest::FAILED, length: 1 << 20 }),
            (0, guest::FINISH, 0, ProtocolError::WrongStream(guest::FINISH)),
            (0, guest::READY, 1, ProtocolError::WrongStream(guest::READY)),
        ] {
            assert_eq!(decode(&mut bytes(length, frame, stream, b"")).unwrap_err(), error);
        }
    }
}
