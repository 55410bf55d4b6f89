//! Escapes tags in text, so that it stays inside its section of a result.

/// Escapes the angle brackets of every opening or closing `tag` in `text`, in any case and with white space inside.
/// Other markup stays as it is, because models read it better.
///
/// A tag with attributes is escaped up to the first `>` on its line.
pub(crate) fn escape_tag(text: &str, tag: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut position = 0;
    // There is no `>` before this position. So a line full of unfinished tags is searched once, not once per tag.
    let mut no_end_before = 0;
    while let Some(start) = text[position..].find('<').map(|offset| position + offset) {
        escaped.push_str(&text[position..start]);
        let Some(named) = end_of_name(text, start, tag) else {
            escaped.push('<');
            position = start + 1;
            continue;
        };
        let mut end = named;
        if named >= no_end_before {
            let line = text[named..].split(['\n', '\r']).next().unwrap_or_default();
            match line.find('>') {
                Some(offset) => end = named + offset + 1,
                None => no_end_before = named + line.len(),
            }
        }
        for character in text[start..end].chars() {
            match character {
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                other => escaped.push(other),
            }
        }
        position = end;
    }
    escaped.push_str(&text[position..]);
    escaped
}

/// Returns the end of the name of the tag that begins at `start`. Returns `None` for another tag.
fn end_of_name(text: &str, start: usize, tag: &str) -> Option<usize> {
    let after_bracket = text[start + 1..].trim_start();
    let name = after_bracket.strip_prefix('/').unwrap_or(after_bracket).trim_start();
    let matches = name.get(..tag.len()).is_some_and(|found| found.eq_ignore_ascii_case(tag));
    matches.then(|| text.len() - name.len() + tag.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_tag_is_escaped() {
        for (text, escaped) in [
            ("plain", "plain"),
            ("<output>", "&lt;output&gt;"),
            ("a</output>b", "a&lt;/output&gt;b"),
            ("</ output >", "&lt;/ output &gt;"),
            ("< / OUTPUT>", "&lt; / OUTPUT&gt;"),
            ("<Output class=\"<x>\">", "&lt;Output class=\"&lt;x&gt;\">"),
            ("</output\n>", "&lt;/output\n>"),
            ("</output", "&lt;/output"),
            ("</\noutput>", "&lt;/\noutput&gt;"),
            ("<<output>>", "<&lt;output&gt;>"),
            ("<return_value></return_value>", "<return_value></return_value>"),
            ("a < b > c & d", "a < b > c & d"),
            ("<outpüt>", "<outpüt>"),
            ("<", "<"),
        ] {
            assert_eq!(escape_tag(text, "output"), escaped, "{text:?}");
        }
    }

    #[test]
    fn a_megabyte_of_anything_takes_linear_time() {
        let text = "<".repeat(1 << 20);
        assert_eq!(escape_tag(&text, "output"), text);
        let tags = "<output".repeat(1 << 17);
        assert_eq!(escape_tag(&tags, "output"), tags.replace('<', "&lt;"));
        let lines = "<output\n<output>".repeat(1 << 16);
        assert_eq!(escape_tag(&lines, "output"), lines.replace('<', "&lt;").replace('>', "&gt;"));
    }
}
