//! `brumate dev` with the real Inspector, whose page a browser shows: `tests/node/inspector_ui.mjs`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use brumate_test_support::cache_directory;

fn variable(name: &str, what: &str) -> OsString {
    let Some(value) = std::env::var_os(name) else {
        panic!("{name} is not set: it names the `node_modules` of {what}; `cargo xtask test` sets it")
    };
    value
}

#[test]
fn the_page_lists_and_calls_the_tools_of_a_server() {
    let modules = PathBuf::from(variable("BRUMATE_TEST_INSPECTOR", "the Inspector"));
    variable("BRUMATE_TEST_BROWSER", "a Chromium");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let output = Command::new(modules.join("node/bin/node"))
        .arg(tests.join("node/inspector_ui.mjs"))
        .args(["--brumate", env!("CARGO_BIN_EXE_brumate"), "--cache-dir"])
        .arg(cache_directory())
        .arg("--server")
        .arg(tests.join("python/python_servers/01_quickstart.py"))
        .output()
        .unwrap_or_else(|error| panic!("cannot run the Node of {}: {error}", modules.display()));
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}
