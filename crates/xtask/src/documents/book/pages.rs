//! Links of the book's pages: files and anchors exist.

use crate::documents::fault::Fault;
use crate::documents::markdown::html_anchors;
use crate::documents::repository::{join, parent};
use anyhow::{Context, Result};
use percent_encoding::percent_decode_str;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Pages that are made of the others.
const DERIVED: [&str; 3] = ["404.html", "print.html", "toc.html"];

/// Returns how many links there are, and a fault for each that leads nowhere.
///
/// # Errors
/// If a page cannot be read, or there is none.
pub(super) fn check(book: &Path) -> Result<(usize, Vec<Fault>)> {
    let mut files = BTreeSet::new();
    list(book, "", &mut files)?;
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| file.ends_with(".html")) {
        let text = std::fs::read_to_string(book.join(file)).with_context(|| file.to_owned())?;
        let anchors: BTreeSet<String> = html_anchors(&text).into_iter().collect();
        pages.insert(file.as_str(), (text, anchors));
    }
    anyhow::ensure!(pages.contains_key("index.html"), "{} has no index.html", book.display());
    let (mut count, mut faults) = (0, Vec::new());
    for (page, (text, _)) in pages.iter().filter(|(page, _)| !DERIVED.contains(page)) {
        for (index, line) in text.lines().enumerate() {
            for target in targets(line) {
                count += 1;
                let (path, fragment) = target.split_once('#').unwrap_or((&target, ""));
                let file = if path.is_empty() { Some((*page).to_owned()) } else { join(parent(page), path) };
                let Some(file) = file.filter(|file| files.contains(file)) else {
                    faults.push(Fault::new(page, index + 1, format!("link `{target}`: there is no such file")));
                    continue;
                };
                let anchors = pages.get(file.as_str()).map(|(_, anchors)| anchors);
                if !fragment.is_empty() && anchors.is_some_and(|anchors| !anchors.contains(fragment)) {
                    faults.push(Fault::new(page, index + 1, format!("link `{target}`: the page has no such anchor")));
                }
            }
        }
    }
    Ok((count, faults))
}

/// Lists the files below a directory, with paths relative to the book.
fn list(book: &Path, directory: &str, files: &mut BTreeSet<String>) -> Result<()> {
    for entry in std::fs::read_dir(book.join(directory))? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a file name is not UTF-8")?;
        let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
        if entry.file_type()?.is_dir() {
            list(book, &path, files)?;
        } else {
            files.insert(path);
        }
    }
    Ok(())
}

/// Returns the targets of links and pictures in a line that are in the book.
fn targets(line: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for attribute in [" href=\"", " src=\""] {
        let values = line.split(attribute).skip(1).filter_map(|part| part.split('"').next());
        let values = values.map(|value| value.replace("&amp;", "&"));
        let inside = values.filter(|value| !value.is_empty() && !has_scheme(value));
        targets.extend(inside.map(|value| percent_decode_str(&value).decode_utf8_lossy().into_owned()));
    }
    targets
}

/// Whether a target begins with a scheme, such as `https:` or `data:`.
fn has_scheme(target: &str) -> bool {
    target
        .split_once(':')
        .is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let book = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| std::fs::write(book.path().join(name), text).expect("a file");
        std::fs::create_dir(book.path().join("docs")).expect("a directory");
        write("index.html", "<h1 id=\"top\"></h1>\n<a href=\"docs/a.html#one\">\n<a href=\"https://example.com/x\">");
        write(
            "docs/a.html",
            "<h1 id=\"one\"></h1><a href=\"../index.html#top\">\n<a href=\"#two\"> <img src=\"p.png\">",
        );
        let (count, faults) = check(book.path()).expect("pages");
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(count, 4);
        assert_eq!(
            faults,
            [
                "docs/a.html:2: link `#two`: the page has no such anchor",
                "docs/a.html:2: link `p.png`: there is no such file"
            ]
        );
    }
}
