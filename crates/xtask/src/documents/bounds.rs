//! `docs/bounds.md`: everything that can grow, written from the named constants of the code and from `docs/bounds.toml`.

use super::fault::Fault;
use super::repository::{Repository, below_crates};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The generated file.
pub(crate) const PATH: &str = "docs/bounds.md";
/// What the code does not say: who pays, what happens, which test shows it.
const LEDGER: &str = "docs/bounds.toml";

/// Constants with these parts in their names are bounds.
const PREFIXES: [&str; 2] = ["MAX_", "MIN_"];
const PARTS: [&str; 6] = ["LIMIT", "TIMEOUT", "QUEUE", "PATIENCE", "INBOX", "GUARANTEED"];

/// Text above the tables.
const HEADER: &str = "\
# Bounds

Everything that a guest or a client can make grow has a named bound in the code. `cargo xtask docs --write` writes this file from those
constants and from `docs/bounds.toml`; `cargo xtask docs` checks that it is up to date, and that no constant is forgotten.

The tables come first for what is paid for by somebody: who that is, what happens at the limit, and the test that shows it. The list of all
other bounds follows, as the code describes them.
";

/// The ledger.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ledger {
    group: Vec<Group>,
}

/// Bounds of one subject.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    title: String,
    bound: Vec<Row>,
}

/// What the ledger says of one bound.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// `crates/NAME/src/FILE.rs:CONSTANT`, or a setting's flag with its default behind `=`.
    bound: String,
    /// What grows.
    what: String,
    /// On whose account it is.
    pays: String,
    /// What happens at the limit.
    at: String,
    /// A test, as documents cite it.
    test: String,
}

/// A named constant of the code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Constant {
    file: String,
    name: String,
    /// The expression, as it is written.
    value: String,
    /// The first sentence of its comment.
    about: String,
}

/// Writes the document.
///
/// # Errors
/// If the ledger or a source file cannot be read, or the document not be written.
pub(crate) fn write(repository: &Repository) -> Result<()> {
    write_generated(repository, PATH, expected(repository)?)
}

/// Writes a generated document.
pub(super) fn write_generated(repository: &Repository, path: &str, (text, _): (String, Vec<Fault>)) -> Result<()> {
    std::fs::write(repository.root().join(path), text).with_context(|| format!("cannot write {path}"))
}

/// Returns the faults that were found for a generated document, and one if it is out of date.
pub(super) fn compare(repository: &Repository, path: &str, (text, mut faults): (String, Vec<Fault>)) -> Vec<Fault> {
    if repository.text(path).unwrap_or_default() != text {
        faults.push(Fault::new(path, 1, "is out of date; `cargo xtask docs --write` writes it"));
    }
    faults
}

/// Returns a fault for each bound of the ledger that the code does not have, and one if the document is out of date.
///
/// # Errors
/// If the ledger or a source file cannot be read.
pub(crate) fn check(repository: &Repository) -> Result<Vec<Fault>> {
    Ok(compare(repository, PATH, expected(repository)?))
}

fn expected(repository: &Repository) -> Result<(String, Vec<Fault>)> {
    let ledger: Ledger = toml::from_str(&repository.text(LEDGER)?).with_context(|| format!("cannot read {LEDGER}"))?;
    let constants = constants(repository)?;
    let (mut text, mut faults, mut named) = (HEADER.to_owned(), Vec::new(), BTreeSet::new());
    for group in &ledger.group {
        let _ = write!(
            text,
            "\n## {}\n\n| what grows | limit | who pays | at the limit | test |\n|---|---|---|---|---|\n",
            group.title
        );
        for row in &group.bound {
            let limit = match limit(&row.bound, &constants) {
                Some(limit) => limit,
                None => {
                    faults.push(Fault::new(LEDGER, 1, format!("`{}`: the code has no such constant", row.bound)));
                    continue;
                }
            };
            named.insert(row.bound.as_str());
            let _ = writeln!(text, "| {} | {limit} | {} | {} | {} |", row.what, row.pays, row.at, row.test);
        }
    }
    text.push_str("\n## All other bounds\n");
    let mut crate_name = "";
    for constant in &constants {
        if named.contains(format!("{}:{}", constant.file, constant.name).as_str()) {
            continue;
        }
        let (name, file) = split(&constant.file);
        if name != crate_name {
            let _ = write!(text, "\n### `{name}`\n\n| constant | limit | what |\n|---|---|---|\n");
            crate_name = name;
        }
        let about = constant.about.replace('|', "\\|");
        let _ = writeln!(text, "| `{}` in {file} | {} | {about} |", constant.name, shown(&constant.value));
    }
    Ok((text, faults))
}

