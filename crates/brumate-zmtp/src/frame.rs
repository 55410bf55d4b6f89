//! Frames, and the messages that they make.
//!
//! A frame is `[u8 flags][u8 length]`, or with the flag LONG `[u8 flags][u64 length]` in network order, then its body.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::Parts;
use crate::error::ProtocolError;
use crate::limits::{COMMAND_BYTES, Limits, PART_BYTES};

/// More frames of the same message follow.
const MORE: u8 = 1;
/// The length has eight bytes.
const LONG: u8 = 2;
/// The frame is a command.
const COMMAND: u8 = 4;

/// Adds the head of a part of a message.
pub(crate) fn put_part_head(to_write: &mut BytesMut, length: usize, is_last: bool) {
    put_head(to_write, if is_last { 0 } else { MORE }, length);
}

/// Adds a command with its name and its data.
pub(crate) fn put_command(to_write: &mut BytesMut, name: &'static str, data: &[u8]) {
    put_head(to_write, COMMAND, 1 + name.len() + data.len());
    // Names of commands are short.
    to_write.put_u8(u8::try_from(name.len()).unwrap_or(u8::MAX));
    to_write.put_slice(name.as_bytes());
    to_write.put_slice(data);
}

fn put_head(to_write: &mut BytesMut, flags: u8, length: usize) {
    match u8::try_from(length) {
        Ok(length) => to_write.put_slice(&[flags, length]),
        Err(_) => {
            to_write.put_u8(flags | LONG);
            to_write.put_u64(length as u64);
        }
    }
}

/// A message or a command that has arrived in full.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// A command: its name and its data, not yet looked at.
    Command(Bytes),
    /// A message.
    Message(Parts),
}

/// Makes messages and commands of bytes, whatever pieces they come in.
///
/// Bodies are copied out of what is received, so that a small part never keeps a large buffer. Memory is taken as bytes arrive.
#[derive(Debug)]
pub(crate) struct Decoder {
    frame_bytes: usize,
    message_bytes: usize,
    max_parts: usize,
    /// Whether READY has been seen. Before it there are commands only.
    takes_messages: bool,
    /// The parts of a message that has not ended, and their bytes.
    parts: Parts,
    parts_bytes: usize,
    /// The frame whose body has not ended.
    frame: Option<Frame>,
}

#[derive(Debug)]
struct Frame {
    flags: u8,
    /// Bytes of the body that are missing.
    missing: usize,
    body: Vec<u8>,
}

impl Decoder {
    /// Makes one that takes commands only.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            frame_bytes: limits.frame_bytes,
            message_bytes: limits.message_bytes,
            max_parts: limits.parts,
            takes_messages: false,
            parts: Parts::new(),
            parts_bytes: 0,
            frame: None,
        }
    }

    /// Takes messages from now on.
    pub(crate) fn take_messages(&mut self) {
        self.takes_messages = true;
    }

    /// Returns the bytes that a message which has not ended holds.
    pub(crate) fn held_bytes(&self) -> usize {
        let of_frame = self.frame.as_ref().map_or(0, |frame| frame.body.len());
        self.parts_bytes.saturating_add(self.parts.len() * PART_BYTES).saturating_add(of_frame)
    }

    /// Takes what belongs to the next message or command off the front of `received`; `None` when it is not complete. Then
    /// `received` has a piece of a head at most.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`], as soon as the head of a frame is there that is not allowed.
    pub(crate) fn decode(&mut self, received: &mut BytesMut) -> Result<Option<Decoded>, ProtocolError> {
        loop {
            let mut frame = match self.frame.take() {
                Some(frame) => frame,
                None => match self.take_head(received)? {
                    Some(frame) => frame,
                    None => return Ok(None),
                },
            };
            frame.fill(received);
            if frame.missing > 0 {
                self.frame = Some(frame);
                return Ok(None);
            }
            if frame.flags & COMMAND != 0 {
                return Ok(Some(Decoded::Command(frame.body.into())));
            }
            self.parts_bytes += frame.body.len();
            self.parts.push(frame.body.into());
            if frame.flags & MORE == 0 {
                self.parts_bytes = 0;
                return Ok(Some(Decoded::Message(std::mem::take(&mut self.parts))));
            }
        }
    }

    fn take_head(&self, received: &mut BytesMut) -> Result<Option<Frame>, ProtocolError> {
        let Some(flags) = received.first().copied() else { return Ok(None) };
        let is_command = flags & COMMAND != 0;
        if flags & !(MORE | LONG | COMMAND) != 0 || (is_command && flags & MORE != 0) {
            return Err(ProtocolError::Flags(flags));
        }
        if !is_command && !self.takes_messages {
            return Err(ProtocolError::NotReady);
        }
        let head_bytes = if flags & LONG == 0 { 2 } else { 9 };
        let Some(mut head) = received.get(1..head_bytes) else { return Ok(None) };
        let length = if flags & LONG == 0 { u64::from(head.get_u8()) } else { head.get_u64() };
        let missing = self.check_length(length, is_command)?;
        received.advance(head_bytes);
        Ok(Some(Frame { flags, missing, body: Vec::new() }))
    }

    fn check_length(&self, length: u64, is_command: bool) -> Result<usize, ProtocolError> {
        let limit = if is_command { COMMAND_BYTES } else { self.frame_bytes };
        let Some(bytes) = usize::try_from(length).ok().filter(|bytes| *bytes <= limit) else {
            return Err(ProtocolError::Frame { length, limit });
        };
        if is_command {
            return Ok(bytes);
        }
        if self.parts.len() >= self.max_parts {
            return Err(ProtocolError::Parts(self.max_parts));
        }
        if bytes > self.message_bytes.saturating_sub(self.parts_bytes) {
            return Err(ProtocolError::Message(self.message_bytes));
        }
        Ok(bytes)
    }
}

