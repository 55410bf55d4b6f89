//! Links of Markdown files: targets and anchors exist, addresses are well-formed. Nothing is fetched.

use super::fault::Fault;
use super::markdown::Document;
use super::repository::{Repository, join, parent};
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;
use url::Url;

/// Returns a fault for each link that leads nowhere.
pub(crate) fn check(repository: &Repository, documents: &[Document]) -> Vec<Fault> {
    let by_path: BTreeMap<&str, &Document> =
        documents.iter().map(|document| (document.path.as_str(), document)).collect();
    let mut faults = Vec::new();
    for document in documents {
        for link in &document.links {
            if let Err(reason) = check_link(repository, &by_path, document, &link.target) {
                faults.push(Fault::new(&document.path, link.line, format!("link `{}`: {reason}", link.target)));
            }
        }
    }
    faults
}

fn check_link(
    repository: &Repository,
    documents: &BTreeMap<&str, &Document>,
    document: &Document,
    target: &str,
) -> Result<(), String> {
    if has_scheme(target) {
        return check_address(target);
    }
    let (path, fragment) = match target.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment)),
        None => (target, None),
    };
    if path.starts_with('/') {
        return Err("it begins with a slash: write it relative to the file".into());
    }
    let path = percent_decode_str(path).decode_utf8().map_err(|error| error.to_string())?;
    let file = if path.is_empty() {
        document.path.clone()
    } else {
        join(parent(&document.path), &path).ok_or("it leads out of the repository")?
    };
    if target.is_empty() {
        return Err("it is empty".into());
    }
    if !file.is_empty() && !repository.has(&file) {
        return Err(format!("{file} does not exist"));
    }
    match (fragment, documents.get(file.as_str())) {
        (None, _) => Ok(()),
        (Some(fragment), Some(found)) if found.anchors.contains(fragment) => Ok(()),
        (Some(fragment), Some(_)) => Err(format!("{file} has no heading `#{fragment}`")),
        (Some(fragment), None) if is_line(fragment) => Ok(()),
        (Some(fragment), None) => Err(format!("{file} is not Markdown and has no anchor `#{fragment}`")),
    }
}

/// Whether the target begins with the scheme of an address, such as `https:`.
fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

fn check_address(target: &str) -> Result<(), String> {
    let url = Url::parse(target).map_err(|error| error.to_string())?;
    match url.scheme() {
        "http" | "https" if url.host_str().is_some_and(|host| host == "localhost" || host.contains(['.', ':'])) => {
            Ok(())
        }
        "http" | "https" => Err("it has no complete host name".into()),
        "mailto" if url.path().contains('@') => Ok(()),
        scheme => Err(format!("links with `{scheme}:` are not used here")),
    }
}

/// Whether a fragment names lines of a source file: `L10`, `L10-L20`.
fn is_line(fragment: &str) -> bool {
    fragment.split('-').all(|part| {
        part.strip_prefix('L').is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
    })
}
