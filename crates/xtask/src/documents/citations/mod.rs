//! Citations: what code spans and code blocks of the documents name, and whether it exists.
//!
//! A path, a test, a case in Python, a cargo command. `SPECIFICATION.md` is read strictly: whatever
//! looks like a path or a test there must be one. Other documents also name files of other projects.

mod block;
mod command;
mod path;
mod python_case;
mod rust_test;

#[cfg(test)]
pub(crate) use command::bench_sections;
pub(crate) use rust_test::has_tests;

use super::fault::Fault;
use super::markdown::{Block, Document};
use super::repository::{Repository, below_crates};
use anyhow::Result;
use command::Commands;

/// How the code spans of a document are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Whatever looks like a path or a test must exist.
    Specification,
    /// Paths below a directory of ours, names of Rust and Python files, and tests must exist.
    Project,
    /// As `Project`, but a Python file without a directory may be another project's.
    Guide,
}

impl Rules {
    /// Returns the rules for the document at `path`; none if its code spans are not checked.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let below = |directory: &str| path.strip_prefix(directory).filter(|rest| !rest.is_empty());
        match path {
            "SPECIFICATION.md" => Some(Self::Specification),
            "README.md" | "ARCHITECTURE.md" | "SECURITY.md" | "CONTRIBUTING.md" => Some(Self::Project),
            "fuzz/README.md" | "bench/README.md" | "runtime/README.md" => Some(Self::Project),
            _ if below("tests/").is_some_and(|rest| rest.ends_with("/README.md")) => Some(Self::Project),
            _ if below("docs/").is_some() => Some(Self::Guide),
            _ if below_crates(path).is_some_and(|rest| rest.ends_with("/tests/README.md")) => Some(Self::Project),
            _ if below_crates(path).is_some_and(|rest| rest.ends_with("/README.md")) => Some(Self::Guide),
            _ => None,
        }
    }
}

/// What a citation names. It exists; whether it is run, a list of tests must prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A file or a directory.
    Path(String),
    /// A test or a module of tests, `wheel::tests::damage`; of this package if it is named.
    RustTest { path: String, package: Option<String> },
    /// A test in a file of tests.
    RustCase { file: String, name: String },
    /// A case in a module of `tests/python`.
    PythonCase { file: String, name: String },
    /// A cargo command.
    Command,
}

impl Target {
    /// Returns whether it can hold a promise: a test, or a command that checks or measures.
    pub(crate) fn holds(&self) -> bool {
        match self {
            Self::Path(path) => {
                let in_crate = below_crates(path).and_then(|path| path.split('/').nth(1)) == Some("tests");
                in_crate || path.starts_with("tests/") || path.starts_with("guest/tests")
            }
            Self::RustTest { .. } | Self::RustCase { .. } | Self::PythonCase { .. } | Self::Command => true,
        }
    }
}

/// A citation that was found.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) file: String,
    pub(crate) line: usize,
    /// As the document writes it.
    pub(crate) text: String,
    pub(crate) target: Target,
    /// Index of the cell it stands in.
    pub(crate) cell: usize,
    /// Whether the row or paragraph says "long tier".
    pub(crate) long_tier: bool,
    pub(crate) rules: Rules,
}

/// Resolves citations in one repository.
pub(crate) struct Citations<'a> {
    repository: &'a Repository,
    commands: Commands,
}

impl<'a> Citations<'a> {
    /// Reads what citations refer to. `xtask` is the command line of `cargo xtask`.
    ///
    /// # Errors
    /// If the sections of `bench/run.py` cannot be read.
    pub(crate) fn new(repository: &'a Repository, xtask: clap::Command) -> Result<Self> {
        Ok(Self { repository, commands: Commands::new(repository, xtask)? })
    }

    /// Returns what a document cites, and a fault for each citation of nothing.
    pub(crate) fn of_document(&self, document: &Document) -> (Vec<Reference>, Vec<Fault>) {
        let mut references = Vec::new();
        let mut faults = Vec::new();
        let Some(rules) = Rules::of(&document.path) else {
            return (references, faults);
        };
        for block in &document.blocks {
            let (found, missing) = self.of_block(document, block, rules);
            references.extend(found);
            faults.extend(missing);
        }
        for (line, text) in &document.code_lines {
            if let Some(Err(reason)) = self.commands.check(text) {
                faults.push(Fault::new(&document.path, *line, format!("`{}`: {reason}", text.trim())));
            }
        }
        (references, faults)
    }

    /// Returns what a block cites, and a fault for each citation of nothing.
    pub(crate) fn of_block(&self, document: &Document, block: &Block, rules: Rules) -> (Vec<Reference>, Vec<Fault>) {
        block::Reader::new(self.repository, &self.commands, document, block, rules).read()
    }
}
