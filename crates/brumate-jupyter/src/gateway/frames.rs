//! Messages as WebSocket frames, in the two forms of Jupyter Server.
//!
//! Source: "WebSocket protocols" in the documentation of Jupyter Server.

use axum::extract::ws;
use bytes::{BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use brumate_jupyter_protocol::{Header, Message, MessageError};

/// Name of the sub-protocol that selects [`Form::V1`].
pub(super) const V1_PROTOCOL: &str = "v1.kernel.websocket.jupyter.org";
/// Most buffers of a message from a client.
const MAX_BUFFERS: usize = 1024;
/// Parts of a message in the form `V1` in front of its buffers: channel, header, parent header, metadata, content.
const V1_PARTS: usize = 5;

/// Form of the frames of a WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON in text frames. A message with buffers is a binary frame: offsets of 32 bits, JSON, buffers.
    Default,
    /// Binary frames: offsets of 64 bits, the channel, the parts of the message, buffers.
    V1,
}

/// Channel of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Shell,
    Control,
    Stdin,
    Iopub,
}

/// A frame that is no message.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum FrameError {
    /// A text frame where the sub-protocol has binary frames only.
    #[error("the sub-protocol {V1_PROTOCOL} has no text frames")]
    Text,
    /// The table of offsets is cut off, or has too few or too many entries.
    #[error("the frame has no table of offsets for a message with at most {MAX_BUFFERS} buffers")]
    Table,
    /// An offset is before the one in front of it, or behind the end of the frame.
    #[error("the offsets of the frame are not in order, or not within the frame")]
    Offsets,
    /// The JSON of the default form cannot be read.
    #[error("the message cannot be read: {0}")]
    Json(String),
    /// A part of the message cannot be read.
    #[error("the message cannot be read: {0}")]
    Message(#[from] MessageError),
    /// Clients send nothing on this channel.
    #[error("the channel is none of shell, control and stdin")]
    Channel,
}

impl Channel {
    fn name(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Control => "control",
            Self::Stdin => "stdin",
            Self::Iopub => "iopub",
        }
    }

    /// Returns the channel of a client's message.
    fn of_client(name: &[u8]) -> Result<Self, FrameError> {
        [Self::Shell, Self::Control, Self::Stdin]
            .into_iter()
            .find(|channel| channel.name().as_bytes() == name)
            .ok_or(FrameError::Channel)
    }
}

/// A message in JSON, as the kernel sends it.
#[derive(Serialize)]
struct Sent<'a> {
    header: &'a Header,
    msg_id: &'a str,
    msg_type: &'a str,
    parent_header: &'a RawValue,
    metadata: &'a RawValue,
    content: &'a RawValue,
    /// Always empty: buffers are behind the JSON.
    buffers: [(); 0],
    channel: &'static str,
}

/// A message in JSON, as a client sends it.
#[derive(Deserialize)]
struct Received<'a> {
    #[serde(borrow)]
    header: &'a RawValue,
    #[serde(borrow)]
    parent_header: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    content: &'a RawValue,
    /// Clients that name none mean shell.
    channel: Option<String>,
}

/// Returns the frame of a message.
pub(super) fn encode(form: Form, channel: Channel, message: &Message) -> ws::Message {
    match form {
        Form::V1 => ws::Message::Binary(encode_v1(channel, message)),
        Form::Default => {
            let json = encode_json(channel, message);
            match message.buffers.as_slice() {
                [] => ws::Message::Text(json.into()),
                buffers => ws::Message::Binary(encode_binary(json.as_bytes(), buffers)),
            }
        }
    }
}

fn encode_json(channel: Channel, message: &Message) -> String {
    let sent = Sent {
        header: &message.header,
        msg_id: &message.header.msg_id,
        msg_type: &message.header.msg_type,
        parent_header: &message.parent_header,
        metadata: &message.metadata,
        content: &message.content,
        buffers: [],
        channel: channel.name(),
    };
    // Strings and JSON texts are always JSON.
    serde_json::to_string(&sent).unwrap_or_default()
}

/// Returns the number of parts, their offsets, and the parts; numbers are big-endian.
fn encode_binary(json: &[u8], buffers: &[Bytes]) -> Bytes {
    let parts = || std::iter::once(json).chain(buffers.iter().map(Bytes::as_ref));
    let count = buffers.len() + 1;
    let start = 4 * (count + 1);
    let mut frame = BytesMut::with_capacity(start + parts().map(<[u8]>::len).sum::<usize>());
    // Messages are far smaller than 4 GiB.
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    frame.put_u32(number(count));
    parts().fold(start, |offset, part| {
        frame.put_u32(number(offset));
        offset + part.len()
    });
    parts().for_each(|part| frame.put_slice(part));
    frame.freeze()
}