impl Frame {
    /// Moves what there is of the body. The memory doubles, up to the length of the frame.
    fn fill(&mut self, received: &mut BytesMut) {
        let there = received.len().min(self.missing);
        if self.body.capacity() - self.body.len() < there {
            self.body.reserve_exact(self.missing.min(there.max(self.body.len())));
        }
        self.body.extend_from_slice(&received[..there]);
        received.advance(there);
        self.missing -= there;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { frame_bytes: 1000, message_bytes: 1500, parts: 4, ..Limits::default() }
    }

    fn decoder() -> Decoder {
        let mut decoder = Decoder::new(&limits());
        decoder.take_messages();
        decoder
    }

    /// Numbers that are the same in each run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 % end as u64).unwrap()
        }
    }

    fn random_traffic(numbers: &mut Numbers) -> (Vec<Decoded>, BytesMut) {
        let (mut sent, mut bytes) = (Vec::new(), BytesMut::new());
        for _ in 0..20 {
            if numbers.below(4) == 0 {
                let data = vec![7; numbers.below(600)];
                put_command(&mut bytes, "NAME", &data);
                sent.push(Decoded::Command([b"\x04NAME", &data[..]].concat().into()));
                continue;
            }
            let count = 1 + numbers.below(4);
            let parts: Parts = (0..count).map(|part| vec![part as u8; numbers.below(375)].into()).collect();
            for (index, part) in parts.iter().enumerate() {
                put_part_head(&mut bytes, part.len(), index + 1 == count);
                bytes.put_slice(part);
            }
            sent.push(Decoded::Message(parts));
        }
        (sent, bytes)
    }

    #[test]
    fn messages_are_the_same_in_whatever_pieces_they_come() {
        let mut numbers = Numbers(0x5eed_0001);
        for case in 0..300 {
            let (sent, mut bytes) = random_traffic(&mut numbers);
            let longest_piece = [1, 2, 10, 300, 100_000][case % 5];
            let (mut decoder, mut received, mut decoded) = (decoder(), BytesMut::new(), Vec::new());
            while !bytes.is_empty() {
                let piece = (1 + numbers.below(longest_piece)).min(bytes.len());
                received.extend_from_slice(&bytes.split_to(piece));
                while let Some(next) = decoder.decode(&mut received).unwrap() {
                    decoded.push(next);
                }
                assert!(received.len() < 9, "a piece of a head is left at most");
            }
            assert_eq!(decoded, sent, "{case}");
            assert_eq!(decoder.held_bytes(), 0);
        }
    }

    #[test]
    fn garbage_is_an_error_or_waits_and_never_a_panic() {
        let mut numbers = Numbers(0x5eed_0002);
        for _ in 0..2000 {
            let mut received: BytesMut = (0..numbers.below(200)).map(|_| numbers.below(256) as u8).collect();
            let mut decoder = decoder();
            while let Ok(Some(_)) = decoder.decode(&mut received) {}
            assert!(decoder.held_bytes() <= 200 + 4 * PART_BYTES);
        }
    }

    #[test]
    fn a_head_is_refused_before_its_body() {
        for (head, error) in [
            (&[8, 0][..], ProtocolError::Flags(8)),
            (&[255], ProtocolError::Flags(255)),
            (&[COMMAND | MORE], ProtocolError::Flags(5)),
            (&[LONG, 255, 255, 255, 255, 255, 255, 255, 255], ProtocolError::Frame { length: u64::MAX, limit: 1000 }),
            (&[LONG, 128, 0, 0, 0, 0, 0, 0, 0], ProtocolError::Frame { length: 1 << 63, limit: 1000 }),
            (&[LONG, 0, 0, 0, 0, 0, 0, 3, 233], ProtocolError::Frame { length: 1001, limit: 1000 }),
            (&[COMMAND | LONG, 0, 0, 0, 0, 0, 0, 32, 1], ProtocolError::Frame { length: 8193, limit: COMMAND_BYTES }),
        ] {
            assert_eq!(decoder().decode(&mut BytesMut::from(head)), Err(error));
        }
        assert_eq!(Decoder::new(&limits()).decode(&mut BytesMut::from(&[0][..])), Err(ProtocolError::NotReady));
    }

    #[test]
    fn a_message_has_bounds_of_its_own() {
        let mut bytes = BytesMut::new();
        for _ in 0..2 {
            put_part_head(&mut bytes, 800, false);
            bytes.put_bytes(0, 800);
        }
        assert_eq!(decoder().decode(&mut bytes), Err(ProtocolError::Message(1500)));
        let mut bytes = BytesMut::from(&[MORE, 0].repeat(5)[..]);
        assert_eq!(decoder().decode(&mut bytes), Err(ProtocolError::Parts(4)));
    }

    #[test]
    fn memory_follows_what_has_arrived() {
        let mut decoder = Decoder::new(&Limits::default());
        decoder.take_messages();
        let mut received = BytesMut::new();
        put_part_head(&mut received, 100 << 20, true);
        received.put_bytes(1, 1000);
        assert_eq!(decoder.decode(&mut received), Ok(None));
        let frame = decoder.frame.as_ref().unwrap();
        assert_eq!((frame.body.len(), decoder.held_bytes()), (1000, 1000));
        assert!(frame.body.capacity() < 4000, "{}", frame.body.capacity());
    }
}
