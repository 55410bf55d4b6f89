//! Ranges of settings, which the command line and the library share.

use std::ops::RangeInclusive;
use std::time::Duration;

use brumate_session::units::{format_duration, format_size};

/// Longest time limit: a day.
pub const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Shortest time limit. Below it, even `pass` may not end in time.
const MIN_TIME: Duration = Duration::from_millis(50);
/// Least memory, in bytes: the interpreter and some space for code.
const MIN_MEMORY: u64 = 64 << 20;
/// Most memory, in bytes: the range of 32-bit addresses.
const MAX_MEMORY: u64 = 4 << 30;
/// Least output limit, in bytes: room for an error message.
const MIN_OUTPUT: u64 = 1 << 10;
/// Largest output limit, in bytes. The output of each run is kept in memory.
const MAX_OUTPUT: u64 = 64 << 20;
/// Largest limit of files, in bytes. They are kept in the memory of the machine.
const MAX_FILES: u64 = 64 << 30;
/// Most runs at the same time.
const MAX_CONCURRENT: usize = 4096;
/// Longest idle time: ten years.
const MAX_IDLE: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);
/// Shortest idle time.
const MIN_IDLE: Duration = Duration::from_secs(1);

/// Returns `value` if it is in `range`.
///
/// # Errors
///
/// A text with the setting's name and the range.
pub fn check_range<T: PartialOrd + Copy>(
    name: &str,
    value: T,
    range: RangeInclusive<T>,
    text: impl Fn(T) -> String,
) -> Result<T, String> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(format!("`{name}` must be from {} to {}, not {}", text(*range.start()), text(*range.end()), text(value)))
}

/// Checks a limit of wall-clock or CPU time.
///
/// # Errors
///
/// As [`check_range`]; the same for the other functions.
pub fn check_time(name: &str, time: Duration) -> Result<Duration, String> {
    check_range(name, time, MIN_TIME..=MAX_TIME, format_duration)
}

/// Checks a memory limit.
pub fn check_memory(name: &str, bytes: u64) -> Result<u64, String> {
    check_range(name, bytes, MIN_MEMORY..=MAX_MEMORY, format_size)
}

/// Checks a limit of files in the sandbox.
pub fn check_files(name: &str, bytes: u64) -> Result<u64, String> {
    check_range(name, bytes, 0..=MAX_FILES, format_size)
}

/// Checks an output limit.
pub fn check_output(name: &str, bytes: u64) -> Result<u64, String> {
    check_range(name, bytes, MIN_OUTPUT..=MAX_OUTPUT, format_size)
}

/// Checks a number of concurrent runs.
pub fn check_concurrent(name: &str, runs: usize) -> Result<usize, String> {
    check_range(name, runs, 1..=MAX_CONCURRENT, |number| number.to_string())
}

/// Checks an idle time.
pub fn check_idle(name: &str, time: Duration) -> Result<Duration, String> {
    check_range(name, time, MIN_IDLE..=MAX_IDLE, format_duration)
}
