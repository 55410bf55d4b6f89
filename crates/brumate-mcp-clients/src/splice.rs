//! Edits of objects, as pieces of text that are put in and cut out. Everything else stays as it is.
//!
//! The parser's own tree for edits (its feature `cst`) cannot be used: it puts the members of an object on lines of their own when it
//! adds one, and it drops blank lines and comments beside a member that it removes. It also refuses escapes of lone surrogates.

use std::ops::Range;

use crate::document::{Member, Node, trivia};
use crate::style::{Json, Style, first_on_line, indent_of};

/// A piece of text that takes another's place.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    /// Range of the text that is cut out.
    pub(crate) at: Range<usize>,
    /// Text that is put in.
    pub(crate) text: String,
}

impl Splice {
    /// Puts `text` in.
    fn put(at: usize, text: impl Into<String>) -> Splice {
        Splice { at: at..at, text: text.into() }
    }

    /// Cuts `at` out.
    pub(crate) fn cut(at: Range<usize>) -> Splice {
        Splice { at, text: String::new() }
    }
}

/// Returns a text with all splices made. They do not overlap. Those at the same place are made in their order.
pub(crate) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
    let mut edited = String::with_capacity(text.len() + splices.iter().map(|splice| splice.text.len()).sum::<usize>());
    let mut at = 0;
    for splice in splices {
        edited.push_str(&text[at..splice.at.start.max(at)]);
        edited.push_str(&splice.text);
        at = splice.at.end.max(at);
    }
    edited.push_str(&text[at..]);
    edited
}

/// The position of a new member in an object.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The text.
    pub(crate) text: &'a str,
    /// Its layout.
    pub(crate) style: &'a Style,
    /// The object.
    pub(crate) object: &'a Node,
}

impl Place<'_> {
    /// Puts members behind the last one. An object without members gets lines of its own for them if `open`.
    pub(crate) fn append(&self, members: &[(String, Json)], open: bool) -> Vec<Splice> {
        match self.object.members().and_then(<[Member]>::last) {
            Some(last) => self.append_behind(last, members),
            None => vec![self.fill(members, open)],
        }
    }

    fn append_behind(&self, last: &Member, members: &[(String, Json)]) -> Vec<Splice> {
        let text = self.text;
        let value_end = last.node.range.end;
        let next = trivia(text, value_end, false).end;
        let comma = text[next..].starts_with(',');
        // Comments on the line of the last member belong to it.
        let behind = trivia(text, if comma { next + 1 } else { value_end }, true);
        let indent = match first_on_line(text, last.start) {
            Some(indent) => Some(indent.to_owned()),
            None if behind.line_comment => Some(self.inner_indent()),
            None => None,
        };
        let mut put = String::new();
        for (index, (key, value)) in members.iter().enumerate() {
            if index > 0 {
                put.push(',');
            }
            put.push_str(&self.member(key, value, indent.as_deref()));
        }
        if comma {
            put.push(',');
            return vec![Splice::put(behind.comments, put)];
        }
        vec![Splice::put(value_end, ","), Splice::put(behind.comments, put)]
    }

    /// Returns a member behind another, with the white space before it.
    fn member(&self, key: &str, value: &Json, indent: Option<&str>) -> String {
        let style = self.style;
        match indent {
            Some(indent) => {
                format!("{}{indent}{} {}", style.line_end, style.key(key).trim_end(), style.lines(value, indent))
            }
            None => format!("{}{}{}", if style.spaced { " " } else { "" }, style.key(key), style.line(value)),
        }
    }

    /// Puts members into an object without any.
    fn fill(&self, members: &[(String, Json)], open: bool) -> Splice {
        let tail = tail(self.text, &self.object.range);
        let comments = tail.start > self.object.range.start + 1;
        if open || trivia(self.text, self.object.range.start + 1, false).line_comment {
            let indent = self.inner_indent();
            let members: Vec<String> =
                members.iter().map(|(key, value)| self.member(key, value, Some(&indent))).collect();
            let closing = indent_of(self.text, self.object.range.start);
            let text = format!("{}{}{closing}", members.join(","), self.style.line_end);
            return Splice { at: tail, text };
        }
        let text = self.style.line(&Json::Object(members.to_vec()));
        let space = if comments { " " } else { "" };
        Splice { at: tail, text: format!("{space}{}", &text[1..text.len() - 1]) }
    }

    /// Returns the indentation of the object's members.
    fn inner_indent(&self) -> String {
        format!("{}{}", indent_of(self.text, self.object.range.start), self.style.indent)
    }

    /// Takes a member out, with its comma and the white space before it. When none is left, the white space before the closing brace
    /// becomes `rest`.
    pub(crate) fn remove(&self, index: usize, rest: &str) -> Vec<Splice> {
        let text = self.text;
        let Some(members) = self.object.members() else { return Vec::new() };
        let Some(member) = members.get(index) else { return Vec::new() };
        let before = match index.checked_sub(1).map(|before| &members[before]) {
            // The comma behind the member before this one.
            Some(before) => trivia(text, before.node.range.end, false).end + 1,
            None => self.object.range.start + 1,
        };
        let between = trivia(text, before, false);
        let value_end = member.node.range.end;
        let next = trivia(text, value_end, false).end;
        let comma = text[next..].starts_with(',');
        let end = if comma { next + 1 } else { value_end };
        let closing = self.object.range.end - 1;
        if members.len() == 1 && text[end..closing].chars().all(char::is_whitespace) {
            let closes_comment = !between.line_comment || rest.starts_with(['\n', '\r']);
            let rest = if closes_comment { rest } else { self.style.line_end };
            return vec![Splice { at: between.comments..closing, text: rest.to_owned() }];
        }
        // What follows on this line must not come into a comment.
        let start = if between.line_comment && !ends_line(&text[end..]) { member.start } else { between.comments };
        let mut splices = vec![Splice::cut(start..end)];
        if !comma && index > 0 {
            splices.push(Splice::cut(before - 1..before));
        }
        splices
    }
}