/// Returns the number of offsets, the offsets of all parts and of the end, and the parts; numbers are little-endian.
fn encode_v1(channel: Channel, message: &Message) -> Bytes {
    let header = brumate_jupyter_protocol::raw(&message.header);
    let texts = [&*header, &message.parent_header, &message.metadata, &message.content].map(RawValue::get);
    let parts = || {
        let texts = texts.iter().map(|text| text.as_bytes());
        std::iter::once(channel.name().as_bytes()).chain(texts).chain(message.buffers.iter().map(Bytes::as_ref))
    };
    let count = V1_PARTS + message.buffers.len() + 1;
    let start = 8 * (count + 1);
    let mut frame = BytesMut::with_capacity(start + parts().map(<[u8]>::len).sum::<usize>());
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    frame.put_u64_le(number(count));
    let end = parts().fold(start, |offset, part| {
        frame.put_u64_le(number(offset));
        offset + part.len()
    });
    frame.put_u64_le(number(end));
    parts().for_each(|part| frame.put_slice(part));
    frame.freeze()
}

/// Reads a text frame.
///
/// # Errors
///
/// [`FrameError`].
pub(super) fn decode_text(form: Form, text: &str) -> Result<(Channel, Message), FrameError> {
    match form {
        Form::V1 => Err(FrameError::Text),
        Form::Default => decode_json(text.as_bytes(), Vec::new()),
    }
}

/// Reads a binary frame.
///
/// # Errors
///
/// [`FrameError`].
pub(super) fn decode_binary(form: Form, frame: &Bytes) -> Result<(Channel, Message), FrameError> {
    match form {
        Form::V1 => {
            let parts = split(frame, &offsets::<8>(frame, u64::from_le_bytes, V1_PARTS + 1)?)?;
            let [channel, header, parent_header, metadata, content, buffers @ ..] = &parts[..] else {
                return Err(FrameError::Table);
            };
            let message = Message::from_texts([header, parent_header, metadata, content], buffers.to_vec())?;
            Ok((Channel::of_client(channel)?, message))
        }
        Form::Default => {
            let mut offsets = offsets::<4>(frame, |bytes| u32::from_be_bytes(bytes).into(), 1)?;
            offsets.push(frame.len());
            let mut parts = split(frame, &offsets)?.into_iter();
            decode_json(&parts.next().ok_or(FrameError::Table)?, parts.collect())
        }
    }
}

fn decode_json(json: &[u8], buffers: Vec<Bytes>) -> Result<(Channel, Message), FrameError> {
    // serde would take a list of the fields, too.
    if json.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err(FrameError::Json("it is no JSON object".to_owned()));
    }
    let received: Received<'_> = serde_json::from_slice(json).map_err(|error| FrameError::Json(error.to_string()))?;
    let channel = received.channel.as_deref().unwrap_or("shell");
    let text = |part: Option<&'_ RawValue>| part.map_or("{}", RawValue::get).to_owned();
    let (parent_header, metadata) = (text(received.parent_header), text(received.metadata));
    let texts = [received.header.get(), &parent_header, &metadata, received.content.get()].map(str::as_bytes);
    Ok((Channel::of_client(channel.as_bytes())?, Message::from_texts(texts, buffers)?))
}

/// Returns the offsets at the beginning of a frame: their number, then they, in `N` bytes each. There are at least `least`.
fn offsets<const N: usize>(
    frame: &[u8],
    number: impl Fn([u8; N]) -> u64,
    least: usize,
) -> Result<Vec<usize>, FrameError> {
    let (words, _) = frame.as_chunks::<N>();
    let mut words = words.iter().map(|word| usize::try_from(number(*word)).unwrap_or(usize::MAX));
    let count = words.next().ok_or(FrameError::Table)?;
    if count < least || count > least + MAX_BUFFERS {
        return Err(FrameError::Table);
    }
    let offsets: Vec<usize> = words.take(count).collect();
    let table = N * (count + 1);
    match offsets.first() {
        Some(first) if offsets.len() == count && *first >= table => Ok(offsets),
        Some(_) if offsets.len() == count => Err(FrameError::Offsets),
        _ => Err(FrameError::Table),
    }
}

