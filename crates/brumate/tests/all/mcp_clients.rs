//! The binary under real MCP clients: the Python SDK 2.x in both protocol eras, and 1.x.
//!
//! The cases are in `tests/python/cases.py`. Their interpreters come from two environment variables, which
//! `cargo xtask test` sets after it has made the environments.

use crate::support::mcp_client::{MCP1, MCP2, MCP2_LEGACY, run};

macro_rules! client {
    ($case:ident, $name:ident, $client:ident) => {
        #[test]
        fn $name() {
            super::run("cases", stringify!($case), super::$client);
        }
    };
    (long: $case:ident, $name:ident, $client:ident) => {
        #[test]
        #[ignore = "long tier"]
        fn $name() {
            super::super::run("cases", stringify!($case), super::super::$client);
        }
    };
}

/// The cases of the module, with every client. What those after `server` ask of the server is the same for all clients: they
/// run with the newest one, and with the others in the long tier. Those after `long` run in the long tier alone.
macro_rules! cases {
    ($($case:ident),+ $(,)?; server: $($single:ident),+ $(,)?; long: $($long:ident),+ $(,)?) => {
        /// Every case that is run.
        const CASES: &[&str] = &[$(stringify!($case),)+ $(stringify!($single),)+ $(stringify!($long)),+];

        $(mod $case {
            client!($case, mcp2, MCP2);
            client!($case, mcp2_legacy, MCP2_LEGACY);
            client!($case, mcp1, MCP1);
        })+
        $(mod $single {
            client!($single, mcp2, MCP2);

            mod long_tier {
                client!(long: $single, mcp2_legacy, MCP2_LEGACY);
                client!(long: $single, mcp1, MCP1);
            }
        })+
        $(mod $long {
            mod long_tier {
                client!(long: $long, mcp2, MCP2);
                client!(long: $long, mcp2_legacy, MCP2_LEGACY);
                client!(long: $long, mcp1, MCP1);
            }
        })+
    };
}

cases! {
    listing, golden, values, numbers, structured, json_mode, dependencies, arguments, cancel, progress, logging, limits;
    server: busy;
    long: thousand_calls,
}

#[test]
fn no_case_is_forgotten() {
    let python = include_str!("../../../../tests/python/cases.py");
    let mut written: Vec<&str> = python
        .lines()
        .filter_map(|line| line.strip_prefix("async def "))
        .filter_map(|line| line.strip_suffix("(setup: Setup) -> None:"))
        .collect();
    let mut run = CASES.to_vec();
    written.sort_unstable();
    run.sort_unstable();
    assert_eq!(written, run);
}
