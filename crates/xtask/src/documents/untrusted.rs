//! `docs/untrusted.md`: everything from outside that the host opens, resolves, names or prints, written from `docs/untrusted.toml` and
//! from the named constants of the code.

use super::bounds::{self, Constant};
use super::fault::Fault;
use super::repository::{Repository, below_crates};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The generated file.
pub(crate) const PATH: &str = "docs/untrusted.md";
/// Source of the document, beside the code.
const LEDGER: &str = "docs/untrusted.toml";

/// Paths by which a source file uses a decompressor or a reader of archives or pictures.
const READERS: [&str; 13] = [
    "zstd::",
    "flate2::",
    "zip::",
    "tar::",
    "ZipArchive",
    "GzDecoder",
    "ZlibDecoder",
    "DeflateDecoder",
    "MultiGzDecoder",
    "brotli::",
    "xz2::",
    "bzip2::",
    "ImageReader",
];
/// A checksum of the same library, which unpacks nothing.
const CHECKSUM: &str = "flate2::Crc";

/// Text above the tables.
const HEADER: &str = "\
# What others wrote

Each archive, stream and value that is not the operator's own and that the host opens, resolves, names or prints: what the host does with it,
where, within which bounds, and the test that shows it. `cargo xtask docs --write` writes this file from `docs/untrusted.toml` and the constants
of the code. `cargo xtask docs` checks that it is up to date, that its files, constants and tests exist, and that each file of a
crate that uses a decompressor or a reader of archives is in a row.
";

/// The ledger.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ledger {
    group: Vec<Group>,
}

/// Rows of one subject.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    title: String,
    row: Vec<Row>,
}

/// Row of the ledger: one source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Who wrote what.
    source: String,
    /// Action of the host.
    does: String,
    /// Source files that do it.
    at: Vec<String>,
    /// `crates/NAME/src/FILE.rs:CONSTANT`, or a sentence.
    bounds: Vec<String>,
    /// A test, as documents cite it.
    test: String,
}

/// Writes the document.
///
/// # Errors
/// If the ledger or a source file cannot be read, or the document not be written.
pub(crate) fn write(repository: &Repository) -> Result<()> {
    bounds::write_generated(repository, PATH, expected(repository)?)
}

/// Returns a fault for each file and constant of the ledger that the code does not have, for each reader of archives that no
/// row names, and one if the document is out of date.
///
/// # Errors
/// If the ledger or a source file cannot be read.
pub(crate) fn check(repository: &Repository) -> Result<Vec<Fault>> {
    Ok(bounds::compare(repository, PATH, expected(repository)?))
}

fn expected(repository: &Repository) -> Result<(String, Vec<Fault>)> {
    let ledger: Ledger = toml::from_str(&repository.text(LEDGER)?).with_context(|| format!("cannot read {LEDGER}"))?;
    let constants = bounds::constants(repository)?;
    let (mut text, mut faults, mut named) = (HEADER.to_owned(), Vec::new(), BTreeSet::new());
    for group in &ledger.group {
        let _ = write!(
            text,
            "\n## {}\n\n| what | the host | where | bounds | test |\n|---|---|---|---|---|\n",
            group.title
        );
        for row in &group.row {
            for file in &row.at {
                named.insert(file.as_str());
                if !repository.has(file) {
                    faults.push(Fault::new(LEDGER, 1, format!("`{file}`: there is no such file")));
                }
            }
            let mut limits = Vec::new();
            for bound in &row.bounds {
                match limit(bound, &constants) {
                    Some(limit) => limits.push(limit),
                    None => faults.push(Fault::new(LEDGER, 1, format!("`{bound}`: the code has no such constant"))),
                }
            }
            let at: Vec<String> = row.at.iter().map(|file| format!("`{file}`")).collect();
            let (at, limits) = (at.join(", "), limits.join(", "));
            let _ = writeln!(text, "| {} | {} | {at} | {limits} | {} |", row.source, row.does, row.test);
        }
    }
    for file in repository.files().filter(bounds::is_source).filter(|file| !named.contains(file)) {
        if let Some((line, reader)) = reader(&repository.text(file)?) {
            let what =
                format!("uses `{reader}`, and no row of {LEDGER} names the file: what is opened, and what bounds it?");
            faults.push(Fault::new(file, line, what));
        }
    }
    Ok((text, faults))
}

