//! Parts of OAuth that clients, resource servers and authorization servers share.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Returns a random text of 256 bits that nobody can guess.
pub fn random_token() -> String {
    let mut bytes = [0; 32];
    // It does not fail on supported systems. Without it no secret could be trusted.
    getrandom::fill(&mut bytes).expect("the system's random generator works");
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the challenge of a verifier by S256 (RFC 7636, section 4.2).
pub fn s256(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

/// Returns the header `Authorization` of a client with a secret: HTTP Basic, with both parts encoded as in a form (RFC
/// 6749, section 2.3.1).
pub(crate) fn basic(id: &str, secret: &str) -> String {
    let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encode(id), encode(secret))))
}

/// Returns the SHA-256 of a text in hexadecimal digits.
pub fn sha256_hex(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
