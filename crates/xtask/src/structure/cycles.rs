//! Import cycles: files that import each other.

use super::imports::Imports;
use super::modules::{Module, ModulePath};
use crate::documents::fault::Fault;
use std::collections::{BTreeMap, BTreeSet};

/// Most files in a cycle.
const MAX_FILES: usize = 3;

/// Returns a fault for each cycle of too many files.
pub(super) fn check(modules: &BTreeMap<ModulePath, Module>, imports: &Imports) -> Vec<Fault> {
    let too_large = cycles(imports).into_iter().filter(|cycle| cycle.len() > MAX_FILES);
    let fault = |cycle: Vec<ModulePath>| {
        let names: Vec<String> = cycle.iter().map(|path| path.join("::")).collect();
        let message = format!("{} files import each other, at most {MAX_FILES} may: {}", names.len(), names.join(", "));
        Fault::new(&modules[&cycle[0]].file, 1, message)
    };
    too_large.map(fault).collect()
}

/// Returns the sets of modules in which each is reached from each, of two and more.
fn cycles(imports: &Imports) -> Vec<Vec<ModulePath>> {
    let reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        imports.keys().map(|path| (path, reach(path, imports))).collect();
    let mut cycles: Vec<Vec<ModulePath>> = Vec::new();
    for path in imports.keys() {
        if cycles.iter().any(|cycle| cycle.contains(path)) {
            continue;
        }
        let both = |other: &&&ModulePath| reached.get(**other).is_some_and(|back| back.contains(path));
        let mut cycle: Vec<ModulePath> = reached[path].iter().filter(both).map(|other| (*other).clone()).collect();
        if cycle.len() > 1 {
            cycle.sort();
            cycles.push(cycle);
        }
    }
    cycles
}

/// Returns what can be reached from a module by at least one import.
fn reach<'a>(from: &ModulePath, imports: &'a Imports) -> BTreeSet<&'a ModulePath> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&ModulePath> = imports[from].iter().collect();
    while let Some(path) = next.pop() {
        if reached.insert(path) {
            next.extend(imports.get(path).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_reach_each_other_are_a_cycle() {
        let path = |name: &str| vec![name.to_owned()];
        let arrows = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a"), ("d", "d")];
        let mut imports = Imports::new();
        for (from, to) in arrows {
            imports.entry(path(from)).or_default().insert(path(to));
        }
        assert_eq!(cycles(&imports), [["a", "b", "c"].map(path).to_vec()]);
    }
}
