//! Sessions in kernels of the host (`--engine jupyter`): the code interpreter's contract with the same cases as the sandbox, and cases
//! of its own. The long tier has all of the contract, with libraries that the sandbox cannot have.

use std::path::PathBuf;
use std::process::Command;

use crate::support::mcp_client::{MCP2, run_with};

/// Python with `ipykernel`, numpy, pandas and matplotlib.
const PYTHON: &str = "BRUMATE_TEST_PYTHON_NUMBERS";

/// Packages of the long tier: libraries of the cases, and such as have no form for WebAssembly.
const PACKAGES: &[&str] = &[
    "ipykernel>=7,<8",
    "numpy",
    "pandas",
    "matplotlib",
    "seaborn",
    "plotly",
    "nbformat",
    "sympy",
    "openpyxl",
    "jinja2",
    "pillow",
    "polars",
    "duckdb",
    "pyarrow",
    "lightgbm",
    "scikit-learn",
    "opencv-python-headless",
    "bash_kernel",
];

fn engine(kernel: &str, python: &std::path::Path) -> String {
    format!("--engine {kernel} --python {}", python.display())
}

/// Returns whether this host gives this user the namespaces and mounts of a jail for native programs. Without them there are no native
/// kernels.
fn is_supported() -> bool {
    let mounts = "mount -t proc -o subset=pid none /proc && mount -t tmpfs none /mnt && mount -t devpts -o newinstance none /mnt";
    let user: &[&str] = if rustix::process::geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    let mut command = Command::new("unshare");
    command.args(user).args(["--mount", "--pid", "--net", "--ipc", "--uts", "--fork", "sh", "-c", mounts]);
    command.output().is_ok_and(|output| output.status.success())
}

/// Runs a case with the Python of the test environment. A host without namespaces is passed over.
fn run(module: &str, case: &str) {
    if !is_supported() {
        eprintln!("passed over: this host has no namespaces for this user");
        return;
    }
    let python = PathBuf::from(std::env::var_os(PYTHON).expect("`cargo xtask test` sets it"));
    run_with(&[("BRUMATE_TEST_ENGINE", &engine("jupyter", &python))], module, case, MCP2);
}

#[test]
fn walls() {
    run("native_cases", "native_walls");
}

#[test]
fn limits() {
    run("native_cases", "native_limits");
}

#[test]
fn installs() {
    run("native_cases", "native_installs");
}

#[test]
fn uv() {
    run("native_cases", "native_uv");
}

#[test]
fn index() {
    run("native_cases", "native_index");
}

#[test]
fn lies() {
    run("native_cases", "native_lies");
}

#[test]
fn ends() {
    run("native_cases", "native_ends");
}

#[test]
fn results() {
    run("contract_cases", "results");
}

#[test]
fn errors() {
    run("contract_cases", "errors");
}

#[test]
fn state() {
    run("contract_cases", "state");
}

#[test]
fn stopping() {
    run("cell_cases", "stopping");
}

#[test]
fn leaving() {
    run("cell_cases", "leaving");
}

#[test]
fn over_the_limit() {
    run("cell_cases", "over_the_limit");
}

#[test]
fn figures() {
    run("figure_cases", "figures");
}

#[test]
fn traversal() {
    run("file_cases", "traversal");
}

mod long_tier {
    use super::*;
    use crate::support::environments;

    /// Returns the Python of the long tier.
    fn python() -> PathBuf {
        let python = environments::python("native-python", "python3", PACKAGES);
        let mut kernel = Command::new(&python);
        kernel.args(["-m", "bash_kernel.install", "--sys-prefix"]);
        assert!(kernel.status().expect("bash_kernel").success(), "the kernel of bash cannot be installed");
        python
    }

    /// The contract, but for the cases about sessions that outlive their server, and about packages of the sandbox.
    const CONTRACT: &[(&str, &[&str])] = &[
        (
            "contract_cases",
            &[
                "identity",
                "schemas",
                "answers",
                "ids",
                "results",
                "errors",
                "state",
                "missing_sessions",
                "expired",
                "clearing",
                "magics",
            ],
        ),
        ("contract_file_cases", &["resource_types", "other_names", "ways_out", "list_changed"]),
        (
            "output_cases",
            &[
                "history",
                "displays",
                "content_blocks",
                "bounded_text",
                "ready",
                "figures_of_each_library",
                "saved_figures",
                "readable_displays",
                "several_values",
                "programs_and_tasks",
            ],
        ),
        (
            "cell_cases",
            &[
                "stopping",
                "questions",
                "nobody_to_ask",
                "long_cell",
                "over_the_limit",
                "out_of_memory",
                "leaving",
                "long_output",
                "thinking",
            ],
        ),
        ("file_cases", &["files", "inputs", "traversal", "natural_order", "nothing_of_ours", "ranges"]),
        ("figure_cases", &["figures", "figures_once", "large_figure"]),
        ("session_cases", &["transcript", "failing_first_cell", "fresh_names", "blank_session"]),
        ("native_cases", &["native_packages", "native_many"]),
    ];

    #[test]
    #[ignore = "long tier"]
    fn the_contract_holds_for_native_kernels() {
        let python = python();
        let engine = |kernel| engine(kernel, &python);
        for (module, cases) in CONTRACT {
            for case in *cases {
                run_with(&[("BRUMATE_TEST_ENGINE", &engine("jupyter"))], module, case, MCP2);
            }
        }
        run_with(&[("BRUMATE_TEST_ENGINE", &engine("jupyter:bash"))], "native_cases", "bash", MCP2);
    }
}