/// The crate of a source file, and its path below `src`.
fn split(file: &str) -> (&str, &str) {
    let rest = below_crates(file).unwrap_or(file);
    let (name, file) = rest.split_once('/').unwrap_or((rest, ""));
    (name, file.strip_prefix("src/").unwrap_or(file))
}

/// How a bound of the ledger is shown: the constant's name and value, or the setting.
pub(super) fn limit(bound: &str, constants: &[Constant]) -> Option<String> {
    if let Some((flag, value)) = bound.split_once('=') {
        return Some(format!("`{flag}`: {value}"));
    }
    let (file, name) = bound.rsplit_once(':')?;
    let constant = constants.iter().find(|constant| constant.file == file && constant.name == name)?;
    Some(format!("{} (`{name}`)", shown(&constant.value)))
}

/// Reads the constants that are bounds, of all crates but `xtask` and those of tests.
pub(super) fn constants(repository: &Repository) -> Result<Vec<Constant>> {
    let mut found = Vec::new();
    for file in repository.files().filter(is_source) {
        found.extend(of_source(file, &repository.text(file)?));
    }
    Ok(found)
}

/// Whether a file is code of the product: not of `xtask`, and no test.
pub(super) fn is_source(file: &&str) -> bool {
    let of_product = below_crates(file).is_some() && !file.starts_with("crates/xtask/") && !file.contains("test");
    of_product && file.contains("/src/") && file.ends_with(".rs")
}

/// Reads the bounds of one source file, up to its tests.
fn of_source(file: &str, text: &str) -> Vec<Constant> {
    let (mut found, mut comment) = (Vec::new(), String::new());
    for line in text.lines() {
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("///") {
            comment.push_str(rest);
            continue;
        }
        let after = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub(super) "));
        let after = after.or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
        let declared = after.strip_prefix("const ").and_then(|rest| rest.split_once(": "));
        if let Some((name, rest)) = declared
            && is_bound(name)
            && let Some((kind, value)) = rest.strip_suffix(';').and_then(|rest| rest.split_once(" = "))
            && is_number(kind)
        {
            let about = comment.trim().split_inclusive(". ").next().unwrap_or_default().trim().to_owned();
            let (file, name, value) = (file.to_owned(), name.to_owned(), value.to_owned());
            found.push(Constant { file, name, value, about });
        }
        if !line.starts_with("#[") {
            comment.clear();
        }
    }
    found
}

fn is_bound(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || PARTS.iter().any(|part| name.contains(part))
}

fn is_number(kind: &str) -> bool {
    matches!(kind, "usize" | "u64" | "u32" | "u16" | "u8" | "i64" | "i32" | "Duration" | "std::time::Duration" | "f64")
}

/// A value as people write it, where it is a plain one; else the expression.
fn shown(value: &str) -> String {
    let seconds = value.strip_prefix("std::time::").unwrap_or(value).strip_prefix("Duration::from_secs(");
    if let Some(seconds) = seconds.and_then(|rest| product(rest.strip_suffix(')')?)) {
        return match seconds {
            s if s >= 3600 && s % 3600 == 0 => format!("{} h", s / 3600),
            s if s >= 120 && s % 60 == 0 => format!("{} min", s / 60),
            s => format!("{s} s"),
        };
    }
    if let Some(millis) = value.strip_prefix("Duration::from_millis(").and_then(|rest| product(rest.strip_suffix(')')?))
    {
        return format!("{millis} ms");
    }
    let shifted = value
        .split_once(" << ")
        .and_then(|(number, by)| product(number)?.checked_shl(u32::try_from(product(by)?).ok()?));
    match (shifted, product(value)) {
        (Some(number), _) => units(number),
        (None, Some(number)) if value.contains("1024") => units(number),
        (None, Some(number)) => number.to_string(),
        (None, None) => format!("`{value}`"),
    }
}

