//! The Python package (`python/`), with this binary: its own tests, and the examples in its documentation.

use std::path::Path;
use std::process::Command;

use brumate_test_support::cache_directory;

/// Runs a module of Python in the package's directory, with numpy and pandas beside it.
fn python(arguments: &[&str]) {
    let python = std::env::var("BRUMATE_TEST_PYTHON_NUMBERS").expect("`cargo xtask test` sets it");
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    let data = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(python);
    command.env("BRUMATE_BINARY", env!("CARGO_BIN_EXE_brumate")).env("BRUMATE_CACHE_DIR", cache_directory());
    command.env("BRUMATE_DATA_DIR", data.path()).env("PYTHONPATH", "src").env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.args(["-W", "error"]).args(arguments).current_dir(package).output().expect("Python starts");
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

#[test]
fn sandboxes() {
    python(&["-m", "unittest", "tests.test_sandbox"]);
}

#[test]
fn sessions() {
    python(&["-m", "unittest", "tests.test_sessions"]);
}

#[test]
fn asyncio() {
    python(&["-m", "unittest", "tests.test_async"]);
}

#[test]
fn mcp_run_python() {
    python(&["-m", "unittest", "tests.test_mcp_run_python"]);
}

/// The examples for frameworks, as far as they need no framework; the long tier runs them all.
#[test]
fn frameworks() {
    python(&["-m", "unittest", "tests.test_frameworks"]);
}

#[test]
fn examples() {
    python(&["-m", "unittest", "tests.test_examples"]);
}
