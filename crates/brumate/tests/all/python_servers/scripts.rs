//! The scripts of `tests/python` that use servers in Python under `brumate run`.

use std::path::{Path, PathBuf};
use std::process::Command;

use brumate_test_support::{LONG, cache_directory, seed};

const PYTHON_MCP1: &str = "BRUMATE_TEST_PYTHON_MCP1";
const PYTHON_MCP2: &str = "BRUMATE_TEST_PYTHON_MCP2";
/// Requirements of servers that are written for each version.
const MCP1: &str = "mcp>=1.30,<2";
const MCP2: &str = "mcp>=2,<3";

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python").canonicalize().unwrap()
}

/// Runs a script with an interpreter of the test environment: its own arguments, then `brumate run` with further ones.
fn run(variable: &str, script: &str, arguments: &[&str], server: &[&str]) {
    let Some(python) = std::env::var_os(variable) else {
        panic!("{variable} is not set: it names a Python interpreter that has `mcp`; `cargo xtask test` sets it")
    };
    let mut command = Command::new(python);
    command.arg(scripts().join(script)).args(arguments).args(["--", env!("CARGO_BIN_EXE_brumate"), "run"]);
    command.arg("--cache-dir").arg(cache_directory()).args(server).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{script} {arguments:?}:\n{}", String::from_utf8_lossy(&text));
}

/// Returns arguments of a script that tries many of a kind: a quarter of them, chosen by the seed; all in the long tier.
fn dose() -> [String; 4] {
    let every = if std::env::var_os(LONG).is_some() { 1 } else { 4 };
    ["--every".to_owned(), every.to_string(), "--seed".to_owned(), seed().to_string()]
}

/// Servers over standard input and output send what they send under CPython.
fn compare(variable: &str, mcp: &str) {
    let directory = scripts();
    let mount = format!("{0}:{0}:ro", directory.display());
    run(variable, "compare_servers.py", &[], &["--with", mcp, "--mount", &mount, "{file}"]);
}

#[test]
fn servers_of_mcp_1_are_the_same_as_under_cpython() {
    compare(PYTHON_MCP1, MCP1);
}

#[test]
fn servers_of_mcp_2_are_the_same_as_under_cpython() {
    compare(PYTHON_MCP2, MCP2);
}

/// Servers over HTTP answer as they do under CPython.
fn compare_http(variable: &str, mcp: &str) {
    let server = ["--with", mcp, "{transport}", "--port", "{port}", "{file}"];
    run(variable, "compare_http_servers.py", &[], &server);
}

#[test]
fn servers_of_mcp_1_answer_as_under_cpython() {
    compare_http(PYTHON_MCP1, MCP1);
}

#[test]
fn servers_of_mcp_2_answer_as_under_cpython() {
    compare_http(PYTHON_MCP2, MCP2);
}

/// All clients of the SDKs work with a server, over each transport.
fn matrix(sdk: &str, mcp: &str) {
    let server =
        ["--with", mcp, "--transport", "{transport}", "--port", "{port}", "{file}", "--", "{transport}", "{port}"];
    let dose = dose();
    let arguments: Vec<&str> = ["--sdk", sdk].into_iter().chain(dose.iter().map(String::as_str)).collect();
    run(PYTHON_MCP1, "server_matrix/matrix.py", &arguments, &server);
}

#[test]
fn clients_work_with_a_server_of_mcp_1() {
    matrix("1", MCP1);
}

#[test]
fn clients_work_with_a_server_of_mcp_2() {
    matrix("2", MCP2);
}

#[test]
fn servers_of_pypi_work() {
    // No image is built of packages that one server has. The servers are pinned; the date pins what they require.
    let dose = dose();
    let arguments: Vec<&str> = dose.iter().map(String::as_str).collect();
    run(PYTHON_MCP1, "pypi_servers.py", &arguments, &["--no-learned-images", "--exclude-newer", "2026-11-25"]);
}
