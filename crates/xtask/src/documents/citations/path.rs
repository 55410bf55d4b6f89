//! Paths in code spans: which spans are paths of this repository, and where they lead.

use super::Rules;
use crate::documents::repository::{CRATE_PARENTS, Repository, join};

/// Extensions of files that documents name without a directory.
const SOURCES: &[&str] = &[".rs", ".py"];

/// Directories that paths beside the document's own may begin in.
pub(super) struct Places<'a> {
    /// The document's directory.
    pub(super) document: &'a str,
    /// The directory of the file cited before in the same block.
    pub(super) beside: Option<&'a str>,
}

/// Returns whether a code span must be a path of this repository.
pub(super) fn is_citation(repository: &Repository, rules: Rules, text: &str) -> bool {
    let is_source = SOURCES.iter().any(|extension| text.ends_with(extension));
    let looks_like_path = text.contains('/') || is_source;
    let elsewhere = text.starts_with(['/', '~', '-', '$']) || text.contains("://");
    if !looks_like_path || elsewhere || text.contains(char::is_whitespace) && !text.contains('{') {
        return false;
    }
    if rules == Rules::Specification {
        return true;
    }
    if text.contains(['<', '…', '@', '(', '"', '=']) || text.contains("::") {
        return false;
    }
    let first = text.split('/').next().unwrap_or_default();
    let in_repository = repository.has_in_root(first) || repository.crates().any(|name| name == first) || first == "..";
    match (text.split_once('/'), rules) {
        (None, Rules::Guide) => text.ends_with(".rs"),
        (None, _) => true,
        (Some((_, "")), Rules::Project) => true,
        (Some(_), _) => in_repository || text.ends_with(".rs"),
    }
}

/// Expands one group in braces: `{a,b}.rs` is `a.rs` and `b.rs`.
pub(super) fn alternatives(text: &str) -> Vec<String> {
    let group = text.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match group {
        Some((before, (group, after))) => {
            group.split(',').map(|choice| format!("{before}{}{after}", choice.trim())).collect()
        }
        None => vec![text.to_owned()],
    }
}

/// Returns the path from the root; for a pattern with `*`, that of the first match.
///
/// # Errors
/// If there is no such path: the reason, with files of the same name.
pub(super) fn resolve(
    repository: &Repository,
    rules: Rules,
    places: &Places<'_>,
    text: &str,
) -> Result<String, String> {
    let mut directories = vec![""];
    directories.extend(CRATE_PARENTS);
    directories.extend(places.beside);
    match rules {
        Rules::Specification => directories.push("tests/python"),
        Rules::Project | Rules::Guide => directories.push(places.document),
    }
    let mut found = directories.iter().filter_map(|directory| find(repository, &join(directory, text)?));
    if let Some(path) = found.next() {
        return Ok(path);
    }
    if rules != Rules::Specification
        && let Some(path) = find_by_end(repository, text)
    {
        return Ok(path);
    }
    Err(format!("there is no such file or directory{}", suggestion(repository, text)))
}

/// Returns the path if it exists, without a slash at the end.
fn find(repository: &Repository, path: &str) -> Option<String> {
    if path.contains('*') {
        return repository.entries().find(|entry| matches(path, entry)).map(str::to_owned);
    }
    repository.has(path).then(|| path.trim_end_matches('/').to_owned())
}

/// Returns the first entry that ends with the path. Documents on one crate leave out what all its files share.
fn find_by_end(repository: &Repository, path: &str) -> Option<String> {
    let end = format!("/{path}");
    match end.strip_suffix('/') {
        Some(end) => repository.entries().find(|entry| entry.ends_with(end) && repository.has(&format!("{entry}/"))),
        None => repository.entries().find(|entry| entry.ends_with(&end)),
    }
    .map(str::to_owned)
}

/// Whether `*` can stand for a part of each name so that the pattern is the path.
fn matches(pattern: &str, path: &str) -> bool {
    let (mut patterns, mut names) = (pattern.split('/'), path.split('/'));
    loop {
        match (patterns.next(), names.next()) {
            (None, None) => return true,
            (Some(pattern), Some(name)) if matches_name(pattern, name) => {}
            _ => return false,
        }
    }
}

fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
    }
}

/// Names up to three files with the same name, for those that were moved.
fn suggestion(repository: &Repository, text: &str) -> String {
    let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or(text);
    let same = repository.entries().filter(|entry| entry.rsplit('/').next() == Some(name));
    let same: Vec<&str> = same.take(3).collect();
    if same.is_empty() { String::new() } else { format!("; of that name there is {}", same.join(", ")) }
}
