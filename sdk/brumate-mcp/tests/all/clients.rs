//! Every example under real clients: the Python SDK 2.x in both protocol eras, and 1.x.
//!
//! `tests/python/sdk_examples.py` runs the cases of the modules beside it, one for each example. Their
//! interpreters come from two environment variables, which `cargo xtask test` sets after it has made the environments.

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

/// Every example is in the manual, and run: here, in `client_examples.rs`, or by a test of its own; `load` and
/// `load_client` measure only.
#[test]
fn no_example_is_forgotten() {
    let manual = include_str!("../../../../docs/sdk.md");
    let (_, table) = manual.split_once("| example | shows |\n").expect("the table of examples");
    let rows = table.lines().skip(1).map_while(|line| line.strip_prefix("| `")?.split('`').next());
    let mut told: Vec<String> = rows.map(str::to_owned).collect();
    told.extend(["load", "load_client"].map(str::to_owned));
    told.sort();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = std::fs::read_dir(directory).expect("the examples").map(|file| file.expect("a file").path());
    let mut written: Vec<_> = files.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    written.sort();
    assert_eq!(told, written);
    // Their coroutine functions without parameters are cases, which `sdk_examples.py` runs.
    let servers = concat!(
        include_str!("../../../../tests/python/sdk_tool_examples.py"),
        include_str!("../../../../tests/python/sdk_feature_examples.py"),
        include_str!("../../../../tests/python/sdk_http_examples.py"),
    );
    let clients = include_str!("client_examples.rs");
    // These have tests of their own, or measure.
    let elsewhere = ["authorization", "conformance", "conformance_client", "interop", "load", "load_client"];
    for name in told.iter().filter(|name| !elsewhere.contains(&name.as_str())) {
        let run = servers.contains(&format!("\nasync def {name}() ->")) || clients.contains(&format!("fn {name}()"));
        assert!(run, "nobody runs {name}");
    }
}

/// Each block of Rust in the manual is a part of an example, of the README or of a module of `manual`, whose code is compiled.
#[test]
fn code_of_the_manual_is_compiled() {
    let manual = include_str!("../../../../docs/sdk.md");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(directory.join("examples")).expect("the examples").map(|file| file.expect("a file"));
    let parts = ["application", "callbacks", "layers", "provider", "requests", "state", "verifier"];
    let parts = parts.map(|name| format!("tests/all/manual/{name}.rs"));
    let others = parts.into_iter().chain(["README.md".to_owned()]).map(|file| directory.join(file));
    let files = files.map(|file| file.path()).filter(|path| path.is_file()).chain(others);
    let compiled: Vec<String> = files.map(|path| std::fs::read_to_string(path).expect("text")).collect();
    let blocks: Vec<&str> =
        manual.split("\n```rust\n").skip(1).map(|rest| rest.split("```").next().expect("an end")).collect();
    assert!(blocks.len() > 5, "{} blocks", blocks.len());
    for block in blocks {
        assert!(compiled.iter().any(|text| text.contains(block)), "nowhere compiled:\n{block}");
    }
}
