//! Cargo commands: subcommands and options of `cargo xtask`, sections of the benchmarks, packages, examples.

use crate::documents::repository::{Repository, below_crates};
use anyhow::{Result, ensure};
use std::collections::BTreeSet;

/// The file that names the sections of the benchmarks.
const BENCH: &str = "bench/run.py";

/// What cargo commands may name.
pub(super) struct Commands {
    xtask: clap::Command,
    sections: BTreeSet<String>,
    packages: BTreeSet<String>,
    examples: BTreeSet<String>,
    tests: BTreeSet<String>,
}

impl Commands {
    /// Reads the names. `xtask` is the command line of `cargo xtask`.
    ///
    /// # Errors
    /// If the sections of the benchmarks cannot be read.
    pub(super) fn new(repository: &Repository, xtask: clap::Command) -> Result<Self> {
        let sections = bench_sections(&repository.text(BENCH)?);
        ensure!(!sections.is_empty(), "{BENCH} has no `SECTIONS`");
        let mut packages: BTreeSet<String> = repository.crates().map(str::to_owned).collect();
        packages.insert("brumate-fuzz".into());
        let below = |directory: &str| -> BTreeSet<String> {
            let parts = repository.files().filter_map(|file| {
                // `crates/brumate/examples/…`, `fuzz/examples/…`
                let (_, rest) = below_crates(file).unwrap_or(file).split_once('/')?;
                let rest = rest.strip_prefix(directory)?;
                Some(rest.strip_suffix("/main.rs").or_else(|| rest.strip_suffix(".rs"))?.to_owned())
            });
            parts.filter(|name| !name.contains('/')).collect()
        };
        let (examples, tests) = (below("examples/"), below("tests/"));
        Ok(Self { xtask, sections, packages, examples, tests })
    }

    /// Checks the cargo command in a text; none if there is none.
    pub(super) fn check(&self, text: &str) -> Option<Result<(), String>> {
        let code = text.split(" #").next().unwrap_or(text);
        let words: Vec<&str> = code.split_whitespace().map(|word| word.trim_matches(['"', '\'', '(', ')'])).collect();
        let start = words.iter().position(|word| *word == "cargo")? + 1;
        let words = &words[start..];
        match words.first() {
            Some(&"xtask") => Some(self.check_xtask(&words[1..])),
            _ => Some(self.check_names(words)),
        }
    }

    fn check_xtask(&self, words: &[&str]) -> Result<(), String> {
        let mut command = &self.xtask;
        for word in words {
            if is_placeholder(word) {
                break;
            }
            if let Some(option) = word.strip_prefix("--").filter(|option| !option.is_empty()) {
                let option = option.split('=').next().unwrap_or(option);
                let known = command.get_arguments().any(|argument| argument.get_long() == Some(option));
                if !known && !takes_anything(command) && option != "help" {
                    return Err(format!("`cargo xtask {}` has no option `--{option}`", command.get_name()));
                }
            } else if let Some(subcommand) = command.find_subcommand(word) {
                command = subcommand;
            } else if command.has_subcommands() {
                return Err(format!("`{word}` is no subcommand of `cargo xtask`"));
            }
        }
        if command.get_name() == "bench" { self.check_sections(words) } else { Ok(()) }
    }

    /// The words behind `--only` are sections of the benchmarks.
    fn check_sections(&self, words: &[&str]) -> Result<(), String> {
        let names = words.iter().skip_while(|word| **word != "--only").skip(1);
        for name in names.take_while(|word| !word.starts_with('-')).filter(|word| !is_placeholder(word)) {
            if !self.sections.contains(*name) {
                return Err(format!("`{name}` is no section of {BENCH}"));
            }
        }
        Ok(())
    }

    /// Packages, examples and programs of tests exist.
    fn check_names(&self, words: &[&str]) -> Result<(), String> {
        for pair in words.windows(2) {
            let (kind, names) = match pair[0] {
                "-p" | "--package" => ("package", &self.packages),
                "--example" => ("example", &self.examples),
                "--test" => ("program of tests", &self.tests),
                _ => continue,
            };
            if !names.contains(pair[1]) && !is_placeholder(pair[1]) {
                return Err(format!("there is no {kind} `{}`", pair[1]));
            }
        }
        Ok(())
    }
}

/// Returns the keys of the dictionary `SECTIONS` in the source of `bench/run.py`.
pub(crate) fn bench_sections(source: &str) -> BTreeSet<String> {
    let lines = source.lines().skip_while(|line| !line.starts_with("SECTIONS = {")).skip(1);
    let keys = lines.take_while(|line| !line.starts_with('}')).filter_map(|line| line.trim().strip_prefix('"'));
    keys.filter_map(|line| line.split_once('"').map(|(key, _)| key.to_owned())).collect()
}

/// Whether a word stands for another: `NAME`, `<name>`, `…`, `[work`.
fn is_placeholder(word: &str) -> bool {
    word.contains(['<', '…', '[', '$']) || !word.starts_with('-') && word.chars().all(|c| c.is_ascii_uppercase())
}

/// Whether a command hands unknown options on to another program.
fn takes_anything(command: &clap::Command) -> bool {
    command.get_arguments().any(clap::Arg::is_trailing_var_arg_set)
}
