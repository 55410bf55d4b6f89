//! Reads JSON without rounding integers.

use crate::mend::{is_beyond_value, mend};
use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Error as _, IntoDeserializer, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::value::RawValue;
use serde_json::{Error, Value};

/// The name of the type by which [`RawValue`] tells serde_json that it wants the text.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Reads a JSON text as a `T`, like [`serde_json::from_str`], with two differences. An integer of more than 64 bits is read exactly: by
/// `i128`, `u128` and [`RawValue`], and as the nearest number where the type is `f64`. A lone surrogate becomes U+FFFD.
///
/// # Errors
///
/// The text is no JSON or no `T`, or has an integer that the `T` can only hold rounded, such as a [`serde_json::Value`].
pub fn from_str<T: DeserializeOwned>(json: &str) -> Result<T, Error> {
    let mended = mend(json);
    if !mended.is_changed {
        return serde_json::from_str(json);
    }
    if mended.is_too_deep() {
        return Err(Error::custom("recursion limit exceeded"));
    }
    serde_json::from_str::<serde::de::IgnoredAny>(json)?;
    T::deserialize(Exact { json: json.trim_ascii() })
}

/// A part of a valid JSON text.
#[derive(Clone, Copy)]
struct Exact<'a> {
    json: &'a str,
}

impl<'a> Exact<'a> {
    fn of(part: &'a RawValue) -> Self {
        Exact { json: part.get() }
    }

    fn items(self) -> Result<SeqDeserializer<std::vec::IntoIter<Exact<'a>>, Error>, Error> {
        let items: Vec<&RawValue> = serde_json::from_str(self.json)?;
        let items: Vec<Self> = items.into_iter().map(Self::of).collect();
        Ok(SeqDeserializer::new(items.into_iter()))
    }

    fn members(self) -> Result<MapDeserializer<'a, std::vec::IntoIter<(Key, Exact<'a>)>, Error>, Error> {
        let members = crate::splice::members(self.json)?;
        let members: Vec<_> = members.into_iter().map(|(key, value)| (Key(key), Self::of(value))).collect();
        Ok(MapDeserializer::new(members.into_iter()))
    }

    /// Returns the text for an error.
    fn shown(self) -> String {
        let start: String = self.json.chars().take(40).collect();
        if start.len() < self.json.len() { start + "…" } else { start }
    }

    /// Returns the text of a string with lone surrogates, which become U+FFFD; `None` for other parts.
    fn mended_string(self) -> Result<Option<String>, Error> {
        if !self.json.starts_with('"') {
            return Ok(None);
        }
        let mended = mend(self.json);
        if mended.is_changed { serde_json::from_str(&mended.text).map(Some) } else { Ok(None) }
    }

    fn is_array(self) -> bool {
        self.json.starts_with('[')
    }

    fn is_object(self) -> bool {
        self.json.starts_with('{')
    }
}

/// Lets serde_json read a part that is neither a string nor an array nor an object.
macro_rules! by_serde_json {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            serde_json::Deserializer::from_str(self.json).$method(visitor)
        }
    )*};
}

/// Lets serde_json read an integer of at most 64 bits. Its own error would name a rounded number.
macro_rules! small_integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.json.as_bytes().first() {
                _ if self.json == "-0" => visitor.visit_i64(0),
                Some(b'-' | b'0'..=b'9') if is_beyond_value(self.json) => {
                    Err(Error::custom(format_args!("the number {} is out of range", self.shown())))
                }
                _ => serde_json::Deserializer::from_str(self.json).$method(visitor),
            }
        }
    )*};
}

