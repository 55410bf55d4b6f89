//! `brumate token`: makes a bearer token for a client.

use brumate_server::http::NewToken;

use super::{print, print_error};
use crate::cli::TokenArgs;
use crate::exit_status;

/// Prints the token to standard output, and its entry for the tokens file to standard error: `brumate token ada 2>> tokens.toml`.
pub(crate) fn run(arguments: &TokenArgs) -> anyhow::Result<u8> {
    match NewToken::make(&arguments.name) {
        Ok(new) => {
            print(&new.token)?;
            print_error(new.entry.trim_end());
            Ok(exit_status::SUCCESS)
        }
        Err(reason) => {
            print_error(&format!("brumate: {reason}"));
            Ok(exit_status::USAGE)
        }
    }
}
