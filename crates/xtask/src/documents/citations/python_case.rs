//! Cases in Python: functions in `tests/python` that tests in Rust run with a real client.

use super::rust_test::has_word;
use crate::documents::repository::{Repository, below_crates};

/// Checks that the file defines the case and that a test in Rust names both.
///
/// # Errors
/// If one of that is not so: the reason.
pub(super) fn check(repository: &Repository, file: &str, case: &str) -> Result<(), String> {
    let text = repository.text(file).map_err(|error| error.to_string())?;
    let defined = text.lines().any(|line| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("def ").and_then(|rest| rest.strip_prefix(case)).is_some_and(|rest| rest.starts_with('('))
    });
    if !defined {
        return Err(format!("{file} defines no such case"));
    }
    let module = module(file);
    let runs = |test: &str| repository.text(test).is_ok_and(|text| has_word(&text, module) && has_word(&text, case));
    let mut tests = repository.files().filter(|file| is_test_source(file));
    if tests.any(runs) { Ok(()) } else { Err(format!("no test in Rust runs this case of {file}")) }
}

/// Returns the module's name: `session_cases` for `tests/python/session_cases.py`.
pub(super) fn module(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".py").unwrap_or(name)
}

fn is_test_source(file: &str) -> bool {
    let below = below_crates(file).and_then(|rest| rest.split_once('/'));
    file.ends_with(".rs") && below.is_some_and(|(_, rest)| rest.starts_with("tests/"))
}