/// Returns true if nothing follows on this line that could not be behind a comment.
fn ends_line(text: &str) -> bool {
    let rest = text.trim_start_matches([' ', '\t']);
    rest.is_empty() || rest.starts_with(['\n', '\r']) || rest.starts_with("//")
}

/// Returns the white space before the closing brace of an object without members.
pub(crate) fn tail(text: &str, object: &Range<usize>) -> Range<usize> {
    trivia(text, object.start + 1, false).comments..object.end - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;

    /// Puts `"n": "v"` into the object of a text, takes it out again, and returns both texts.
    fn there_and_back(text: &str) -> (String, String) {
        let members = [("n".to_owned(), Json::Text("v".to_owned()))];
        let root = parse(text).expect("JSON").root.expect("a value");
        let style = Style::of(text, Some(&root));
        let rest = text[tail(text, &root.range)].to_owned();
        let with = apply(text, Place { text, style: &style, object: &root }.append(&members, text.contains('\n')));
        let root = parse(&with).expect("JSON").root.expect("a value");
        let place = Place { text: &with, style: &style, object: &root };
        let index = root.members().expect("an object").len() - 1;
        let back = apply(&with, place.remove(index, &rest));
        (with, back)
    }

    #[test]
    fn a_member_comes_last_in_the_manner_of_the_others_and_goes_without_a_trace() {
        let cases = [
            ("{}", r#"{"n": "v"}"#),
            ("{ }", r#"{"n": "v"}"#),
            ("{/* c */}", r#"{/* c */ "n": "v"}"#),
            ("{\n}", "{\n  \"n\": \"v\"\n}"),
            ("{ // c\n  }", "{ // c\n  \"n\": \"v\"\n}"),
            (r#"{"a":1}"#, r#"{"a":1,"n":"v"}"#),
            (r#"{ "a": 1 }"#, r#"{ "a": 1, "n": "v" }"#),
            (r#"{"a":1,}"#, r#"{"a":1,"n":"v",}"#),
            (r#"{"a": 1 /* c */ }"#, r#"{"a": 1, /* c */ "n": "v" }"#),
            ("{\n\t\"a\": 1\n}", "{\n\t\"a\": 1,\n\t\"n\": \"v\"\n}"),
            ("{\r\n  \"a\": 1,\r\n}", "{\r\n  \"a\": 1,\r\n  \"n\": \"v\",\r\n}"),
            ("{\n  \"a\": 1 // c\n\n}", "{\n  \"a\": 1, // c\n  \"n\": \"v\"\n\n}"),
            ("{\n  \"a\": 1, /* c\n */ // d\n}", "{\n  \"a\": 1, /* c\n */ // d\n  \"n\": \"v\",\n}"),
            ("{\n  \"a\": 1\n  , // c\n}", "{\n  \"a\": 1\n  , // c\n  \"n\": \"v\",\n}"),
            ("{\"a\":1 // c\n}", "{\"a\":1, // c\n  \"n\": \"v\"\n}"),
            ("{\n  \"a\": 1\n  // d\n}", "{\n  \"a\": 1,\n  \"n\": \"v\"\n  // d\n}"),
        ];
        for (text, with) in cases {
            assert_eq!(there_and_back(text), (with.to_owned(), text.to_owned()), "{text:?}");
        }
    }

    /// Takes a member out of the object of a text.
    fn without(text: &str, key: &str) -> String {
        let root = parse(text).expect("JSON").root.expect("a value");
        let style = Style::of(text, Some(&root));
        let index = root.members().expect("an object").iter().position(|member| member.key == key).expect("there");
        let left = apply(text, Place { text, style: &style, object: &root }.remove(index, ""));
        parse(&left).expect(&left);
        left
    }

    #[test]
    fn what_others_put_around_a_member_stays() {
        assert_eq!(without("{\n  \"n\": 1,\n  \"z\": 2\n}", "n"), "{\n  \"z\": 2\n}");
        assert_eq!(without("{ // c\n  \"n\": 1, \"z\": 2\n}", "n"), "{ // c\n   \"z\": 2\n}");
        assert_eq!(without("{ // c\n  \"n\": 1 }", "n"), "{ // c\n}");
        assert_eq!(without("{ // c\n  \"n\": 1, /* d */ }", "n"), "{ // c\n   /* d */ }");
        assert_eq!(without("{\n  \"n\": 1 // mine\n}", "n"), "{ // mine\n}");
        assert_eq!(without("{\"a\": 1, // c\n \"n\": 2}", "n"), "{\"a\": 1 // c\n }");
        assert_eq!(without("{\"a\": 1, /* c */ \"n\": 2}", "n"), "{\"a\": 1 /* c */}");
    }
}
