//! Any bytes as a message between the server, a zygote and a machine.

use brumate_engine::wire::{
    FromInit, FromZygote, HEADER, MAX_FDS, MAX_FRAME, MachineMessage, MachineRequest, ToZygote, decode, decode_header,
    encode,
};
use serde::{Serialize, de::DeserializeOwned};

/// Decodes the first eight bytes as a frame's header, and all bytes as a payload of each direction.
///
/// Decoding never panics, and what decodes is encoded as something that means the same. Returns whether the bytes are a
/// message in one direction.
pub fn run(bytes: &[u8]) -> bool {
    if let Some(Ok((length, fds))) = bytes.first_chunk::<HEADER>().map(|header| decode_header(*header)) {
        assert!(length <= MAX_FRAME && fds <= MAX_FDS);
    }
    [
        round_trip::<MachineMessage>(bytes),
        round_trip::<FromZygote>(bytes),
        round_trip::<FromInit>(bytes),
        round_trip::<MachineRequest>(bytes),
        round_trip::<ToZygote>(bytes),
    ]
    .contains(&true)
}

fn round_trip<T: Serialize + DeserializeOwned>(payload: &[u8]) -> bool {
    let Ok(message) = decode::<T>(payload) else { return false };
    let frame = encode(&message, 0).expect("what was received can be sent");
    let (length, fds) = decode_header(*frame.first_chunk().expect("a header")).expect("a good header");
    assert_eq!((HEADER + length, fds), (frame.len(), 0));
    let again: T = decode(&frame[HEADER..]).expect("what was encoded decodes");
    assert_eq!(encode(&again, 0).expect("a message"), frame);
    true
}
