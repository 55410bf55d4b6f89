//! Ids of requests, which are compared by value.

/// Most digits of an id that is written with an exponent: those of the largest number of 64 bits with a fraction.
const MAX_ID_DIGITS: usize = 309;
/// The least whole number that some clients cannot tell from its neighbour: 2^53.
const INEXACT: f64 = 9_007_199_254_740_992.0;

/// Id of a request. Two ids are the same if their values are: `1`, `1.0` and `1e0`, or `0` and `-0`. A text is no number.
#[derive(Debug, Clone)]
pub(crate) struct RequestId {
    /// The value as JSON, the same for all ways to write it.
    value: String,
    /// The id as it was written, if that differs.
    written: Option<String>,
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for RequestId {}

impl std::hash::Hash for RequestId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl RequestId {
    /// Makes an id of a text.
    pub(crate) fn of_text(text: &str) -> Self {
        Self { value: serde_json::Value::from(text).to_string(), written: None }
    }

    /// Makes an id of a JSON number; `None` if it is not a whole one.
    pub(crate) fn of_number(text: &str) -> Option<Self> {
        let value = whole_number(text)?;
        let written = (value != text).then(|| text.to_owned());
        Some(Self { value, written })
    }

    /// Returns the same id written plainly; `None` if it is.
    pub(crate) fn plain(&self) -> Option<Self> {
        self.written.is_some().then(|| Self { value: self.value.clone(), written: None })
    }

    /// Returns the id as JSON, as it was written.
    pub(crate) fn as_json(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.value)
    }

    /// Returns whether a client that keeps numbers as 64 bits with a fraction makes `other` of this id, which is too large for that.
    pub(crate) fn rounds_to(&self, other: &Self) -> bool {
        let number = |id: &Self| id.value.parse::<f64>().ok().filter(|number| number.abs() >= INEXACT);
        number(self).is_some_and(|own| number(other) == Some(own))
    }
}

/// Returns the digits of a JSON number that is whole; `None` if it is not, or has an exponent and too many digits.
fn whole_number(text: &str) -> Option<String> {
    let (sign, number) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (decimal, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let zeros = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let digits = match usize::try_from(zeros) {
        Ok(0) => digits.to_owned(),
        Ok(zeros) if digits.len().saturating_add(zeros) <= MAX_ID_DIGITS => format!("{digits}{}", "0".repeat(zeros)),
        Ok(_) => return None,
        Err(_) => {
            let cut = digits.len().checked_sub(usize::try_from(zeros.unsigned_abs()).ok()?).filter(|cut| *cut > 0)?;
            let (whole, rest) = digits.split_at(cut);
            rest.bytes().all(|byte| byte == b'0').then(|| whole.to_owned())?
        }
    };
    Some(format!("{sign}{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> RequestId {
        RequestId::of_number(text).unwrap()
    }

    #[test]
    fn ids_are_compared_by_value() {
        for (same, value) in [
            (&["1", "1.0", "1e0", "10E-1", "0.1e+1", "1.00e0", "100e-2"][..], "1"),
            (&["0", "-0", "0.0", "-0e5", "0e99999999999999999999"], "0"),
            (&["-12", "-1.2e1", "-120e-1"], "-12"),
            (&["9007199254740993", "9007199254740993.0"], "9007199254740993"),
            (&["1200", "12e2", "1.2E3"], "1200"),
        ] {
            for text in same {
                let id = RequestId::of_number(text).unwrap_or_else(|| panic!("{text}"));
                assert_eq!((id.value.as_str(), id.as_json()), (value, *text), "{text}");
                assert_eq!(id, number(value));
            }
        }
        for text in ["1.5", "1e-1", "1e310", "1e99999999999999999999", "-", "true", "[]", "0.1", "120e-2"] {
            assert!(RequestId::of_number(text).is_none(), "{text}");
        }
        assert_ne!(RequestId::of_text("1"), number("1"));
        assert_ne!(number("9007199254740993"), number("9007199254740992"));
        assert!(number("9007199254740993").rounds_to(&number("9007199254740992")));
        assert!(number("-1e300").rounds_to(&number("-1e300")));
        assert!(!number("12").rounds_to(&number("12")) && !RequestId::of_text("9e99").rounds_to(&number("9e99")));
    }
}
