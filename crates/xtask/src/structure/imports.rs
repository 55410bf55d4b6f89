//! Which module imports which.
//!
//! An import is a path that begins with `crate`, `super` or `self`, in a `use` or in code. A path leads to the last module on it. What a
//! crate's root re-exports does not count, nor does a module's use of its own children: they are parts of it.

use super::modules::{Module, ModulePath};
use proc_macro2::{Delimiter, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// The modules that each module imports.
pub(super) type Imports = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// Reads the imports of all modules.
pub(super) fn read(modules: &BTreeMap<ModulePath, Module>) -> Imports {
    let of = |(path, module): (&ModulePath, &Module)| {
        let mut found = Vec::new();
        collect(&module.tokens, 0, &mut found);
        let targets = found.into_iter().filter_map(|(segments, depth)| resolve(path, &segments, depth, modules));
        (path.clone(), targets.filter(|target| target != path && !target.is_empty()).collect())
    };
    modules.iter().map(of).collect()
}

/// Collects paths as they are written, each with the number of inline modules around it.
fn collect(tokens: &[TokenTree], depth: usize, found: &mut Vec<(Vec<String>, usize)>) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Ident(ident) if matches!(ident.to_string().as_str(), "crate" | "super" | "self") => {
                let mut paths = Vec::new();
                at = tree(tokens, at, &[], &mut paths);
                found.extend(paths.into_iter().filter(|path| path.len() > 1).map(|path| (path, depth)));
                continue;
            }
            TokenTree::Group(group) => {
                let is_module = at >= 2
                    && group.delimiter() == Delimiter::Brace
                    && matches!(&tokens[at - 2], TokenTree::Ident(ident) if ident == "mod");
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                collect(&inner, depth + usize::from(is_module), found);
            }
            _ => {}
        }
        at += 1;
    }
}

/// Reads one path, or a tree of them in braces, from `tokens[at]`; returns where it ends.
fn tree(tokens: &[TokenTree], mut at: usize, before: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(ident)) => path.push(ident.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
                for part in inner.split(is_comma).filter(|part| !part.is_empty()) {
                    tree(part, 0, &path, paths);
                }
                return at + 1;
            }
            _ => break,
        }
        at += 1;
        let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
        if !(is_colon(at) && is_colon(at + 1)) {
            break;
        }
        at += 2;
    }
    paths.push(path);
    at.max(1)
}

/// Finds the module that a path leads to.
fn resolve(
    from: &ModulePath,
    segments: &[String],
    depth: usize,
    modules: &BTreeMap<ModulePath, Module>,
) -> Option<ModulePath> {
    let supers = segments.iter().take_while(|segment| *segment == "super").count();
    let mut path = match segments.first()?.as_str() {
        "crate" => Vec::new(),
        // Inside an inline module the first steps upwards lead out of that.
        "super" => from[..from.len().checked_sub(supers.saturating_sub(depth))?].to_vec(),
        _ => from.clone(),
    };
    let rest = &segments[supers.max(1)..];
    for segment in rest {
        let longer = [&path[..], std::slice::from_ref(segment)].concat();
        if !modules.contains_key(&longer) {
            break;
        }
        path = longer;
    }
    // A module's children are parts of it.
    let is_child = path.len() > from.len() && path.starts_with(from);
    (!is_child).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(sources: &[(&str, &str)]) -> BTreeMap<ModulePath, Module> {
        let module = |(path, text): &(&str, &str)| {
            let tokens = text.parse::<proc_macro2::TokenStream>().unwrap().into_iter().collect();
            let path = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            (path, Module { file: String::new(), tokens })
        };
        sources.iter().map(module).collect()
    }

    fn imported(sources: &[(&str, &str)], of: &str) -> Vec<String> {
        let modules = modules(sources);
        let path: ModulePath = of.split('/').map(str::to_owned).collect();
        read(&modules)[&path].iter().map(|target| target.join("/")).collect()
    }

    #[test]
    fn paths_in_uses_and_in_code_lead_to_modules() {
        let sources = [
            ("", ""),
            (
                "a",
                "use crate::{b::{Item, c::Other}, Root}; fn f() { super::d::g(); } mod inline { use super::super::e; }",
            ),
            ("b", ""),
            ("b/c", ""),
            ("d", ""),
            ("e", ""),
        ];
        assert_eq!(imported(&sources, "a"), ["b", "b/c", "d", "e"]);
    }

    #[test]
    fn children_are_parts_and_text_is_no_import() {
        let sources = [
            ("", ""),
            ("a", "use self::c::X; /// crate::b\n const T: &str = \"crate::b\";"),
            ("a/c", "use super::Y;"),
            ("b", ""),
        ];
        assert!(imported(&sources, "a").is_empty());
        assert_eq!(imported(&sources, "a/c"), ["a"]);
    }
}
