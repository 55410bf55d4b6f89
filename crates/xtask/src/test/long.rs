//! `cargo xtask test --long`: the long tier, with full numbers of cases, and suites that take hours or need an index. Every step runs,
//! also after a failure. The report has the result of each step.

use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::{Environment, doctests, nextest};
use crate::{process, workspace};

/// Tests that an ordinary run ignores: those that need an index, and cases whose answer depends little on the client.
///
/// Others are ignored because another test starts them in a process of its own. Those never run by themselves.
const IGNORED: &str = "test(=index::live::real_requirements_resolve_as_with_uv) \
    | test(=real_wheels::popular_wheels_are_accepted) | test(=source_builds::published_source_distributions_install) \
    | (test(/::long_tier::/) - package(brumate-fuzz))";

/// The fuzz targets on mutations, an hour each (`BRUMATE_FUZZ_SECONDS`), two at a time.
const FUZZ: &str = "package(brumate-fuzz) & test(/::long_tier::/)";

/// Sessions of several servers while servers, machines and the disk fail.
const SOAK: &str = "package(brumate) & test(=soak::sessions::whatever_fails_nothing_that_was_answered_is_lost)";

/// Sets the duration of [`SOAK`]; an hour if it is not set.
const SOAK_SECONDS: &str = "BRUMATE_SOAK_SECONDS";

/// Names a native Python that has the versions of the bundle, and pytest: what the sandbox is compared with.
const NATIVE: &str = "BRUMATE_TEST_NATIVE_PYTHON";

/// A part of the long run.
struct Step {
    /// Name for `--only`.
    name: &'static str,
    command: fn(&Environment) -> Result<Command>,
}

const STEPS: &[Step] = &[
    Step { name: "tests", command: |environment| Ok(long(nextest(environment)?)) },
    Step {
        name: "ignored",
        command: |environment| {
            let mut command = long(nextest(environment)?);
            command.args(["--run-ignored", "only", "-E", IGNORED]);
            Ok(command)
        },
    },
    Step {
        name: "fuzz",
        command: |environment| {
            let mut command = long(nextest(environment)?);
            command.args(["--run-ignored", "only", "--no-fail-fast", "-E", FUZZ]);
            Ok(command)
        },
    },
    Step {
        name: "soak",
        command: |environment| {
            let mut command = long(nextest(environment)?);
            command.args(["-E", SOAK]);
            if std::env::var_os(SOAK_SECONDS).is_none() {
                command.env(SOAK_SECONDS, "3600");
            }
            Ok(command)
        },
    },
    Step {
        name: "keyring",
        command: |environment| {
            let mut command = environment.cargo();
            command.args([
                "nextest",
                "run",
                "--locked",
                "-p",
                "brumate-mcp-oauth",
                "-p",
                "brumate-mcp",
                "--features",
                "brumate-mcp/keyring",
                "-E",
                "test(keyring)",
            ]);
            command.current_dir(workspace::root());
            Ok(command)
        },
    },
    Step { name: "self-test", command: |_| Ok(self_test()) },
    Step { name: "doctests", command: |environment| Ok(doctests(environment)) },
    Step { name: "example", command: |_| binary("example") },
    Step {
        name: "upstream",
        command: |_| {
            let mut command = script("tests/compat/run_suites.py")?;
            command.args(["numpy", "pandas.frame", "--beside", "node"]);
            Ok(command)
        },
    },
    Step { name: "science", command: |_| beside_native("tests/compat/science/run_suites.py") },
    Step { name: "rust", command: |_| beside_native("tests/compat/rust/run_suites.py") },
    Step { name: "cpython", command: |_| script("tests/compat/cpython/run.py") },
    Step { name: "packages", command: |_| packages() },
    Step { name: "dist", command: |_| Ok(dist()) },
    Step { name: "frameworks", command: |_| frameworks() },
];

/// The result of a step.
struct StepResult {
    name: &'static str,
    duration: Duration,
    /// `passed`, or the reason of the failure.
    result: String,
    log: PathBuf,
}

