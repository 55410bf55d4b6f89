//! Shared parts of the tests.

pub(crate) mod bombs;
pub(crate) mod cache_copies;
pub(crate) mod caches;
pub(crate) mod environments;
pub(crate) mod mcp_client;
pub(crate) mod modules;
pub(crate) mod processes;
pub(crate) mod sessions;
pub(crate) mod subprocess;
pub(crate) mod wheels;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs the binary with a clean environment and the cache that all tests of a build share. Returns its status, output and errors.
pub(crate) fn brumate(arguments: &[&str]) -> (Option<i32>, String, String) {
    let cache = brumate_test_support::cache_directory();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brumate"));
    command.env_clear().env("BRUMATE_CACHE_DIR", cache).env("UV_NO_CONFIG", "1").env("PIP_CONFIG_FILE", "/dev/null");
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Runs a module of `tests/python/jupyter` with a command for Python, and checks that it succeeds.
pub(crate) fn run_jupyter_module(mut python: Command, arguments: &[&str]) {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python/jupyter");
    python.args(arguments).current_dir(directory).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = python.output().expect("Python starts");
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

/// Runs a module of `tests/node` with the Node of the test environment, and checks that it succeeds.
pub(crate) fn run_node_module(module: &str, prepare: impl FnOnce(&mut Command)) {
    let clients = PathBuf::from(std::env::var_os("BRUMATE_TEST_CLIENTS").expect("`cargo xtask test` sets it"));
    let mut node = Command::new(clients.join("node/bin/node"));
    node.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/node").join(module));
    prepare(&mut node);
    let output = node.output().unwrap_or_else(|error| panic!("cannot run the Node of {}: {error}", clients.display()));
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}
