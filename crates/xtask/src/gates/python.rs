//! The checks of the Python files: ruff, and the tests of the guest.

use super::{python, tool};
use crate::{process, test, workspace};
use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

/// Stack size of Node's main thread, in KiB. Guest code that recurses needs more than Node's default. Systems give the
/// main thread 8 MiB, so the size stays below that.
const NODE_STACK_KIB: u32 = 6500;

/// The version that `ruff.toml` requires.
const RUFF: &str = "ruff==0.17.6";

/// Directories whose Python files ruff checks.
const DIRECTORIES: [&str; 4] = ["guest", "tests", "bench", "python"];

/// Checks the Python files: lints, then format. Changes nothing.
pub(crate) fn ruff() -> Result<()> {
    let mend = "ruff found problems; `cargo xtask gate ruff --fix` fixes the ones that can be fixed automatically";
    run_ruff(&["check"]).context(mend)?;
    run_ruff(&["format", "--check"]).context(mend)
}

/// Fixes the lints that have a safe automatic fix, and formats the files.
pub(super) fn ruff_fix() -> Result<()> {
    let fixed = run_ruff(&["check", "--fix"]);
    run_ruff(&["format"])?;
    fixed.context("ruff cannot fix the problems that it lists above; fix them by hand")
}

fn run_ruff(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(tool("ruff", RUFF)?);
    command.args(arguments).args(DIRECTORIES).current_dir(workspace::root());
    // Keep ruff's cache out of the source directories.
    process::run(command.env("RUFF_CACHE_DIR", workspace::target().join("ruff-cache")))
}

/// Runs all tests of the guest with this machine's Python, several at the same time. Then runs the tests that need
/// Python 3.14, such as recorded tracebacks, with the bundle's interpreter in Node.
pub(crate) fn guest_tests() -> Result<()> {
    run_guest_tests(&[])?;
    let mut node = Command::new("node");
    node.arg(format!("--stack-size={NODE_STACK_KIB}"));
    node.arg("pyodide_check.mjs").arg(pyodide()?).current_dir(workspace::root().join("guest/tests"));
    process::run(&mut node).context("the guest fails under Python 3.14; lines with FAILED above say where")
}

/// Unpacks the interpreter's npm package once; returns its directory.
fn pyodide() -> Result<PathBuf> {
    let package = workspace::interpreter_package()?;
    let directory = workspace::target().join("test-env/pyodide");
    test::once(&directory, &package.display().to_string(), || {
        tar::Archive::new(GzDecoder::new(File::open(&package)?)).unpack(&directory)?;
        Ok(())
    })?;
    Ok(directory.join("package"))
}

/// Runs the tests of the guest in `names`; all tests if `names` is empty.
pub(super) fn run_guest_tests(names: &[String]) -> Result<()> {
    let tests = workspace::root().join("guest/tests");
    let list = tests.join("requirements.txt");
    let list = std::fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    let python = python("guest", &requirements(&list))?;
    let mut command = Command::new(python);
    command.arg("parallel.py").args(names).current_dir(tests);
    // Compiled files beside the sources would make cargo build the engine again.
    command.env("PYTHONPYCACHEPREFIX", workspace::target().join("test-env/guest-bytecode"));
    process::run(&mut command).context(
        "tests of the guest failed; `cargo xtask gate guest test_module.Class.test_name` runs one of the tests \
         listed above",
    )
}

/// Returns the arguments for pip from a requirements file, separated by spaces. Comments are removed.
fn requirements(list: &str) -> String {
    let lines = list.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    // `--no-compile`: Python itself writes bytecode at the first import, below the directory in `PYTHONPYCACHEPREFIX`
    // (see `run_guest_tests`).
    std::iter::once("--no-compile").chain(lines.filter(|line| !line.is_empty())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_asks_for_the_version_that_is_installed() {
        let path = workspace::root().join("ruff.toml");
        let text = std::fs::read_to_string(path).expect("ruff.toml");
        let configuration: toml::Table = text.parse().expect("TOML");
        let required = configuration["required-version"].as_str().expect("a version");
        assert_eq!(format!("ruff{required}"), RUFF);
    }

    #[test]
    fn every_requirement_is_pinned() {
        let path = workspace::root().join("guest/tests/requirements.txt");
        let requirements = requirements(&std::fs::read_to_string(path).expect("the list"));
        let (option, pinned) = requirements.split_once(' ').expect("requirements");
        assert_eq!(option, "--no-compile");
        assert!(pinned.split(' ').all(|one| one.contains("==")), "{pinned}");
    }

    #[test]
    fn comments_are_no_requirements() {
        assert_eq!(requirements("# why\na==1\n\nb==2  # because\n"), "--no-compile a==1 b==2");
    }
}