/// Runs the steps, or those that `only` names, and writes `target/long/report.md`.
///
/// # Errors
/// When a step failed.
pub(super) fn run(environment: &Environment, only: &[String]) -> Result<()> {
    if let Some(unknown) = only.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        bail!("there is no step `{unknown}`; the steps are {}", names.join(", "));
    }
    let directory = workspace::target().join("long");
    std::fs::create_dir_all(&directory)?;
    let mut endings = Vec::new();
    for step in STEPS.iter().filter(|step| only.is_empty() || only.iter().any(|name| name == step.name)) {
        let log = directory.join(format!("{}.log", step.name));
        println!("== {}: {}", step.name, log.display());
        let start = Instant::now();
        let result = match (step.command)(environment).and_then(|command| logged(environment, command, &log)) {
            Ok(()) => "passed".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        println!("== {}: {result} after {} s", step.name, start.elapsed().as_secs());
        endings.push(StepResult { name: step.name, duration: start.elapsed(), result, log });
        // After every step: a run that is stopped leaves what it knows.
        std::fs::write(directory.join("report.md"), report(&endings))?;
    }
    println!("{}", directory.join("report.md").display());
    let failed: Vec<_> = endings.iter().filter(|ending| ending.result != "passed").map(|ending| ending.name).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// The full doses.
fn long(mut command: Command) -> Command {
    command.args(["--profile", "long"]).env("BRUMATE_TEST_LONG", "1");
    command
}

/// Builds the release binary if that is not done yet; returns its path.
fn release_binary() -> Result<PathBuf> {
    let mut command = Command::new("cargo");
    command.args(["build", "--release", "--locked", "--package", "brumate"]).current_dir(workspace::root());
    process::run(&mut command)?;
    Ok(workspace::target().join("release/brumate"))
}

/// The proof that each check finds what it is there for.
fn self_test() -> Command {
    let mut command = Command::new("cargo");
    command.args(["xtask", "ci", "--self-test"]).current_dir(workspace::root());
    command
}

/// A command of the release build.
fn binary(command: &str) -> Result<Command> {
    let mut binary = Command::new(release_binary()?);
    binary.arg(command).current_dir(workspace::root());
    Ok(binary)
}

/// A Python script that gets the release build.
fn script(path: &str) -> Result<Command> {
    let mut command = Command::new("python3");
    command.arg(path).arg(release_binary()?).current_dir(workspace::root());
    Ok(command)
}

/// A script that runs suites in the sandbox and natively.
fn beside_native(path: &str) -> Result<Command> {
    let native = std::env::var_os(NATIVE).with_context(|| {
        format!("{NATIVE} is not set: let it name a Python that has the versions of the bundle, and pytest")
    })?;
    let mut command = script(path)?;
    command.arg("--native").arg(native);
    Ok(command)
}

/// The table of packages in docs/compatibility.md. A run that is started again goes on where the last one ended.
fn packages() -> Result<Command> {
    let mut command = script("tests/compat/packages.py")?;
    command.arg("--state").arg(workspace::target().join("long/packages.json"));
    command.arg("--write");
    Ok(command)
}

/// Makes everything that is handed out, and installs it.
fn dist() -> Command {
    let mut command = Command::new("python3");
    command.args(["tests/packaging/install.py", "--build"]).arg(workspace::target().join("dist"));
    command.current_dir(workspace::root());
    command
}

/// The examples of the Python package for frameworks, with their newest releases.
fn frameworks() -> Result<Command> {
    let mut command = Command::new("python3");
    command.args(["-m", "unittest", "tests.test_frameworks"]).current_dir(workspace::root().join("python"));
    command.env("PYTHONPATH", "src").env("BRUMATE_BINARY", release_binary()?);
    command.env("BRUMATE_TEST_FRAMEWORKS", workspace::target().join("long/frameworks"));
    Ok(command)
}

/// Runs a command in the test environment with its output in `log`.
fn logged(environment: &Environment, mut command: Command, log: &Path) -> Result<()> {
    let file = File::create(log).with_context(|| log.display().to_string())?;
    command.envs(environment.variables()).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let status = command.status().context("cannot be started")?;
    if !status.success() {
        bail!("{status}");
    }
    Ok(())
}

fn report(endings: &[StepResult]) -> String {
    let mut text = "# Long run\n\n| step | minutes | result | log |\n|---|---|---|---|\n".to_owned();
    for StepResult { name, duration, result, log } in endings {
        let minutes = duration.as_secs_f64() / 60.0;
        let _ = writeln!(text, "| {name} | {minutes:.1} | {result} | {} |", log.display());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_each_step_and_its_result() {
        let ending = |name, result: &str| StepResult {
            name,
            duration: Duration::from_secs(90),
            result: result.to_owned(),
            log: PathBuf::from(format!("{name}.log")),
        };
        let text = report(&[ending("tests", "passed"), ending("upstream", "exit status: 1")]);
        assert!(text.contains("| tests | 1.5 | passed | tests.log |"), "{text}");
        assert!(text.contains("| upstream | 1.5 | exit status: 1 | upstream.log |"), "{text}");
    }
}
