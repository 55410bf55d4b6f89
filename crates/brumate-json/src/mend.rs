//! Makes JSON that [`serde_json::Value`] can hold.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// Replaces a number that is too large for a double.
const LARGEST: &str = "1.7976931348623157e308";
/// Deepest nesting of arrays and objects that serde_json reads.
const MAX_DEPTH: usize = 127;

/// A JSON text that [`serde_json::Value`] can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended<'a> {
    /// The text. A lone surrogate is U+FFFD, and a number that is too large for a double is the largest double.
    pub text: Cow<'a, str>,
    /// Whether a `Value` of the text differs from the original: by these replacements, or by rounding an integer of more than 64 bits.
    pub is_changed: bool,
    /// How deeply arrays and objects are nested.
    pub depth: usize,
    /// Whether the text has an integer beyond ±(2⁵³ - 1). Readers whose numbers are doubles, such as JavaScript's, round such integers.
    pub has_unsafe_integer: bool,
}

impl Mended<'_> {
    /// Returns whether the text is nested more deeply than serde_json reads.
    pub fn is_too_deep(&self) -> bool {
        self.depth > MAX_DEPTH
    }
}

/// Makes a JSON text that [`serde_json::Value`] can hold. A text that is no JSON stays none.
///
/// ```
/// let mended = brumate_json::mend(r#"["\ud800", 1e999]"#);
/// assert_eq!(mended.text, r#"["\ufffd", 1.7976931348623157e308]"#);
/// assert!(mended.is_changed);
/// ```
pub fn mend(json: &str) -> Mended<'_> {
    mend_parts(json, true)
}

/// Makes a JSON text without lone surrogates: each becomes U+FFFD. Numbers stay as they are.
pub fn mend_strings(json: &str) -> Cow<'_, str> {
    mend_parts(json, false).text
}

fn mend_parts(json: &str, numbers: bool) -> Mended<'_> {
    let bytes = json.as_bytes();
    let (mut replaced, mut copied) = (String::new(), 0);
    let (mut is_changed, mut has_unsafe_integer, mut depth, mut deepest) = (false, false, 0_usize, 0);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at);
                for (from, to) in lone_surrogates(&bytes[at..end]) {
                    replaced.push_str(&json[copied..at + from]);
                    replaced.push_str("\\ufffd");
                    copied = at + to;
                    is_changed = true;
                }
                at = end;
            }
            b'-' | b'0'..=b'9' => {
                let end = number_end(bytes, at);
                has_unsafe_integer |= is_unsafe_integer(&json[at..end]);
                match number_kind(&json[at..end]) {
                    NumberKind::Fits => {}
                    NumberKind::Rounded => is_changed = true,
                    NumberKind::OutOfRange if !numbers => is_changed = true,
                    NumberKind::OutOfRange => {
                        let sign = if bytes[at] == b'-' { "-" } else { "" };
                        replaced.push_str(&json[copied..at]);
                        replaced.push_str(sign);
                        replaced.push_str(LARGEST);
                        copied = end;
                        is_changed = true;
                    }
                }
                at = end;
            }
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
                at += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            _ => at += 1,
        }
    }
    let text = if copied == 0 {
        Cow::Borrowed(json)
    } else {
        replaced.push_str(&json[copied..]);
        Cow::Owned(replaced)
    };
    Mended { text, is_changed, depth: deepest, has_unsafe_integer }
}

/// Returns whether [`serde_json::Value`] would change a JSON number: an integer of more than 64 bits, `-0`, or a number beyond all doubles.
pub(crate) fn is_beyond_value(number: &str) -> bool {
    number_kind(number) != NumberKind::Fits
}

/// Doubles hold all integers up to this one.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

