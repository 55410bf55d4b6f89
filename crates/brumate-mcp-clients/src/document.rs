//! The syntax tree of a configuration file: what is where in its text.

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// Depth of the tree in objects: the root, the servers, an entry, its variables. Deeper values are `Other`.
const DEPTH: usize = 4;

/// A text that was read.
#[derive(Debug)]
pub(crate) struct Document {
    /// The value. A text of white space and comments has none.
    pub(crate) root: Option<Node>,
    /// Whether the text is JSON without comments, trailing commas and unusual white space.
    pub(crate) strict: bool,
}

/// A value and its place.
#[derive(Debug)]
pub(crate) struct Node {
    /// Its bytes.
    pub(crate) range: Range<usize>,
    /// Type of the value, with its parts.
    pub(crate) value: Value,
}

/// A value, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// An object.
    Object(Vec<Member>),
    /// A string.
    Text(String),
    /// An array of strings.
    Texts(Vec<String>),
    /// Anything else.
    Other,
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct Member {
    /// The key, without quotes and escapes.
    pub(crate) key: String,
    /// Position of its opening quote.
    pub(crate) start: usize,
    /// The value.
    pub(crate) node: Node,
}

impl PartialEq for Member {
    fn eq(&self, other: &Member) -> bool {
        self.key == other.key && self.node.value == other.node.value
    }
}

impl Eq for Member {}

/// A text is not JSON with comments: the position and the reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxFault {
    /// The byte.
    pub(crate) at: usize,
    /// Reason, for the user.
    pub(crate) reason: String,
}

impl Node {
    /// Returns the members of an object.
    pub(crate) fn members(&self) -> Option<&[Member]> {
        match &self.value {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the first member with a key.
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        self.members()?.iter().find(|member| member.key == key)
    }
}

/// Reads a text without a byte order mark.
pub(crate) fn parse(text: &str) -> Result<Document, SyntaxFault> {
    let readable = without_lone_surrogates(text);
    let options = |lenient| ParseOptions {
        allow_comments: lenient,
        allow_trailing_commas: lenient,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let collect = CollectOptions::default();
    let root = match parse_to_ast(&readable, &collect, &options(true)) {
        Ok(found) => found.value.as_ref().map(|value| node(value, DEPTH)),
        Err(error) => {
            let at = error.range().start.min(text.len());
            return Err(SyntaxFault { at, reason: sentence(&error.kind().to_string()) });
        }
    };
    let strict = root.is_some() && has_plain_space(text) && parse_to_ast(&readable, &collect, &options(false)).is_ok();
    Ok(Document { root, strict })
}

/// Returns a message with a small first letter.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns true if no control character and no white space but JSON's stands outside of strings, and none unescaped within.
fn has_plain_space(text: &str) -> bool {
    let (mut quoted, mut escaped) = (false, false);
    text.chars().all(|char| {
        match (quoted, char) {
            (true, _) if escaped => escaped = false,
            (true, '\\') => escaped = true,
            (_, '"') => quoted = !quoted,
            _ => {}
        }
        if quoted {
            char >= ' '
        } else {
            matches!(char, ' ' | '\t' | '\n' | '\r') || !(char.is_whitespace() || char < ' ')
        }
    })
}

/// Replaces each escape of half a surrogate pair by one of the same length, because the parser refuses them. JSON allows them, and
/// programs write them when they cut a text within a character.
fn without_lone_surrogates(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let unit = |bytes: &[u8], at: usize| {
        let digits = bytes.get(at..at + 6).filter(|found| found.starts_with(b"\\u"))?;
        u16::from_str_radix(std::str::from_utf8(&digits[2..]).ok()?, 16).ok()
    };
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match (unit(&bytes, at), unit(&bytes, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                bytes[at..at + 6].copy_from_slice(b"\\ufffd");
                at += 6;
            }
            _ => at += 2,
        }
    }
    // Only bytes of ASCII were replaced, by such ones.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn node(value: &ast::Value<'_>, depth: usize) -> Node {
    let (range, value) = match value {
        ast::Value::Object(object) => {
            let members = |depth| object.properties.iter().map(|property| member(property, depth)).collect();
            (object.range, depth.checked_sub(1).map_or(Value::Other, |depth| Value::Object(members(depth))))
        }
        ast::Value::Array(array) => {
            let texts = array.elements.iter().map(|element| element.as_string_lit().map(|text| text.value.to_string()));
            let texts = if depth == 0 { None } else { texts.collect::<Option<Vec<String>>>() };
            (array.range, texts.map_or(Value::Other, Value::Texts))
        }
        ast::Value::StringLit(text) => (text.range, Value::Text(text.value.to_string())),
        ast::Value::NumberLit(number) => (number.range, Value::Other),
        ast::Value::BooleanLit(boolean) => (boolean.range, Value::Other),
        ast::Value::NullKeyword(null) => (null.range, Value::Other),
    };
    Node { range: range.start..range.end, value }
}

fn member(property: &ast::ObjectProp<'_>, depth: usize) -> Member {
    let key = match &property.name {
        ast::ObjectPropName::String(text) => text.value.to_string(),
        ast::ObjectPropName::Word(word) => word.value.to_owned(),
    };
    Member { key, start: property.range.start, node: node(&property.value, depth) }
}

/// Returns the line and the column in characters of a byte, both from 1.
pub(crate) fn position(text: &[u8], at: usize) -> (usize, usize) {
    let before = String::from_utf8_lossy(&text[..at.min(text.len())]);
    let line = 1 + before.matches('\n').count();
    let last = before.rsplit('\n').next().unwrap_or_default();
    (line, 1 + last.trim_start_matches('\u{feff}').chars().count())
}

/// White space, comments and commas between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trivia {
    /// Position of the next character that is neither white space nor part of a comment.
    pub(crate) end: usize,
    /// End of the last comment. Without a comment, the beginning of the white space.
    pub(crate) comments: usize,
    /// Whether the last comment is one that ends with its line.
    pub(crate) line_comment: bool,
}

