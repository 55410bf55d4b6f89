//! `cargo xtask docs`: checks of the documents; `NOTICE`, `docs/bounds.md`, `docs/untrusted.md` and the number of packages in texts are
//! generated. `cargo xtask book` makes a book of them.
//!
//! Links and anchors of all Markdown files lead somewhere. Each document of `docs/` is in its table of contents. The changelog's
//! newest version is that of all packages. Paths, tests and commands that the
//! documents cite exist. Each promise of `SPECIFICATION.md` cites what holds it. With a list of the
//! tests, those that are cited are run.

mod book;
mod bounds;
mod changelog;
mod citations;
mod contents;
mod counts;
pub(crate) mod fault;
mod links;
mod listing;
mod markdown;
mod notice;
pub(crate) mod repository;
mod specification;
mod untrusted;

pub(crate) use book::make as book;

use crate::workspace;
use anyhow::{Context, Result};
use citations::{Citations, Reference};
use clap::CommandFactory as _;
use fault::Fault;
use listing::Listing;
use markdown::Document;
use repository::Repository;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write NOTICE and the number of packages from the locks of runtime/, docs/bounds.md and docs/untrusted.md from the code, then check
    #[arg(long)]
    write: bool,
    /// Check also that cited tests are run: the output of `cargo nextest list --workspace --message-format json`
    #[arg(long, value_name = "FILE")]
    listing: Option<PathBuf>,
}

/// Runs the checks that the arguments ask for.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.write {
        notice::write(workspace::root())?;
        let repository = Repository::open(workspace::root())?;
        bounds::write(&repository)?;
        untrusted::write(&repository)?;
        counts::write(&repository)?;
    }
    check()?;
    match &args.listing {
        Some(file) => {
            let listing = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            check_tests(&listing)
        }
        None => Ok(()),
    }
}

/// Checks links, the table of contents, citations, the specification, the changelog and what is generated. Prints all faults. Takes less than a second.
///
/// # Errors
/// If there is a fault.
pub(crate) fn check() -> Result<()> {
    let repository = Repository::open(workspace::root())?;
    let documents = documents(&repository)?;
    let citations = Citations::new(&repository, crate::Cli::command())?;
    let mut faults = links::check(&repository, &documents);
    let (references, missing) = cited(&documents, &citations);
    faults.extend(missing);
    let specification = documents.iter().find(|document| document.path == specification::PATH);
    let specification = specification.with_context(|| format!("there is no {}", specification::PATH))?;
    let promises = specification::check(specification, &citations);
    faults.extend(promises.faults);
    faults.extend(contents::check(&documents));
    faults.extend(changelog::check(&repository)?);
    faults.extend(notice::check(repository.root())?);
    faults.extend(bounds::check(&repository)?);
    faults.extend(untrusted::check(&repository)?);
    faults.extend(counts::check(&repository)?);
    for line in &promises.without_test {
        println!("{}:{line}: a promise without a test", specification::PATH);
    }
    fault::report(faults)?;
    let (documents, promises) = (documents.len(), promises.count);
    println!("{documents} documents, {} citations, {promises} promises: sound", references.len());
    Ok(())
}

/// Checks that each test the documents cite is run. `listing` is the output of
/// `cargo nextest list --workspace --message-format json`. Prints all faults.
///
/// # Errors
/// If there is a fault, or the listing cannot be read.
pub(crate) fn check_tests(listing: &str) -> Result<()> {
    let repository = Repository::open(workspace::root())?;
    let documents = documents(&repository)?;
    let citations = Citations::new(&repository, crate::Cli::command())?;
    let (references, mut faults) = cited(&documents, &citations);
    faults.extend(Listing::read(listing)?.check(&repository, &references));
    fault::report(faults)?;
    println!("{} citations: each test is run", references.len());
    Ok(())
}

/// Reads all Markdown files.
fn documents(repository: &Repository) -> Result<Vec<Document>> {
    let files = repository.files().filter(|file| file.ends_with(".md"));
    files.map(|file| Ok(markdown::parse(file, &repository.text(file)?))).collect()
}

/// Returns what the documents cite, and a fault for each citation of nothing.
fn cited(documents: &[Document], citations: &Citations<'_>) -> (Vec<Reference>, Vec<Fault>) {
    let (mut references, mut faults) = (Vec::new(), Vec::new());
    for document in documents {
        let (found, missing) = citations.of_document(document);
        references.extend(found);
        faults.extend(missing);
    }
    (references, faults)
}

#[cfg(test)]
mod tests;
