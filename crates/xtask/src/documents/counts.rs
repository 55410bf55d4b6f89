//! The number of packages in the bundle, where a text names it: `cargo xtask docs --write` writes it from the lock of `runtime/`.

use super::changelog;
use super::fault::Fault;
use super::repository::Repository;
use crate::runtime::Lock;
use anyhow::{Context, Result};
use std::ops::Range;

/// Smallest number that is taken for the bundle's. Smaller ones in documents are of other packages.
const SMALLEST: usize = 100;

/// Endings of the files that are looked at.
const ENDINGS: [&str; 3] = [".md", "Dockerfile", "pyproject.toml"];

/// Writes the number into all texts.
///
/// # Errors
/// If a file cannot be read or written.
pub(super) fn write(repository: &Repository) -> Result<()> {
    let count = count(repository)?;
    for file in files(repository) {
        let text = repository.text(file)?;
        let written = written(&text, count);
        if written != text {
            std::fs::write(repository.root().join(file), written).with_context(|| format!("cannot write {file}"))?;
        }
    }
    Ok(())
}

/// Returns a fault for each text that has another number.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn check(repository: &Repository) -> Result<Vec<Fault>> {
    let count = count(repository)?;
    let mut faults = Vec::new();
    for file in files(repository) {
        faults.extend(faults_of(file, &repository.text(file)?, count));
    }
    Ok(faults)
}

fn count(repository: &Repository) -> Result<usize> {
    Ok(Lock::load(&repository.root().join("runtime"))?.packages())
}

/// Returns the files that say what the bundle has now. A changelog says what it had, and `tests/` has numbers of packages of PyPI.
fn files(repository: &Repository) -> impl Iterator<Item = &str> {
    let is_other = |file: &str| file == changelog::PATH || file.starts_with("tests/");
    repository.files().filter(move |file| !is_other(file) && ENDINGS.iter().any(|ending| file.ends_with(ending)))
}

pub(super) fn faults_of(file: &str, text: &str, count: usize) -> Vec<Fault> {
    let others = numbers(text).into_iter().filter(|(_, number)| *number != count);
    others
        .map(|(range, number)| {
            let line = text[..range.start].matches('\n').count() + 1;
            let message = format!("{number} packages: the bundle has {count}; `cargo xtask docs --write` writes it");
            Fault::new(file, line, message)
        })
        .collect()
}

pub(super) fn written(text: &str, count: usize) -> String {
    let mut written = text.to_owned();
    for (range, _) in numbers(text).into_iter().rev() {
        written.replace_range(range, &count.to_string());
    }
    written
}

/// Returns the numbers before the word `packages`: on its line or the one before, with `other` between them or without.
fn numbers(text: &str) -> Vec<(Range<usize>, usize)> {
    let mut numbers = Vec::new();
    for (at, _) in text.match_indices("packages") {
        let before = text[..at].trim_end();
        let before = before.strip_suffix("other").unwrap_or(before).trim_end();
        let start = before.trim_end_matches(|sign: char| sign.is_ascii_digit()).len();
        let is_whole =
            !before[..start].ends_with(|sign: char| sign.is_alphanumeric() || matches!(sign, ',' | '.' | '-'));
        if let Ok(number) = before[start..].parse::<usize>()
            && is_whole
            && number >= SMALLEST
        {
            numbers.push((start..before.len(), number));
        }
    }
    numbers
}