fn is_unsafe_integer(number: &str) -> bool {
    // The largest safe integer has 16 digits.
    let digits = number.trim_start_matches('-');
    digits.len() >= 16
        && !digits.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
        && digits.parse::<u64>().map_or(true, |value| value > MAX_SAFE_INTEGER)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberKind {
    Fits,
    /// `Value` keeps it as a double: a rounded number, or -0.0 for `-0`.
    Rounded,
    OutOfRange,
}

fn number_kind(number: &str) -> NumberKind {
    let is_integer = !number.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    // An integer of 18 digits has less than 64 bits.
    if is_integer
        && (number.len() <= 18 || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok())
        && number != "-0"
    {
        return NumberKind::Fits;
    }
    match number.parse::<f64>() {
        // Rust also reads numbers that are no JSON, such as `01e999`.
        Ok(value) if value.is_infinite() && serde_json::from_str::<IgnoredAny>(number).is_ok() => {
            NumberKind::OutOfRange
        }
        _ if is_integer => NumberKind::Rounded,
        _ => NumberKind::Fits,
    }
}

fn number_end(bytes: &[u8], at: usize) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    at + bytes[at..].iter().take_while(|byte| is_part(byte)).count()
}

/// Returns the end of the string that begins at `at`, quotes included; the end of the text if the string has none.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' => end += 2,
            b'"' => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

/// Returns the places of escapes of surrogates that have no partner.
fn lone_surrogates(string: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < string.len() {
        if string[at] != b'\\' {
            at += 1;
            continue;
        }
        match (surrogate(string, at), surrogate(string, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at += 12,
            (Some(_), _) => {
                found.push((at, at + 6));
                at += 6;
            }
            (None, _) => at += 2,
        }
    }
    found
}

/// Returns the surrogate that is escaped at `at`.
fn surrogate(string: &[u8], at: usize) -> Option<u32> {
    let digits = string.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok().filter(|code| (0xD800..=0xDFFF).contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn what_a_value_holds_is_not_touched() {
        for (json, depth, has_unsafe_integer) in [
            ("", 0, false),
            ("[9007199254740991, -9007199254740991, 9007199254740993.0, 1e300]", 1, false),
            (
                r#"{"a\"1e999": [1, -1, 18446744073709551615, -9223372036854775808, 1e-400], "b": "\ud83d\ude00\\ud800"}"#,
                2,
                true,
            ),
            (r#""99999999999999999999 é 😀""#, 0, false),
            ("-9007199254740992", 0, true),
        ] {
            let same = Mended { text: json.into(), is_changed: false, depth, has_unsafe_integer };
            assert_eq!(mend(json), same, "{json}");
        }
    }

    #[test]
    fn what_a_value_cannot_hold_is_replaced_or_noted() {
        for (json, mended) in [
            ("18446744073709551616", "18446744073709551616"),
            ("[-9223372036854775809]", "[-9223372036854775809]"),
            ("-0", "-0"),
            ("1e400", LARGEST),
            ("[-1E+999,2]", "[-1.7976931348623157e308,2]"),
            (r#""\ud800""#, r#""\ufffd""#),
            (r#"["\uDC00\uD800\ud83d\ude00é\uDFFF"]"#, r#"["\ufffd\ufffd\ud83d\ude00é\ufffd"]"#),
            (r#"{"\udc00": "\\\ud800x"}"#, r#"{"\ufffd": "\\\ufffdx"}"#),
        ] {
            let found = mend(json);
            assert_eq!((&*found.text, found.is_changed), (mended, true), "{json}");
            serde_json::from_str::<Value>(&found.text).unwrap();
        }
        assert_eq!(mend_strings(r#"["\ud800", 1e999, -0]"#), r#"["\ufffd", 1e999, -0]"#);
        let digits = "9".repeat(400);
        assert_eq!(mend(&digits).text, LARGEST);
    }

    #[test]
    fn depth_is_that_of_the_parser() {
        for depth in [126, 127, 128, 129] {
            let json = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(mend(&json).is_too_deep(), serde_json::from_str::<Value>(&json).is_err(), "{depth}");
        }
    }

    #[test]
    fn broken_texts_are_no_trouble() {
        for json in ["\"", "\"\\", "\"\\u", "\"\\ud8", "-", "1e", "]]}", "\"\\ud800\\u", "\"é\\"] {
            mend(json);
        }
        for json in ["[01e999]", "1.e999", "-01E999", "00", "1e+999+1"] {
            assert!(serde_json::from_str::<Value>(&mend(json).text).is_err(), "{json}");
        }
    }
}
