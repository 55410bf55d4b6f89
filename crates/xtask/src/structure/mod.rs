//! Checks of the code's structure: how long files are, how large crates, which modules import which, and what is written twice.
//!
//! | check | limit | where exceptions stand |
//! |---|---|---|
//! | lines of a Rust or Python file | 400; half of the Rust files have at most 160 | none |
//! | share of a crate of all lines of `crates/` | a fifth | none |
//! | circle of files that import each other | 3 files | none |
//! | a room imports only rooms above it in its table of `ARCHITECTURE.md` | – | none |
//! | lines that stand twice outside of tests | 5 | `structure.toml` beside this crate's manifest, each with its reason |

mod circles;
mod duplicates;
mod imports;
mod modules;
mod rooms;
mod sizes;

use crate::documents::fault::{self, Fault};
use crate::documents::repository::Repository;
use crate::workspace;
use anyhow::Result;

/// Runs all checks and prints every fault.
///
/// # Errors
/// If there is a fault, or a file cannot be read.
pub(crate) fn check() -> Result<()> {
    let repository = Repository::open(workspace::root())?;
    let mut faults: Vec<Fault> = sizes::check(&repository)?;
    let mut count = 0;
    for name in repository.crates() {
        let modules = modules::of_crate(&repository, name)?;
        let imports = imports::read(&modules);
        faults.extend(circles::check(&modules, &imports));
        faults.extend(rooms::check(&repository, name, &modules, &imports)?);
        count += modules.len();
    }
    faults.extend(duplicates::check(&repository)?);
    fault::report(faults)?;
    println!("{count} files of Rust: sizes, imports and duplicates are sound");
    Ok(())
}
