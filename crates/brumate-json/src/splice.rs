//! Parts of JSON objects, as text.

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::Error;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Returns the members of a JSON object in order. A name may come several times. A lone surrogate in a name is U+FFFD.
///
/// # Errors
///
/// The text is no JSON object.
pub fn members(object: &str) -> Result<Vec<(String, &RawValue)>, Error> {
    /// A name, in which a lone surrogate is U+FFFD.
    struct Name(String);

    impl<'de> serde::Deserialize<'de> for Name {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct NameVisitor;

            impl Visitor<'_> for NameVisitor {
                type Value = Name;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a name")
                }

                fn visit_str<E>(self, name: &str) -> Result<Name, E> {
                    Ok(Name(name.to_owned()))
                }

                // serde_json writes a surrogate as UTF-8 would: in three bytes that are no UTF-8.
                fn visit_bytes<E>(self, name: &[u8]) -> Result<Name, E> {
                    let name = String::from_utf8_lossy(name);
                    Ok(Name(name.replace("\u{fffd}\u{fffd}\u{fffd}", "\u{fffd}")))
                }
            }
            deserializer.deserialize_bytes(NameVisitor)
        }
    }

    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((Name(name), value)) = map.next_entry::<Name, &RawValue>()? {
                members.push((name, value));
            }
            Ok(members)
        }
    }

    let mut reader = serde_json::Deserializer::from_str(object);
    let members = reader.deserialize_map(Members)?;
    reader.end()?;
    Ok(members)
}

/// Writes a JSON object of names and values, which are JSON already.
pub fn object<N: AsRef<str>, V: fmt::Display>(members: impl IntoIterator<Item = (N, V)>) -> String {
    let members =
        members.into_iter().map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name.as_ref())));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// Returns the text of the member of a JSON object that is reached by a path of names. Of several members with one name it is the last.
///
/// ```
/// assert_eq!(brumate_json::member(r#"{"a": {"b": 18446744073709551619}}"#, &["a", "b"]), Some("18446744073709551619"));
/// ```
pub fn member<'a>(object: &'a str, path: &[&str]) -> Option<&'a str> {
    path.iter().try_fold(object, |object, name| {
        let members = members(object).ok()?;
        members.into_iter().rfind(|(found, _)| found == name).map(|(_, value)| value.get())
    })
}

/// Returns a JSON object in which the member at a path of names is replaced by `value`, which is JSON as well. The object stays as it is if
/// it has no such member.
///
/// ```
/// let text = brumate_json::replace_in_object(r#"{"a":{"b":1},"c":2}"#, &["a", "b"], "[3]");
/// assert_eq!(text, r#"{"a":{"b":[3]},"c":2}"#);
/// ```
pub fn replace_in_object<'a>(object: &'a str, path: &[&str], value: &str) -> Cow<'a, str> {
    let Some(old) = member(object, path) else { return object.into() };
    // The member is a part of the object's text.
    let from = old.as_ptr().addr() - object.as_ptr().addr();
    let (before, after) = (&object[..from], &object[from + old.len()..]);
    [before, value, after].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_and_replaced() {
        let object = r#" {"a": 1, "\u0061": {"x": [1e999], "\ud800": "é\ud800"}, "b": "a"} "#;
        assert_eq!(member(object, &["a", "x"]), Some("[1e999]"));
        assert_eq!(member(object, &["a", "\u{fffd}"]), Some("\"é\\ud800\""));
        assert_eq!(member(object, &["b"]), Some("\"a\""));
        for missing in [&["c"][..], &["b", "c"], &["a", "x", "y"]] {
            assert_eq!(member(object, missing), None);
            assert_eq!(replace_in_object(object, missing, "1"), object);
        }
        assert_eq!(
            replace_in_object(object, &["b"], "2"),
            r#" {"a": 1, "\u0061": {"x": [1e999], "\ud800": "é\ud800"}, "b": 2} "#
        );
        assert_eq!(member("[1", &["a"]), None);
    }
}
