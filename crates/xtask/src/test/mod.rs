//! `cargo xtask test`: sets up the test environment and runs the tests.

mod environment;
mod long;
mod seed;
mod upstream;
mod wheels;

pub(crate) use environment::{Environment, once, python};

use std::process::Command;

use anyhow::Result;

use crate::{process, workspace};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Set up the test environment only, and print its variables
    #[arg(long)]
    setup: bool,
    /// Run the long tier: full numbers of cases and suites that need hours; writes a report
    #[arg(long, conflicts_with = "setup")]
    long: bool,
    /// Run only these steps of the long tier
    #[arg(long, requires = "long", value_name = "STEP", num_args = 1..)]
    only: Vec<String>,
    /// Arguments for `cargo nextest run`; doctests are skipped if there are any
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    nextest: Vec<String>,
}

/// Sets the test environment up, then runs the workspace's tests in it.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.setup {
        Environment::prepare()?.print();
        return Ok(());
    }
    if args.long {
        return long::run(&Environment::prepare()?, &args.only);
    }
    if !args.nextest.is_empty() {
        return process::run(nextest(&Environment::prepare()?)?.args(&args.nextest));
    }
    nextest_all()?;
    doctests_all()
}

/// Runs all ordinary tests but the doctests.
pub(crate) fn nextest_all() -> Result<()> {
    process::run(&mut nextest(&Environment::prepare()?)?)
}

/// Runs the doctests of every crate.
pub(crate) fn doctests_all() -> Result<()> {
    process::run(&mut doctests(&Environment::prepare()?))
}

/// `cargo nextest run` of the whole workspace, with the seed of this commit.
fn nextest(environment: &Environment) -> Result<Command> {
    let seed = seed::of_commit()?;
    println!("{}={seed}", seed::VARIABLE);
    let mut command = environment.cargo();
    command
        .args(["nextest", "run", "--workspace", "--locked"])
        .env(seed::VARIABLE, seed)
        .current_dir(workspace::root());
    Ok(command)
}

/// The examples in the documentation, which nextest does not run.
fn doctests(environment: &Environment) -> Command {
    let mut command = environment.cargo();
    command.args(["test", "--doc", "--workspace", "--locked"]).current_dir(workspace::root());
    command
}