/// Skips white space and comments. With `line`, it skips those that begin on this line.
pub(crate) fn trivia(text: &str, start: usize, line: bool) -> Trivia {
    let mut found = Trivia { end: start, comments: start, line_comment: false };
    loop {
        let rest = &text[found.end..];
        let comment = if rest.starts_with("//") {
            rest.find(['\n', '\r']).unwrap_or(rest.len())
        } else if let Some(inner) = rest.strip_prefix("/*") {
            inner.find("*/").map_or(rest.len(), |end| end + 4)
        } else {
            match rest.chars().next() {
                Some('\n' | '\r') if line => return found,
                Some(char) if char.is_whitespace() => found.end += char.len_utf8(),
                _ => return found,
            }
            continue;
        };
        found.line_comment = rest.starts_with("//");
        found.end += comment;
        found.comments = found.end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_values_are_those_of_the_text() {
        let text = r#"{ "a": {"b": ["c"]}, "a\u0062": "\ud83d" }"#;
        let root = parse(text).expect("JSON").root.expect("a value");
        let a = root.member("a").expect("there");
        assert_eq!(&text[a.node.range.clone()], r#"{"b": ["c"]}"#);
        assert_eq!(a.node.member("b").map(|b| &b.node.value), Some(&Value::Texts(vec!["c".to_owned()])));
        assert_eq!(&text[root.member("ab").expect("unescaped").start..][..9], r#""a\u0062""#);
    }

    #[test]
    fn strict_is_what_any_parser_of_json_reads() {
        for text in ["{}", "[1]\n", "\t{\"a\": \"\u{a0}\\\"\"}\r\n", r#"{"half": "\ude00", "pair": "\ud83d\ude00"}"#] {
            assert!(parse(text).expect(text).strict, "{text}");
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(), "{text}");
        }
        for text in ["{} // c", "{\"a\": 1,}", "\u{a0}{}", "{\u{b}}", "{\"a\": \"\t\"}", ""] {
            assert!(!parse(text).expect(text).strict, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_with_comments_is_refused_with_its_place() {
        for (text, at) in
            [("{\"a\" 1}", 5), ("{", 0), ("{} {}", 3), ("{'a': 1}", 1), ("{a: 1}", 1), ("[1 2]", 2), ("{\"a\": +1}", 6)]
        {
            assert_eq!(parse(text).expect_err(text).at, at, "{text}");
        }
        for text in ["[0x1]", "[NaN]", "[.5]", "[01]", r#"["\x41"]"#, "[1", "\"", "/*", "{\"a\"", "[-]", "nul", "\\"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(&deep).is_err(), "a tree has a bounded depth");
    }

    #[test]
    fn positions_count_characters() {
        assert_eq!(position("a\näb".as_bytes(), 4), (2, 2));
        assert_eq!(position("\u{feff}{".as_bytes(), 3), (1, 1));
    }

    #[test]
    fn trivia_end_before_what_matters() {
        let text = "  // a\n /* b */ x";
        assert_eq!(trivia(text, 0, false), Trivia { end: 16, comments: 15, line_comment: false });
        assert_eq!(trivia(text, 0, true), Trivia { end: 6, comments: 6, line_comment: true });
    }
}
