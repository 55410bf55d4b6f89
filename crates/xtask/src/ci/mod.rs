//! `cargo xtask ci`: every check of a change, cheapest first.
//!
//! A check is a [`Gate`]. `cargo xtask ci --only NAME` runs one of them, and `cargo xtask ci --self-test` proves that each
//! fails when what it guards is broken.

mod scratch;
mod self_test;

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::test::Environment;
use crate::{documents, gates, process, runtime, structure, test, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run these checks alone
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = name)]
    only: Vec<&'static str>,
    /// Break a scratch copy in every way that a check is there for, and see that it fails
    #[arg(long, conflicts_with = "only")]
    self_test: bool,
}

/// One check.
pub(crate) struct Gate {
    /// What `--only` calls it.
    name: &'static str,
    run: fn() -> Result<()>,
}

/// The checks of the sources. All of them run, even if one fails: each takes seconds.
const SOURCES: &[Gate] = &[
    Gate { name: "format", run: || cargo(&["fmt", "--all", "--check"]) },
    Gate { name: "runtime", run: || runtime::run(&runtime::Task::Verify) },
    Gate { name: "documents", run: documents::check },
    Gate { name: "book", run: documents::book },
    Gate { name: "structure", run: structure::check },
    Gate { name: "ruff", run: gates::ruff },
    Gate { name: "deny", run: gates::deny },
];

/// The checks that compile. The first that fails ends the run.
const BUILDS: &[Gate] = &[
    Gate { name: "clippy", run: clippy },
    Gate { name: "rustdoc", run: rustdoc },
    Gate { name: "guest", run: gates::guest_tests },
    Gate { name: "tests", run: test::nextest_all },
    Gate { name: "doctests", run: test::doctests_all },
    Gate { name: "citations", run: citations },
];

fn gates() -> impl Iterator<Item = &'static Gate> {
    SOURCES.iter().chain(BUILDS)
}

/// Parses the name of a check.
fn name(text: &str) -> Result<&'static str, String> {
    let found = gates().find(|gate| gate.name == text).map(|gate| gate.name);
    found.ok_or_else(|| format!("there are {}", gates().map(|gate| gate.name).collect::<Vec<_>>().join(", ")))
}

/// Runs every check, or those that `args` name, and prints how long each took.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.self_test {
        return self_test::run();
    }
    let wanted = |gate: &&Gate| args.only.is_empty() || args.only.contains(&gate.name);
    let mut report = Report::default();
    for gate in SOURCES.iter().filter(wanted) {
        report.run(gate);
    }
    report.end_of_stage()?;
    // Downloads what the tests need while the compiler works.
    let preparing = args.only.is_empty().then(|| std::thread::spawn(Environment::prepare));
    for gate in BUILDS.iter().filter(wanted) {
        report.run(gate);
        report.end_of_stage()?;
    }
    // Its errors were met by the checks that need it.
    drop(preparing);
    report.print();
    Ok(())
}

/// How the checks of a run went.
#[derive(Default)]
struct Report {
    /// Name, duration, and the error of each that failed.
    results: Vec<(&'static str, Duration, Option<String>)>,
}

impl Report {
    fn run(&mut self, gate: &Gate) {
        println!("== {}", gate.name);
        let start = Instant::now();
        let error = (gate.run)().err().map(|error| format!("{error:#}"));
        if let Some(error) = &error {
            println!("== {} FAILED: {error}", gate.name);
        }
        self.results.push((gate.name, start.elapsed(), error));
    }

    /// Ends the run when a check has failed.
    fn end_of_stage(&self) -> Result<()> {
        let failed: Vec<_> = self.results.iter().filter_map(|(name, _, error)| Some((name, error.as_ref()?))).collect();
        if failed.is_empty() {
            return Ok(());
        }
        self.print();
        let list: Vec<String> = failed.iter().map(|(name, error)| format!("{name}: {error}")).collect();
        bail!("{} of the checks failed:\n{}", failed.len(), list.join("\n"))
    }

    fn print(&self) {
        println!("\n| check | seconds | result |\n|---|---|---|");
        for (name, duration, error) in &self.results {
            let result = if error.is_some() { "FAILED" } else { "passed" };
            println!("| {name} | {} | {result} |", duration.as_secs());
        }
        let total: Duration = self.results.iter().map(|(_, duration, _)| *duration).sum();
        println!("| all | {} | |\n", total.as_secs());
    }
}

/// The workspace with its fuzz targets, which need a feature. One set of features for all checks: dependencies are checked once.
const EVERYTHING: [&str; 4] = ["--workspace", "--locked", "--features", "brumate-fuzz/libfuzzer"];

fn clippy() -> Result<()> {
    cargo(&[&["clippy", "--all-targets"][..], &EVERYTHING, &["--", "-D", "warnings"]].concat())
}

fn rustdoc() -> Result<()> {
    let mut doc = command(&[&["doc", "--no-deps"][..], &EVERYTHING].concat());
    process::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Proves that each test which a document cites exists and is run.
fn citations() -> Result<()> {
    let environment = Environment::prepare()?;
    let mut list = environment.cargo();
    list.args(["nextest", "list", "--workspace", "--locked", "--message-format", "json"]);
    let listing = process::output(list.current_dir(workspace::root()))?;
    documents::check_tests(&listing)
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(workspace::root());
    command
}

fn cargo(arguments: &[&str]) -> Result<()> {
    process::run(&mut command(arguments))
}
