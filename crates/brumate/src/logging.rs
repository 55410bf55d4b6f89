//! Logs go to standard error: standard output belongs to the protocol.

use std::io::IsTerminal;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::env_vars;

/// Warnings, but nothing of rmcp's: its lines repeat what clients send, and call it an error when one of them goes away.
const DEFAULT: &str = "warn,rmcp=off";
/// What `--verbose` shows.
const VERBOSE: &str = "info,brumate=debug,brumate_engine=debug,brumate_session=debug,brumate_server=debug,rmcp=warn";

/// Installs the subscriber.
///
/// # Errors
///
/// A text when `BRUMATE_LOG` is no filter.
pub(crate) fn start(verbose: bool) -> Result<(), String> {
    let given = std::env::var(env_vars::LOG).ok().filter(|text| !text.is_empty());
    let filter = match &given {
        Some(text) => {
            EnvFilter::try_new(text).map_err(|error| format!("{} is not a filter: {error}", env_vars::LOG))?
        }
        None => EnvFilter::new(if verbose { VERBOSE } else { DEFAULT }),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_filter(filter_fn(is_discreet));
    tracing_subscriber::registry().with(filter).with(lines).init();
    Ok(())
}

/// Below warnings, rmcp logs every message with all it holds, passwords that were asked for among it: never shown.
fn is_discreet(metadata: &Metadata<'_>) -> bool {
    !metadata.target().starts_with("rmcp") || *metadata.level() <= Level::WARN
}
