//! The cases of `tests/python`, each run by an interpreter with a real MCP client in it.

use std::path::Path;
use std::process::Command;

const PYTHON_MCP1: &str = "BRUMATE_TEST_PYTHON_MCP1";
const PYTHON_MCP2: &str = "BRUMATE_TEST_PYTHON_MCP2";

/// A client: the variable with its interpreter, its major version, how it opens a session.
#[derive(Clone, Copy)]
pub(crate) struct Client(&'static str, u32, &'static str);

/// The transport that nothing is said of.
const STDIO: &str = "stdio";

pub(crate) const MCP1: Client = Client(PYTHON_MCP1, 1, "legacy");
pub(crate) const MCP2: Client = Client(PYTHON_MCP2, 2, "auto");
pub(crate) const MCP2_LEGACY: Client = Client(PYTHON_MCP2, 2, "legacy");

/// Runs a case of a module against the binary, with these environment variables besides.
pub(crate) fn run_with(variables: &[(&str, &str)], module: &str, case: &str, client: Client) {
    start((STDIO, variables), module, case, client);
}

/// Runs a case of a module against the binary.
pub(crate) fn run(module: &str, case: &str, client: Client) {
    run_over(STDIO, module, case, client);
}

/// The same over a transport, as `mcp_client.py` calls it.
pub(crate) fn run_over(transport: &str, module: &str, case: &str, client: Client) {
    start((transport, &[]), module, case, client);
}

fn start(
    (transport, variables): (&str, &[(&str, &str)]),
    module: &str,
    case: &str,
    Client(variable, sdk, era): Client,
) {
    let Some(python) = std::env::var_os(variable) else {
        panic!(
            "{variable} is not set: it names a Python interpreter that has `mcp` {sdk}.x; `cargo xtask test` sets it"
        );
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python");
    // Shared by all tests of a build, so that modules are compiled once.
    let cache = brumate_test_support::cache_directory();
    let output = Command::new(&python)
        .arg(scripts.join("mcp_client.py"))
        .args(["--brumate", env!("CARGO_BIN_EXE_brumate"), "--sdk", &sdk.to_string(), "--era", era])
        .args(["--transport", transport])
        .args(["--cases", module, "--cache-dir"])
        .arg(cache)
        .arg(case)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap_or_else(|error| panic!("{variable}: cannot run {}: {error}", python.display()));
    assert!(
        output.status.success(),
        "{module}.{case} failed with mcp {sdk}.x ({era}, {transport}):\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
