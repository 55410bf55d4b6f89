//! The modules of a crate: their paths and tokens, without tests.

use crate::documents::repository::Repository;
use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeMap;

/// The path of a module below its crate's root: empty for the root.
pub(super) type ModulePath = Vec<String>;

/// A file of a crate.
pub(super) struct Module {
    /// Path below the repository's root.
    pub(super) file: String,
    /// The file's tokens, without test modules.
    pub(super) tokens: Vec<TokenTree>,
}

/// Returns the modules in `src` of a crate that are not tests.
///
/// # Errors
/// If a file cannot be read or is no Rust.
pub(super) fn of_crate(repository: &Repository, name: &str) -> Result<BTreeMap<ModulePath, Module>> {
    let directory =
        repository.crate_directories().find_map(|(crate_name, directory)| (crate_name == name).then_some(directory));
    let source = format!("{}/src/", directory.with_context(|| format!("there is no crate {name}"))?);
    let mut modules = BTreeMap::new();
    let mut tests: Vec<ModulePath> = Vec::new();
    for file in repository.files() {
        let Some(below) = file.strip_prefix(&source).and_then(|below| below.strip_suffix(".rs")) else { continue };
        let path = path(below);
        let text = repository.text(file)?;
        let stream: TokenStream = text.parse().ok().with_context(|| format!("{file} is no Rust"))?;
        let (tokens, test_modules) = without_tests(stream.into_iter().collect());
        tests.extend(test_modules.into_iter().map(|module| [&path[..], &[module]].concat()));
        modules.insert(path, Module { file: file.to_owned(), tokens });
    }
    modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    Ok(modules)
}

/// Returns the module of a file: `a/b` and `a/b/mod` are both `a::b`.
fn path(below: &str) -> ModulePath {
    let mut path: ModulePath = below.split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod") || matches!(below, "lib" | "main") {
        path.pop();
    }
    path
}

/// Takes out items behind `#[cfg(test)]`; returns the rest, and the names of the modules among them.
fn without_tests(tokens: Vec<TokenTree>) -> (Vec<TokenTree>, Vec<String>) {
    let (mut rest, mut names) = (Vec::new(), Vec::new());
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_attribute = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        let is_test = is_attribute && matches!(tokens.peek(), Some(TokenTree::Group(group)) if is_cfg_test(group));
        if !is_test {
            rest.push(token);
            continue;
        }
        let mut previous = String::new();
        let mut is_use = false;
        for token in tokens.by_ref() {
            is_use |= matches!(&token, TokenTree::Ident(ident) if ident == "use");
            if previous == "mod" {
                names.push(token.to_string());
            }
            let ends = match &token {
                TokenTree::Punct(punct) => punct.as_char() == ';',
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !is_use,
                _ => false,
            };
            previous = token.to_string();
            if ends {
                break;
            }
        }
    }
    (rest, names)
}

fn is_cfg_test(group: &proc_macro2::Group) -> bool {
    let text: String = group.stream().to_string().split_whitespace().collect();
    group.delimiter() == Delimiter::Bracket
        && text.starts_with("cfg(")
        && text.contains("test")
        && !text.contains("not(test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_modules() {
        assert!(path("lib").is_empty());
        assert_eq!(path("a/mod"), ["a"]);
        assert_eq!(path("a/b"), ["a", "b"]);
    }

    #[test]
    fn tests_are_left_out() {
        let stream: TokenStream = "use a; #[cfg(test)] mod tests; #[cfg(test)] use b::{c}; fn f() {}".parse().unwrap();
        let (rest, names) = without_tests(stream.into_iter().collect());
        let rest: Vec<String> = rest.iter().map(ToString::to_string).collect();
        assert_eq!(rest.join(" "), "use a ; fn f () { }");
        assert_eq!(names, ["tests"]);
    }
}
