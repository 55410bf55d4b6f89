//! The binary under real MCP clients: the Python SDK 2.x in both protocol eras, and 1.x.
//!
//! The cases are in `tests/python/cases.py`. Their interpreters come from two environment variables, which
//! `cargo xtask test` sets after it has made the environments.

use std::path::{Path, PathBuf};
use std::process::Command;

const PYTHON_MCP1: &str = "BRUMATE_TEST_PYTHON_MCP1";
const PYTHON_MCP2: &str = "BRUMATE_TEST_PYTHON_MCP2";

/// A client: the variable with its interpreter, its major version, how it opens a session.
#[derive(Clone, Copy)]
struct Client(&'static str, u32, &'static str);

const MCP1: Client = Client(PYTHON_MCP1, 1, "legacy");
const MCP2: Client = Client(PYTHON_MCP2, 2, "auto");
const MCP2_LEGACY: Client = Client(PYTHON_MCP2, 2, "legacy");

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
        .arg("--cache-dir")
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
    ($($case:ident),+ $(,)?) => {
        /// Every case that is run.
        const CASES: &[&str] = &[$(stringify!($case)),+];
        $(mod $case {
            #[test]
            fn mcp2() {
                super::run(stringify!($case), super::MCP2);
            }

            #[test]
            fn mcp2_legacy() {
                super::run(stringify!($case), super::MCP2_LEGACY);
            }

            #[test]
            fn mcp1() {
                super::run(stringify!($case), super::MCP1);
            }
        })+
    };
}

cases! {
    listing, golden, values, structured, json_mode, dependencies, arguments, thousand_calls, busy, cancel, progress,
    logging, limits,
}

#[test]
fn no_case_is_forgotten() {
    let python = include_str!("../../../../tests/python/cases.py");
    let written: Vec<&str> = python
        .lines()
        .filter_map(|line| line.strip_prefix("async def "))
        .filter_map(|line| line.strip_suffix("(setup: Setup) -> None:"))
        .collect();
    assert_eq!(written, CASES);
}
