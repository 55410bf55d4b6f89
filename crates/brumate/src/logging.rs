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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn messages_are_never_logged_whatever_the_filter_says() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::registry().with(EnvFilter::new("trace")).with(
            tracing_subscriber::fmt::layer().with_writer(move || writer.clone()).with_filter(filter_fn(is_discreet)),
        );
        tracing::subscriber::with_default(subscriber, || {
            tracing::trace!(target: "rmcp::transport", "received hunter2");
            tracing::debug!(target: "rmcp::service", "received hunter2");
            tracing::info!(target: "rmcp::service", "received hunter2");
            tracing::warn!(target: "rmcp::service", "a warning");
            tracing::trace!("of our own");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("a warning") && text.contains("of our own") && !text.contains("hunter2"), "{text}");
    }
}
