//! `cargo xtask ci`: what continuous integration runs, in its order, cheapest first.

use crate::test::Environment;
use crate::{process, runtime, workspace};
use anyhow::Result;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave the tests out: only what checks the sources
    #[arg(long)]
    no_tests: bool,
}

/// Runs every check; the first that fails ends it.
pub(crate) fn run(args: &Args) -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    runtime::run(&runtime::Task::Verify)?;
    cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?;
    let mut doc = command(&["doc", "--workspace", "--no-deps", "--locked"]);
    process::run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    if args.no_tests {
        return Ok(());
    }
    let environment = Environment::prepare()?;
    for arguments in [&["nextest", "run", "--workspace", "--locked"][..], &["test", "--doc", "--workspace", "--locked"]]
    {
        process::run(environment.cargo().args(arguments).current_dir(workspace::root()))?;
    }
    Ok(())
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(workspace::root());
    command
}

fn cargo(arguments: &[&str]) -> Result<()> {
    process::run(&mut command(arguments))
}
