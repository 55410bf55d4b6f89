//! How long files are, and how large crates.

use super::exceptions::{self, LargeCrate};
use crate::documents::fault::Fault;
use crate::documents::repository::Repository;
use anyhow::Result;
use std::collections::BTreeMap;

/// Most lines of a file of Rust or Python.
const MAX_LINES: usize = 400;

/// Half of the Rust files have at most so many lines.
const MAX_MEDIAN: usize = 160;

/// A crate has at most one part in so many of all lines.
const MIN_PARTS: usize = 5;

/// Where files count.
const DIRECTORIES: [&str; 7] = ["crates/", "fuzz/", "guest/", "python/", "tests/", "bench/", "runtime/recipes/"];

/// Returns a fault for each file and crate that is too large, and for a median that is.
pub(super) fn check(repository: &Repository, exceptions: &[LargeCrate]) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let mut rust = Vec::new();
    let mut by_crate: BTreeMap<&str, usize> = BTreeMap::new();
    for file in repository.files().filter(|file| DIRECTORIES.iter().any(|directory| file.starts_with(directory))) {
        let is_rust = file.ends_with(".rs");
        if !(is_rust || file.ends_with(".py")) {
            continue;
        }
        let lines = repository.text(file)?.lines().count();
        if lines > MAX_LINES {
            faults.push(Fault::new(file, MAX_LINES, format!("has {lines} lines, at most {MAX_LINES} are right")));
        }
        if is_rust {
            rust.push(lines);
        }
        if let Some((name, below)) = file.strip_prefix("crates/").and_then(|below| below.split_once('/'))
            && is_rust
            && below.starts_with("src/")
        {
            *by_crate.entry(name).or_default() += lines;
        }
    }
    rust.sort_unstable();
    let median = rust.get(rust.len() / 2).copied().unwrap_or_default();
    if median > MAX_MEDIAN {
        faults.push(Fault::new(
            "crates",
            1,
            format!("half of the files have over {median} lines, {MAX_MEDIAN} are right"),
        ));
    }
    let all: usize = by_crate.values().sum();
    for (name, lines) in by_crate {
        let is_large = lines * MIN_PARTS > all;
        let excepted = exceptions.iter().any(|exception| exception.name == name && !exception.reason.is_empty());
        if is_large && !excepted {
            let share = lines * 100 / all.max(1);
            let message = format!("has {share} % of the code, at most a fifth is right");
            faults.push(Fault::new(&format!("crates/{name}"), 1, message));
        }
        if excepted && !is_large {
            faults.push(Fault::new(exceptions::FILE, 1, format!("{name} is no large crate any more")));
        }
    }
    Ok(faults)
}
