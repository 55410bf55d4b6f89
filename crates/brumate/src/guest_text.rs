//! Text of guests on its way to a terminal, to a log, or into a line of our own.
//!
//! A terminal obeys what it is shown: control characters move the cursor, set titles and reach the clipboard. They are written as Python
//! writes them in a literal (`\\x1b`). Colours stay where they are allowed. A line that would look like one of ours gets [`MARK`] before it.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// The beginning of our own lines.
const OURS: &str = "brumate:";
/// Stands before a guest's line that begins like one of ours.
const MARK: &str = "| ";
/// Longest escape sequence of a colour, in bytes.
const MAX_STYLE_BYTES: usize = 64;
/// Most bytes of escape sequences that are repeated for the next piece of text.
const MAX_STYLES_BYTES: usize = 256;
/// Most bytes at the beginning of a line that are held back, because they may become [`OURS`].
const MAX_HELD_BYTES: usize = 128;
/// Letters of other scripts, and such that stand for a sound or a number, that look like those of [`OURS`].
const LOOK_ALIKES: [(u8, &str); 8] = [
    (b'b', "\u{412}\u{42c}\u{44c}\u{432}\u{392}\u{184}\u{185}\u{253}\u{212c}\u{13cf}\u{15af}\u{299}\u{24b7}\u{24d1}"),
    (b'r', "\u{433}\u{453}\u{211b}\u{211c}\u{211d}\u{280}\u{13a1}\u{13d2}\u{1d26}\u{24c7}\u{24e1}\u{27e}\u{27c}"),
    (b'u', "\u{3c5}\u{446}\u{574}\u{57d}\u{54d}\u{1d1c}\u{28b}\u{222a}\u{24ca}\u{24e4}\u{438}"),
    (b'm', "\u{41c}\u{43c}\u{39c}\u{3fa}\u{2133}\u{216f}\u{217f}\u{1d0d}\u{271}\u{13b7}\u{24c2}\u{24dc}"),
    (b'a', "\u{410}\u{430}\u{391}\u{3b1}\u{251}\u{13aa}\u{1d00}\u{237a}\u{24b6}\u{24d0}\u{1d6a8}\u{1d6c2}"),
    (b't', "\u{422}\u{442}\u{3a4}\u{3c4}\u{1d1b}\u{13a2}\u{24c9}\u{24e3}"),
    (
        b'e',
        "\u{415}\u{435}\u{395}\u{3b5}\u{450}\u{451}\u{400}\u{401}\u{4bd}\u{212e}\u{212f}\u{2130}\u{2147}\u{13ac}\u{1d07}\u{24ba}\u{24d4}",
    ),
    (b':', "\u{2d0}\u{2d1}\u{589}\u{5c3}\u{703}\u{704}\u{205a}\u{a4fd}\u{1803}"),
];
/// Ends all colours.
const RESET: &str = "\x1b[0m";

/// Whether the terminal's last line is a guest's and has no end yet.
static UNFINISHED_LINE: AtomicBool = AtomicBool::new(false);

/// Makes the text of a guest harmless, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct GuestText {
    /// An escape sequence that has begun.
    escape: String,
    /// The beginning of a line that may become [`OURS`], and how many bytes of that it has.
    held: String,
    matched: usize,
    /// No other character was in this line.
    at_start: bool,
    /// The last character was a carriage return.
    returned: bool,
    /// The sequences of the colours that are set.
    styles: String,
    written: String,
}

impl GuestText {
    /// Returns a piece of text as it may be written. Its last characters may come with the next piece.
    pub(crate) fn next(&mut self, text: &str) -> String {
        // Something else may have ended the line meanwhile, such as a person at the terminal.
        self.piece(text, true)
    }

    fn piece(&mut self, text: &str, at_start: bool) -> String {
        self.at_start = at_start;
        let styles = self.styles.clone();
        self.written.push_str(&styles);
        for char in text.chars() {
            self.take(char);
        }
        self.end_piece()
    }