/// A number, or a product of numbers.
fn product(text: &str) -> Option<u64> {
    let factor = |factor: &str| factor.trim().replace('_', "").parse::<u64>().ok();
    text.split('*').try_fold(1_u64, |product, next| product.checked_mul(factor(next)?))
}

fn units(number: u64) -> String {
    for (shift, name) in [(40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")] {
        if number >= 1 << shift && number.is_multiple_of(1 << shift) {
            return format!("{} {name}", number >> shift);
        }
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_with_their_comments() {
        let source = "\
/// Longest line. More is cut.
const MAX_LINE: usize = 16 << 20;
/// A name.
const NAME: &str = \"a\";
    /// Two
    /// lines.
    #[allow(dead_code)]
    pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_TEXT: &str = \"a\";
#[cfg(test)]
const MAX_OF_TESTS: usize = 1;
";
        let found = of_source("crates/a/src/b.rs", source);
        let shown: Vec<(&str, String, &str)> =
            found.iter().map(|one| (one.name.as_str(), shown(&one.value), one.about.as_str())).collect();
        let expected =
            [("MAX_LINE", "16 Mi".to_owned(), "Longest line."), ("WRITE_TIMEOUT", "30 s".to_owned(), "Two lines.")];
        assert_eq!(shown, expected);
    }

    #[test]
    fn values_are_shown_as_people_write_them() {
        for (value, expected) in [
            ("10 * 1024", "10 Ki"),
            ("10_000", "10000"),
            ("16 * 1024 * 1024", "16 Mi"),
            ("Duration::from_secs(10 * 60)", "10 min"),
            ("std::time::Duration::from_secs(60 * 60)", "1 h"),
            ("Duration::from_millis(250)", "250 ms"),
            ("2 * MAX_LAYERS", "`2 * MAX_LAYERS`"),
        ] {
            assert_eq!(shown(value), expected, "{value}");
        }
    }

    #[test]
    fn a_bound_that_the_code_lacks_is_a_fault() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        std::fs::create_dir_all(root.join("crates/a/src")).expect("written");
        std::fs::create_dir_all(root.join("docs")).expect("written");
        std::fs::write(root.join("crates/a/src/b.rs"), "/// Lines.\nconst MAX_LINES: usize = 7;\n").expect("written");
        let row = |name: &str| {
            format!(
                "[[group]]\ntitle = \"G\"\n[[group.bound]]\nbound = \"crates/a/src/b.rs:{name}\"\nwhat = \"lines\"\npays = \"you\"\nat = \"cut\"\ntest = \"none\"\n"
            )
        };
        let files = ["crates/a/src/b.rs", LEDGER, PATH].map(str::to_owned);
        let repository = Repository::with_files(root, files);
        std::fs::write(root.join(LEDGER), row("MAX_LINES")).expect("written");
        write(&repository).expect("written");
        assert_eq!(check(&repository).expect("checked"), []);
        let text = repository.text(PATH).expect("written");
        assert!(text.contains("| lines | 7 (`MAX_LINES`) | you | cut | none |"), "{text}");
        std::fs::write(root.join("crates/a/src/b.rs"), "/// Lines.\nconst MAX_LINES: usize = 8;\n").expect("written");
        assert_eq!(check(&repository).expect("checked").len(), 1, "it is out of date");
        std::fs::write(root.join(LEDGER), row("MAX_WORDS")).expect("written");
        assert_eq!(check(&repository).expect("checked").len(), 2);
    }
}
