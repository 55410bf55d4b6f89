//! A line of a server or of its client, as `brumate run` checks it before it is passed on.
//!
//! No bytes make the check panic, and what is passed on is what an ordinary reader of JSON finds there.

use brumate_python_server::stdio::fuzzing;

/// Holds the property for any bytes as a line. Returns whether there is a message.
///
/// # Panics
///
/// When it does not hold.
pub fn run(bytes: &[u8]) -> bool {
    let messages = fuzzing::messages(bytes);
    for message in &messages {
        let value: serde_json::Value = serde_json::from_slice(message).expect("a message is JSON");
        assert!(value.get("jsonrpc").is_some_and(|version| version == "2.0"), "{value}");
    }
    !messages.is_empty()
}
