//! An access token that a client shows, signed by its issuer.
//!
//! No bytes make the server panic, and a token is valid only as its issuer has signed it.

use brumate_mcp::auth::fuzzing;

/// A token that is valid until 2096.
pub const TOKEN: &str = concat!(
    "eyJhbGciOiJFZERTQSIsImtpZCI6Im9uZSIsInR5cCI6ImF0K2p3dCJ9.",
    "eyJpc3MiOiJodHRwczovL2F1dGguZXhhbXBsZSIsInN1YiI6ImFkYSIsImF1ZCI6WyJodHRwczovL21jcC5leGFtcGxlIl0sImV4cCI6NDAwMDAwMDAwMCwi",
    "bmJmIjoxMDAwMDAwMDAwLCJjbGllbnRfaWQiOiJhcHAiLCJzY29wZSI6InJlYWQgd3JpdGUifQ.",
    "x6V1LNK7TIyLTsO29gI7lG3cUr707vI1iChoNGmCRtK6z36JGMj2k_-3CVNVc0MkU6U6YDSY1GLAZ4tL1HJlBQ",
);

/// The key that has signed it.
const KEYS: &str =
    r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "one", "x": "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"}]}"#;

const ISSUER: &str = "https://auth.example";
const NOW: u64 = 2_000_000_000;

/// Holds the property for any bytes as a token. Returns whether it is valid.
///
/// # Panics
///
/// When it does not hold.
pub fn run(bytes: &[u8]) -> bool {
    let Ok(token) = std::str::from_utf8(bytes) else { return false };
    let valid = fuzzing::signed_token(token, KEYS, ISSUER, NOW);
    // A set of keys is what another server sends.
    let _ = fuzzing::signed_token(TOKEN, token, ISSUER, NOW);
    if valid.is_some() {
        let signed = |token: &str| token.rsplit_once('.').map(|(text, _)| text.to_owned());
        assert_eq!(signed(token), signed(TOKEN), "it was not signed");
    }
    valid.is_some()
}
