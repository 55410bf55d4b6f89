//! `cargo xtask bench`: compares Brumate with Pyodide in Node and native CPython, in one run on this machine.
//!
//! It builds the programs and starts the measurement, which is in Python, in `bench/`.

use crate::test::Environment;
use crate::{process, workspace};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Binary to measure [default: a release build]
    #[arg(long, value_name = "FILE")]
    brumate: Option<PathBuf>,
    /// Arguments for `bench/run.py`, such as `--only cold mcp`, `--python python3.13`, `--help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    bench: Vec<String>,
}

/// Builds the release binary, prepares the other programs, and measures.
pub(crate) fn run(args: &Args) -> Result<()> {
    let environment = Environment::prepare()?;
    let kernel = Environment::kernel()?;
    let binary = match &args.brumate {
        Some(binary) => std::path::absolute(binary).with_context(|| binary.display().to_string())?,
        None => build()?,
    };
    let mut bench = Command::new("python3");
    bench
        .arg("run.py")
        .arg("--brumate")
        .arg(binary)
        .args(&args.bench)
        // Nothing of Brumate's may come from the caller's settings, and no bytecode belongs into the working copy.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(workspace::root().join("bench"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BRUMATE_") {
            bench.env_remove(name);
        }
    }
    for (name, value) in environment.cargo().get_envs() {
        if let Some(value) = value {
            bench.env(name, value);
        }
    }
    process::run(bench.env("BRUMATE_BENCH_KERNEL", kernel))
}

/// Builds the release binary and the program that measures machines inside the engine.
fn build() -> Result<PathBuf> {
    process::run(
        Command::new("cargo")
            .args(["build", "--release", "--locked", "--package", "brumate", "--package", "brumate-engine"])
            .args(["--package", "brumate-packages", "--package", "brumate-mcp", "--bins"])
            .args(["--example", "latency", "--example", "sessions", "--example", "resolve", "--example", "load"])
            .current_dir(workspace::root()),
    )?;
    Ok(workspace::target().join("release/brumate"))
}
