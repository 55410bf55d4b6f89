//! Text of guests, and the text that is shown.

use super::*;

/// Returns what is written of these pieces.
fn shown(pieces: &[&str]) -> String {
    let mut guest = GuestText::default();
    let mut text: String = pieces.iter().map(|piece| guest.next(piece)).collect();
    text.push_str(&guest.finish());
    text
}

#[test]
fn ordinary_text_stays_as_it_is() {
    for text in [
        "",
        "hello\n",
        "a\tb\n\n  c",
        "\u{1f469}\u{200d}\u{1f469}\u{fe0f} \u{5d0}\u{200f} e\u{301}\n",
        "\x1b[31mred\x1b[0m \x1b[1;38;5;196mbold\x1b[m\n",
        "the brumate: in a line, brum",
        "brumate is a program\n",
        "b",
        "bb brumate",
    ] {
        assert_eq!(shown(&[text]), text);
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        if !text.contains('\x1b') {
            // The beginning of a piece may be that of a line.
            assert_eq!(shown(&pieces), text.replace(" brumate:", " | brumate:"), "{text:?}");
        }
    }
}

#[test]
fn control_characters_are_visible() {
    for (text, expected) in [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b]52;c;aGk=\x1b\\", "\\x1b]52;c;aGk=\\x1b\\"),
        ("\x1b[2J\x1b[1A\x1b[K", "\\x1b[2J\\x1b[1A\\x1b[K"),
        ("\x1b[?25l", "\\x1b[?25l"),
        ("\x1b[31", "\\x1b[31"),
        ("\x1b\x1b[31m.", "\\x1b\x1b[31m.\x1b[0m"),
        ("\x1bc\x1bP", "\\x1bc\\x1bP"),
        ("\u{9b}2J\u{85}", "\\x9b2J\\x85"),
        ("a\x08b\x0b\x0c\x0e\x7f\0", "a\\x08b\\x0b\\x0c\\x0e\\x7f\\x00"),
        ("a\r\nb\rc\r", "a\nb\nc"),
        ("\u{202e}x\u{2066}\u{2028}", "\\u202ex\\u2066\\u2028"),
    ] {
        assert_eq!(shown(&[text]), expected, "{text:?}");
    }
    let long = format!("\x1b[{}m", "1;".repeat(1000));
    assert!(shown(&[&long]).starts_with("\\x1b[1;1;"));
}

#[test]
fn no_line_looks_like_ours() {
    let forged = "brumate: all is well";
    for begin in ["", "\n", "a\n", "x\r", " ", "\t", "\u{200b}", "\u{feff}", "\x1b[31m", "\x1b[0m", "\r\n"] {
        let text = format!("{begin}{forged}");
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        for shown in [shown(&[&text]), shown(&pieces), shown(&[&text[..text.len() - 15], &text[text.len() - 15..]])] {
            let plain = shown.replace("\x1b[31m", "").replace(RESET, "");
            assert!(
                plain.lines().any(|line| line.trim_start().trim_start_matches(is_invisible).starts_with("| b")),
                "{shown:?}"
            );
        }
    }
    for text in
        ["Brumate: x", "BRUMATE:", "bru\u{200d}mate: x", "br\x1b[1mumate: x", "brumate\u{ff1a} x", "\u{ff42}rumate: x"]
    {
        assert!(shown(&[text]).contains(MARK), "{text:?}");
    }
    for text in [
        "b\u{13430}rumate: x",
        "\u{1d173}brumate: x",
        "bru\u{1bca0}mate: x",
        "b\u{110bd}\u{110cd}rumate: x",
        "\u{2800}\u{2800}brumate: x",
        "brum\u{430}te: x",
        "\u{412}rumat\u{435}: x",
        "br\u{3c5}m\u{3b1}te\u{2d0} x",
        "\u{1d41b}\u{1d42b}\u{1d42e}\u{1d426}\u{1d41a}\u{1d42d}\u{1d41e}: x",
        "\u{1d671}\u{1d681}\u{1d684}\u{1d67c}\u{1d670}\u{1d683}\u{1d674}: x",
        "\u{212c}rumate: x",
    ] {
        assert!(shown(&[text]).contains(MARK), "{text:?}");
    }
    for text in ["\u{431}rumate", "\u{41c}\u{43e}\u{441}\u{43a}\u{432}\u{430}: x", "\u{2800}x", "\u{1d41b}: x"] {
        assert_eq!(shown(&[text]), text);
    }
    let padded = format!("b{}rumate: x", "\u{200b}".repeat(1000));
    assert!(shown(&[&padded]).starts_with(MARK));
    // After a prompt a person ends the line.
    assert_eq!(shown(&["? ", "brumate: x\n"]), "? | brumate: x\n");
}

#[test]
fn colours_end_with_a_piece_and_go_on_with_the_next() {
    assert_eq!(shown(&["\x1b[31ma", "b\x1b[0m", "c"]), "\x1b[31ma\x1b[0m\x1b[31mb\x1b[0mc");
    let mut guest = GuestText::default();
    for _ in 0..1000 {
        guest.next("\x1b[1m\x1b[38;5;196m");
    }
    assert!(guest.styles.len() <= MAX_STYLES_BYTES);
}

#[test]
fn messages_of_our_own_stay_ours() {
    let text = "brumate: it said: \x1b]0;a\x07\nbrumate: forged\r\nand more\x1b[31m";
    let expected = "brumate: it said: \\x1b]0;a\\x07\n| brumate: forged\nand more\\x1b[31m";
    assert_eq!(own_message(text, false), expected);
    assert_eq!(own_message("\x1b[31mERROR\x1b[0m x", true), "\x1b[31mERROR\x1b[0m x");
    let logged = own_message("\x1b[31mERROR\x1b[0m \x1b]0;t\x07\x1b[2J", true);
    assert_eq!(logged, "\x1b[31mERROR\x1b[0m \\x1b]0;t\\x07\\x1b[2J");
    assert_eq!(quoted("a\nb\x1b\tc"), "a\\nb\\x1b\tc");
}