/// Returns the parts between offsets. They share the memory of the frame.
fn split(frame: &Bytes, offsets: &[usize]) -> Result<Vec<Bytes>, FrameError> {
    let is_within = offsets.is_sorted() && offsets.last().is_some_and(|last| *last <= frame.len());
    let parts = || offsets.windows(2).map(|pair| frame.slice(pair[0]..pair[1])).collect();
    is_within.then(parts).ok_or(FrameError::Offsets)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(buffers: &[&'static [u8]]) -> Message {
        let mut message = Message::new("comm_msg", "s", &Header::default(), &json!({"data": "é"}));
        message.buffers = buffers.iter().map(|buffer| Bytes::from_static(buffer)).collect();
        message
    }

    fn decode(form: Form, frame: &ws::Message) -> Result<(Channel, Message), FrameError> {
        match frame {
            ws::Message::Text(text) => decode_text(form, text),
            ws::Message::Binary(bytes) => decode_binary(form, bytes),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_come_back_from_their_frames() {
        for form in [Form::Default, Form::V1] {
            let lists: [&[&'static [u8]]; 3] = [&[], &[b"\0\xff"], &[b"", b"abc", b""]];
            for buffers in lists {
                let sent = message(buffers);
                let frame = encode(form, Channel::Stdin, &sent);
                assert_eq!(matches!(frame, ws::Message::Text(_)), form == Form::Default && buffers.is_empty());
                let (channel, read) = decode(form, &frame).unwrap();
                assert_eq!((channel, &read.header, read.content()), (Channel::Stdin, &sent.header, sent.content()));
                assert_eq!(read.buffers, sent.buffers);
            }
        }
    }

    #[test]
    fn json_has_the_keys_that_clients_read() {
        let ws::Message::Text(text) = encode(Form::Default, Channel::Iopub, &message(&[])) else { panic!("no text") };
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&json["msg_type"], &json["channel"]), (&json!("comm_msg"), &json!("iopub")));
        assert_eq!((&json["msg_id"], &json["buffers"]), (&json["header"]["msg_id"], &json!([])));
    }

    #[test]
    fn frames_with_wrong_offsets_are_errors() {
        let ws::Message::Binary(v1) = encode(Form::V1, Channel::Shell, &message(&[b"ab"])) else { panic!("no binary") };
        let changed = |index: usize, offset: u64| {
            let mut frame = v1.to_vec();
            frame[8 * index..8 * (index + 1)].copy_from_slice(&offset.to_le_bytes());
            decode_binary(Form::V1, &frame.into()).unwrap_err()
        };
        let (length, last) = (v1.len() as u64, 7);
        assert_eq!(changed(last, length + 1), FrameError::Offsets, "behind the end");
        assert_eq!(changed(last, u64::MAX), FrameError::Offsets, "negative");
        assert_eq!(changed(2, length), FrameError::Offsets, "overlapping");
        assert_eq!(changed(1, 0), FrameError::Offsets, "the table itself");
        for count in [0, 1, 5, u64::MAX, 1 << 61, length] {
            assert!(matches!(changed(0, count), FrameError::Table | FrameError::Offsets), "{count} offsets");
        }
        let ws::Message::Binary(default) = encode(Form::Default, Channel::Shell, &message(&[b"ab"])) else {
            panic!("no binary")
        };
        for (index, word) in [(0, 0), (0, u32::MAX), (1, 0), (1, u32::MAX), (2, 0), (2, u32::MAX)] {
            let mut frame = default.to_vec();
            frame[4 * index..4 * (index + 1)].copy_from_slice(&word.to_be_bytes());
            let error = decode_binary(Form::Default, &frame.into()).unwrap_err();
            assert!(matches!(error, FrameError::Table | FrameError::Offsets), "{index} {word}: {error}");
        }
        for length in 0..v1.len() {
            assert!(decode_binary(Form::V1, &v1.slice(..length)).is_err());
            assert!(decode_binary(Form::Default, &v1.slice(..length)).is_err());
        }
    }

    #[test]
    fn texts_that_are_no_message_are_errors() {
        let header = r#"{"msg_id":"a","msg_type":"b"}"#;
        let error = |text: &str| decode_text(Form::Default, text).unwrap_err().to_string();
        assert!(error("").contains("EOF") && error("[]").contains("no JSON object"));
        assert!(error(r#"{"content":{}}"#).contains("missing field `header`"));
        assert!(error(r#"{"header":{},"content":{}}"#).contains("its header"));
        assert!(error(&format!(r#"{{"header":{header},"content":[]}}"#)).contains("its content"));
        let deep = ["{\"a\":".repeat(200), "1".to_owned(), "}".repeat(200)].concat();
        assert!(error(&format!(r#"{{"header":{header},"content":{deep}}}"#)).contains("its content"));
        for channel in ["iopub", "heartbeat", ""] {
            let text = format!(r#"{{"header":{header},"content":{{}},"channel":"{channel}"}}"#);
            assert_eq!(decode_text(Form::Default, &text).unwrap_err(), FrameError::Channel);
        }
        assert_eq!(decode_text(Form::V1, "{}").unwrap_err(), FrameError::Text);
        let (channel, _) = decode_text(Form::Default, &format!(r#"{{"header":{header},"content":{{}}}}"#)).unwrap();
        assert_eq!(channel, Channel::Shell);
    }
}
