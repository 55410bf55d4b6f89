//! Numbers without a fraction, which are integers of JSON Schema however they are written.

use serde_json::{Number, Value};

/// Reads a value. Where that fails, numbers such as `3.0` are read as integers.
///
/// # Errors
///
/// Returns the first error if the value cannot be read in either way.
pub(crate) fn read<T>(value: Value, read: impl Fn(Value) -> serde_json::Result<T>) -> serde_json::Result<T> {
    let integers = has_whole_float(&value).then(|| with_integers(value.clone()));
    match (read(value), integers) {
        (Err(error), Some(integers)) => read(integers).map_err(|_| error),
        (parsed, _) => parsed,
    }
}

/// Returns the integer that a float is, if it has no fraction and at most 64 bits.
fn integer(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0)?;
    let digits = format!("{float:.0}");
    digits.parse::<i64>().map(Number::from).or_else(|_| digits.parse::<u64>().map(Number::from)).ok()
}

fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => integer(number).is_some(),
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(members) => members.values().any(has_whole_float),
        _ => false,
    }
}

fn with_integers(value: Value) -> Value {
    match value {
        Value::Number(number) => integer(&number).unwrap_or(number).into(),
        Value::Array(items) => items.into_iter().map(with_integers).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, with_integers(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, Debug, PartialEq)]
    struct Mixed {
        count: u8,
        numbers: Vec<i64>,
        ratio: f64,
    }

    #[test]
    fn numbers_without_a_fraction_are_integers() {
        let parse = |value| read(value, serde_json::from_value::<Mixed>);
        let mixed = |count, numbers: &[i64]| Mixed { count, numbers: numbers.to_vec(), ratio: 2.0 };
        for (value, expected) in [
            (json!({"count": 3, "numbers": [1], "ratio": 2}), mixed(3, &[1])),
            (json!({"count": 3.0, "numbers": [-1.0, 1e3], "ratio": 2.0}), mixed(3, &[-1, 1000])),
            (json!({"count": -0.0, "numbers": [-9.223_372_036_854_776e18], "ratio": 2.0}), mixed(0, &[i64::MIN])),
        ] {
            assert_eq!(parse(value.clone()).unwrap(), expected, "{value}");
        }
        for (value, part) in [
            (json!({"count": 3.5, "numbers": [], "ratio": 2.0}), "3.5"),
            (json!({"count": 256.0, "numbers": [], "ratio": 2.0}), "256"),
            (json!({"count": 1, "numbers": [1e300], "ratio": 2.0}), "floating point"),
        ] {
            let error = parse(value).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        // A value that can be read as it is keeps its form.
        assert_eq!(read(json!([3.0]), Ok).unwrap().to_string(), "[3.0]");
    }
}
