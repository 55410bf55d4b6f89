//! JSON as Python writes it: other programs read it once it is strict.

use std::borrow::Cow;

/// Splits JSON into its strings, quotes included, and what is between them.
fn pieces(json: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut rest = json;
    std::iter::from_fn(move || {
        let is_string = rest.starts_with('"');
        let length = if is_string { string_length(rest) } else { rest.find('"').unwrap_or(rest.len()) };
        let (piece, after) = rest.split_at(length);
        rest = after;
        (!piece.is_empty()).then_some((is_string, piece))
    })
}

/// Returns the length of the string, quotes included, that `json` begins with; all of `json` when the string has no end.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

/// Returns JSON whose constants `NaN`, `Infinity` and `-Infinity` are `null`: Python writes them, JSON lacks them (RFC 8259).
pub fn strict_json(json: &str) -> Cow<'_, str> {
    if !["NaN", "Infinity"].iter().any(|constant| json.contains(constant)) {
        return Cow::Borrowed(json);
    }
    let constants = ["-Infinity", "Infinity", "NaN"];
    let strict = pieces(json).map(|(is_string, piece)| match is_string {
        true => Cow::Borrowed(piece),
        false => Cow::Owned(constants.iter().fold(piece.to_owned(), |piece, constant| piece.replace(constant, "null"))),
    });
    Cow::Owned(strict.collect())
}

/// Returns JSON without the white space between its tokens.
pub fn compact_json(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    for (is_string, piece) in pieces(json) {
        match is_string {
            true => compact.push_str(piece),
            false => compact.extend(piece.split_ascii_whitespace()),
        }
    }
    compact
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;

    use super::*;

    #[test]
    fn constants_that_json_lacks_become_null() {
        for (python, strict) in [
            ("1", "1"),
            ("NaN", "null"),
            ("[-Infinity, Infinity,NaN]", "[null, null,null]"),
            (r#"{"NaN": "Infinity", "é\\": NaN}"#, r#"{"NaN": "Infinity", "é\\": null}"#),
            (r#"["\"NaN", NaN, "-Infinity\\"]"#, r#"["\"NaN", null, "-Infinity\\"]"#),
        ] {
            assert_eq!(strict_json(python), strict);
        }
        assert!(serde_json::from_str::<IgnoredAny>(&strict_json("NaNs")).is_err());
    }

    #[test]
    fn white_space_in_strings_stays() {
        for (json, compact) in [
            ("[\n  1,\n  \"a b\"\n]", "[1,\"a b\"]"),
            (r#"{ "a \" b\\" : [ ] , "é\n c": null }"#, r#"{"a \" b\\":[],"é\n c":null}"#),
            ("", ""),
            ("\"no end ", "\"no end "),
        ] {
            assert_eq!(compact_json(json), compact);
        }
    }
}
