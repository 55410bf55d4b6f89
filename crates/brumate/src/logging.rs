//! Logs to standard error. Standard output is for the protocol.

use std::fmt;
use std::io::{IsTerminal, Write};

use brumate_mcp::PROTOCOL_TARGET;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::env_vars;
use crate::guest_text::{begin_line, own_message};
use crate::predecessor::filter_of_level;

/// Default filter: warnings, without those of the protocol, which contain clients' messages and report every disconnected client as an
/// error.
fn default_filter() -> String {
    format!("warn,{PROTOCOL_TARGET}=off")
}

/// Filter of `--verbose`.
fn verbose_filter() -> String {
    let ours = "brumate=debug,brumate_engine=debug,brumate_session=debug,brumate_server=debug";
    format!("info,{ours},{PROTOCOL_TARGET}=warn")
}

/// Separates the lines of one event.
const CONTINUED: &str = "\n  ";

/// Installs the subscriber. Servers log with times and targets. Other commands print sentences, unless `--verbose` or `BRUMATE_LOG` is
/// set.
///
/// # Errors
///
/// A text: `BRUMATE_LOG` is not a valid filter.
pub(crate) fn start(verbose: bool, is_server: bool) -> Result<(), String> {
    let given = std::env::var(env_vars::LOG).ok().filter(|text| !text.is_empty());
    let level = std::env::var(env_vars::LOG_LEVEL).ok().filter(|_| is_server && !verbose);
    let filter = match &given {
        Some(text) => {
            EnvFilter::try_new(text).map_err(|error| format!("{} is not a filter: {error}", env_vars::LOG))?
        }
        None if verbose => EnvFilter::new(verbose_filter()),
        None => EnvFilter::new(level.as_deref().and_then(filter_of_level).unwrap_or_else(default_filter)),
    };
    let ansi = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt::layer().with_writer(move || LogLines { styled: ansi });
    let lines = match is_server || verbose || given.is_some() {
        true => lines.with_ansi(ansi).with_filter(filter_fn(is_safe_to_log)).boxed(),
        false => lines.event_format(SentenceFormat).with_filter(filter_fn(is_safe_to_log)).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).init();
    Ok(())
}

/// Writes events to standard error, each with one call. Text of guests in them stays in its event and harmless.
struct LogLines {
    /// The subscriber writes colours.
    styled: bool,
}

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let event = String::from_utf8_lossy(bytes);
        let begin = begin_line();
        let text = own_message(event.trim_end_matches('\n'), self.styled).replace('\n', CONTINUED);
        writeln!(std::io::stderr().lock(), "{begin}{text}")?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Formats events as sentences, like the other messages of a command: `brumate: what happened: why`.
struct SentenceFormat;

impl<S, N> FormatEvent<S, N> for SentenceFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut sentence = SentenceVisitor::default();
        event.record(&mut sentence);
        writeln!(writer, "brumate: {}{}", sentence.message, sentence.details)
    }
}

/// Collects the message of an event and its other fields.
#[derive(Default)]
struct SentenceVisitor {
    message: String,
    details: String,
}

impl Visit for SentenceVisitor {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "error" => self.details.insert_str(0, &format!(": {value:?}")),
            name => self.details.push_str(&format!(" ({name}: {value:?})")),
        }
    }
}

/// Returns whether an event may be logged. Below warnings, the protocol's part logs complete messages, which may contain passwords.
fn is_safe_to_log(metadata: &Metadata<'_>) -> bool {
    !metadata.target().starts_with(PROTOCOL_TARGET) || *metadata.level() <= Level::WARN
}

#[cfg(test)]
mod tests {
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
    fn commands_say_sentences() {
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer().with_writer(move || writer.clone()).event_format(SentenceFormat);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::warn!(wall = "seccomp", "a wall is missing; see `brumate doctor`");
            tracing::error!(image = "data", error = %"disk full", "an image cannot be built");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let expected = "brumate: a wall is missing; see `brumate doctor` (wall: \"seccomp\")\n\
                        brumate: an image cannot be built: disk full (image: \"data\")\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn messages_are_never_logged_whatever_the_filter_says() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::registry().with(EnvFilter::new("trace")).with(
            tracing_subscriber::fmt::layer().with_writer(move || writer.clone()).with_filter(filter_fn(is_safe_to_log)),
        );
        tracing::subscriber::with_default(subscriber, || {
            tracing::trace!(target: PROTOCOL_TARGET, "received hunter2");
            tracing::debug!(target: PROTOCOL_TARGET, "received hunter2");
            tracing::info!(target: PROTOCOL_TARGET, "received hunter2");
            tracing::warn!(target: PROTOCOL_TARGET, "a warning");
            tracing::trace!("of our own");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("a warning") && text.contains("of our own") && !text.contains("hunter2"), "{text}");
    }
}
