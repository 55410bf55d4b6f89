//! Tests in Rust, looked up in the sources. A list of the tests that are run proves more; see `listing`.

use crate::documents::repository::Repository;

/// Checks that a crate's sources or tests define `path`, a module of tests or a test.
///
/// # Errors
/// If no crate does: the reason.
pub(super) fn check(repository: &Repository, path: &str) -> Result<(), String> {
    let segments: Vec<&str> = path.split("::").collect();
    if segments.iter().any(|segment| segment.is_empty() || !segment.chars().all(|c| c.is_alphanumeric() || c == '_')) {
        return Err("this is no path of a test: write it in full".into());
    }
    let mut bases = Vec::new();
    for (_, directory) in repository.crate_directories() {
        bases.extend([format!("{directory}/src"), format!("{directory}/tests/all")]);
    }
    if bases.iter().any(|base| defines(repository, base, &segments)) {
        Ok(())
    } else {
        Err("no crate has such a test or module of tests".into())
    }
}

/// Checks that a file defines the function `name`.
///
/// # Errors
/// If it does not: the reason.
pub(super) fn check_function(repository: &Repository, file: &str, name: &str) -> Result<(), String> {
    let text = repository.text(file).map_err(|error| error.to_string())?;
    if has_item(&text, "fn", name) { Ok(()) } else { Err(format!("{file} has no function of that name")) }
}

/// Returns whether a source has functions with a `#[test]` attribute, of whatever crate.
pub(crate) fn has_tests(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("#[test]") || line.starts_with("#[") && line.contains("::test")
    })
}

/// Whether the module tree at `base` has the path: files as far as they go, then items in the last one.
fn defines(repository: &Repository, base: &str, segments: &[&str]) -> bool {
    for split in (0..=segments.len()).rev() {
        let (in_files, in_text) = segments.split_at(split);
        let stem = [base].into_iter().chain(in_files.iter().copied()).collect::<Vec<_>>().join("/");
        let candidates = if split == 0 {
            [format!("{stem}/lib.rs"), format!("{stem}/main.rs")]
        } else {
            [format!("{stem}.rs"), format!("{stem}/mod.rs")]
        };
        for file in candidates.iter().filter(|file| repository.has(file)) {
            let Ok(text) = repository.text(file) else {
                return false;
            };
            let has = |segment: &&str| has_item(&text, "mod", segment) || has_item(&text, "fn", segment);
            if in_text.iter().all(has) {
                return true;
            }
        }
    }
    false
}

/// Whether the text has `keyword name` as words.
fn has_item(text: &str, keyword: &str, name: &str) -> bool {
    let item = format!("{keyword} {name}");
    has_word(text, &item)
}

/// Whether `word` stands in the text with no letter, digit or underscore beside it.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + word.len()..]);
        !before.ends_with(is_inside) && !after.starts_with(is_inside)
    })
}
