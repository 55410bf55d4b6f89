//! `cargo xtask bench`: the benchmarks, with what they compare against.

use crate::test::Environment;
use crate::{process, workspace};
use anyhow::Result;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Arguments for `cargo bench --workspace`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    bench: Vec<String>,
}

/// Runs the workspace's benchmarks in the test environment.
pub(crate) fn run(args: &Args) -> Result<()> {
    let environment = Environment::prepare()?;
    let mut command = environment.cargo();
    command.args(["bench", "--workspace"]).args(&args.bench);
    process::run(command.current_dir(workspace::root()))
}
