//! Functions for the fuzz targets. Not part of the interface.

use super::challenge::Challenge;

/// Reads the challenge for bearer tokens in a header `WWW-Authenticate`; returns its parameters in their order.
pub fn bearer_challenge(header: &str) -> Vec<(String, String)> {
    Challenge::bearer([header]).into_parameters()
}
