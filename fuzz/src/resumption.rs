//! Streams of a session that are opened, written, read, left, resumed and forgotten in any order.
//!
//! What is counted is what is held, after each step; at the end nothing stays on anybody's account.

/// Holds the property for one sequence of steps, a byte each. Returns whether anything was read.
///
/// # Panics
///
/// When it does not hold.
pub fn run(bytes: &[u8]) -> bool {
    brumate_mcp::fuzzing::resumption(bytes)
}
