//! A header `WWW-Authenticate`, in which servers ask clients for tokens.
//!
//! No bytes make the client panic; what it reads is not more than what there is, and means the same when it is written again.

use brumate_mcp::client::fuzzing;

/// Holds the property for any bytes as a header. Returns whether there is a challenge for bearer tokens with parameters.
///
/// # Panics
///
/// When it does not hold.
pub fn run(bytes: &[u8]) -> bool {
    let Ok(header) = std::str::from_utf8(bytes) else { return false };
    let found = fuzzing::bearer_challenge(header);
    let length: usize = found.iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!(length <= header.len(), "more than there is in {header:?}: {found:?}");
    let quoted = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"");
    let fields: Vec<String> = found.iter().map(|(name, value)| format!("{name}=\"{}\"", quoted(value))).collect();
    let written = format!("Digest realm=\"Bearer x=\\\"\", Bearer {}", fields.join(", "));
    // A header that is longer than what is read has been cut.
    if written.len() < 4096 {
        assert_eq!(fuzzing::bearer_challenge(&written), found, "{written}");
    }
    !found.is_empty()
}
