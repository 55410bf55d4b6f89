//! A line of a server or of its client, as `brumate run` checks it before it is passed on.
//!
//! No bytes make the check panic, and what is passed on is what an ordinary reader of JSON finds there.

use std::collections::HashMap;

use brumate_python_server::stdio::fuzzing;
use serde_json::value::RawValue;

/// Holds the property for any bytes as a line. Returns whether there is a message.
///
/// # Panics
///
/// When it does not hold.
pub fn run(bytes: &[u8]) -> bool {
    let messages = fuzzing::messages(bytes);
    for message in &messages {
        // Numbers stay texts: JSON has larger ones than programs.
        let fields: HashMap<String, &RawValue> = serde_json::from_slice(message).expect("a message is JSON");
        let version = fields.get("jsonrpc").map(|version| serde_json::from_str::<String>(version.get()));
        assert!(version.is_some_and(|version| version.is_ok_and(|version| version == "2.0")), "{fields:?}");
    }
    !messages.is_empty()
}
