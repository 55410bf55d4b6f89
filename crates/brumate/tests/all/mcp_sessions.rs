//! Sessions of the binary under real MCP clients, as `mcp_clients.rs` does it for runs. The cases are in `tests/python`;
//! `contract.md` there says which of them holds which sentence of the code interpreter's contract.
//!
//! `BRUMATE_TEST_SEED` is the number all chance follows from (1 when it is not set). With `BRUMATE_TEST_LONG` set sessions are
//! used at random for ten minutes, and a server is killed 100 times.

use std::path::Path;

use crate::support::mcp_client::{MCP1, MCP2, run};

macro_rules! client {
    ($module:ident, $case:ident, $name:ident, $client:ident) => {
        #[test]
        fn $name() {
            super::super::run(stringify!($module), stringify!($case), super::super::$client);
        }
    };
    (long: $module:ident, $case:ident, $name:ident, $client:ident) => {
        #[test]
        #[ignore = "long tier"]
        fn $name() {
            super::super::super::run(stringify!($module), stringify!($case), super::super::super::$client);
        }
    };
}

/// The cases of each module. They run with both clients. What those after `server` ask of the server is the same for both clients:
/// they run with the newer one, and with the older one in the long tier. Those after `once` are about the server alone.
macro_rules! cases {
    ($($module:ident: $($case:ident)* $((server: $($same:ident)+))? $((once: $($single:ident)+))?;)+) => {
        $(mod $module {
            /// Every case that is run.
            pub(super) const CASES: &[&str] = &[$(stringify!($case),)* $($(stringify!($same),)+)? $($(stringify!($single)),+)?];

            $(mod $case {
                client!($module, $case, mcp2, MCP2);
                client!($module, $case, mcp1, MCP1);
            })*
            $($(mod $same {
                client!($module, $same, mcp2, MCP2);

                mod long_tier {
                    client!(long: $module, $same, mcp1, MCP1);
                }
            })+)?
            $($(mod $single {
                client!($module, $single, mcp2, MCP2);
            })+)?
        })+

        /// Each module's name, its source, and the cases that are run.
        const MODULES: &[(&str, &str, &[&str])] = &[$((
            stringify!($module),
            include_str!(concat!("../../../../tests/python/", stringify!($module), ".py")),
            $module::CASES,
        )),+];
    };
}

cases! {
    session_cases: transcript failing_first_cell restart durable forks fresh_names tools_together two_servers blank_session
        (server: killed sleeping);
    cell_cases: stopping questions nobody_to_ask (server: long_cell over_the_limit out_of_memory leaving long_output thinking);
    file_cases: files uploads inputs (server: traversal natural_order nothing_of_ours) (once: ranges);
    figure_cases: figures (server: figures_once large_figure);
    contract_cases: identity schemas answers ids results errors state missing_sessions expired clearing
        (server: walls installing magics);
    contract_file_cases: resource_types other_names ways_out list_changed;
    output_cases: history displays content_blocks bounded_text
        (server: ready figures_of_each_library saved_figures readable_displays several_values programs_and_tasks);
    package_cases: pinned (once: email_validator ways bundled conflicts offline stateless overriding constrained told distribution);
    package_session_cases: sessions (server: installing) (once: undone recorded drawn_keys);
    package_policy_cases: (once: policy locking credentials);
    storage_cases: (once: quota full_disk backups mounts);
    analyst_cases: (server: afternoon);
    random_cases: (once: crowd killed_under_load);
}

/// Cases that a module defines, in the order of their names.
fn written(source: &str) -> Vec<&str> {
    let definitions = source.lines().filter_map(|line| line.strip_prefix("async def "));
    let mut cases: Vec<&str> = definitions.filter_map(|line| line.strip_suffix("(setup: Setup) -> None:")).collect();
    cases.sort_unstable();
    cases
}

#[test]
fn no_case_is_forgotten() {
    for (module, source, cases) in MODULES {
        let mut cases = cases.to_vec();
        cases.sort_unstable();
        assert_eq!(written(source), cases, "{module}");
    }
}

/// Every module of cases is listed here, in `mcp_clients.rs`, or in `mcp_http.rs`.
#[test]
fn no_module_of_cases_is_forgotten() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/python");
    let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let scripts = files.filter(|path| path.extension().is_some_and(|extension| extension == "py"));
    let (_, http) = include_str!("mcp_http.rs").split_once("\nmodules! {").unwrap();
    let elsewhere = format!("\n    cases: in mcp_clients.rs\n    native_cases: in native_kernels.rs\n{http}");
    for path in scripts.filter(|path| !written(&std::fs::read_to_string(path).unwrap()).is_empty()) {
        let module = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
        let is_run =
            MODULES.iter().any(|(name, ..)| *name == module) || elsewhere.contains(&format!("\n    {module}: "));
        assert!(is_run, "no test in Rust runs the cases of {}", path.display());
    }
}

/// The cases of the named modules.
fn cases_of(modules: &[&str]) -> Vec<&'static str> {
    let found = MODULES.iter().filter(|(module, ..)| modules.contains(module));
    found.flat_map(|(_, _, cases)| cases.iter().copied()).collect()
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
    let contract = cases_of(&["contract_cases", "contract_file_cases", "output_cases"]);
    let sessions = cases_of(&["session_cases", "cell_cases", "file_cases", "figure_cases"]);
    for (index, (number, sentence, cases)) in rows.iter().enumerate() {
        assert_eq!(*number, index + 1, "rows are counted: {sentence}");
        for case in cases {
            assert!(
                contract.contains(case) || sessions.contains(case),
                "row {number} names `{case}`, which is no case"
            );
        }
    }
    for case in &contract {
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
