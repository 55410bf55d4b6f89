//! Sessions of the binary under real MCP clients, as `mcp_clients.rs` does it for runs. The cases are in `tests/python`;
//! `contract.md` there says which of them holds which sentence of the code interpreter's contract.
//!
//! `BRUMATE_TEST_SEED` is the number all chance follows from (1 when it is not set). With `BRUMATE_TEST_LONG` set sessions are
//! used at random for ten minutes, and a server is killed 100 times.

use crate::support::mcp_client::{MCP1, MCP2, run};

macro_rules! client {
    ($module:ident, $case:ident, $name:ident, $client:ident) => {
        #[test]
        fn $name() {
            super::super::run(stringify!($module), stringify!($case), super::super::$client);
        }
    };
}

/// The cases of a module, with both clients; those after `once` with the newer one.
macro_rules! cases {
    ($module:ident: $($case:ident),* $(,)? $(; once: $($single:ident),+ $(,)?)?) => {
        mod $module {
            /// Every case that is run.
            pub(super) const CASES: &[&str] = &[$(stringify!($case),)* $($(stringify!($single)),+)?];
            /// Where they are.
            pub(super) const SOURCE: &str = include_str!(concat!("../../../../tests/python/", stringify!($module), ".py"));

            $(mod $case {
                client!($module, $case, mcp2, MCP2);
                client!($module, $case, mcp1, MCP1);
            })*
            $($(mod $single {
                client!($module, $single, mcp2, MCP2);
            })+)?
        }
    };
}

cases! {
    session_cases:
    transcript, failing_first_cell, long_cell, over_the_limit, out_of_memory, stopping, restart, durable, killed, sleeping, forks,
    fresh_names,
    tools_together, two_servers, traversal,
    files,
    uploads,
    figures,
    questions,
    thinking,
    nobody_to_ask,
    inputs,
    figures_once,
    large_figure,
    natural_order,
    leaving,
    nothing_of_ours,
    blank_session,
    long_output;
    once: ranges
}

cases! {
    contract_cases:
    identity, schemas, answers, ids, results, errors, state, missing_sessions, expired, clearing, resource_types, other_names,
    ways_out, walls, installing, magics, list_changed,
}

cases! {
    output_cases:
    history, displays, ready, figures_of_each_library, saved_figures, content_blocks, bounded_text, readable_displays, several_values,
    programs_and_tasks,
}

cases! {
    package_cases:
    pinned, sessions, installing;
    once: email_validator, ways, bundled, conflicts, offline, policy, stateless, overriding, locking, constrained, told, distribution,
    undone, recorded, drawn_keys, credentials,
}

cases! {
    storage_cases:;
    once: quota, full_disk, backups,
}

cases! {
    analyst_cases:
    afternoon,
}

cases! {
    random_cases:;
    once: crowd, killed_under_load,
}

/// Cases that a module defines.
fn written(source: &str) -> Vec<&str> {
    let definitions = source.lines().filter_map(|line| line.strip_prefix("async def "));
    definitions.filter_map(|line| line.strip_suffix("(setup: Setup) -> None:")).collect()
}

#[test]
fn no_case_is_forgotten() {
    for (source, cases) in [
        (session_cases::SOURCE, session_cases::CASES),
        (contract_cases::SOURCE, contract_cases::CASES),
        (output_cases::SOURCE, output_cases::CASES),
        (package_cases::SOURCE, package_cases::CASES),
        (analyst_cases::SOURCE, analyst_cases::CASES),
        (random_cases::SOURCE, random_cases::CASES),
        (storage_cases::SOURCE, storage_cases::CASES),
    ] {
        assert_eq!(written(source), cases);
    }
}

/// The rows of the contract: number, sentence, cases.
fn rows() -> Vec<(usize, &'static str, Vec<&'static str>)> {
    let table = include_str!("../../../../tests/python/contract.md");
    let lines = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = lines.map(|line| line.split(" | ").map(str::trim).collect::<Vec<_>>());
    let numbered = cells.filter_map(|cells| {
        let [number, sentence, cases] = cells[..] else { panic!("three cells: {cells:?}") };
        let cases = cases.split(", ").map(|case| case.trim_matches('`')).collect();
        Some((number.parse().ok()?, sentence, cases))
    });
    numbered.collect()
}

#[test]
fn each_row_of_the_contract_has_its_case() {
    let rows = rows();
    let all = [session_cases::CASES, contract_cases::CASES, output_cases::CASES].concat();
    for (index, (number, sentence, cases)) in rows.iter().enumerate() {
        assert_eq!(*number, index + 1, "rows are counted: {sentence}");
        for case in cases {
            assert!(all.contains(case), "row {number} names `{case}`, which is no case");
        }
    }
    for case in contract_cases::CASES.iter().chain(output_cases::CASES) {
        assert!(rows.iter().any(|(_, _, cases)| cases.contains(case)), "no row names `{case}`");
    }
    // What the documentation of the original names: a row that is deleted is missed.
    for word in [
        "execute_code",
        "list_session_files",
        "clear_session",
        "success",
        "output",
        "result",
        "error",
        "traceback",
        "files",
        "session_info",
        "instructions",
        "uri",
        "mime_type",
        "name",
        "size",
        "message",
        "30 minutes",
        "16",
        "SessionExpiredError",
        "kernel://",
        "matplotlib",
        "seaborn",
        "plotly",
        "sympy",
        "numpy",
        "pandas",
        "savefig",
        "magics",
        "!pip",
        "%pip",
        "`_`",
        "`Out`",
        "display()",
        "DataFrame",
        "blob",
        "resource_link",
        "structuredContent",
        "kaleido",
        "12 s",
        "every call",
        "traversal",
        "environment",
        "base64",
        "Python Code Interpreter",
    ] {
        assert!(rows.iter().any(|(_, sentence, _)| sentence.contains(word)), "no row is about {word}");
    }
}
