//! The order of a crate's module groups: its modules just below the root, as `ARCHITECTURE.md` lists them.
//!
//! A table under the heading "Inside `NAME`" names modules from low to high. Modules of one row may import each other; else a module imports
//! those of rows above its own only.

use super::imports::Imports;
use super::modules::{Module, ModulePath};
use crate::documents::fault::Fault;
use crate::documents::repository::Repository;
use anyhow::Result;
use std::collections::BTreeMap;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// Returns a fault for each arrow that leads upwards, and for each module that the table lacks or has too much.
pub(super) fn check(
    repository: &Repository,
    name: &str,
    modules: &BTreeMap<ModulePath, Module>,
    imports: &Imports,
) -> Result<Vec<Fault>> {
    let rows = rows(&repository.text(DOCUMENT)?, name);
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let row_of = |member: &str| rows.iter().position(|(_, group)| group.iter().any(|each| each == member));
    let mut faults = Vec::new();
    for (line, group) in &rows {
        for member in group.iter().filter(|member| !modules.keys().any(|path| path.first() == Some(*member))) {
            faults.push(Fault::new(DOCUMENT, *line, format!("`{name}` has no module `{member}`")));
        }
    }
    for (path, targets) in imports {
        let Some(member) = path.first() else { continue };
        let file = &modules[path].file;
        let Some(row) = row_of(member) else {
            faults.push(Fault::new(file, 1, format!("the module `{member}` is in no row of {DOCUMENT}")));
            continue;
        };
        for target in targets.iter().filter(|target| target[0] != *member) {
            if row_of(&target[0]).is_some_and(|above| above > row) {
                let message = format!("imports `{}`, which {DOCUMENT} lists after `{member}`", target.join("::"));
                faults.push(Fault::new(file, 1, message));
            }
        }
    }
    Ok(faults)
}

/// Reads the rows of a crate's table: line number and modules of each.
fn rows(document: &str, name: &str) -> Vec<(usize, Vec<String>)> {
    let heading = format!("### Inside `{name}`");
    let lines = document.lines().enumerate().skip_while(|(_, line)| *line != heading).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with('#'));
    let table = section.filter(|(_, line)| line.starts_with("| `"));
    let row = |(index, line): (usize, &str)| {
        let cell = line.split('|').nth(1).unwrap_or_default();
        let group = cell.split('`').skip(1).step_by(2);
        let group = group.map(|member| member.trim_end_matches('/').trim_end_matches(".rs").to_owned());
        (index + 1, group.collect())
    };
    table.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_their_modules() {
        let text = "### Inside `other`\n| `x/` | |\n### Inside `engine`\n\n| module group | what |\n|---|---|\n| `a.rs`, `b/` | `c` |\n| `d/` | |\n## Next\n| `e/` | |\n";
        let group: Vec<Vec<String>> = rows(text, "engine").into_iter().map(|(_, group)| group).collect();
        assert_eq!(group, [vec!["a".to_owned(), "b".to_owned()], vec!["d".to_owned()]]);
    }
}