/// How a bound is shown; `None` if it names a constant that the code does not have.
fn limit(bound: &str, constants: &[Constant]) -> Option<String> {
    if below_crates(bound).is_none() {
        return Some(bound.to_owned());
    }
    bounds::limit(bound, constants)
}

/// Returns the first line of a source file, up to its tests, that uses a reader of archives, and which.
fn reader(text: &str) -> Option<(usize, &'static str)> {
    let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    let mut lines = (1..).zip(code).filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines.find_map(|(number, line)| {
        let line = line.replace(CHECKSUM, "");
        let found = READERS.into_iter().find(|reader| is_used(&line, reader))?;
        Some((number, found))
    })
}

/// Returns whether a line has the path `reader`, not as the end of a longer name.
fn is_used(line: &str, reader: &str) -> bool {
    let is_part = |at: usize| line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
    line.match_indices(reader).any(|(at, _)| !is_part(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_of_archives_are_found() {
        for (source, found) in [
            ("use zip::ZipArchive;\n", Some((1, "zip::"))),
            ("// zip::\nlet a = flate2::Crc::new();\n", None),
            ("use flate2::Crc;\nuse flate2::{Crc, Decompress};\n", Some((2, "flate2::"))),
            ("    let stream = zstd::Decoder::new(from)?;\n", Some((1, "zstd::"))),
            ("let first = vec.unzip::<A, B>();\n", None),
            ("fn a() {}\n#[cfg(test)]\nuse zip::ZipArchive;\n", None),
            ("let picture = ImageReader::open(path)?;\n", Some((1, "ImageReader"))),
        ] {
            assert_eq!(reader(source), found, "{source}");
        }
    }

    #[test]
    fn what_the_ledger_lacks_and_what_the_code_lacks_are_faults() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        std::fs::create_dir_all(root.join("crates/a/src")).expect("written");
        std::fs::create_dir_all(root.join("docs")).expect("written");
        let code = "use zip::ZipArchive;\n/// Entries.\nconst MAX_ENTRIES: usize = 7;\n";
        for name in ["b", "c"] {
            std::fs::write(root.join(format!("crates/a/src/{name}.rs")), code).expect("written");
        }
        let row = |at: &str, constant: &str| {
            format!(
                "[[group]]\ntitle = \"G\"\n[[group.row]]\nsource = \"an archive\"\ndoes = \"opens it\"\nat = [{at}]\nbounds = [\"crates/a/src/b.rs:{constant}\", \"words\"]\ntest = \"none\"\n"
            )
        };
        let files = ["crates/a/src/b.rs", "crates/a/src/c.rs", LEDGER, PATH].map(str::to_owned);
        let repository = Repository::with_files(root, files);
        let faults = |at: &str, constant: &str| {
            std::fs::write(root.join(LEDGER), row(at, constant)).expect("written");
            write(&repository).expect("written");
            check(&repository).expect("checked").len()
        };
        let both = "\"crates/a/src/b.rs\", \"crates/a/src/c.rs\"";
        assert_eq!(faults(both, "MAX_ENTRIES"), 0);
        let text = repository.text(PATH).expect("written");
        assert!(
            text.contains(
                "| an archive | opens it | `crates/a/src/b.rs`, `crates/a/src/c.rs` | 7 (`MAX_ENTRIES`), words | none |"
            ),
            "{text}"
        );
        assert_eq!(faults("\"crates/a/src/b.rs\"", "MAX_ENTRIES"), 1, "a reader that no row names");
        assert_eq!(faults(both, "MAX_WORDS"), 1, "a constant that is not there");
        assert_eq!(faults(&format!("{both}, \"crates/a/src/d.rs\""), "MAX_ENTRIES"), 1, "a file that is not there");
        std::fs::write(root.join(PATH), "").expect("written");
        assert_eq!(check(&repository).expect("checked").len(), 2, "it is out of date");
    }
}
