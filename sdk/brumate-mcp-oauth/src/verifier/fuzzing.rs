//! Functions for the fuzz targets. Not part of the interface.

use super::jwk::{JwkSet, VerificationKeys};
use super::jwt::Jwt;
use std::time::{Duration, UNIX_EPOCH};

/// Checks a token of `issuer` with a set of keys (JSON), at a time in seconds since 1970. Returns its subject if it is
/// valid.
pub fn signed_token(token: &str, keys: &str, issuer: &str, now: u64) -> Option<String> {
    let keys: VerificationKeys = serde_json::from_str::<JwkSet>(keys).ok()?.into();
    let access = Jwt::parse(token).ok()?.verify(&keys, issuer, UNIX_EPOCH + Duration::from_secs(now)).ok()?;
    Some(access.subject)
}
