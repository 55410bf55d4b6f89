//! The layout of a file, and new values written in that layout.

use std::fmt::Write as _;

use crate::document::Node;

/// A value to be written.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Json {
    /// A string.
    Text(String),
    /// An array of strings.
    Texts(Vec<String>),
    /// An object.
    Object(Vec<(String, Json)>),
}

/// The layout of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Style {
    /// End of a line.
    pub(crate) line_end: &'static str,
    /// Indentation of one level.
    pub(crate) indent: String,
    /// Whether a space follows colons and commas on a line.
    pub(crate) spaced: bool,
}

impl Style {
    /// Finds the layout of a text. Default: two spaces, `\n`.
    pub(crate) fn of(text: &str, root: Option<&Node>) -> Style {
        let line_end = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let first = root.and_then(|root| root.members()?.first());
        let indent = first.and_then(|first| first_on_line(text, first.start)).filter(|indent| !indent.is_empty());
        let spaced = first.is_none_or(|first| text[..first.node.range.start].ends_with(char::is_whitespace));
        Style { line_end, indent: indent.unwrap_or("  ").to_owned(), spaced }
    }

    /// Returns the text of a value on several lines. The first one is indented already, by `indent`.
    pub(crate) fn lines(&self, value: &Json, indent: &str) -> String {
        let inner = format!("{indent}{}", self.indent);
        let list = |open, close, items: Vec<String>| match items.as_slice() {
            [] => format!("{open}{close}"),
            _ => {
                let separator = format!(",{}{inner}", self.line_end);
                let items = items.join(&separator);
                format!("{open}{}{inner}{items}{}{indent}{close}", self.line_end, self.line_end)
            }
        };
        match value {
            Json::Text(text) => quoted(text),
            Json::Texts(texts) => list('[', ']', texts.iter().map(|text| quoted(text)).collect()),
            Json::Object(members) => {
                let member = |(key, value): &(String, Json)| format!("{}: {}", quoted(key), self.lines(value, &inner));
                list('{', '}', members.iter().map(member).collect())
            }
        }
    }

    /// Returns the text of a value on one line.
    pub(crate) fn line(&self, value: &Json) -> String {
        let comma = if self.spaced { ", " } else { "," };
        match value {
            Json::Text(text) => quoted(text),
            Json::Texts(texts) => {
                format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(comma))
            }
            Json::Object(members) => {
                let member = |(key, value): &(String, Json)| format!("{}{}", self.key(key), self.line(value));
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(comma))
            }
        }
    }

    /// Returns a key with its colon, on one line.
    pub(crate) fn key(&self, key: &str) -> String {
        format!("{}:{}", quoted(key), if self.spaced { " " } else { "" })
    }
}

/// Returns a string in quotes. Characters that people cannot see are escaped: what an entry starts is what it seems to start.
pub(crate) fn quoted(text: &str) -> String {
    escaped(&serde_json::Value::from(text).to_string())
}

/// Writes the characters of a text that people cannot see as JSON escapes.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// Returns whether a character is a control character, or invisible, or changes the direction of writing.
pub fn is_hidden(character: char) -> bool {
    let is_format = matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    is_format || character.is_control()
}

/// Returns the white space before a byte, if there is nothing else before it on its line.
pub(crate) fn first_on_line(text: &str, at: usize) -> Option<&str> {
    let line = text[..at].rfind(['\n', '\r'])? + 1;
    Some(&text[line..at]).filter(|before| before.chars().all(char::is_whitespace))
}

/// Returns the white space at the beginning of the line of a byte.
pub(crate) fn indent_of(text: &str, at: usize) -> &str {
    let line = text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let end = text[line..at].find(|char: char| !char.is_whitespace()).map_or(at, |length| line + length);
    &text[line..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;

    fn style(text: &str) -> Style {
        Style::of(text, parse(text).expect("JSON").root.as_ref())
    }

    #[test]
    fn the_layout_is_that_of_the_file() {
        let tabs = style("{\r\n\t\"a\": 1\r\n}");
        assert_eq!(tabs, Style { line_end: "\r\n", indent: "\t".to_owned(), spaced: true });
        assert_eq!(style("{\n    \"a\":1\n}").indent, "    ");
        assert_eq!(style("{\n    \"a\":1\n}").line_end, "\n");
        assert!(!style("{\"a\":1}").spaced);
        assert_eq!(style("").indent, "  ");
    }

    #[test]
    fn what_nobody_sees_is_written_as_escapes() {
        let text = "a\u{202e}b\u{9b}\u{7f}\u{200b}\u{e0041}\u{1b}é\n";
        let quoted = quoted(text);
        assert_eq!(quoted, "\"a\\u202eb\\u009b\\u007f\\u200b\\udb40\\udc41\\u001bé\\n\"");
        assert_eq!(serde_json::from_str::<String>(&quoted).expect("JSON"), text, "the value is the same");
    }

    #[test]
    fn values_are_written_on_one_line_or_several() {
        let value = Json::Object(vec![
            ("a".to_owned(), Json::Texts(vec!["x\"\n".to_owned(), "y".to_owned()])),
            ("b".to_owned(), Json::Texts(vec![])),
        ]);
        assert_eq!(style("{\"a\":1}").line(&value), r#"{"a":["x\"\n","y"],"b":[]}"#);
        assert_eq!(style("{\"a\": 1}").line(&value), r#"{"a": ["x\"\n", "y"], "b": []}"#);
        let lines = "{\n>   \"a\": [\n>     \"x\\\"\\n\",\n>     \"y\"\n>   ],\n>   \"b\": []\n> }";
        assert_eq!(style("").lines(&value, "> "), lines);
    }
}
