//! Checks of the code's structure: which modules import which, and what is written twice.
//!
//! | check | limit |
//! |---|---|
//! | cycle of files that import each other | 3 files |
//! | a module group imports one below it in its table of `ARCHITECTURE.md` | never |
//! | lines that stand twice outside of tests | 5 |
//! | a word of `old-words.toml` | never |
//!
//! Exceptions from duplicates stand in `structure.toml` beside this crate's manifest, each with its reason.

mod cycles;
mod duplicates;
mod exceptions;
mod imports;
mod module_groups;
mod modules;
mod words;

use crate::documents::fault;
use crate::documents::repository::Repository;
use crate::workspace;
use anyhow::Result;

/// Runs all checks and prints every fault.
///
/// # Errors
/// If there is a fault, or a file cannot be read.
pub(crate) fn check() -> Result<()> {
    let repository = Repository::open(workspace::root())?;
    let exceptions = exceptions::read()?;
    let mut faults = Vec::new();
    let mut files = Vec::new();
    for name in repository.crates() {
        let modules = modules::of_crate(&repository, name)?;
        let imports = imports::read(&modules);
        faults.extend(cycles::check(&modules, &imports));
        faults.extend(module_groups::check(&repository, name, &modules, &imports)?);
        files.extend(modules.into_values().map(|module| module.file));
    }
    faults.extend(words::check(&repository)?);
    let count = files.len();
    faults.extend(duplicates::check(&repository, files, &exceptions.duplicate)?);
    fault::report(faults)?;
    println!("{count} files of Rust: imports, duplicates and words are sound");
    Ok(())
}