/// Lets serde_json read a string. Lone surrogates are mended.
macro_rules! strings {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.mended_string()? {
                Some(text) => visitor.visit_string(text),
                None => serde_json::Deserializer::from_str(self.json).$method(visitor),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Exact<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.json.as_bytes().first() {
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b'{') => self.deserialize_map(visitor),
            Some(b'"') => self.deserialize_string(visitor),
            Some(b'-' | b'0'..=b'9') if self.json == "-0" => visitor.visit_i64(0),
            Some(b'-' | b'0'..=b'9') if is_beyond_value(self.json) => Err(Error::custom(format_args!(
                "the number {} has more than 64 bits, and would be rounded: read it as i128, u128 or serde_json's RawValue",
                self.shown()
            ))),
            _ => serde_json::Deserializer::from_str(self.json).deserialize_any(visitor),
        }
    }

    by_serde_json! {
        deserialize_bool deserialize_i128 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_unit
        deserialize_ignored_any
    }

    small_integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64
    }

    strings! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_array() { self.deserialize_seq(visitor) } else { self.deserialize_string(visitor) }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.json == "null" { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name == RAW_VALUE {
            return serde_json::Deserializer::from_str(self.json).deserialize_newtype_struct(name, visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.is_array() {
            true => self.items()?.deserialize_any(visitor),
            false => serde_json::Deserializer::from_str(self.json).deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.is_object() {
            true => self.members()?.deserialize_any(visitor),
            false => serde_json::Deserializer::from_str(self.json).deserialize_map(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.is_array() { self.deserialize_seq(visitor) } else { self.deserialize_map(visitor) }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.is_object() {
            return MapAccessDeserializer::new(self.members()?).deserialize_enum(name, variants, visitor);
        }
        serde_json::Deserializer::from_str(self.json).deserialize_enum(name, variants, visitor)
    }
}

impl<'de> IntoDeserializer<'de, Error> for Exact<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The key of a member. It may be read as a number, like keys in serde_json.
struct Key(String);

macro_rules! number_keys {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            serde_json::from_str::<Value>(&self.0)?.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Key {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.0)
    }

    number_keys! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i128(serde_json::from_str(&self.0)?)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u128(serde_json::from_str(&self.0)?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        IntoDeserializer::<Error>::into_deserializer(self.0).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for Key {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;
    use std::collections::BTreeMap;

    const LARGE: &str = "18446744073709551619";

    #[derive(Debug, Deserialize, PartialEq)]
    struct Row {
        n: i128,
        unit: (),
        pair: (u128, f64),
        name: Option<String>,
        kind: Kind,
        other: Kind,
        by_number: BTreeMap<i128, Wrapped>,
        plain: Value,
        #[serde(default)]
        left_out: Vec<u8>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Wrapped(i128);

    #[derive(Debug, Deserialize, PartialEq)]
    enum Kind {
        Unit,
        Number(u128),
    }

    #[test]
    fn types_are_read_as_serde_json_reads_them() {
        let text = format!(
            r#" {{"n": -{LARGE}, "unit": null, "pair": [{LARGE}, 0.1], "name": "a\ud800", "kind": "Unit", "other": {{"Number": {LARGE}}},
                "by_number": {{"7": {LARGE}}}, "plain": [1, 2.5, "x", {{"y": null}}], "ignored": [{LARGE}]}} "#
        );
        let large: i128 = LARGE.parse().unwrap();
        let expected = Row {
            n: -large,
            unit: (),
            pair: (large as u128, 0.1),
            name: Some("a\u{fffd}".to_owned()),
            kind: Kind::Unit,
            other: Kind::Number(large as u128),
            by_number: BTreeMap::from([(7, Wrapped(large))]),
            plain: json!([1, 2.5, "x", {"y": null}]),
            left_out: Vec::new(),
        };
        assert_eq!(from_str::<Row>(&text).unwrap(), expected);
    }

    #[test]
    fn nothing_is_rounded() {
        let error = from_str::<Value>(&format!("[{LARGE}]")).unwrap_err().to_string();
        assert!(error.contains(LARGE) && error.contains("i128"), "{error}");
        let error = from_str::<Vec<u64>>(&format!("[{LARGE}]")).unwrap_err().to_string();
        assert!(error.contains(LARGE) && error.contains("out of range"), "{error}");
        assert_eq!(from_str::<Vec<i8>>("[-0]").unwrap(), [0]);
        assert!(from_str::<i128>(&"9".repeat(40)).is_err());
        assert!(from_str::<Value>("1e999").is_err());
        assert!(from_str::<f64>("1e999").is_err());
        assert_eq!(from_str::<f64>(LARGE).unwrap(), 18_446_744_073_709_551_616.0);
        assert_eq!(from_str::<Value>("[-0]").unwrap(), json!([0]));
        assert_eq!(from_str::<u64>("18446744073709551615").unwrap(), u64::MAX);
        let raw: Vec<Box<RawValue>> = from_str(&format!("[{LARGE}, 1]")).unwrap();
        assert_eq!(raw[0].get(), LARGE);
    }

    #[test]
    fn broken_and_deep_texts_are_errors() {
        assert!(from_str::<Vec<i128>>(&format!("[{LARGE},")).is_err());
        assert!(from_str::<Value>(&format!("{}-0{}", "[".repeat(200_000), "]".repeat(200_000))).is_err());
        assert!(from_str::<(i128, i128)>(&format!("[{LARGE}]")).is_err());
        assert!(from_str::<i128>(&format!("[{LARGE}]")).is_err());
        assert!(from_str::<Vec<i128>>(&format!("{{\"a\": {LARGE}}}")).is_err());
    }
}
