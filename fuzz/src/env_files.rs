//! A file with variables, `.env`, which `brumate run` and `brumate install` read.
//!
//! No bytes make the reader panic; what it reads is not more than what there is, and an error shows nothing of it.

use brumate_mcp_clients::parse_env_file;

/// Holds the property for any bytes as a file. Returns whether there is a variable.
///
/// # Panics
///
/// When it does not hold.
pub fn run(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match parse_env_file(text) {
        Ok(variables) => {
            let length: usize = variables.iter().map(|(name, value)| name.len() + value.len()).sum();
            assert!(length <= text.len(), "more than there is in {text:?}");
            assert!(variables.iter().all(|(name, _)| !name.is_empty() && !name.contains(['=', '\0'])), "{variables:?}");
            !variables.is_empty()
        }
        Err(error) => {
            assert!(error.to_string().len() < 300, "{error}");
            false
        }
    }
}
