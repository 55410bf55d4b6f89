//! The binary under real MCP clients: the Python SDK 2.x in both protocol eras, and 1.x.
//!
//! The cases are in `tests/python/cases.py`. Their interpreters come from two environment variables, which
//! `cargo xtask test` sets after it has made the environments.

use crate::support::mcp_client::{MCP1, MCP2, MCP2_LEGACY, run};

macro_rules! cases {
    ($($case:ident),+ $(,)?) => {
        /// Every case that is run.
        const CASES: &[&str] = &[$(stringify!($case)),+];
        $(mod $case {
            #[test]
            fn mcp2() {
                super::run("cases", stringify!($case), super::MCP2);
            }

            #[test]
            fn mcp2_legacy() {
                super::run("cases", stringify!($case), super::MCP2_LEGACY);
            }

            #[test]
            fn mcp1() {
                super::run("cases", stringify!($case), super::MCP1);
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
