//! Every example under real clients: the Python SDK 2.x in both protocol eras, and 1.x.
//!
//! What they check is in `tests/python/sdk_examples.py`. Their interpreters come from two environment variables, which
//! `cargo xtask test` sets after it has made the environments.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of the built examples, which cargo builds with the tests.
pub(crate) fn examples() -> PathBuf {
    let test = std::env::current_exe().expect("this program's path");
    test.parent().and_then(Path::parent).expect("a build directory").join("examples")
}

fn run(variable: &str, sdk: &str, era: &str) {
    let Some(python) = std::env::var_os(variable) else {
        panic!(
            "{variable} is not set: it names a Python interpreter that has `mcp` {sdk}.x; `cargo xtask test` sets it"
        )
    };
    let output = Command::new(&python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/sdk_examples.py"))
        .args(["--sdk", sdk, "--era", era, "--examples"])
        .arg(examples())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap_or_else(|error| panic!("{variable}: cannot run {}: {error}", python.display()));
    assert!(
        output.status.success(),
        "an example failed with mcp {sdk}.x ({era}):\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn mcp1() {
    run("BRUMATE_TEST_PYTHON_MCP1", "1", "legacy");
}

#[test]
fn mcp2() {
    run("BRUMATE_TEST_PYTHON_MCP2", "2", "auto");
}

#[test]
fn mcp2_legacy() {
    run("BRUMATE_TEST_PYTHON_MCP2", "2", "legacy");
}
