//! Lists and maps of bounded length in messages that a hostile process may have written.
//!
//! An element may take one byte in a message and dozens in memory: the length of the message alone bounds nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Reads a list, for `#[serde(deserialize_with)]`: at most `MAX` elements.
///
/// # Errors
/// When there are more.
pub fn list<'de, D, T, const MAX: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct List<T, const MAX: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for List<T, MAX> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX} elements")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(element) = elements.next_element()? {
                if list.len() == MAX {
                    return Err(A::Error::invalid_length(MAX + 1, &self));
                }
                list.push(element);
            }
            Ok(list)
        }
    }

    deserializer.deserialize_seq(List::<T, MAX>(PhantomData))
}

/// Reads texts by name, for `#[serde(deserialize_with)]`: at most `MAX` of them.
///
/// # Errors
/// When there are more.
pub fn texts<'de, D: Deserializer<'de>, const MAX: usize>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    struct Texts<const MAX: usize>;

    impl<'de, const MAX: usize> Visitor<'de> for Texts<MAX> {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX} entries")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((name, text)) = entries.next_entry()? {
                if map.len() == MAX {
                    return Err(A::Error::invalid_length(MAX + 1, &self));
                }
                map.insert(name, text);
            }
            Ok(map)
        }
    }

    deserializer.deserialize_map(Texts::<MAX>)
}
