//! Any bytes as what a zygote, a machine or the server says to another: decoding never panics, and what decodes is encoded
//! as something that means the same.
//!
//! The first eight bytes are tried as a frame's header, all of them as a payload of each direction.
#![no_main]

use brumate_engine::wire::{
    FromInit, FromMachine, FromZygote, HEADER, MAX_FDS, MAX_FRAME, ToMachine, ToZygote, decode, decode_header, encode,
};
use libfuzzer_sys::fuzz_target;
use serde::{Serialize, de::DeserializeOwned};

fn round_trip<T: Serialize + DeserializeOwned>(payload: &[u8]) {
    let Ok(message) = decode::<T>(payload) else { return };
    let frame = encode(&message, 0).expect("what was received can be sent");
    let (length, fds) = decode_header(*frame.first_chunk().expect("a header")).expect("a good header");
    assert_eq!((HEADER + length, fds), (frame.len(), 0));
    let again: T = decode(&frame[HEADER..]).expect("what was encoded decodes");
    assert_eq!(encode(&again, 0).expect("as before"), frame);
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(Ok((length, fds))) = bytes.first_chunk::<HEADER>().map(|header| decode_header(*header)) {
        assert!(length <= MAX_FRAME && fds <= MAX_FDS);
    }
    round_trip::<FromMachine>(bytes);
    round_trip::<FromZygote>(bytes);
    round_trip::<FromInit>(bytes);
    round_trip::<ToMachine>(bytes);
    round_trip::<ToZygote>(bytes);
});
