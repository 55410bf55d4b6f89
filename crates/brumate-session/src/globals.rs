//! Global variables that a request sets.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json::strict_json;

/// Global variables as a JSON object. The guest reads its text, so numbers are exact, whatever their size. Default: none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Globals(String);

impl Globals {
    /// Makes variables of the text of a JSON object, in which Python's `NaN` and `Infinity` are allowed. An empty text: none.
    ///
    /// # Errors
    ///
    /// The text is no JSON object.
    pub fn from_json(json: impl Into<String>) -> Result<Self, String> {
        let json = json.into();
        let trimmed = json.trim_ascii();
        if trimmed.is_empty() || is_empty_object(trimmed) {
            return Ok(Self::default());
        }
        let refused = |reason: String| format!("the global variables are not a JSON object: {reason}");
        if !trimmed.starts_with('{') {
            return Err(refused("they do not begin with `{`".to_owned()));
        }
        let checked = serde_json::from_str::<IgnoredAny>(&strict_json(trimmed));
        checked.map_err(|error| refused(error.to_string()))?;
        Ok(Self(json))
    }

    /// Adds a variable.
    pub fn insert(&mut self, name: &str, value: &RawValue) {
        let before = match self.0.trim_ascii_end().strip_suffix('}') {
            Some(members) => format!("{members},"),
            None => "{".to_owned(),
        };
        self.0 = format!("{before}{}:{}}}", Value::from(name), value.get());
    }

    /// Returns the variables as JSON; empty if there are none.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

/// Returns whether an object has no members.
fn is_empty_object(json: &str) -> bool {
    json.strip_prefix('{').is_some_and(|rest| rest.trim_ascii_start() == "}")
}

impl From<Map<String, Value>> for Globals {
    fn from(variables: Map<String, Value>) -> Self {
        Self(if variables.is_empty() { String::new() } else { Value::Object(variables).to_string() })
    }
}

impl From<Globals> for String {
    fn from(globals: Globals) -> Self {
        globals.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_keep_their_text() {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        let mut globals = Globals::from_json(" { } ").unwrap();
        assert_eq!(globals, Globals::default());
        globals.insert("a", &raw("18446744073709551619"));
        globals.insert("\"", &raw("[1e999]"));
        assert_eq!(globals.as_json(), r#"{"a":18446744073709551619,"\"":[1e999]}"#);
        let text = r#"{"a": -0}"#;
        assert_eq!(Globals::from_json(text).unwrap().as_json(), text);
        let python = r#"{"a": [NaN, -Infinity]}"#;
        assert_eq!(Globals::from_json(python).unwrap().as_json(), python);
        assert!(Globals::from_json("[]").is_err() && Globals::from_json("{\"a\": }").is_err());
        // Deeper than serde_json's values.
        assert!(Globals::from_json(format!("{{\"a\": {}{}}}", "[".repeat(900), "]".repeat(900))).is_ok());
        assert_eq!(Globals::from(Map::new()).as_json(), "");
    }
}
