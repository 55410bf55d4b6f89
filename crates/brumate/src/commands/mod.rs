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
pub(crate) mod stdio;
pub(crate) mod token;
pub(crate) mod variables_file;
pub(crate) mod warmup;

use std::io::{IsTerminal as _, Write};

use crate::guest_text::{GuestText, own_message, print_line};

/// Writes a line to standard output. If that is a terminal, text of guests and of other servers in it is harmless.
pub(crate) fn print(text: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    let mut shown = GuestText::default();
    match output.is_terminal() {
        true => writeln!(output, "{}{}", shown.next(text), shown.finish())?,
        false => writeln!(output, "{text}")?,
    }
    output.flush()
}

/// Writes a message of ours to standard error. Control characters in it are made visible: it may repeat text of guests.
pub(crate) fn print_error(text: &str) {
    print_line(&own_message(text, false));
}
