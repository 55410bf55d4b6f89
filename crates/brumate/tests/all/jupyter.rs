//! `brumate kernel`, in the hands of Jupyter's own clients.

use std::process::Command;

use brumate_test_support::cache_directory;
use tempfile::TempDir;

use crate::support::{environments, run_jupyter_module};

/// Directories of one test: Jupyter's, and the cache that only its kernels use.
struct Jupyter {
    home: TempDir,
}

impl Jupyter {
    /// Installs the kernel `brumate`.
    fn new() -> Self {
        Self::with(&["--offline"])
    }

    /// Installs the kernel `brumate` with these options.
    fn with(options: &[&str]) -> Self {
        let jupyter = Self { home: tempfile::tempdir().expect("a directory") };
        let prefix = jupyter.home.path().to_owned();
        let mut install = jupyter.command(env!("CARGO_BIN_EXE_brumate"));
        install.args(["kernel", "install"]).args(options).arg("--prefix").arg(prefix);
        let output = install.output().expect("brumate starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        jupyter
    }

    fn command(&self, program: &str) -> Command {
        let home = self.home.path();
        let mut command = Command::new(program);
        command.env("HOME", home).env("XDG_DATA_HOME", home.join("data")).env("XDG_RUNTIME_DIR", home);
        command.env("JUPYTER_PATH", home.join("share/jupyter")).env("BRUMATE_CACHE_DIR", cache_directory());
        command
    }

    /// Runs a module of `tests/python/jupyter`.
    fn python(&self, arguments: &[&str]) {
        let python = std::env::var("BRUMATE_TEST_PYTHON_JUPYTER").expect("`cargo xtask test` sets it");
        run_jupyter_module(self.command(&python), arguments);
    }
}

#[test]
fn jupyters_own_test_of_kernels() {
    Jupyter::new().python(&["kernel_tests.py"]);
}

#[test]
fn cells_and_frontends() {
    Jupyter::new().python(&["behavior.py", "Cells"]);
}

#[test]
fn kernels_start_and_end() {
    Jupyter::new().python(&["behavior.py", "Life"]);
}

#[test]
fn interrupts_and_restarts_at_random_moments() {
    Jupyter::new().python(&["random_interrupts.py"]);
}

#[test]
fn kernels_are_listed_and_removed_and_others_stay() {
    let jupyter = Jupyter::new();
    let run = |arguments: &[&str]| {
        let output = jupyter.command(env!("CARGO_BIN_EXE_brumate")).args(arguments).output().expect("brumate starts");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (_, listed) = run(&["kernel", "list"]);
    assert!(listed.starts_with("brumate  ") && listed.lines().count() == 1, "{listed}");
    let other = jupyter.home.path().join("share/jupyter/kernels/other");
    std::fs::create_dir(&other).expect("a directory");
    std::fs::write(other.join("kernel.json"), r#"{"argv": ["x"]}"#).expect("a file");
    let prefix = jupyter.home.path().display().to_string();
    for arguments in
        [&["kernel", "install", "--name", "other", "--prefix", &prefix][..], &["kernel", "remove", "other"]]
    {
        let (succeeded, text) = run(arguments);
        assert!(!succeeded && text.contains("another program's"), "{text}");
    }
    let (succeeded, text) = run(&[
        "kernel",
        "install",
        "--name",
        "Data",
        "--prefix",
        &prefix,
        "--deps",
        "numpy",
        "--memory",
        "2GiB",
        "--mount",
        "/tmp:/data:ro",
    ]);
    assert!(succeeded, "{text}");
    let file = jupyter.home.path().join("share/jupyter/kernels/data/kernel.json");
    let kernel: serde_json::Value = serde_json::from_slice(&std::fs::read(file).expect("a file")).expect("JSON");
    let line: Vec<&str> = kernel["argv"].as_array().expect("a list").iter().filter_map(|word| word.as_str()).collect();
    assert_eq!(line[1..3], ["kernel", "run"]);
    for words in [["--deps", "numpy"], ["--memory", "2GiB"], ["--mount", "/tmp:/data:ro"], ["-f", "{connection_file}"]]
    {
        assert!(line.windows(2).any(|window| window == words), "{words:?} in {line:?}");
    }
    assert!(run(&["kernel", "remove"]).0 && run(&["kernel", "remove", "data"]).0);
    let (_, listed) = run(&["kernel", "list"]);
    assert!(listed.starts_with("no kernel of Brumate is installed"), "{listed}");
    assert!(!run(&["kernel", "remove"]).0);
}

mod long_tier {
    use super::*;

    /// The name or path of a Python of the version that `compare_notebooks.py` expects. Default: `python3.13`.
    const BASE: &str = "BRUMATE_TEST_PYTHON_3_13";

    /// ipykernel and the packages of the notebooks, in the versions of the bundle.
    const PACKAGES: &[&str] = &[
        "ipykernel==7.4.0",
        "ipython==9.18.1",
        "nbclient==0.11.0",
        "ipywidgets==8.1.8",
        "numpy==2.4.6",
        "pandas==3.0.2",
        "scipy==1.18.0",
        "matplotlib==3.10.8",
        "seaborn==0.13.2",
        "plotly==7.1.0",
        "scikit-learn==1.8.0",
        "sympy==1.14.0",
        "networkx==3.7",
        "openpyxl==3.1.5",
        "pillow==12.2.0",
        "rich==15.0.0",
        "tqdm==4.70.1",
        "jinja2==3.1.6",
        "lxml==6.1.3",
        "requests==2.34.2",
        "tabulate==0.10.0",
        "cloudpickle==3.1.3",
    ];

    #[test]
    #[ignore = "long tier"]
    fn notebooks_show_the_outputs_of_ipykernel() {
        let base = std::env::var(BASE).unwrap_or_else(|_| "python3.13".to_owned());
        let python = environments::python("notebook-python", &base, PACKAGES);
        let jupyter = Jupyter::with(&["--active-output", "--deps", "ipywidgets==8.1.8"]);
        run_jupyter_module(
            jupyter.command(&python.display().to_string()),
            &["compare_notebooks.py", "python3", "brumate"],
        );
    }
}
