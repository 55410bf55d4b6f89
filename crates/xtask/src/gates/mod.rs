//! `cargo xtask gate`: checks that need a tool which cargo does not bring.
//!
//! Each installs its tool from PyPI below `target/test-env`, once and in a version that is written here, and runs it.

mod deny;
mod python;

pub(crate) use deny::deny;
pub(crate) use python::{guest_tests, ruff};

use crate::{test, workspace};
use anyhow::{Context, Result};
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub(crate) enum Task {
    /// Check style and form of the Python files
    Ruff {
        /// Mend what can be mended instead
        #[arg(long)]
        fix: bool,
    },
    /// Run the tests of the Python side under this machine's Python
    Guest {
        /// Modules, classes or tests, such as `test_values` or `test_values.Values`; all without any
        tests: Vec<String>,
    },
    /// Check licences, sources and versions of the dependencies, and advisories where a database can be had
    Deny,
}

/// Runs one gate.
pub(crate) fn run(task: &Task) -> Result<()> {
    match task {
        Task::Ruff { fix: false } => ruff(),
        Task::Ruff { fix: true } => python::ruff_fix(),
        Task::Guest { tests } if tests.is_empty() => guest_tests(),
        Task::Guest { tests } => python::run_guest_tests(tests),
        Task::Deny => deny(),
    }
}

/// Installs the PyPI package `requirement` once; returns its program `name`.
pub(crate) fn tool(name: &str, requirement: &str) -> Result<PathBuf> {
    let python = python(name, requirement)?;
    Ok(python.with_file_name(name))
}

/// A Python with `requirements`, separated by blanks, in the directory `name` of the test environment.
fn python(name: &str, requirements: &str) -> Result<PathBuf> {
    let base = workspace::target().join("test-env");
    std::fs::create_dir_all(&base)?;
    test::python(&base.join(name), requirements)
        .with_context(|| format!("cannot install `{requirements}`; pip must reach a package index"))
}
