//! The commands, one file each.

pub(crate) mod bundle;
pub(crate) mod client;
pub(crate) mod completions;
pub(crate) mod dev;
pub(crate) mod doctor;
pub(crate) mod example;
pub(crate) mod exec;
pub(crate) mod health;
pub(crate) mod http;
pub(crate) mod install;
pub(crate) mod lock;
mod output_directory;
pub(crate) mod pipe;
pub(crate) mod run;
mod run_events;
pub(crate) mod serving;
pub(crate) mod sessions;
mod source_file;
pub(crate) mod stdio;
pub(crate) mod token;
pub(crate) mod warmup;

use std::io::Write;

/// Writes a line to standard output.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{text}")?;
    output.flush()
}

/// Writes a line to standard error. Errors are ignored: the terminal may be gone.
pub(crate) fn print_error(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
