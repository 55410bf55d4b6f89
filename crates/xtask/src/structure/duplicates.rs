//! Lines that stand twice in the code of `crates/`, outside of tests.
//!
//! Lines are compared without indentation. Empty lines, comments, imports and lines of brackets alone do not count.

use super::exceptions::{self, Duplicate};
use crate::documents::fault::Fault;
use crate::documents::repository::Repository;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};

/// So many lines in a row, and more, are a duplicate.
const MIN_LINES: usize = 6;

/// A file's lines that count, each with its number.
type Lines = Vec<(usize, String)>;

/// Returns a fault for each run of lines that stands twice in `files`, and for exceptions that are none any more.
pub(super) fn check(repository: &Repository, files: Vec<String>, exceptions: &[Duplicate]) -> Result<Vec<Fault>> {
    let read = |file: String| {
        let lines = lines(&repository.text(&file)?);
        Ok((file, lines))
    };
    let files = files.into_iter().map(read).collect::<Result<BTreeMap<_, _>>>()?;
    let pairs = pairs(&files);
    let mut faults = Vec::new();
    for ((first, second), (line, other, count)) in &pairs {
        let excepted = |exception: &&Duplicate| {
            let files = [first, second];
            files.iter().all(|file| exception.files.contains(file)) && !exception.reason.is_empty()
        };
        if !exceptions.iter().any(|exception| excepted(&exception)) {
            let message = format!("{count} lines stand in {second} at line {other} as well");
            faults.push(Fault::new(first, *line, message));
        }
    }
    for exception in exceptions {
        let [first, second] = &exception.files;
        let stands = |(one, two): &(String, String)| [one, two].iter().all(|file| [first, second].contains(file));
        if !pairs.keys().any(stands) {
            faults.push(Fault::new(
                exceptions::FILE,
                1,
                format!("{first} and {second} have nothing in common any more"),
            ));
        }
    }
    Ok(faults)
}

/// Returns the lines of a file that count, up to its tests.
fn lines(text: &str) -> Lines {
    let code = text.lines().enumerate().take_while(|(_, line)| *line != "#[cfg(test)]");
    let mut in_import = false;
    let mut counted = Vec::new();
    for (index, line) in code {
        let line = line.trim();
        in_import |= line.starts_with("use ") || line.starts_with("pub use ") || line.starts_with("pub(crate) use ");
        let is_import = in_import;
        in_import &= !line.ends_with(';');
        let says_something = line.chars().any(char::is_alphanumeric);
        if !is_import && says_something && !line.starts_with("//") && !line.starts_with("#[") {
            counted.push((index + 1, line.to_owned()));
        }
    }
    counted
}

/// Returns the pairs of files with a run in common: where the longest begins in each, and how long it is.
fn pairs(files: &BTreeMap<String, Lines>) -> BTreeMap<(String, String), (usize, usize, usize)> {
    let mut places: BTreeMap<Vec<&str>, BTreeSet<(&String, usize)>> = BTreeMap::new();
    for (file, lines) in files {
        for (at, window) in lines.windows(MIN_LINES).enumerate() {
            let key = window.iter().map(|(_, line)| line.as_str()).collect();
            places.entry(key).or_default().insert((file, at));
        }
    }
    let mut pairs: BTreeMap<(String, String), (usize, usize, usize)> = BTreeMap::new();
    for at in places.values() {
        let at: Vec<_> = at.iter().collect();
        for (index, (first, begin)) in at.iter().enumerate() {
            for (second, other) in &at[index + 1..] {
                let (one, two) = (&files[*first], &files[*second]);
                let in_common =
                    one[*begin..].iter().zip(&two[*other..]).take_while(|(one, two)| one.1 == two.1).count();
                let found = (one[*begin].0, two[*other].0, in_common);
                let best = pairs.entry(((*first).clone(), (*second).clone())).or_insert(found);
                if in_common > best.2 {
                    *best = found;
                }
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_lines_in_two_files_are_found() {
        let body = "let a = 1;\n// why\nlet b = 2;\n\nlet c = 3;\n  let d = 4;\nlet e = 5;\nlet f = 6;\n";
        let files = BTreeMap::from([
            ("one.rs".to_owned(), lines(&format!("use a::{{\n  b,\n}};\n{body}fn other() {{}}\n"))),
            ("two.rs".to_owned(), lines(body)),
            ("three.rs".to_owned(), lines(&body.replace("let f", "let g"))),
            ("four.rs".to_owned(), lines(&format!("#[cfg(test)]\n{body}"))),
        ]);
        let pairs = pairs(&files);
        assert_eq!(pairs.into_iter().collect::<Vec<_>>(), [(("one.rs".to_owned(), "two.rs".to_owned()), (4, 1, 6))]);
    }
}
