//! Sizes and durations as people write them.

use std::time::Duration;

use thiserror::Error;

/// Error for a text that is not a size or a duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct UnitError(String);

/// Binary and decimal units, the largest first within each family.
const SIZE_UNITS: [(&str, u64); 9] = [
    ("tib", 1 << 40),
    ("gib", 1 << 30),
    ("mib", 1 << 20),
    ("kib", 1 << 10),
    ("tb", 1_000_000_000_000),
    ("gb", 1_000_000_000),
    ("mb", 1_000_000),
    ("kb", 1_000),
    ("b", 1),
];

/// Reads a size: `1GiB`, `256 MiB`, `1.5gb`, or a plain number of bytes.
///
/// # Errors
///
/// When the text is not a number with one of the units, or does not fit 64 bits.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, unit) = SIZE_UNITS
        .iter()
        .find_map(|(suffix, unit)| lower.strip_suffix(suffix).map(|number| (number, *unit)))
        .unwrap_or((&lower, 1));
    scaled(number.trim(), unit).ok_or_else(|| {
        UnitError(format!(
            "`{text}` is not a size; write a number and B, KiB, MiB, GiB, KB, MB or GB, such as `256MiB`"
        ))
    })
}

/// Nanoseconds of each unit of time. `ms` comes before `s`, which is its suffix.
const DURATION_UNITS: [(&str, u64); 6] = [
    ("ms", 1_000_000),
    ("sec", 1_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration: `60s`, `1.5m`, `500ms`, `1h`, or a plain number of seconds.
///
/// # Errors
///
/// When the text is not a number with one of the units.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, unit) = DURATION_UNITS
        .iter()
        .find_map(|(suffix, unit)| lower.strip_suffix(suffix).map(|number| (number, *unit)))
        .unwrap_or((&lower, 1_000_000_000));
    scaled(number.trim(), unit).map(Duration::from_nanos).ok_or_else(|| {
        UnitError(format!("`{text}` is not a duration; write a number and ms, s, m or h, such as `60s`"))
    })
}

/// Multiplies `number` (decimal digits, at most one point) by `unit` exactly; fractions of one are cut off.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || number.ends_with('.') {
        return None;
    }
    // Twelve digits of a fraction are exact to the byte and the nanosecond for every unit above.
    let kept = &fraction[..fraction.len().min(12)];
    let denominator = 10_u128.pow(u32::try_from(kept.len()).ok()?);
    let numerator: u128 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    let scaled = whole.parse::<u128>().ok()?.checked_mul(unit.into())? + numerator * u128::from(unit) / denominator;
    u64::try_from(scaled).ok()
}

/// Formats `bytes` in the largest binary unit that divides them, else with one decimal: `1 GiB`, `1.5 MiB`, `17
/// bytes`.
pub fn format_size(bytes: u64) -> String {
    let unit = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)].into_iter().find(|(_, unit)| bytes >= *unit);
    match unit {
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
        Some((name, unit)) if bytes.is_multiple_of(unit) => format!("{} {name}", bytes / unit),
        Some((name, unit)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
    }
}

/// Formats `duration` in seconds, without zeros at the end: `60 s`, `0.5 s`.
pub fn format_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis.is_multiple_of(1000) {
        return format!("{} s", millis / 1000);
    }
    let text = format!("{}.{:03}", millis / 1000, millis % 1000);
    format!("{} s", text.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("1GiB", 1 << 30),
            ("256 MiB", 256 << 20),
            ("1.5kib", 1536),
            ("1gb", 1_000_000_000),
            ("0.5MB", 500_000),
            ("4096", 4096),
            ("17 b", 17),
            ("0", 0),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "GiB", "-1", "1e9", "1 GiBs", "1..5", "1.", "99999999TiB", "٣"] {
            assert!(parse_size(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn durations() {
        for (text, millis) in
            [("60s", 60_000), ("60", 60_000), ("1.5m", 90_000), ("500ms", 500), ("2 min", 120_000), ("1h", 3_600_000)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1s", "1 day", "inf", "1m30s"] {
            assert!(parse_duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn written_as_they_are_read() {
        for (bytes, text) in
            [(1 << 30, "1 GiB"), (256 << 20, "256 MiB"), (1_572_864, "1.5 MiB"), (17, "17 bytes"), (1, "1 byte")]
        {
            assert_eq!(format_size(bytes), text);
        }
        for (millis, text) in [(60_000, "60 s"), (500, "0.5 s"), (1_250, "1.25 s")] {
            assert_eq!(format_duration(Duration::from_millis(millis)), text);
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)));
        }
    }
}
