//! `brumate token`: a new token for a client.

use brumate_server::http::NewToken;

use super::{complain, print};
use crate::cli::TokenArgs;
use crate::exit_status;

/// The token goes to standard output, to be kept by its owner; its entry to standard error, to be appended to the file of
/// tokens: `brumate token ada 2>> tokens.toml`.
pub(crate) fn run(arguments: &TokenArgs) -> anyhow::Result<u8> {
    match NewToken::make(&arguments.name) {
        Ok(made) => {
            print(&made.token)?;
            complain(made.entry.trim_end());
            Ok(exit_status::SUCCESS)
        }
        Err(reason) => {
            complain(&format!("brumate: {reason}"));
            Ok(exit_status::USAGE)
        }
    }
}
