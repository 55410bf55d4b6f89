//! `cargo xtask test`: what the tests need, then the tests.

mod environment;
mod upstream;
mod wheels;

pub(crate) use environment::Environment;

use crate::{process, workspace};
use anyhow::Result;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Set up only
    #[arg(long)]
    setup: bool,
    /// Arguments for `cargo nextest run`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    nextest: Vec<String>,
}

/// Sets the test environment up, then runs the workspace's tests in it.
pub(crate) fn run(args: &Args) -> Result<()> {
    let environment = Environment::prepare()?;
    if args.setup {
        environment.print();
        return Ok(());
    }
    let mut command = environment.cargo();
    command.args(["nextest", "run", "--workspace"]).args(&args.nextest);
    process::run(command.current_dir(workspace::root()))
}
