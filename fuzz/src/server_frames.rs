//! The frames of an ASGI application in a machine, as the host reads them.
//!
//! No bytes make the host panic, and it keeps no more of them than the protocol allows.

use brumate_python_server::http::fuzzing::take_guest_bytes;

/// Holds the property for any bytes of a machine; the first one says in which pieces they arrive. Returns whether there is a frame.
///
/// # Panics
///
/// When it does not hold.
pub fn run(bytes: &[u8]) -> bool {
    let Some((&first, frames)) = bytes.split_first() else { return false };
    let step = usize::from(first) + 1;
    let taken = take_guest_bytes(frames, step);
    assert!(taken.is_bounded(step), "{taken:?}");
    taken.frames > 0
}
