//! Words that are not used any more: each meaning has one word in code, messages and documents.

use crate::documents::fault::Fault;
use crate::documents::repository::Repository;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// The file of the words: each old word with the one that has its meaning now.
const FILE: &str = "crates/xtask/old-words.toml";

/// Endings of the files that are searched.
const SEARCHED: [&str; 5] = [".rs", ".py", ".md", ".toml", ".json"];

/// Beginnings of the paths that are not searched: the past, and programs of other people.
const PASSED_OVER: [&str; 2] = ["CHANGELOG.md", "tests/"];

/// Finds old words in all files.
///
/// # Errors
/// If the list or a file cannot be read.
pub(super) fn check(repository: &Repository) -> Result<Vec<Fault>> {
    let words: BTreeMap<String, String> = toml::from_str(&repository.text(FILE)?).context(FILE)?;
    ensure!(!words.is_empty(), "{FILE} has no words");
    let mut faults = Vec::new();
    for file in repository.files() {
        let is_searched = SEARCHED.iter().any(|ending| file.ends_with(ending));
        if !is_searched || file == FILE || PASSED_OVER.iter().any(|start| file.starts_with(start)) {
            continue;
        }
        for (index, line) in repository.text(file)?.lines().enumerate() {
            faults.extend(old_words(line, &words).map(|(old, new)| {
                Fault::new(file, index + 1, format!("`{old}` is an old word; its meaning has the word {new}"))
            }));
        }
    }
    Ok(faults)
}

/// Returns the old words of a line, each with its successor.
fn old_words<'a>(
    line: &str,
    words: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = (&'a String, &'a String)> + use<'a> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let found: Vec<_> =
        line.split(|character| !is_part(character)).filter_map(|word| words.get_key_value(word)).collect();
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_found() {
        let words = BTreeMap::from([("Old".to_owned(), "`Entry`".to_owned())]);
        let found = |line: &str| old_words(line, &words).count();
        assert_eq!([found("a `Old`, and Old::new"), found("Olds, my_Old"), found("old")], [2, 0, 0]);
    }
}
