//! `docs/SUMMARY.md`, the table of contents of the book: each document of `docs/` is in it once.

use super::fault::Fault;
use super::markdown::Document;
use super::repository::{join, parent};
use std::collections::BTreeMap;

/// The table of contents.
pub(crate) const PATH: &str = "docs/SUMMARY.md";

/// Returns a fault for each document of `docs/` that is not in the table of contents, and for each that is in it twice.
///
/// Whether its links lead somewhere, the check of links says.
pub(crate) fn check(documents: &[Document]) -> Vec<Fault> {
    let Some(contents) = documents.iter().find(|document| document.path == PATH) else {
        return vec![Fault::new(PATH, 1, "there is no such file")];
    };
    let (mut lines, mut faults) = (BTreeMap::new(), Vec::new());
    for link in &contents.links {
        let Some(path) = join(parent(PATH), &link.target) else { continue };
        if let Some(first) = lines.insert(path.clone(), link.line) {
            faults.push(Fault::new(PATH, link.line, format!("{path} is in line {first} already")));
        }
    }
    let missing = documents.iter().map(|document| document.path.as_str()).filter(|path| {
        let is_guide = path.starts_with("docs/") && *path != PATH;
        is_guide && !lines.contains_key(*path)
    });
    faults.extend(missing.map(|path| Fault::new(PATH, 1, format!("{path} is missing: give it a line"))));
    faults
}
