//! JupyterLab and Notebook with kernels of the sandbox, in a real browser: `tests/node/jupyterlab.mjs`. The kernels install a package from
//! an index.

mod long_tier {
    use brumate_test_support::cache_directory;

    use crate::support::{environments, run_node_module};

    /// The programs, and the parts of their pages that draw widgets and figures. matplotlib brings fonts.
    const PACKAGES: &[&str] =
        &["jupyterlab>=4.6,<4.7", "notebook>=7.6,<7.7", "ipywidgets>=8.1,<9", "plotly>=7,<8", "matplotlib>=3.10,<4"];

    fn run(application: &str, kernel: &str) {
        let python = environments::python("jupyter-pages", "python3", PACKAGES);
        run_node_module("jupyterlab.mjs", |node| {
            node.args(["--brumate", env!("CARGO_BIN_EXE_brumate"), "--cache-dir"]).arg(cache_directory());
            node.arg("--python").arg(python).args(["--application", application, "--kernel", kernel]);
        });
    }

    #[test]
    #[ignore = "long tier"]
    fn jupyterlab_with_passive_output() {
        run("lab", "passive");
    }

    #[test]
    #[ignore = "long tier"]
    fn jupyterlab_with_active_output() {
        run("lab", "active");
    }

    #[test]
    #[ignore = "long tier"]
    fn jupyterlab_over_http() {
        run("lab", "gateway");
    }

    #[test]
    #[ignore = "long tier"]
    fn notebook_with_active_output() {
        run("notebook", "active");
    }
}