    /// Returns what was held back, at the end of the text.
    pub(crate) fn finish(&mut self) -> String {
        self.refuse_escape();
        self.release();
        self.styles.clear();
        self.end_piece()
    }

    fn end_piece(&mut self) -> String {
        if !self.styles.is_empty() && !self.written.is_empty() {
            self.written.push_str(RESET);
        }
        std::mem::take(&mut self.written)
    }

    fn take(&mut self, char: char) {
        if !self.escape.is_empty() {
            let is_first = self.escape.len() == 1;
            let continues = if is_first { char == '[' } else { char.is_ascii_digit() || matches!(char, ';' | ':') };
            if continues && self.escape.len() < MAX_STYLE_BYTES {
                return self.escape.push(char);
            }
            if !is_first && char == 'm' {
                return self.style();
            }
            self.refuse_escape();
        }
        let after_return = std::mem::take(&mut self.returned);
        if after_return && char != '\n' {
            // The line would be written over.
            self.new_line();
        }
        match char {
            '\x1b' => self.escape.push(char),
            '\r' => self.returned = true,
            '\n' => self.new_line(),
            _ if is_harmful(char) => self.visible(char),
            _ => self.put(char),
        }
    }

    /// Writes a complete sequence of a colour.
    fn style(&mut self) {
        let mut style = std::mem::take(&mut self.escape);
        style.push('m');
        if matches!(style.as_str(), "\x1b[m" | "\x1b[0m") {
            self.styles.clear();
        } else if !self.styles.ends_with(&style) {
            if self.styles.len() + style.len() > MAX_STYLES_BYTES {
                self.styles.clear();
            }
            self.styles.push_str(&style);
        }
        // The place in a line stays the same: it is not seen.
        if self.matched > 0 { self.hold(&style) } else { self.written.push_str(&style) }
    }

    fn refuse_escape(&mut self) {
        let escape = std::mem::take(&mut self.escape);
        let mut chars = escape.chars();
        if let Some(first) = chars.next() {
            self.visible(first);
        }
        chars.for_each(|char| self.put(char));
    }

    fn visible(&mut self, char: char) {
        escaped(char).chars().for_each(|char| self.put(char));
    }

    fn new_line(&mut self) {
        self.release();
        self.written.push('\n');
        self.at_start = true;
    }

    /// Writes what is held back.
    fn release(&mut self) {
        self.matched = 0;
        self.written.push_str(&std::mem::take(&mut self.held));
    }

    fn hold(&mut self, text: &str) {
        self.held.push_str(text);
        if self.held.len() > MAX_HELD_BYTES {
            self.mark();
        }
    }

    /// Writes what is held back as the beginning of a line that is not ours.
    fn mark(&mut self) {
        self.written.push_str(MARK);
        self.release();
        self.at_start = false;
    }

    fn put(&mut self, char: char) {
        if self.at_start {
            if is_invisible(char) || (self.matched == 0 && is_blank(char)) {
                let mut buffer = [0; 4];
                let text = char.encode_utf8(&mut buffer);
                return if self.matched > 0 { self.hold(text) } else { self.written.push_str(text) };
            }
            if OURS.as_bytes().get(self.matched) == Some(&folded(char)) {
                self.matched += 1;
                self.held.push(char);
                if self.matched == OURS.len() {
                    self.mark();
                }
                return;
            }
            self.release();
            self.at_start = false;
        }
        self.written.push(char);
    }
}

