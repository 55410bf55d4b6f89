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
pub(crate) mod kernel;
pub(crate) mod lock;
mod notebook;
mod output_directory;
pub(crate) mod pipe;
mod project;
pub(crate) mod run;
mod run_events;
pub(crate) mod serving;
pub(crate) mod sessions;
mod source_file;
pub(crate) mod stdio;
pub(crate) mod suite;
pub(crate) mod token;
pub(crate) mod variables_file;
pub(crate) mod warmup;

use std::io::{IsTerminal as _, Write};

use crate::guest_text::{GuestText, own_message, print_line};

/// Longest text of a server that an error message shows, in characters.
const MAX_SHOWN_CHARACTERS: usize = 4000;

/// Returns a server's text for a terminal, cut to a bounded length. Control characters are escaped, and characters that are invisible or
/// change the direction of writing. Line feeds and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(MAX_SHOWN_CHARACTERS) {
        match character {
            '\n' | '\t' => shown.push(character),
            hidden if brumate_mcp_clients::is_hidden(hidden) => shown.extend(hidden.escape_unicode()),
            character => shown.push(character),
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_text_does_nothing_to_a_terminal() {
        let shown = visible("a\u{1b}]52;c;x\u{7}\u{9b}2J\r\u{202e}b\u{200b}\n\té");
        assert_eq!(shown, r"a\u{1b}]52;c;x\u{7}\u{9b}2J\u{d}\u{202e}b\u{200b}".to_owned() + "\n\té");
        assert_eq!(visible(&"x".repeat(1 << 20)).chars().count(), MAX_SHOWN_CHARACTERS + 1);
    }
}
