//! Sessions of the binary under real MCP clients, as `mcp_clients.rs` does it for runs. The cases are in
//! `tests/python/session_cases.py`.

use std::path::{Path, PathBuf};
use std::process::Command;

const PYTHON_MCP1: &str = "BRUMATE_TEST_PYTHON_MCP1";
const PYTHON_MCP2: &str = "BRUMATE_TEST_PYTHON_MCP2";

/// A client: the variable with its interpreter, its major version, how it opens a session.
#[derive(Clone, Copy)]
struct Client(&'static str, u32, &'static str);

const MCP1: Client = Client(PYTHON_MCP1, 1, "legacy");
const MCP2: Client = Client(PYTHON_MCP2, 2, "auto");

fn run(case: &str, Client(variable, sdk, era): Client) {
    let Some(python) = std::env::var_os(variable) else {
        panic!(
            "{variable} is not set: it names a Python interpreter that has `mcp` {sdk}.x; `cargo xtask test` sets it"
        );
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python");
    // Shared by all tests of a build, so that modules are compiled once.
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cache");
    let output = Command::new(&python)
        .arg(scripts.join("mcp_client.py"))
        .args(["--brumate", env!("CARGO_BIN_EXE_brumate"), "--sdk", &sdk.to_string(), "--era", era])
        .args(["--cases", "session_cases", "--cache-dir"])
        .arg(cache)
        .arg(case)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap_or_else(|error| panic!("{variable}: cannot run {}: {error}", python.display()));
    assert!(
        output.status.success(),
        "{case} failed with mcp {sdk}.x ({era}):\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

macro_rules! cases {
    ($($(#[$attribute:meta])* $case:ident),+ $(,)?) => {
        /// Every case that is run.
        const CASES: &[&str] = &[$(stringify!($case)),+];
        $(mod $case {
            #[test]
            $(#[$attribute])*
            fn mcp2() {
                super::run(stringify!($case), super::MCP2);
            }

            #[test]
            $(#[$attribute])*
            fn mcp1() {
                super::run(stringify!($case), super::MCP1);
            }
        })+
    };
}

cases! {
    transcript, failing_first_cell, long_cell, over_the_limit, out_of_memory, stopping, restart, durable, killed, sleeping, forks,
    fresh_names,
    tools_together, one_server, traversal,
    files,
    uploads,
    figures,
    long_output,
    questions,
    thinking,
    nobody_to_ask,
    inputs,
    figures_once,
    blank_session,
}

#[test]
fn no_case_is_forgotten() {
    let python = include_str!("../../../../tests/python/session_cases.py");
    let written: Vec<&str> = python
        .lines()
        .filter_map(|line| line.strip_prefix("async def "))
        .filter_map(|line| line.strip_suffix("(setup: Setup) -> None:"))
        .collect();
    assert_eq!(written, CASES);
}