/// Returns the ASCII character that a character looks like; 0 if it looks like none of [`OURS`].
fn folded(char: char) -> u8 {
    match char {
        '\u{ff1a}' | '\u{fe55}' | '\u{2236}' | '\u{a789}' | '\u{fe13}' => b':',
        // Full width.
        '\u{ff21}'..='\u{ff5a}' => folded(char::from_u32(u32::from(char) - 0xfee0).unwrap_or_default()),
        // Mathematical alphabets: 13 of them, one after the other, each with 26 capital and 26 small letters.
        '\u{1d400}'..='\u{1d6a3}' => {
            let letter = (u32::from(char) - 0x1d400) % 26;
            b'a' + u8::try_from(letter).unwrap_or_default()
        }
        _ if char.is_ascii() => u8::try_from(char.to_ascii_lowercase()).unwrap_or_default(),
        _ => LOOK_ALIKES.iter().find(|(_, likes)| likes.contains(char)).map_or(0, |(letter, _)| *letter),
    }
}

/// Returns whether a terminal, or a viewer of logs, obeys a character in place of showing it. Line breaks and tabs are none of these.
fn is_harmful(char: char) -> bool {
    let is_direction = matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (char.is_control() && char != '\t' && char != '\n') || is_direction || matches!(char, '\u{2028}' | '\u{2029}')
}

/// Returns whether a character takes a place that stays empty.
fn is_blank(char: char) -> bool {
    // The second is the empty pattern of Braille.
    char.is_whitespace() || char == '\u{2800}'
}

/// Returns whether a character takes no place: joiners, marks of direction, selectors, combining characters.
fn is_invisible(char: char) -> bool {
    matches!(
        char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{300}'..='\u{36f}' | '\u{e0000}'..='\u{e0fff}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
    )
}

/// Returns a character as Python writes it in a literal.
fn escaped(char: char) -> String {
    match u32::from(char) {
        code @ ..=0xff => format!("\\x{code:02x}"),
        code => format!("\\u{code:04x}"),
    }
}

/// Returns a message of our own, which may repeat text of guests. `styled` allows colours. Its first line is ours.
pub(crate) fn own_message(text: &str, styled: bool) -> String {
    let mut guest = GuestText::default();
    let mut lines = text.split('\n');
    let mut message = guest.piece(&without_controls(lines.next().unwrap_or_default(), styled), false);
    message.push_str(&guest.finish());
    for line in lines {
        message.push('\n');
        message.push_str(&guest.next(&without_controls(line, styled)));
        message.push_str(&guest.finish());
    }
    message
}

/// Returns one line with all control characters visible, colours too unless they are allowed.
fn without_controls(text: &str, styled: bool) -> String {
    let mut line = String::with_capacity(text.len());
    for char in text.trim_end_matches('\r').chars() {
        match is_harmful(char) && !(styled && char == '\x1b') {
            true => line.push_str(&escaped(char)),
            false => line.push(char),
        }
    }
    line
}

/// Returns text of a guest in one line, for the middle of a line of ours.
pub(crate) fn quoted(text: &str) -> String {
    without_controls(&text.replace('\n', "\\n"), false)
}

/// Writes text of a guest to standard error: harmless if that is a terminal, as it is otherwise.
pub(crate) fn print_guest(text: &str) {
    let mut guest = GuestText::default();
    let text = match std::io::stderr().is_terminal() {
        true => guest.next(text) + &guest.finish(),
        false => text.to_owned(),
    };
    print_line(&text);
}

/// Writes a line to standard error. Errors are ignored: the terminal may be gone.
pub(crate) fn print_line(text: &str) {
    let begin = begin_line();
    let _ = writeln!(std::io::stderr().lock(), "{begin}{text}");
}

/// Returns what has to be written before a line of ours.
pub(crate) fn begin_line() -> &'static str {
    if UNFINISHED_LINE.swap(false, Ordering::Relaxed) { "\n" } else { "" }
}

/// Notes what was written of a guest's text where our own lines are written, too.
pub(crate) fn note_written(text: &str) {
    let visible = text.strip_suffix(RESET).unwrap_or(text);
    if !visible.is_empty() {
        UNFINISHED_LINE.store(!visible.ends_with('\n'), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
