//! A function for the fuzz targets: what a machine's bytes reach. Not part of the interface.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::sync::Notify;

use super::frames::{CREDIT, HEAD_BYTES, decode};
use super::stream_table::StreamTable;

/// Requests that are open when the bytes arrive.
const REQUESTS: usize = 3;

/// Counts of what the host has taken of a machine's bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct TakenBytes {
    /// The number of frames that were taken before the first error.
    pub frames: usize,
    /// Most bytes of a frame that was not complete.
    pub received: usize,
    /// Most bytes of responses that waited to be read.
    pub held: usize,
}

impl TakenBytes {
    /// Returns whether no more was kept than the protocol allows. `step` is that of [`take_guest_bytes`].
    pub fn is_bounded(&self, step: usize) -> bool {
        self.received < CREDIT + HEAD_BYTES + step && self.held <= CREDIT * REQUESTS
    }
}

/// Gives bytes to the host as those of a machine with three open requests, in pieces of `step` bytes.
pub fn take_guest_bytes(mut bytes: &[u8], step: usize) -> TakenBytes {
    let mut table = StreamTable::new(Arc::new(Notify::new()));
    let _heads: Vec<_> = (0..REQUESTS).map(|_| table.open(Bytes::from_static(b"{}"))).collect();
    let (mut received, mut written) = (BytesMut::new(), BytesMut::new());
    let mut taken = TakenBytes::default();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(step.clamp(1, bytes.len()));
        received.extend_from_slice(piece);
        bytes = rest;
        table.write_frames(&mut written);
        written.clear();
        loop {
            let Ok(frame) = decode(&mut received) else { return taken };
            let Some(frame) = frame else { break };
            if table.take(frame).is_err() {
                return taken;
            }
            taken.frames += 1;
            taken.held = taken.held.max(table.held_bytes());
        }
        taken.received = taken.received.max(received.len());
    }
    taken
}
